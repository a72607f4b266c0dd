#include "backends/redis/listener.hpp"
#include "backends/redis/names.hpp"
#include "claims.hpp"
#include "peer.hpp"

#include <condition_variable>

using namespace std::chrono_literals;

namespace holdfast::redis::test {
namespace {

[[nodiscard]] std::string
message(const std::string& verb, const std::string& channel, const std::string& text) {
    std::string made;
    append_command(made, {verb, channel, text});
    return made;
}

using words = visitor::words;

class redis_listener : public testing::Test {
protected:
    [[nodiscard]] line_settings settings() const {
        line_settings s;
        s.where = {"127.0.0.1", peer_.port()};
        s.connect_timeout = s.silence = 5s;
        s.greet = [](std::string&) -> std::size_t { return 0; };
        s.greeted = [](std::size_t, const reply&) -> std::optional<failure> {
            return std::nullopt;
        };
        return s;
    }
    void TearDown() override { ears_.close(); }

    /// How often anybody has been woken, once it is at least this often.
    [[nodiscard]] std::size_t woken(std::size_t at_least) {
        std::unique_lock lock{guard_};
        changed_.wait_for(lock, patience, [&] { return woken_ >= at_least; });
        return woken_;
    }

    void wake() {
        const std::lock_guard lock{guard_};
        ++woken_;
        changed_.notify_all();
    }

