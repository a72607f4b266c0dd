#include "servers/zookeeper_tree.hpp"
#include "cli/program.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <zookeeper/zookeeper.h>

namespace holdfast::servers {
namespace {

using namespace std::chrono_literals;

constexpr int session_ms = 10'000;
constexpr int any_version = -1;

void hears_nothing(zhandle_t*, int, int, const char*, void*) {} // its state is asked for instead

/// Connected, expired, or as it is after a while.
zhandle_t* opened(const std::string& addresses, const clientid_t* session) {
    zoo_set_debug_level(static_cast<ZooLogLevel>(0)); // it would write to our stderr
    auto* handle =
        zookeeper_init(addresses.c_str(), &hears_nothing, session_ms, session, nullptr, 0);
    if (handle == nullptr)
        throw std::runtime_error{"no ZooKeeper client for " + addresses};
    zoo_set_servers_resolution_delay(handle, -1);
    static_cast<void>(cli_tests::comes_true(10s, [&] {
        return zoo_state(handle) == ZOO_CONNECTED_STATE || is_unrecoverable(handle) != ZOK;
    }));
    return handle;
}

int native(znode_kind kind) {
    switch (kind) {
    case znode_kind::persistent:
        return ZOO_PERSISTENT;
    case znode_kind::ephemeral:
        return ZOO_EPHEMERAL;
    case znode_kind::sequential:
        return ZOO_PERSISTENT_SEQUENTIAL;
    case znode_kind::ephemeral_sequential:
        return ZOO_EPHEMERAL_SEQUENTIAL;
    case znode_kind::container:
        return ZOO_CONTAINER;
    }
    throw std::logic_error{"no kind of node"};
}

void must(int result, const std::string& what) {
    if (result != ZOK)
        throw std::runtime_error{what + ": " + zerror(result)};
}

} // namespace

void zookeeper_tree::closing::operator()(_zhandle* handle) const { zookeeper_close(handle); }

zookeeper_tree::zookeeper_tree(std::string addresses)
    : addresses_{std::move(addresses)}, handle_{opened(addresses_, nullptr)} {}

// Whatever was asked is asked again if its answer got lost: all that we do may be done twice,
// except creating, where a test would see the second one.
template <class Call> int zookeeper_tree::done(Call&& call) {
    int result = ZCONNECTIONLOSS;
    static_cast<void>(cli_tests::comes_true(60s, [&] {
        if (is_unrecoverable(handle_.get()) != ZOK)
            handle_.reset(opened(addresses_, nullptr));
        result = call(handle_.get());
        return result != ZCONNECTIONLOSS && result != ZOPERATIONTIMEOUT &&
               result != ZSESSIONEXPIRED && result != ZINVALIDSTATE;
    }));
    return result;
}

std::optional<znode> zookeeper_tree::at(const std::string& path) {
    std::string room(std::size_t{1} << 20U, '\0'); // no node is larger
    int size = 0;
    Stat about{};
    const auto result = done([&](zhandle_t* handle) {
        size = static_cast<int>(room.size());
        return zoo_get(handle, path.c_str(), 0, room.data(), &size, &about);
    });
    if (result == ZNONODE)
        return std::nullopt;
    must(result, path);
    return znode{path,
                 room.substr(0, static_cast<std::size_t>(std::max(size, 0))), // -1: none at all
                 about.czxid,
                 about.ephemeralOwner,
                 about.version,
                 about.numChildren};
}

std::vector<std::string> zookeeper_tree::children(const std::string& path) {
    String_vector all{};
    const auto result =
        done([&](zhandle_t* handle) { return zoo_get_children(handle, path.c_str(), 0, &all); });
    if (result == ZNONODE)
        return {};
    must(result, path);
    std::vector<std::string> names(all.data, all.data + all.count);
    deallocate_String_vector(&all);
    if (path == "/")
        std::erase(names, "zookeeper");
    std::sort(names.begin(), names.end());
    return names;
}

std::vector<znode> zookeeper_tree::nodes_in(const std::string& path) {
    std::vector<znode> found;
    for (const auto& name : children(path))
        if (auto node = at((path == "/" ? "" : path) + '/' + name))
            found.push_back(*std::move(node));
    return found;
}

std::vector<znode> zookeeper_tree::below(const std::string& path) {
    std::vector<znode> found;
    for (const auto& node : nodes_in(path)) {
        found.push_back(node);
        const auto deeper = below(node.path);
        found.insert(found.end(), deeper.begin(), deeper.end());
    }
    return found;
}

std::string
zookeeper_tree::create(const std::string& path, const std::string& data, znode_kind kind) {
    std::string made(path.size() + 32, '\0'); // a number may follow
    must(done([&](zhandle_t* handle) {
             return zoo_create(handle,
                               path.c_str(),
                               data.data(),
                               static_cast<int>(data.size()),
                               &ZOO_OPEN_ACL_UNSAFE,
                               native(kind),
                               made.data(),
                               static_cast<int>(made.size()));
         }),
         path);
    made.resize(std::strlen(made.c_str()));
    return made;
}

void zookeeper_tree::write(const std::string& path, const std::string& data) {
    must(done([&](zhandle_t* handle) {
             return zoo_set(
                 handle, path.c_str(), data.data(), static_cast<int>(data.size()), any_version);
         }),
         path);
}

bool zookeeper_tree::remove(const std::string& path) {
    const auto result =
        done([&](zhandle_t* handle) { return zoo_delete(handle, path.c_str(), any_version); });
    if (result == ZNONODE)
        return false;
    must(result, path);
    return true;
}

void zookeeper_tree::clear() {
    auto all = below("/");
    for (auto node = all.rbegin(); node != all.rend(); ++node) // children before parents
        remove(node->path);
}

zookeeper_session zookeeper_tree::session() {
    static_cast<void>(has("/")); // connected by now
    const auto* who = zoo_client_id(handle_.get());
    return {who->client_id, {who->passwd, sizeof who->passwd}};
}

void expire(const std::string& addresses, const zookeeper_session& session) {
    clientid_t who{};
    who.client_id = session.id;
    std::copy_n(
        session.password.begin(), std::min(session.password.size(), sizeof who.passwd), who.passwd);
    // Whoever is in, closes it; but the client does not wait for the answer to that.
    const bool over = cli_tests::comes_true(30s, [&] {
        auto* handle = opened(addresses, &who);
        const bool expired = zoo_state(handle) == ZOO_EXPIRED_SESSION_STATE;
        zookeeper_close(handle);
        return expired;
    });
    if (!over)
        throw std::runtime_error{"nobody lets us into the session"};
}

} // namespace holdfast::servers
