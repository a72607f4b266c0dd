#include "backends/redis/line.hpp"
#include "peer.hpp"

#include <condition_variable>
#include <mutex>
#include <set>

using namespace std::chrono_literals;

namespace holdfast::redis::test {
namespace {

/// What came of one request.
struct answer {
    bool failed = false;
    errc code{};
    applied effect{};
    std::string text;
};

class answers {
public:
    [[nodiscard]] on_answer of(int which) {
        return [this, which](const reply& r, const failure* f) { put(which, r, f); };
    }
    void put(int which, const reply& r, const failure* f) {
        const std::lock_guard lock{guard_};
        all_.emplace_back(which,
                          f != nullptr ? answer{true, {}, f->applied, f->detail}
                                       : answer{false, {}, {}, std::string{r.text()}});
        came_.notify_all();
    }
    [[nodiscard]] std::vector<std::pair<int, answer>> wait_for(std::size_t count) {
        std::unique_lock lock{guard_};
        came_.wait_for(lock, patience, [&] { return all_.size() >= count; });
        return all_;
    }
    [[nodiscard]] std::size_t count() {
        const std::lock_guard lock{guard_};
        return all_.size();
    }

private:
    std::mutex guard_;
    std::condition_variable came_;
    std::vector<std::pair<int, answer>> all_;
};

[[nodiscard]] line_settings to(int port) {
    line_settings s;
    s.where = {"127.0.0.1", port};
    s.connect_timeout = 2s;
    s.silence = 10s;
    s.greet = [](std::string&) -> std::size_t { return 0; };
    s.greeted = [](std::size_t, const reply&) -> std::optional<failure> { return std::nullopt; };
    return s;
}

[[nodiscard]] std::string ping(const std::string& word) {
    std::string bytes;
    append_command(bytes, {"PING", word});
    return bytes;
}

[[nodiscard]] std::string bulk(const std::string& text) {
    return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

class redis_line : public testing::Test {
protected:
    [[nodiscard]] std::shared_ptr<line> make(line_settings s) {
        auto made = line::make(reactor_, std::move(s));
        lines_.push_back(made);
        return made;
    }
    void TearDown() override {
        for (const auto& one : lines_)
            one->close();
    }
    [[nodiscard]] static instant in(duration d) { return boot_clock::now() + d; }

    answers came_;
    std::vector<std::shared_ptr<line>> lines_;
    std::shared_ptr<reactor> reactor_ = std::make_shared<reactor>();
    driver loop_{reactor_};
    peer peer_;
};

TEST_F(redis_line, gives_each_the_answer_to_its_question) {
    const auto to_peer = make(to(peer_.port()));
    for (int i = 0; i < 3; ++i)
        to_peer->ask(ping(std::to_string(i)), in(10s), came_.of(i));
    auto there = peer_.accept();
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(there.hear()->at(1), std::to_string(i));
    there.say(bulk("zero") + "-ERR one\r\n" + bulk("two"));
    const auto all = came_.wait_for(3);
    ASSERT_EQ(all.size(), 3U);
    const char* const texts[] = {"zero", "ERR one", "two"};
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(all[i].first, static_cast<int>(i));
        EXPECT_FALSE(all[i].second.failed);
        EXPECT_EQ(all[i].second.text, texts[i]);
    }
    EXPECT_TRUE(to_peer->settled());
}

TEST_F(redis_line, puts_together_an_answer_that_comes_byte_by_byte) {
    const auto to_peer = make(to(peer_.port()));
    to_peer->ask(ping("x"), in(10s), came_.of(0));
    auto there = peer_.accept();
    (void)there.hear();
    for (const char byte : bulk("whole"))
        there.say({&byte, 1});
    EXPECT_EQ(came_.wait_for(1).at(0).second.text, "whole");
}

TEST_F(redis_line, skips_the_answers_that_interest_nobody) {
    const auto to_peer = make(to(peer_.port()));
    to_peer->ask(ping("a") + ping("b"), in(10s), came_.of(0), 1);
    to_peer->ask(ping("c"), in(10s), came_.of(1));
    auto there = peer_.accept();
    there.say(bulk("a") + bulk("b") + bulk("c"));
    const auto all = came_.wait_for(2);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].second.text, "b");
    EXPECT_EQ(all[1].second.text, "c");
}

class redis_line_under_load : public redis_line {
protected:
    static constexpr std::size_t many = 5000;

