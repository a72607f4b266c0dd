// redis://, rediss://, redis+unix://, redis+sentinel://, redis+cluster://, redis+replicas:// as
// open(url) sees them.
//
//   scheme://[user[:password]@]host[:port][,host[:port]…][/db or /primary-name][?option=value&…]
//   redis+unix://[user[:password]@]/path/of/the/socket[?…]

#include "backends/redis/backend.hpp"
#include "backends/redis/url.hpp"
#include "client/engine_entry.hpp"
#include "client/url_text.hpp"

#include <sys/un.h>

namespace holdfast::redis {
namespace {

constexpr detail::url_text text{"redis"};

[[noreturn]] void refuse(const char* sentence) { text.refuse(sentence); }

void set_option(options& o, std::string_view name, const std::string& value) {
    if (name == "layout") {
        if (value != "redisson" && value != "plain")
            refuse("layout is redisson or plain");
        o.layout = value == "plain" ? layout::plain : layout::redisson;
    } else if (name == "announce") {
        if (value != "publish" && value != "spublish" && value != "both")
            refuse("announce is publish, spublish or both");
        o.announce = value == "publish"    ? announcing::publish
                     : value == "spublish" ? announcing::spublish
                                           : announcing::both;
    } else if (name == "semaphore") {
        if (value != "expirable" && value != "plain")
            refuse("semaphore is expirable or plain");
        o.semaphores = value == "plain" ? semaphores::plain : semaphores::expirable;
    } else if (name == "prefix") {
        o.prefix = value;
    } else if (name == "password_file") {
        o.password = text.secret(value);
    } else if (name == "sentinel_password_file") {
        o.sentinel_password = text.secret(value);
    } else if (name == "ca") {
        o.tls.ca_file = value;
    } else if (name == "cert") {
        o.tls.certificate_file = value;
    } else if (name == "key") {
        o.tls.key_file = value;
    } else if (name == "verify") {
        o.tls.verify = text.yes_or_no(name, value);
    } else if (name == "tls") { // how the schemes with a + say what rediss:// says
        if (text.yes_or_no(name, value))
            o.secure = true;
    } else if (name == "connect_timeout") {
        o.connect_timeout = text.time(name, value);
    } else if (name == "timeout") {
        o.silence = text.time(name, value);
    } else if (name == "connections") {
        o.connections = static_cast<std::uint32_t>(text.count(name, value, 1, 64));
    } else if (name == "acknowledge") {
        o.acknowledge = static_cast<std::uint32_t>(text.count(name, value, 0, 100));
    } else if (name == "acknowledge_within") {
        o.acknowledge_within = text.time(name, value);
    } else if (name == "quarantine") {
        o.quarantine = text.time(name, value);
    } else if (name == "fence_retention") {
        o.fence_retention = text.time(name, value);
    } else if (name == "eviction") {
        if (value != "allow" && value != "refuse")
            refuse("eviction is allow or refuse");
        o.allow_eviction = value == "allow";
    } else if (name == "db") {
        o.db = static_cast<int>(text.count(name, value, 0, 1'000'000));
    } else {
        text.no_such_option(
            name,
            "tls, layout, announce, semaphore, prefix, password_file, "
            "sentinel_password_file, ca, cert, key, verify, timeout, connect_timeout, "
            "connections, acknowledge, "
            "acknowledge_within, quarantine, fence_retention, eviction and db");
    }
}

void check(const options& o) {
    if (!o.user.empty() && o.password.empty())
        refuse("a user needs a password: user:password@host, or password_file=");
    if (o.tls.certificate_file.empty() != o.tls.key_file.empty())
        refuse("cert and key are given together");
    if (!o.secure && !(o.tls.ca_file.empty() && o.tls.certificate_file.empty() && o.tls.verify))
        refuse("ca, cert, key and verify belong to TLS: write rediss:// or tls=yes");
    if (o.connect_timeout <= duration::zero() || o.silence <= duration::zero())
        refuse("timeout and connect_timeout are more than nothing");
    if (o.acknowledge_within <= duration::zero())
        refuse("acknowledge_within is more than nothing");
    if (o.fence_retention < std::chrono::hours{1})
        refuse("fence_retention is an hour at least");
    if (o.layout == layout::plain && o.semaphores == semaphores::plain)
        refuse("there are no semaphores with layout=plain");
    if (o.topology == topology::cluster && o.db != 0)
        refuse("a cluster has only database 0");
    if (o.topology == topology::sentinel && o.primary_name.empty())
        refuse("the sentinels know the primary by a name: redis+sentinel://host,…/name");
}

} // namespace

options options_of(std::string_view scheme, std::string_view rest) {
    options o;
    o.servers.clear();
    if (!rest.starts_with("//"))
        text.refuse("an address begins with //, as in " + std::string{scheme} +
                    "://127.0.0.1:6379");
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

    if (scheme == "redis+unix") {
        auto path = text.decoded(rest, "path");
        if (path.empty() || path.front() != '/')
            refuse("the path of a Unix socket begins with /, as in "
                   "redis+unix:///run/redis.sock");
        if (path.size() >= sizeof(sockaddr_un{}.sun_path))
            refuse("the path of a Unix socket has at most 107 characters");
        o.servers.push_back({std::move(path), 0});
        check(o);
        return o;
    }

    std::string_view path;
    if (const auto slash = rest.find('/'); slash != std::string_view::npos) {
        path = rest.substr(slash + 1);
        rest = rest.substr(0, slash);
    }
    o.topology = scheme == "redis+cluster"    ? topology::cluster
                 : scheme == "redis+sentinel" ? topology::sentinel
                 : scheme == "redis+replicas" ? topology::replicas
                                              : topology::single;
    if (scheme == "rediss")
        o.secure = true;
    if (o.topology == topology::sentinel)
        o.primary_name = text.decoded(path, "name of the primary");
    else if (!path.empty())
        o.db = static_cast<int>(text.count("the database after the slash", path, 0, 1'000'000));

    const int usual = o.topology == topology::sentinel ? 26379 : 6379;
    for (auto& [host, port] : text.addresses(rest, usual))
        o.servers.push_back({std::move(host), port});
    if (o.topology == topology::single && o.servers.size() > 1)
        refuse("several hosts are redis+replicas://, redis+sentinel:// or redis+cluster://");
    check(o);
    return o;
}

std::unique_ptr<backend> make(options o) {
    if (o.servers.empty())
        refuse("no server was given");
    check(o);
    return std::make_unique<redis_backend>(std::move(o));
}

namespace {
std::unique_ptr<backend> open_url(const detail::engine_url& url) {
    return make(options_of(url.scheme, url.rest));
}
} // namespace

} // namespace holdfast::redis

extern "C" {
extern const holdfast::detail::engine_entry holdfast_engine_redis;
const holdfast::detail::engine_entry holdfast_engine_redis = &holdfast::redis::open_url;
}
