// The engine behind its seam: what a server, real or hostile, makes it tell the core.

#include "backends/redis/backend.hpp"
#include "claims.hpp"
#include "peer.hpp"
#include "servers/redis.hpp"

#include <condition_variable>
#include <map>
#include <set>

using namespace std::chrono_literals;

namespace holdfast::redis::test {
namespace {

/// Writes down what it is told.
class core_stand_in final : public backend_events {
public:
    void attempted(ticket t, attempt_answer a) override {
        note([&] { attempted_.emplace(t, std::move(a)); });
    }
    void withdrawn(ticket t, applied a) override {
        note([&] { withdrawn_.emplace(t, a); });
    }
    void released(ticket t, release_result r) override {
        note([&] { released_.emplace(t, r); });
    }
    void renewed(ticket t, std::span<const renewal_answer> all) override {
        note([&] { renewed_.emplace(t, std::vector(all.begin(), all.end())); });
    }
    void inspected(ticket t, response<std::vector<lock_info>> r) override {
        note([&] { inspected_.emplace(t, std::move(r)); });
    }
    void examined(ticket t, std::vector<finding> all) override {
        note([&] { examined_.emplace(t, std::move(all)); });
    }
    void forced(ticket, response<std::size_t>) override {}
    void woken(const nonce& n) override {
        note([&] { woken_.insert(n); });
    }
    void granted(const nonce&, const grant&) override {}
    void bond_lost(bond_id) override {}
    void grant_lost(const nonce&) override {}
    void wanted(const nonce&) override {}
    void link(link_state, std::string_view) override {}
    void notice(std::string_view) override {}

    template <class Map> [[nodiscard]] auto answer(Map core_stand_in::*which, ticket t) {
        std::unique_lock lock{guard_};
        came_.wait_for(lock, patience, [&] { return (this->*which).contains(t); });
        EXPECT_EQ((this->*which).count(t), 1U) << "each call is answered once";
        return (this->*which).at(t);
    }
    [[nodiscard]] bool wakes(const nonce& n, duration within) {
        std::unique_lock lock{guard_};
        return came_.wait_for(lock, within, [&] { return woken_.contains(n); });
    }
    void forget_wakes() {
        const std::lock_guard lock{guard_};
        woken_.clear();
    }

    std::map<ticket, attempt_answer> attempted_;
    std::map<ticket, applied> withdrawn_;
    std::map<ticket, release_result> released_;
    std::map<ticket, std::vector<renewal_answer>> renewed_;
    std::map<ticket, response<std::vector<lock_info>>> inspected_;
    std::map<ticket, std::vector<finding>> examined_;

private:
    template <class F> void note(const F& f) {
        const std::lock_guard lock{guard_};
        f();
        came_.notify_all();
    }
    std::mutex guard_;
    std::condition_variable came_;
    std::set<nonce> woken_;
};

/// One backend with somebody who drives it.
class engine {
public:
    explicit engine(options o)
        : backend_{std::move(o)}, loop_{[this] {
              while (!done_) {
                  pollfd both[] = {{backend_.descriptor(), POLLIN, 0},
                                   {backend_.background_descriptor(), POLLIN, 0}};
                  if (::poll(both, 2, 20) <= 0)
                      continue;
                  backend_.on_readable();
                  backend_.on_background();
              }
          }} {
        backend_.start(told);
    }
    ~engine() {
        backend_.close(boot_clock::now() + 100ms);
        done_ = true;
        loop_.join();
    }
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;

    [[nodiscard]] call asking(duration within = 10s) {
        const auto now = boot_clock::now();
        return {ticket{++last_}, now, now + within};
    }
    [[nodiscard]] attempt_answer
    attempt(const claim& what, joining join = joining::none, duration within = 10s) {
        const auto c = asking(within);
        backend_.attempt(c, std::make_shared<claim>(what), join);
        return told.answer(&core_stand_in::attempted_, c.ticket);
    }
    [[nodiscard]] release_result release(const claim& what, const grant& given) {
        const auto c = asking();
        backend_.release(c, std::make_shared<claim>(what), given);
        return told.answer(&core_stand_in::released_, c.ticket);
    }
    [[nodiscard]] applied withdraw(const claim& what) {
        const auto c = asking();
        backend_.withdraw(c, std::make_shared<claim>(what));
        return told.answer(&core_stand_in::withdrawn_, c.ticket);
    }
    void close(duration within) { backend_.close(boot_clock::now() + within); }
    [[nodiscard]] response<std::vector<lock_info>> inspect(const std::string& pattern) {
        const auto c = asking();
        backend_.inspect(c, pattern);
        return told.answer(&core_stand_in::inspected_, c.ticket);
    }
    [[nodiscard]] std::vector<finding> examine(duration within = 10s) {
        const auto c = asking(within);
        backend_.examine(c);
        return told.answer(&core_stand_in::examined_, c.ticket);
    }

