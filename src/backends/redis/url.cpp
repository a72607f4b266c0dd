// redis://, rediss://, redis+unix://, redis+sentinel://, redis+cluster://, redis+replicas:// as
// open(url) sees them.
//
//   scheme://[user[:password]@]host[:port][,host[:port]…][/db or /primary-name][?option=value&…]
//   redis+unix://[user[:password]@]/path/of/the/socket[?…]

#include "backends/redis/backend.hpp"
#include "backends/redis/url.hpp"
#include "client/engine_entry.hpp"

#include <charconv>
#include <fstream>
#include <iterator>
#include <sys/un.h>

namespace holdfast::redis {
namespace {

[[noreturn]] void refuse(const std::string& sentence) { throw_error(errc::bad_option, sentence); }

[[nodiscard]] int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

// The text is not in the message: it may be a password.
[[nodiscard]] std::string decoded(std::string_view text, const char* what) {
    std::string made;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            made.push_back(text[i]);
            continue;
        }
        const bool whole = i + 2 < text.size();
        const int high = whole ? hex_digit(text[i + 1]) : -1;
        const int low = whole ? hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0)
            refuse(std::string{"redis: in the "} + what +
                   ", % stands before two hexadecimal digits");
        made.push_back(static_cast<char>(high * 16 + low));
        i += 2;
    }
    if (made.find('\0') != std::string::npos)
        refuse(std::string{"redis: the "} + what + " contains no NUL");
    return made;
}

template <class T> [[nodiscard]] bool number(std::string_view text, T& value) {
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
    return bad == std::errc{} && end == text.data() + text.size() && !text.empty();
}

[[nodiscard]] address address_of(std::string_view text, int usual_port) {
    address made{.host = {}, .port = usual_port};
    std::string_view port;
    if (text.starts_with('[')) {
        const auto close = text.find(']');
        if (close == std::string_view::npos)
            refuse("redis: an IPv6 address stands in brackets, as in [::1]:6379");
        made.host = text.substr(1, close - 1);
        const auto rest = text.substr(close + 1);
        if (!rest.empty() && rest.front() != ':')
            refuse("redis: after the bracket of an IPv6 address comes :port or nothing");
        port = rest.empty() ? rest : rest.substr(1);
        if (rest == ":")
            refuse("redis: a colon after the host is followed by the port");
    } else {
        const auto colon = text.find(':');
        made.host = decoded(text.substr(0, colon), "host");
        if (colon != std::string_view::npos) {
            port = text.substr(colon + 1);
            if (port.empty())
                refuse("redis: a colon after the host is followed by the port");
        }
    }
    if (made.host.empty())
        made.host = "127.0.0.1";
    if (made.host.size() > 255)
        refuse("redis: a host's name has at most 255 characters");
    // What stands there is not in the message: in redis://:secret somebody forgot the @host.
    if (!port.empty() && (!number(port, made.port) || made.port < 1 || made.port > 65535))
        refuse("redis: after the host's colon comes its port, 1 to 65535; a password ends with @, "
               "and an IPv6 address stands in brackets");
    return made;
}

constexpr std::int64_t longest_ms = std::int64_t{36'525} * 86'400'000;

[[nodiscard]] duration time_of(std::string_view name, std::string_view text) {
    std::int64_t count = 0;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), count);
    const std::string_view unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
    std::int64_t ms = -1;
    if (bad == std::errc{} && count >= 0 && count <= 1'000'000'000) {
        if (unit == "ms")
            ms = count;
        else if (unit == "s" || unit.empty())
            ms = count * 1000;
        else if (unit == "m")
            ms = count * 60'000;
        else if (unit == "h")
            ms = count * 3'600'000;
        else if (unit == "d")
            ms = count * 86'400'000;
    }
    if (ms < 0)
        refuse("redis: " + std::string{name} + " is a time such as 500ms, 3s, 5m, 2h or 30d");
    if (ms > longest_ms)
        refuse("redis: " + std::string{name} + " is a hundred years at most");
    return std::chrono::milliseconds{ms};
}

