#include "servers/redis_sentinels.hpp"

#include <algorithm>
#include <stdexcept>

namespace holdfast::servers {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t sentinel_count = 3;

/// Where this Sentinel believes the primary to be; 0 if it cannot say.
std::uint16_t primary_port(const redis_server& sentinel) {
    const auto where = sentinel.ask({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", redis_sentinels::name});
    return where.items.size() == 2 ? static_cast<std::uint16_t>(std::stoi(where.items[1].text)) : 0;
}

bool says_it_is_primary(const redis_server& server) {
    const auto role = server.ask({"ROLE"});
    return !role.items.empty() && role.items.front().text == "master";
}

void must(bool came_true, const char* what) {
    if (!came_true)
        throw std::runtime_error{what};
}

} // namespace

redis_sentinels::redis_sentinels(const sentinel_options& options) {
    auto each = options.each;
    if (!each.password.empty()) {
        each.settings.push_back("masterauth " + each.password);
        if (!each.user.empty())
            each.settings.push_back("masteruser " + each.user);
    }
    if (each.over != encryption::none)
        each.settings.emplace_back("tls-replication yes");
    servers_.emplace_back(each);
    each.replica_of = servers_.front().port();
    for (std::size_t i = 0; i < options.replicas; ++i)
        servers_.emplace_back(each);

    const std::string primary = name;
    redis_options watcher{.over = each.over};
    watcher.sentinel = {"sentinel monitor " + primary + " 127.0.0.1 " +
                            std::to_string(each.replica_of) + " 2",
                        "sentinel down-after-milliseconds " + primary + " 500",
                        "sentinel failover-timeout " + primary + " 3000",
                        "sentinel parallel-syncs " + primary + " 1"};
    if (!each.password.empty())
        watcher.sentinel.push_back("sentinel auth-pass " + primary + ' ' + each.password);
    if (!each.user.empty())
        watcher.sentinel.push_back("sentinel auth-user " + primary + ' ' + each.user);
    if (each.over != encryption::none)
        watcher.sentinel.emplace_back("tls-replication yes");
    for (std::size_t i = 0; i < sentinel_count; ++i)
        sentinels_.emplace_back(watcher);
    until_settled(options.replicas);
}

void redis_sentinels::until_settled(std::size_t replicas) {
    const auto in_step = [&] {
        const auto about = servers_.front().ask({"INFO", "replication"}).text;
        std::size_t count = 0;
        for (auto at = about.find("state=online"); at != std::string::npos;
             at = about.find("state=online", at + 1))
            ++count;
        return count == replicas;
    };
    const auto knows_all = [&](const redis_server& sentinel) {
        return sentinel.ask({"SENTINEL", "CKQUORUM", name}).text.starts_with("OK 3 usable") &&
               sentinel.ask({"SENTINEL", "REPLICAS", name}).items.size() == replicas;
    };
    must(cli_tests::comes_true(
             30s,
             [&] {
                 return in_step() && std::all_of(sentinels_.begin(), sentinels_.end(), knows_all);
             }),
         "the Sentinels did not find each other");
}

redis_server& redis_sentinels::primary() {
    const auto port = primary_port(sentinels_.front());
    for (auto& one : servers_)
        if (one.port() == port)
            return one;
    throw std::runtime_error{"the Sentinels name no primary of ours"};
}

std::string redis_sentinels::sentinel_addresses() const {
    std::string all;
    for (const auto& one : sentinels_)
        all += (all.empty() ? "" : ",") + one.address();
    return all;
}

std::string redis_sentinels::url() const {
    return "redis+sentinel://" + servers_.front().credentials() + sentinel_addresses() + '/' + name;
}

void redis_sentinels::fail_over() {
    const auto before = primary().port();
    // It refuses while the replica is not yet known to be good.
    must(cli_tests::comes_true(
             15s,
             [&] {
                 return sentinels_.front().ask({"SENTINEL", "FAILOVER", name}).text == "OK";
             }),
         "no fail-over was begun");
    until_primary_is_not(before);
}

void redis_sentinels::until_primary_is_not(std::uint16_t port) {
    const auto has_moved_on = [&](const redis_server& sentinel) {
        const auto now = primary_port(sentinel);
        return now != 0 && now != port && now == primary_port(sentinels_.front());
    };
    must(cli_tests::comes_true(30s,
                               [&] {
                                   return std::all_of(
                                              sentinels_.begin(), sentinels_.end(), has_moved_on) &&
                                          says_it_is_primary(primary());
                               }),
         "there was no fail-over");
}

} // namespace holdfast::servers