    void SetUp() override {
        reactor_->watched(true);
        there_->say(bulk("hello")); // how long an answer takes is known from now on
        ASSERT_EQ(came_.wait_for(1).size(), 1U);
        (void)there_->hear();
        for (std::size_t i = 0; i < many; ++i)
            line_->ask(ping("x"), in(60s), came_.of(0));
    }

    [[nodiscard]] std::unique_ptr<visitor> call() {
        line_->ask(ping("x"), in(60s), came_.of(0));
        return std::make_unique<visitor>(peer_.accept());
    }

    std::shared_ptr<line> line_ = make(to(peer_.port()));
    std::unique_ptr<visitor> there_ = call();
};

TEST_F(redis_line_under_load, what_is_asked_gathers_until_an_answer_comes) {
    std::size_t heard = there_->hear_until_silence(100ms);
    EXPECT_LT(heard, many);
    int answers = 0;
    auto to_answer = heard;
    for (int tries = 0; heard < many && tries < 100; ++tries) {
        std::string all;
        for (std::size_t i = 0; i < to_answer; ++i)
            all += bulk("x");
        there_->say(all);
        answers += to_answer > 0 ? 1 : 0;
        to_answer = there_->hear_until_silence(100ms);
        heard += to_answer;
    }
    for (std::size_t i = 0; i < to_answer; ++i)
        there_->say(bulk("x"));
    EXPECT_EQ(heard, many);
    EXPECT_EQ(came_.wait_for(many + 1).size(), many + 1);
    EXPECT_LT(answers, 10) << "what has gathered goes out together";
}

TEST_F(redis_line_under_load, what_has_gathered_goes_out_when_nobody_watches_any_more) {
    const auto heard = there_->hear_until_silence(100ms);
    EXPECT_LT(heard, many);
    reactor_->watched(false);
    EXPECT_EQ(heard + there_->hear_until_silence(100ms), many);
    line_->ask(ping("y"), in(60s), came_.of(0));
    EXPECT_EQ(there_->hear()->at(1), "y") << "and nothing gathers while nobody does";
}

TEST_F(redis_line, cut_in_the_middle_of_an_answer_nobody_knows_what_was_done) {
    const auto to_peer = make(to(peer_.port()));
    to_peer->ask(ping("a"), in(10s), came_.of(0));
    to_peer->ask(ping("b"), in(10s), came_.of(1));
    {
        auto there = peer_.accept();
        (void)there.hear();
        (void)there.hear();
        there.say(bulk("a") + "$5\r\nhal");
    }
    const auto all = came_.wait_for(2);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].second.text, "a");
    EXPECT_TRUE(all[1].second.failed);
    EXPECT_EQ(all[1].second.effect, applied::maybe);
}

TEST_F(redis_line, connection_refused_means_that_nothing_was_done) {
    auto s = to(deaf_port());
    s.connect_timeout = 60s; // much longer than the answer takes
    const auto nowhere = make(std::move(s));
    nowhere->ask(ping("a"), in(60s), came_.of(0));
    const auto all = came_.wait_for(1);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_TRUE(all[0].second.failed);
    EXPECT_EQ(all[0].second.effect, applied::no);
    EXPECT_NE(all[0].second.text.find("refused"), std::string::npos) << all[0].second.text;
}

TEST_F(redis_line, a_host_that_is_not_found_is_named) {
    auto s = to(6379);
    s.where.host = "no-such-host.invalid";
    const auto nowhere = make(std::move(s));
    nowhere->ask(ping("a"), in(10s), came_.of(0));
    const auto all = came_.wait_for(1);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].second.effect, applied::no);
    EXPECT_NE(all[0].second.text.find("no-such-host.invalid"), std::string::npos);
}

TEST_F(redis_line, a_name_is_resolved_like_a_number) {
    auto s = to(peer_.port());
    s.where.host = "localhost";
    const auto to_peer = make(std::move(s));
    to_peer->ask(ping("a"), in(10s), came_.of(0));
    auto there = peer_.accept();
    (void)there.hear();
    there.say(bulk("found"));
    EXPECT_EQ(came_.wait_for(1).at(0).second.text, "found");
}