    std::mutex guard_;
    std::condition_variable changed_;
    std::size_t woken_ = 0;
    std::vector<std::string> forced_;
    peer peer_;
    std::shared_ptr<reactor> reactor_ = std::make_shared<reactor>();
    listener ears_{reactor_,
                   settings(),
                   announcing::publish,
                   [this](const nonce&) { wake(); },
                   [](const std::string&) {},
                   [this](const std::string& key) {
                       {
                           const std::lock_guard lock{guard_};
                           forced_.push_back(key);
                       }
                       wake();
                   }};
    driver loop_{reactor_};
};

TEST_F(redis_listener, wakes_whoever_came_before_it_could_hear_and_then_at_each_message) {
    EXPECT_EQ(ears_.listen("c", nonce_of(1), boot_clock::now()), listener::missed::nothing);
    auto there = peer_.accept();
    EXPECT_EQ(there.hear(), (words{"SUBSCRIBE", std::string{force_channel}}));
    EXPECT_EQ(there.hear(), (words{"SUBSCRIBE", "c"}));
    EXPECT_FALSE(ears_.hears_of("c"));
    there.say(message("subscribe", "c", "1"));
    EXPECT_EQ(woken(1), 1U);
    EXPECT_TRUE(ears_.hears_of("c"));
    const auto before = boot_clock::now();
    there.say(message("message", "c", "0"));
    EXPECT_EQ(woken(2), 2U);
    EXPECT_EQ(ears_.listen("c", nonce_of(2), boot_clock::now()), listener::missed::nothing);
    EXPECT_EQ(ears_.listen("c", nonce_of(3), before), listener::missed::perhaps);
    ears_.stop("c", nonce_of(3), listener::keeping::warm);
    there.say(message("message", "c", "0"));
    EXPECT_EQ(woken(4), 4U) << "both";
}

TEST_F(redis_listener, of_two_ways_to_announce_hears_when_both_are_confirmed) {
    listener both{reactor_,
                  settings(),
                  announcing::both,
                  [this](const nonce&) { wake(); },
                  [](const std::string&) {},
                  [](const std::string&) {}};
    both.open();
    auto there = peer_.accept();
    (void)there.hear(); // it is open now, and says each thing once
    both.listen("c", nonce_of(1), boot_clock::now());
    EXPECT_EQ(there.hear(), (words{"SUBSCRIBE", "c"}));
    EXPECT_EQ(there.hear(), (words{"SSUBSCRIBE", "c"}));
    there.say(message("subscribe", "c", "1"));
    there.say(message("message", "c", "0"));
    EXPECT_EQ(woken(1), 1U) << "a message counts, whatever else is to come";
    EXPECT_FALSE(both.hears_of("c"));
    there.say(message("ssubscribe", "c", "1"));
    EXPECT_EQ(woken(2), 2U);
    EXPECT_TRUE(both.hears_of("c"));
    there.say(message("smessage", "c", "0"));
    EXPECT_EQ(woken(3), 3U);
    there.say(message("sunsubscribe", "c", "0"));
    EXPECT_EQ(there.hear(), (words{"SSUBSCRIBE", "c"}));
    EXPECT_FALSE(both.hears_of("c"));
    there.say("-MOVED " + std::to_string(slot_of("c")) + " 127.0.0.1:1\r\n");
    EXPECT_EQ(there.hear(), (words{"UNSUBSCRIBE", "c"})) << "the other one is of no use there";
    EXPECT_EQ(woken(4), 4U);
    both.close();
}

TEST_F(redis_listener, subscribes_again_on_a_new_connection) {
    ears_.listen("c", nonce_of(1), boot_clock::now());
    {
        auto there = peer_.accept();
        (void)there.hear();
        (void)there.hear();
        there.say(message("subscribe", "c", "1"));
        EXPECT_EQ(woken(1), 1U);
    }
    auto again = peer_.accept();
    (void)again.hear();
    EXPECT_EQ(again.hear(), (words{"SUBSCRIBE", "c"}));
    EXPECT_FALSE(ears_.hears_of("c"));
    again.say(message("subscribe", "c", "1"));
    EXPECT_EQ(woken(2), 2U) << "what was announced meanwhile may have been missed";
}

// What two threads say at once, one of them "unsubscribe", reaches the server in any order.
TEST_F(redis_listener, unsubscribed_against_its_will_it_subscribes_again) {
    ears_.listen("c", nonce_of(1), boot_clock::now());
    auto there = peer_.accept();
    (void)there.hear();
    (void)there.hear();
    there.say(message("subscribe", "c", "1") + message("unsubscribe", "c", "0"));
    EXPECT_EQ(there.hear(), (words{"SUBSCRIBE", "c"}));
    there.say(message("subscribe", "c", "1"));
    EXPECT_EQ(woken(2), 2U);
}

TEST_F(redis_listener, whose_slot_has_moved_sends_everybody_to_ask_again) {
    ears_.listen("c", nonce_of(1), boot_clock::now());
    auto there = peer_.accept();
    (void)there.hear();
    (void)there.hear();
    there.say("-MOVED " + std::to_string(slot_of("c")) + " 127.0.0.1:1\r\n");
    EXPECT_EQ(woken(1), 1U);
    ears_.listen("c", nonce_of(1), boot_clock::now()); // it has come back
    EXPECT_EQ(there.hear(), (words{"SUBSCRIBE", "c"}));
    there.say("-NOPERM no channels for you\r\n" + message("message", "c", "0"));
    EXPECT_EQ(woken(2), 2U) << "only by the message";
}

TEST_F(redis_listener, gives_up_a_channel_of_its_own_at_once_and_a_shared_one_later) {
    ears_.listen("mine", nonce_of(1), boot_clock::now());
    auto there = peer_.accept();
    (void)there.hear();
    (void)there.hear();
    ears_.listen("ours", nonce_of(1), boot_clock::now());
    auto heard = there.hear();
    if (heard == words{"SUBSCRIBE", "mine"}) // said twice, because the line opened just then
        heard = there.hear();
    EXPECT_EQ(heard, (words{"SUBSCRIBE", "ours"}));
    ears_.stop("ours", nonce_of(1), listener::keeping::warm);
    ears_.stop("mine", nonce_of(1), listener::keeping::none);
    EXPECT_EQ(there.hear(), (words{"UNSUBSCRIBE", "mine"}));
    EXPECT_FALSE(there.readable_within(50ms));
    ears_.listen("ours", nonce_of(2), boot_clock::now() + 11s);
    EXPECT_FALSE(there.readable_within(50ms)) << "it is in use again";
    ears_.stop("ours", nonce_of(2), listener::keeping::warm);
    ears_.listen("other", nonce_of(3), boot_clock::now() + 30s);
    words next = *there.hear();
    EXPECT_TRUE(next[1] == "other" || next[1] == "ours");
    next = *there.hear();
    EXPECT_TRUE(next[1] == "other" || next[1] == "ours");
}

// A name for which one lives, dies and waits again and again is one channel, and stays warm.
TEST_F(redis_listener, a_channel_that_comes_and_goes_stays_subscribed) {
    ears_.listen("c", nonce_of(1), boot_clock::now());
    auto there = peer_.accept();
    (void)there.hear();
    (void)there.hear();
    there.say(message("subscribe", "c", "1"));
    EXPECT_EQ(woken(1), 1U);
    for (int i = 0; i < 5000; ++i) {
        ears_.stop("c", nonce_of(1), listener::keeping::warm);
        ears_.listen("c", nonce_of(1), boot_clock::now());
    }
    EXPECT_FALSE(there.readable_within(50ms)) << there.hear()->at(0);
    EXPECT_TRUE(ears_.hears_of("c"));
}

TEST_F(redis_listener, survives_whatever_it_hears) {
    ears_.listen("c", nonce_of(1), boot_clock::now());
    auto there = peer_.accept();
    (void)there.hear();
    (void)there.hear();
    there.say("+OK\r\n:1\r\n$-1\r\n*0\r\n-ERR no\r\n*1\r\n$7\r\nmessage\r\n" +
              message("message", "other", "0") + message("subscribe", "other", "1") +
              message("unsubscribe", "other", "1") + "*3\r\n$7\r\nmessage\r\n:1\r\n*0\r\n" +
              message("message", std::string{force_channel}, "n"));
    EXPECT_EQ(woken(1), 1U);
    const std::lock_guard lock{guard_};
    EXPECT_EQ(forced_, (std::vector<std::string>{"n"}));
}

} // namespace
} // namespace holdfast::redis::test
