// The engine `redis` in all its other forms: over TLS, through a Unix socket, as a user with a
// password, behind Sentinels, in a cluster, and in the plain layout. For ./dev prove: one form is
// enough for ./dev test.

#include "backends/redis/url.hpp"
#include "conformance/engine.hpp"
#include "servers/certificates.hpp"
#include "servers/redis.hpp"
#include "servers/redis_cluster.hpp"
#include "servers/redis_sentinels.hpp"

#include <holdfast/quorum.hpp>
#include <holdfast/redis.hpp>

#include <atomic>
#include <cstdlib>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::conformance {
namespace {

using servers::durability;
using servers::redis_options;

[[nodiscard]] std::unique_ptr<backend> backend_at(const std::string& url) {
    const auto colon = url.find(':');
    return redis::make(redis::options_of(url.substr(0, colon), url.substr(colon + 1)));
}

/// Names of its own on servers that all tests share: starting a cluster takes seconds.
class shared_place final : public place {
public:
    explicit shared_place(const std::string& url)
        : url_{url + (url.find('?') == std::string::npos ? '?' : '&') +
               "prefix=" + std::to_string(++places) + "/"} {}
    std::unique_ptr<backend> connect() override { return backend_at(url_); }
    std::string url() const override { return url_; }

private:
    static inline std::atomic<int> places = 0;
    const std::string url_;
};

[[nodiscard]] redis_options remembers_all(redis_options o = {}) {
    o.data = durability::append_only;
    o.settings.emplace_back("appendfsync always");
    return o;
}

[[nodiscard]] capabilities all_of_it() {
    return {.engine = "redis",
            .reach = reach::network,
            .shared = true,
            .permits = true,
            .fair = true,
            .lock_delay = true,
            .fence_per_pass = true,
            .raises_fences = true,
            .fences = fence_grade::hybrid,
            .wake = wake_by::hint,
            .assumptions = 7};
}

[[nodiscard]] capabilities of_one_string() {
    return {.engine = "redis",
            .reach = reach::network,
            .lock_delay = true,
            .fences = fence_grade::transient,
            .wake = wake_by::polling,
            .assumptions = 7};
}

std::unique_ptr<place> over_tls() {
    static servers::redis_server server{remembers_all({.over = servers::encryption::mutual_tls})};
    const auto& files = servers::our_certificates();
    return std::make_unique<shared_place>(server.url() + "?ca=" + files.authority +
                                          "&cert=" + files.client + "&key=" + files.client_key);
}

std::unique_ptr<place> through_a_socket() {
    static servers::redis_server server{remembers_all()};
    return std::make_unique<shared_place>("redis+unix://" + server.unix_socket());
}

std::unique_ptr<place> as_a_user() {
    static servers::redis_server server{
        remembers_all({.password = "p@ss/word:", .user = "keeper"})};
    return std::make_unique<shared_place>(server.url());
}

std::unique_ptr<place> behind_sentinels() {
    static servers::redis_sentinels all{{.each = remembers_all()}};
    return std::make_unique<shared_place>(all.url() + "?acknowledge=1");
}

std::unique_ptr<place> in_a_cluster() {
    static servers::redis_cluster all{remembers_all()};
    return std::make_unique<shared_place>(all.url());
}

std::unique_ptr<place> in_one_string() {
    static servers::redis_server server{remembers_all()};
    return std::make_unique<shared_place>(server.url() + "?layout=plain");
}

/// Five servers, and a majority of them is enough.
class quorum_place final : public place {
public:
    explicit quorum_place(std::vector<std::string> members) : members_{std::move(members)} {}
    std::unique_ptr<backend> connect() override {
        std::vector<std::unique_ptr<backend>> members;
        for (const auto& one : members_)
            members.push_back(backend_at(one));
        return quorum::make(std::move(members));
    }
    std::string url() const override {
        std::string all = "quorum:";
        for (const auto& one : members_)
            all += (all.back() == ':' ? "" : ",") + one;
        return all;
    }

private:
    const std::vector<std::string> members_;
};

std::unique_ptr<place> in_a_quorum() {
    static std::deque<servers::redis_server> five;
    static int places = 0;
    while (five.size() < 5)
        five.emplace_back(remembers_all());
    ++places;
    std::vector<std::string> members;
    for (const auto& one : five)
        members.push_back(one.url() + "?prefix=" + std::to_string(places) + "/");
    return std::make_unique<quorum_place>(std::move(members));
}

[[nodiscard]] capabilities of_a_quorum() {
    return {.engine = "quorum",
            .reach = reach::network,
            .lock_delay = true,
            .fences = fence_grade::hybrid,
            .wake = wake_by::polling,
            .assumptions = 7};
}

bool add_form(const engine_under_test& form) {
    return is_asked_for(form.called) && !servers::redis_server::missing() && add(form);
}

bool add_all() {
    const auto all = all_of_it();
    bool any = add_form({.promises = all, .called = "redis_tls", .make_place = over_tls});
    any |= add_form({.promises = all, .called = "redis_unix", .make_place = through_a_socket});
    any |= add_form({.promises = all, .called = "redis_acl", .make_place = as_a_user});
    any |= add_form({.promises = all, .called = "redis_sentinel", .make_place = behind_sentinels});
    any |= add_form({.promises = all, .called = "redis_cluster", .make_place = in_a_cluster});
    any |= add_form(
        {.promises = of_one_string(), .called = "redis_plain", .make_place = in_one_string});
    any |=
        add_form({.promises = of_a_quorum(), .called = "redis_quorum", .make_place = in_a_quorum});
    return any;
}

[[maybe_unused]] const bool added = add_all();

} // namespace
} // namespace holdfast::conformance
