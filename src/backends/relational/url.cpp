#include "backends/relational/url.hpp"
#include "client/url_text.hpp"

#include <algorithm>

namespace holdfast::relational {
namespace {

/// One renews, one listens, where that cannot be the same; one for everything else.
constexpr std::uint32_t fewest_connections = 3;

void set_option(const detail::url_text& text,
                sql::options& o,
                std::string_view name,
                const std::string& value) {
    if (name == "mode") {
        if (value != "lease" && value != "row" && value != "session")
            text.refuse("mode is lease, row or session");
        o.mode = value == "lease" ? sql::locking::lease
                 : value == "row" ? sql::locking::row
                                  : sql::locking::session;
    } else if (name == "held_rows") {
        o.held_rows = static_cast<std::uint32_t>(text.count(name, value, 1, 1000));
    } else if (name == "steal") {
        if (value != "clock" && value != "observe" && value != "both")
            text.refuse("steal is clock, observe or both");
        o.steal = value == "clock"     ? sql::stealing::clock
                  : value == "observe" ? sql::stealing::observe
                                       : sql::stealing::both;
    } else if (name == "table") {
        o.table = value;
    } else if (name == "make_tables") {
        o.make_tables = text.yes_or_no(name, value);
    } else if (name == "password_file") {
        o.password = text.secret(value);
    } else if (name == "tls") {
        o.tls.wanted = text.yes_or_no(name, value);
    } else if (name == "ca") {
        o.tls.ca_file = value;
    } else if (name == "cert") {
        o.tls.certificate_file = value;
    } else if (name == "key") {
        o.tls.key_file = value;
    } else if (name == "verify") {
        o.tls.verify = text.yes_or_no(name, value);
    } else if (name == "connect_timeout") {
        o.connect_timeout = text.time(name, value);
    } else if (name == "connections") {
        o.connections =
            static_cast<std::uint32_t>(text.count(name, value, fewest_connections, 100));
    } else if (name == "fence_retention") {
        o.fence_retention = text.time(name, value);
    } else {
        text.no_such_option(name,
                            "mode, steal, held_rows, table, make_tables, password_file, tls, ca, "
                            "cert, key, verify, "
                            "connect_timeout, connections and fence_retention");
    }
}

} // namespace

sql::options options_of(const char* engine, std::string_view rest) {
    const detail::url_text text{engine};
    sql::options o;
    if (!rest.starts_with("//"))
        text.refuse("an address begins with //, as in " + std::string{engine} +
                    "://user:password@127.0.0.1/database");
    rest.remove_prefix(2);
    text.options(rest, [&](std::string_view name, const std::string& value) {
        set_option(text, o, name, value);
    });
    if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
        auto [user, password] = text.user(rest.substr(0, at));
        o.user = std::move(user);
        if (!password.empty())
            o.password = std::move(password);
        rest = rest.substr(at + 1);
    }
    if (const auto slash = rest.find('/'); slash != std::string_view::npos) {
        o.database = text.decoded(rest.substr(slash + 1), "database");
        rest = rest.substr(0, slash);
    }
    o.servers.clear();
    for (auto& [host, port] : text.addresses(rest, 0))
        o.servers.push_back({std::move(host), port});
    check(engine, o);
    return o;
}

void check(const char* engine, const sql::options& o) {
    const detail::url_text text{engine};
    if (o.servers.empty())
        text.refuse("no server was given");
    if (o.database.empty())
        text.refuse("the database comes after the host, as in " + std::string{engine} +
                    "://user:password@127.0.0.1/database");
    if (o.database.find('/') != std::string::npos)
        text.refuse("the name of the database contains no /");
    const auto is_word = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    };
    if (o.table.empty() || o.table.size() > 40 || !std::ranges::all_of(o.table, is_word) ||
        (o.table.front() >= '0' && o.table.front() <= '9'))
        text.refuse("table is made of at most 40 small letters, digits and _, and begins with no "
                    "digit");
    if (o.tls.certificate_file.empty() != o.tls.key_file.empty())
        text.refuse("cert and key are given together");
    if (!o.tls.wanted && !(o.tls.ca_file.empty() && o.tls.certificate_file.empty() && o.tls.verify))
        text.refuse("ca, cert, key and verify belong to TLS: write tls=yes");
    if (o.connect_timeout <= duration::zero())
        text.refuse("connect_timeout is more than nothing");
    if (o.held_rows == 0)
        text.refuse("held_rows is 1 at least");
    if (o.connections < fewest_connections)
        text.refuse("connections is 3 at least");
    if (o.fence_retention < std::chrono::minutes{1})
        text.refuse("fence_retention is a minute at least");
}

} // namespace holdfast::relational