template <class T>
[[nodiscard]] T count_of(std::string_view name, std::string_view text, T least, T most) {
    T value{};
    if (!number(text, value) || value < least || value > most)
        refuse("redis: " + std::string{name} + " is a number from " + std::to_string(least) +
               " to " + std::to_string(most));
    return value;
}

[[nodiscard]] std::string read_secret(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    std::string secret;
    char bytes[4096];
    while (file.read(bytes, sizeof bytes) || file.gcount() > 0)
        secret.append(bytes, static_cast<std::size_t>(file.gcount()));
    if (!file.is_open() || !file.eof()) // a folder can be opened, but not read
        refuse("redis: the password file " + path + " cannot be read");
    while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r'))
        secret.pop_back();
    if (secret.empty())
        refuse("redis: the password file " + path + " is empty");
    return secret;
}

/// " 'name'" if it can be one of an option. Else it may be the rest of a password with a ? in it.
[[nodiscard]] std::string quoted(std::string_view name) {
    const bool is_name = !name.empty() && name.size() <= 40 &&
                         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_-") == name.npos;
    return is_name ? " '" + std::string{name} + "'" : std::string{};
}

void set_option(options& o, std::string_view name, const std::string& value) {
    if (name == "layout") {
        if (value != "redisson" && value != "plain")
            refuse("redis: layout is redisson or plain");
        o.layout = value == "plain" ? layout::plain : layout::redisson;
    } else if (name == "announce") {
        if (value != "publish" && value != "spublish" && value != "both")
            refuse("redis: announce is publish, spublish or both");
        o.announce = value == "publish"    ? announcing::publish
                     : value == "spublish" ? announcing::spublish
                                           : announcing::both;
    } else if (name == "semaphore") {
        if (value != "expirable" && value != "plain")
            refuse("redis: semaphore is expirable or plain");
        o.semaphores = value == "plain" ? semaphores::plain : semaphores::expirable;
    } else if (name == "prefix") {
        o.prefix = value;
    } else if (name == "password_file") {
        o.password = read_secret(value);
    } else if (name == "sentinel_password_file") {
        o.sentinel_password = read_secret(value);
    } else if (name == "ca") {
        o.tls.ca_file = value;
    } else if (name == "cert") {
        o.tls.certificate_file = value;
    } else if (name == "key") {
        o.tls.key_file = value;
    } else if (name == "verify") {
        if (value != "yes" && value != "no")
            refuse("redis: verify is yes or no");
        o.tls.verify = value == "yes";
    } else if (name == "connect_timeout") {
        o.connect_timeout = time_of(name, value);
    } else if (name == "timeout") {
        o.silence = time_of(name, value);
    } else if (name == "connections") {
        o.connections = count_of<std::uint32_t>(name, value, 1, 64);
    } else if (name == "acknowledge") {
        o.acknowledge = count_of<std::uint32_t>(name, value, 0, 100);
    } else if (name == "acknowledge_within") {
        o.acknowledge_within = time_of(name, value);
    } else if (name == "quarantine") {
        o.quarantine = time_of(name, value);
    } else if (name == "fence_retention") {
        o.fence_retention = time_of(name, value);
    } else if (name == "eviction") {
        if (value != "allow" && value != "refuse")
            refuse("redis: eviction is allow or refuse");
        o.allow_eviction = value == "allow";
    } else if (name == "db") {
        o.db = count_of<int>(name, value, 0, 1'000'000);
    } else {
        refuse("redis: there is no option" + quoted(name) +
               "; there are tls, layout, announce, semaphore, prefix, password_file, "
               "sentinel_password_file, ca, cert, key, verify, timeout, connect_timeout, "
               "connections, acknowledge, "
               "acknowledge_within, quarantine, fence_retention, eviction and db");
    }
}

void set_all_options(options& o, std::string_view asked) {
    while (!asked.empty()) {
        const auto end = std::min(asked.find('&'), asked.size());
        const auto one = asked.substr(0, end);
        asked.remove_prefix(std::min(end + 1, asked.size()));
        if (one.empty())
            continue;
        const auto equals = one.find('=');
        if (equals == std::string_view::npos)
            refuse("redis: an option is written name=value, but one" + quoted(one) +
                   " has no value");
        set_option(o, one.substr(0, equals), decoded(one.substr(equals + 1), "value of an option"));
    }
}