    core_stand_in told;

private:
    redis_backend backend_;
    std::uint64_t last_ = 0;
    std::atomic<bool> done_{false};
    std::thread loop_;
};

[[nodiscard]] options at(int port) {
    options o;
    o.servers = {{"127.0.0.1", port}};
    o.quarantine = {};
    return o;
}

[[nodiscard]] const failure& failed(const attempt_answer& a) {
    static const failure none{};
    const auto* f = std::get_if<failure>(&a);
    EXPECT_NE(f, nullptr);
    return f != nullptr ? *f : none;
}

// ----------------------------------------------------------------------------- on a real server

class redis_engine : public testing::Test {
protected:
    void SetUp() override { HOLDFAST_NEEDS(servers::redis_server::missing()); }
};

// Two claims of one client on one name, such as with two ttls, meet in the engine. While others
// have been listening lately, whoever lets go lets them go first; but what if none of them comes?
TEST_F(redis_engine, its_own_release_wakes_its_own_waiters) {
    const servers::redis_server server;
    engine ours{at(server.port())}, theirs{at(server.port())};
    const auto first = claim_of("n", 1), waiting = claim_of("n", 2), other = claim_of("n", 3);
    auto held = ours.attempt(first);
    ASSERT_TRUE(std::holds_alternative<grant>(held));
    ASSERT_TRUE(std::holds_alternative<contended>(ours.attempt(waiting, joining::queue)));
    ASSERT_TRUE(std::holds_alternative<contended>(theirs.attempt(other, joining::queue)));
    ASSERT_TRUE(ours.told.wakes(waiting.nonce, 5s)) << "it can hear now";
    ASSERT_TRUE(theirs.told.wakes(other.nonce, 5s));
    ASSERT_EQ(ours.release(first, std::get<grant>(held)), release_result::released);
    EXPECT_EQ(theirs.withdraw(other), applied::no);

    const auto again = claim_of("n", 4);
    held = ours.attempt(again);
    ASSERT_TRUE(std::holds_alternative<grant>(held));
    ours.told.forget_wakes();
    ASSERT_EQ(ours.release(again, std::get<grant>(held)), release_result::released);
    EXPECT_TRUE(ours.told.wakes(waiting.nonce, 1s));
}

// Its kernel takes connections for it. What never left needs nobody to wait for it.
TEST_F(redis_engine, closing_does_not_wait_for_a_server_that_never_said_a_word) {
    servers::redis_server server;
    server.pause();
    engine ours{at(server.port())};
    EXPECT_EQ(failed(ours.attempt(claim_of("n", 1), joining::none, 100ms)).applied, applied::no);
    const auto before = boot_clock::now();
    ours.close(60s);
    EXPECT_LT(boot_clock::now() - before, 30s);
}

// ------------------------------------------------------------------------- against a played one

/// Answers a greeting as a Redis would, and then as the test says.
class played_server {
public:
    using answering = std::function<std::string(const visitor::words&)>;
    explicit played_server(answering how)
        : how_{std::move(how)}, accepting_{[this] {
              while (!done_)
                  if (peer_.called_within(10ms))
                      visits_.emplace_back([this, who = peer_.accept()]() mutable {
                          while (const auto heard = who.hear()) // until the engine is gone
                              who.say(answer_to(*heard));
                      });
          }} {}
    ~played_server() {
        done_ = true;
        accepting_.join();
        for (auto& one : visits_)
            one.join();
    }
    played_server(const played_server&) = delete;
    played_server& operator=(const played_server&) = delete;
    [[nodiscard]] int port() const { return peer_.port(); }

private:
    [[nodiscard]] std::string answer_to(const visitor::words& asked) const {
        if (const auto said = how_(asked); !said.empty())
            return said == "silence" ? "" : said;
        if (asked.at(0) == "TIME")
            return "*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n";
        if (asked.at(0) == "ROLE")
            return "*1\r\n$6\r\nmaster\r\n";
        if (asked.at(0) == "SET" || asked.at(0) == "CLIENT" || asked.at(0) == "DEL")
            return "+OK\r\n";
        return "$-1\r\n";
    }
    const answering how_;
    peer peer_;
    std::atomic<bool> done_{false};
    std::vector<std::thread> visits_;
    std::thread accepting_;
};

TEST(redis_engine_played, a_grant_is_believed_only_if_it_makes_sense) {
    std::string said = "*2\r\n:1\r\n$16\r\n1700000000000001\r\n";
    std::mutex guard;
    const played_server server{[&](const auto& asked) {
        const std::lock_guard lock{guard};
        return asked.at(0) == "EVALSHA" ? said : std::string{};
    }};
    engine ours{at(server.port())};
    EXPECT_TRUE(std::holds_alternative<grant>(ours.attempt(claim_of("n", 1))));
    for (const char* const odd :
         {"*2\r\n:1\r\n:-1\r\n", "+OK\r\n", "*2\r\n:1\r\n$1\r\nx\r\n", "*0\r\n"}) {
        {
            const std::lock_guard lock{guard};
            said = odd;
        }
        EXPECT_EQ(failed(ours.attempt(claim_of("n", 2))).applied, applied::maybe) << odd;
    }
}

TEST(redis_engine_played, an_inspection_survives_keys_that_nobody_asked_for) {
    const played_server server{[](const auto& asked) -> std::string {
        if (asked.at(0) == "SCAN")
            return "*2\r\n$1\r\n0\r\n*5\r\n$0\r\n\r\n$1\r\n{\r\n$9\r\n}:timeout\r\n$"
                   "8\r\nholdfast\r\n:7\r\n";
        return {};
    }};
    engine ours{at(server.port())};
    EXPECT_TRUE(ours.inspect("*"));
}

TEST(redis_engine_played, an_inspection_of_a_walk_without_end_ends_in_time) {
    const played_server server{[](const auto& asked) -> std::string {
        return asked.at(0) == "SCAN" ? "*2\r\n$1\r\n7\r\n*0\r\n" : "";
    }};
    engine ours{at(server.port())};
    const auto before = boot_clock::now();
    (void)ours.examine(1s);
    EXPECT_LT(boot_clock::now() - before, 20s);
}

// The replicas never say that they have it. Who asked has to hear by the time that he gave.
TEST(redis_engine_played, nobody_waits_longer_for_replicas_than_he_said) {
    const played_server server{[](const auto& asked) -> std::string {
        if (asked.at(0) == "EVALSHA")
            return asked.at(1) == all_scripts().take.sha ? "*2\r\n:1\r\n$16\r\n1700000000000001\r\n"
                                                         : ":1\r\n";
        return asked.at(0) == "WAIT" ? "silence" : "";
    }};
    auto o = at(server.port());
    o.acknowledge = 1;
    o.acknowledge_within = 60s;
    engine ours{o};
    const auto before = boot_clock::now();
    (void)failed(ours.attempt(claim_of("n"), joining::none, 300ms));
    EXPECT_LT(boot_clock::now() - before, 20s);
}

TEST(redis_engine_played, too_many_clients_is_no_wrong_password) {
    const played_server server{
        [](const auto&) { return "-ERR max number of clients reached\r\n"; }};
    for (const char* const password : {"", "secret"}) {
        auto o = at(server.port());
        o.password = password;
        engine ours{o};
        const auto why = failed(ours.attempt(claim_of("n")));
        EXPECT_EQ(why.code, make_error_code(errc::backend_unavailable)) << why.detail;
        EXPECT_NE(why.detail.find("too many clients"), std::string::npos) << why.detail;
    }
}

TEST(redis_engine_played, no_password_is_in_any_message) {
    const played_server server{[](const auto& asked) -> std::string {
        return asked.at(0) == "AUTH" ? "-ERR unknown command 'AUTH', with args: 'hunter2'\r\n" : "";
    }};
    auto o = at(server.port());
    o.password = "hunter2";
    engine ours{o};
    const auto why = failed(ours.attempt(claim_of("n")));
    EXPECT_EQ(why.code, make_error_code(errc::backend_refused));
    EXPECT_EQ(why.detail.find("hunter2"), std::string::npos) << why.detail;
    for (const auto& one : ours.examine())
        EXPECT_EQ(one.what.find("hunter2"), std::string::npos) << one.what;
}

} // namespace
} // namespace holdfast::redis::test
