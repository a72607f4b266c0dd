// zookeeper:// as open(url) sees it.
//
//   zookeeper://[user:password@]host[:port][,host[:port]…][/chroot][?option=value&…]

#include "backends/zookeeper/backend.hpp"
#include "backends/zookeeper/names.hpp"
#include "backends/zookeeper/url.hpp"
#include "client/engine_entry.hpp"
#include "client/url_text.hpp"

namespace holdfast::zookeeper {
namespace {

constexpr detail::url_text text{"zookeeper"};

void set_option(options& o, std::string_view name, const std::string& value) {
    if (name == "session") {
        o.session = text.time(name, value);
    } else if (name == "connect_timeout") {
        o.connect_timeout = text.time(name, value);
    } else if (name == "password_file") {
        o.password = text.secret(value);
    } else if (name == "acl") {
        if (value != "open" && value != "creator" && value != "creator+read")
            text.refuse("acl is open, creator or creator+read");
        o.access = value == "open"      ? access::open
                   : value == "creator" ? access::creator
                                        : access::creator_or_read;
    } else if (name == "mutex") {
        if (value != "reentrant" && value != "semaphore")
            text.refuse("mutex is reentrant or semaphore");
        o.mutexes = value == "semaphore" ? mutexes::semaphore : mutexes::reentrant;
    } else if (name == "read_only") {
        o.read_only = text.yes_or_no(name, value);
    } else {
        text.no_such_option(name,
                            "session, connect_timeout, password_file, acl, mutex and read_only");
    }
}

void check(const options& o) {
    if (o.servers.empty())
        text.refuse("no server was given");
    if (!o.root.empty())
        if (const char* wrong = what_is_wrong_with_path(o.root))
            text.refuse(std::string{"the path after the servers stands before all names, but "} +
                        wrong);
    if (o.user.empty() != o.password.empty())
        text.refuse(
            "a user and a password are given together: user:password@host, or password_file=");
    if (o.user.find(':') != std::string::npos)
        text.refuse("a user's name has no colon");
    if (o.access != access::open && o.user.empty())
        text.refuse("acl=creator needs somebody who creates: user:password@host");
    if (o.session < std::chrono::milliseconds{100} || o.session > std::chrono::hours{24})
        text.refuse("session is from 100ms to 24h");
    if (o.connect_timeout <= duration::zero())
        text.refuse("connect_timeout is more than nothing");
}

} // namespace

options options_of(std::string_view rest) {
    options o;
    o.servers.clear();
    if (!rest.starts_with("//"))
        text.refuse("an address begins with //, as in zookeeper://127.0.0.1:2181");
    rest.remove_prefix(2);
    text.options(
        rest, [&](std::string_view name, const std::string& value) { set_option(o, name, value); });
    if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
        auto [user, password] = text.user(rest.substr(0, at));
        o.user = std::move(user);
        if (!password.empty())
            o.password = std::move(password);
        rest = rest.substr(at + 1);
    }
    if (const auto slash = rest.find('/'); slash != std::string_view::npos) {
        o.root = text.decoded(rest.substr(slash), "path");
        if (o.root == "/")
            o.root.clear();
        rest = rest.substr(0, slash);
    }
    for (auto& [host, port] : text.addresses(rest, 2181))
        o.servers.push_back({std::move(host), port});
    check(o);
    return o;
}

std::unique_ptr<backend> make(options o) {
    check(o);
    return std::make_unique<zookeeper_backend>(std::move(o));
}

namespace {
std::unique_ptr<backend> open_url(const detail::engine_url& url) {
    return make(options_of(url.rest));
}
} // namespace

} // namespace holdfast::zookeeper

extern "C" {
extern const holdfast::detail::engine_entry holdfast_engine_zookeeper;
const holdfast::detail::engine_entry holdfast_engine_zookeeper = &holdfast::zookeeper::open_url;
}