void set_user(options& o, std::string_view user) {
    const auto colon = user.find(':');
    if (colon == std::string_view::npos) {
        o.user = decoded(user, "user");
        return;
    }
    o.user = decoded(user.substr(0, colon), "user");
    o.password = decoded(user.substr(colon + 1), "password");
}

void check(const options& o) {
    if (!o.user.empty() && o.password.empty())
        refuse("redis: a user needs a password: user:password@host, or password_file=");
    if (o.tls.certificate_file.empty() != o.tls.key_file.empty())
        refuse("redis: cert and key are given together");
    if (!o.secure && !(o.tls.ca_file.empty() && o.tls.certificate_file.empty() && o.tls.verify))
        refuse("redis: ca, cert, key and verify belong to TLS: write rediss:// or tls=yes");
    if (o.connect_timeout <= duration::zero() || o.silence <= duration::zero())
        refuse("redis: timeout and connect_timeout are more than nothing");
    if (o.acknowledge_within <= duration::zero())
        refuse("redis: acknowledge_within is more than nothing");
    if (o.fence_retention < std::chrono::hours{1})
        refuse("redis: fence_retention is an hour at least");
    if (o.layout == layout::plain && o.semaphores == semaphores::plain)
        refuse("redis: there are no semaphores with layout=plain");
    if (o.topology == topology::cluster && o.db != 0)
        refuse("redis: a cluster has only database 0");
    if (o.topology == topology::sentinel && o.primary_name.empty())
        refuse("redis: the sentinels know the primary by a name: redis+sentinel://host,…/name");
}

} // namespace

options options_of(std::string_view scheme, std::string_view rest) {
    options o;
    o.servers.clear();
    if (!rest.starts_with("//"))
        refuse("redis: an address begins with //, as in " + std::string{scheme} +
               "://127.0.0.1:6379");
    rest.remove_prefix(2);

    if (const auto mark = rest.find('?'); mark != std::string_view::npos) {
        auto asked = rest.substr(mark + 1);
        // Else what is left of a password with a ? in it would be taken for options, and shown.
        if (rest.find('@') > mark && asked.find('@') != std::string_view::npos)
            refuse("redis: in a password ? is written %3F, and in an option @ is written %40");
        rest = rest.substr(0, mark);
        // tls=yes is how the schemes with a + say what rediss:// says.
        std::string others;
        while (!asked.empty()) {
            const auto end = std::min(asked.find('&'), asked.size());
            const auto one = asked.substr(0, end);
            asked.remove_prefix(std::min(end + 1, asked.size()));
            if (one == "tls=yes")
                o.secure = true;
            else if (one.starts_with("tls=") && one != "tls=no")
                refuse("redis: tls is yes or no");
            else if (!one.starts_with("tls="))
                others.append(others.empty() ? "" : "&").append(one);
        }
        set_all_options(o, others);
    }
    if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
        set_user(o, rest.substr(0, at));
        rest = rest.substr(at + 1);
    }

    if (scheme == "redis+unix") {
        auto path = decoded(rest, "path");
        if (path.empty() || path.front() != '/')
            refuse("redis: the path of a Unix socket begins with /, as in "
                   "redis+unix:///run/redis.sock");
        if (path.size() >= sizeof(sockaddr_un{}.sun_path))
            refuse("redis: the path of a Unix socket has at most 107 characters");
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
        o.primary_name = decoded(path, "name of the primary");
    else if (!path.empty())
        o.db = count_of<int>("the database after the slash", path, 0, 1'000'000);

    const int usual = o.topology == topology::sentinel ? 26379 : 6379;
    for (;;) {
        const auto comma = rest.find(',');
        o.servers.push_back(address_of(rest.substr(0, comma), usual));
        if (comma == std::string_view::npos)
            break;
        rest.remove_prefix(comma + 1);
    }
    if (o.topology == topology::single && o.servers.size() > 1)
        refuse("redis: several hosts are redis+replicas://, redis+sentinel:// or redis+cluster://");
    check(o);
    return o;
}

std::unique_ptr<backend> make(options o) {
    if (o.servers.empty())
        refuse("redis: no server was given");
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