TEST_F(redis_line, what_waits_for_a_server_is_on_its_way_only_if_it_was_there_before) {
    auto s = to(peer_.port());
    s.greet = [](std::string& out) -> std::size_t {
        out += ping("hello");
        return 1;
    };
    s.broken = [&](const failure& why) { came_.put(2, {}, &why); };
    const auto to_peer = make(std::move(s));
    to_peer->ask(ping("x"), in(60s), came_.of(0));
    auto there = peer_.accept();
    EXPECT_EQ(there.hear()->at(1), "hello");
    EXPECT_TRUE(to_peer->settled()) << "nothing can have been granted there";
    there.say(bulk("hello"));
    EXPECT_EQ(there.hear()->at(1), "x");
    EXPECT_FALSE(to_peer->settled());
    there.say(bulk("x"));
    ASSERT_EQ(came_.wait_for(1).size(), 1U);
    EXPECT_TRUE(to_peer->settled());

    there.hang_up();
    ASSERT_EQ(came_.wait_for(2).back().first, 2);
    const auto until = in(20s);
    do
        to_peer->ask(ping("y"), in(60s), came_.of(1)); // refused until the pause is over
    while (to_peer->settled() && boot_clock::now() < until);
    EXPECT_FALSE(to_peer->settled()) << "it may be a release";
}

TEST_F(redis_line, nobody_waits_longer_than_he_said) {
    const auto to_peer = make(to(peer_.port()));
    const auto asked = boot_clock::now();
    to_peer->ask(ping("a"), in(100ms), came_.of(0));
    to_peer->ask(ping("b"), in(10s), came_.of(1));
    auto there = peer_.accept();
    (void)there.hear();
    (void)there.hear();
    const auto late = came_.wait_for(1);
    ASSERT_EQ(late.size(), 1U);
    EXPECT_EQ(late[0].first, 0);
    EXPECT_EQ(late[0].second.effect, applied::maybe);
    EXPECT_LT(boot_clock::now() - asked, 5s);
    there.say(bulk("a") + bulk("b")); // the late answer belongs to nobody
    const auto all = came_.wait_for(2);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[1].first, 1);
    EXPECT_EQ(all[1].second.text, "b");
}

TEST_F(redis_line, who_waits_for_a_connection_is_told_in_time_that_nothing_was_sent) {
    auto s = to(peer_.port());
    s.greet = [](std::string& out) -> std::size_t {
        append_command(out, {"HELLO"});
        return 1;
    };
    const auto to_peer = make(std::move(s));
    to_peer->ask(ping("a"), in(100ms), came_.of(0));
    auto there = peer_.accept(); // and says nothing
    const auto all = came_.wait_for(1);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].second.effect, applied::no);
}

TEST_F(redis_line, whose_time_ends_during_a_new_attempt_is_told_how_the_last_one_ended) {
    auto s = to(peer_.port());
    s.greet = [](std::string& out) -> std::size_t {
        append_command(out, {"HELLO"});
        return 1;
    };
    const auto to_peer = make(std::move(s));
    to_peer->ask(ping("a"), in(10s), came_.of(0));
    (void)peer_.accept().hear(); // and hangs up
    ASSERT_EQ(came_.wait_for(1).size(), 1U);
    to_peer->ask(ping("b"), in(100ms), came_.of(1));
    auto there = peer_.accept(); // and says nothing
    const auto all = came_.wait_for(2);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[1].second.effect, applied::no);
    EXPECT_NE(all[1].second.text.find("was cut"), std::string::npos) << all[1].second.text;
    there.say("+OK\r\n");
    to_peer->ask(ping("c"), in(10s), came_.of(2));
    while (there.hear().value().front() != "PING") { // HELLO
    }
    there.say(bulk("c"));
    EXPECT_EQ(came_.wait_for(3).at(2).second.text, "c");
    to_peer->ask(ping("d"), in(100ms), came_.of(3));
    EXPECT_NE(came_.wait_for(4).at(3).second.text.find("no answer in time"), std::string::npos);
}

TEST_F(redis_line, a_server_that_has_fallen_silent_is_left) {
    auto s = to(peer_.port());
    s.silence = 150ms;
    const auto to_peer = make(std::move(s));
    to_peer->ask(ping("a"), in(10s), came_.of(0));
    auto there = peer_.accept();
    (void)there.hear();
    const auto all = came_.wait_for(1);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_NE(all[0].second.text.find("silent"), std::string::npos);
    EXPECT_EQ(all[0].second.effect, applied::maybe);
    EXPECT_EQ(there.hear(), std::nullopt) << "the connection is given up";
    to_peer->ask(ping("b"), in(10s), came_.of(1));
    auto again = peer_.accept();
    (void)again.hear();
    again.say(bulk("b"));
    EXPECT_EQ(came_.wait_for(2).at(1).second.text, "b");
}

TEST_F(redis_line, an_answer_that_nobody_asked_for_ends_the_connection) {
    const auto to_peer = make(to(peer_.port()));
    to_peer->ask(ping("a"), in(10s), came_.of(0));
    auto there = peer_.accept();
    (void)there.hear();
    there.say(bulk("a") + bulk("b"));
    EXPECT_EQ(there.hear(), std::nullopt);
    EXPECT_EQ(came_.count(), 1U);
}

TEST_F(redis_line, nonsense_ends_the_connection) {
    for (const char* const said : {"HTTP/1.1 400 Bad Request\r\n\r\n",
                                   "\x15\x03\x01\x00\x02\x02\x46",
                                   "$-7\r\nx\r\n",
                                   "*2000000000\r\n",
                                   ":12x\r\n"}) {
        answers came;
        const auto to_peer = make(to(peer_.port()));
        to_peer->ask(ping("a"), in(10s), came.of(0));
        auto there = peer_.accept();
        (void)there.hear();
        there.say(said);
        const auto all = came.wait_for(1);
        ASSERT_EQ(all.size(), 1U) << said;
        EXPECT_TRUE(all[0].second.failed) << said;
        EXPECT_EQ(all[0].second.effect, applied::maybe) << said;
        EXPECT_EQ(there.hear(), std::nullopt) << said;
    }
}

TEST_F(redis_line, a_greeting_that_is_refused_is_the_answer) {
    auto s = to(peer_.port());
    s.greet = [](std::string& out) -> std::size_t {
        append_command(out, {"AUTH", "secret"});
        return 1;
    };
    s.greeted = [](std::size_t, const reply& r) -> std::optional<failure> {
        if (r.is_error())
            return failure{errc::backend_refused, applied::no, "refused"};
        return std::nullopt;
    };
    const auto to_peer = make(std::move(s));
    to_peer->ask(ping("a"), in(10s), came_.of(0));
    auto there = peer_.accept();
    (void)there.hear();
    there.say("-WRONGPASS no\r\n");
    const auto all = came_.wait_for(1);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].second.text, "refused");
    EXPECT_EQ(all[0].second.effect, applied::no);
}

// Somebody who hears that the old primary is gone asks again in the same breath.
TEST_F(redis_line, moved_to_another_address_it_never_calls_the_old_one_again) {
    peer other;
    const auto moving = make(to(peer_.port()));
    moving->ask(ping("a"), in(10s), [&](const reply& r, const failure* f) {
        came_.put(0, r, f);
        moving->ask(ping("b"), in(10s), came_.of(1));
    });
    auto there = peer_.accept();
    (void)there.hear();
    moving->move_to({"127.0.0.1", other.port()});
    auto now = other.accept();
    EXPECT_EQ(now.hear()->at(1), "b");
    now.say(bulk("b"));
    const auto all = came_.wait_for(2);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].second.effect, applied::maybe);
    EXPECT_EQ(all[1].second.text, "b");
    EXPECT_FALSE(peer_.called_within(50ms));
}

TEST_F(redis_line, closed_it_says_so_and_tells_nobody_anything) {
    std::atomic<int> told{0};
    auto s = to(peer_.port());
    s.connect_timeout = 100ms;
    s.greet = [](std::string& out) -> std::size_t {
        append_command(out, {"HELLO"});
        return 1;
    };
    s.broken = [&](const failure&) { ++told; };
    const auto to_peer = make(std::move(s));
    to_peer->ask(ping("a"), in(150ms), [&](const reply&, const failure*) { ++told; });
    auto there = peer_.accept();
    (void)there.hear();
    to_peer->close();
    EXPECT_EQ(there.hear(), std::nullopt);
    // Another line's time passes after all of the closed one's.
    const auto other = make(to(peer_.port()));
    other->ask(ping("b"), in(300ms), came_.of(0));
    auto its = peer_.accept();
    EXPECT_EQ(came_.wait_for(1).size(), 1U);
    EXPECT_EQ(told, 0);
    to_peer->ask(ping("c"), in(1s), came_.of(1));
    EXPECT_EQ(came_.wait_for(2).at(1).second.effect, applied::no);
}

/// Keeps something that closes the line when nobody else needs it: as a server that was forgotten.
[[nodiscard]] on_answer last_to_need(const std::shared_ptr<line>& which, on_answer done) {
    const std::shared_ptr<line> owner{which.get(), [which](line* one) { one->close(); }};
    return [owner, done = std::move(done)](const reply& r, const failure* f) { done(r, f); };
}

TEST_F(redis_line, the_last_who_needs_it_may_be_one_whom_it_fails) {
    const auto cut = make(to(peer_.port()));
    cut->ask(ping("a"), in(10s), last_to_need(cut, came_.of(0)));
    (void)peer_.accept().hear(); // and hangs up
    EXPECT_EQ(came_.wait_for(1).size(), 1U);
    const auto refused = make(to(deaf_port()));
    refused->ask(ping("b"), in(10s), last_to_need(refused, came_.of(1)));
    EXPECT_EQ(came_.wait_for(2).size(), 2U);
    const auto late = make(to(peer_.port()));
    late->ask(ping("c"), in(100ms), last_to_need(late, came_.of(2)));
    auto there = peer_.accept(); // and says nothing
    EXPECT_EQ(came_.wait_for(3).size(), 3U);
    EXPECT_EQ(there.hear().value().at(1), "c");
    EXPECT_EQ(there.hear(), std::nullopt) << "it was not closed";
}

// Such as one with too many clients, which says so and hangs up.
TEST_F(redis_line, whoever_hangs_up_at_once_is_not_called_in_a_hurry) {
    auto s = to(peer_.port());
    s.stays_open = true;
    s.heard = [](const reply&) {};
    const auto ears = make(std::move(s));
    ears->open_now();
    int calls = 0;
    for (const auto until = in(500ms); boot_clock::now() < until;)
        if (peer_.called_within(10ms)) {
            (void)peer_.accept();
            ++calls;
        }
    EXPECT_GE(calls, 2);
    EXPECT_LE(calls, 20);
}

TEST_F(redis_line, many_threads_ask_at_once_and_each_gets_its_own) {
    const auto to_peer = make(to(peer_.port()));
    constexpr int threads = 6, each = 300;
    std::atomic<int> right{0}, wrong{0};
    std::thread server{[&] {
        auto there = peer_.accept();
        for (int i = 0; i < threads * each; ++i) {
            const auto heard = there.hear();
            if (!heard)
                return;
            there.say(bulk(heard->at(1)));
        }
    }};
    std::vector<std::thread> askers;
    for (int t = 0; t < threads; ++t)
        askers.emplace_back([&, t] {
            for (int i = 0; i < each; ++i) {
                const auto word = std::to_string(t) + "." + std::to_string(i);
                to_peer->ask(ping(word), in(patience), [&, word](const reply& r, const failure* f) {
                    ++(f == nullptr && r.text() == word ? right : wrong);
                });
                if (i % 7 == t % 7)
                    reactor_->dispatch(); // who waits, drives
            }
        });
    for (auto& one : askers)
        one.join();
    server.join();
    for (const auto until = in(patience);
         right + wrong < threads * each && boot_clock::now() < until;)
        std::this_thread::yield();
    EXPECT_EQ(right, threads * each);
    EXPECT_EQ(wrong, 0);
}

// The server carries out whatever reached it whole. Nobody may be told that it did not.
TEST_F(redis_line, cut_at_any_moment_what_was_carried_out_is_never_denied) {
    std::set<std::string> done; // by the peer
    std::mutex guard;
    std::atomic<bool> over{false};
    std::thread server{[&] {
        while (!over) {
            if (!peer_.called_within(20ms))
                continue;
            auto there = peer_.accept();
            for (int i = 0; i < 5; ++i) {
                const auto heard = there.hear();
                if (!heard)
                    break;
                const std::lock_guard lock{guard};
                done.insert(heard->at(1));
            }
        }
    }};
    const auto to_peer = make(to(peer_.port()));
    std::set<std::string> denied;
    std::atomic<int> answered{0};
    constexpr int threads = 3, each = 400;
    std::vector<std::thread> askers;
    for (int t = 0; t < threads; ++t)
        askers.emplace_back([&, t] {
            for (int i = 0; i < each; ++i) {
                const auto word = std::to_string(t) + "." + std::to_string(i);
                to_peer->ask(ping(word), in(2s), [&, word](const reply&, const failure* f) {
                    if (f != nullptr && f->applied == applied::no) {
                        const std::lock_guard lock{guard};
                        denied.insert(word);
                    }
                    ++answered;
                });
                if (i % 3 == 0)
                    std::this_thread::yield();
            }
        });
    for (auto& one : askers)
        one.join();
    for (const auto until = in(patience); answered < threads * each && boot_clock::now() < until;)
        std::this_thread::yield();
    over = true;
    to_peer->close();
    server.join();
    EXPECT_EQ(answered, threads * each);
    for (const auto& word : denied)
        EXPECT_FALSE(done.contains(word)) << word;
}

} // namespace
} // namespace holdfast::redis::test
