// After the same steps in Java and in C++ the server contains the same.
//
// Apart from what only we write: the fence of each lock, who we are, that we know the server, and
// that a writer waits.
// And apart from who holds, how often, and Redisson's notes about its own unlocking.

#include "interop/both.hpp"

#include <deque>
#include <utility>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

class both_look_alike : public with_both {
protected:
    /// The dump, without what may differ.
    [[nodiscard]] std::string looks() const {
        return anonymous(dump(*server),
                         {"redisson_lock_token:",
                          "holdfast_canary",
                          "holdfast_client:",
                          "holdfast_writer_waits:",
                          "redisson_unlock_latch:"});
    }

    using steps = std::vector<std::string>;

    /// Each step is done, or begun if it is to wait; then it is looked at what is there.
    void compare(const steps& all) {
        const auto by_java = pictures(*java, all, {});
        const auto by_us = pictures(*ours, all, by_java);
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (is_compared(all[i])) {
                EXPECT_EQ(by_java[i], by_us[i]) << "after " << all[i];
            }
        }
    }

private:
    [[nodiscard]] static bool is_compared(const std::string& step) {
        return step.find(" set ") == std::string::npos; // we write that with the first permit
    }

    [[nodiscard]] std::vector<std::string>
    pictures(peer& who, const steps& all, const std::vector<std::string>& expected) {
        server->ask({"FLUSHALL"});
        std::vector<std::string> seen;
        std::deque<peer::ticket> waiting;
        for (const auto& step : all) {
            if (step.starts_with("(waits) ")) {
                waiting.push_back(who.begin(step.substr(8)));
                EXPECT_FALSE(who.has_answered(waiting.back(), 200ms)) << step;
            } else {
                auto words = step;
                if (const auto at = words.find("PERMIT"); at != std::string::npos)
                    words.replace(at, 6, last_permit_);
                const auto answer = who.ask(words);
                if (words.find(" acquire ") != std::string::npos)
                    last_permit_ = answer;
                if (words.starts_with("unlock") && !waiting.empty()) { // it is the next one's turn
                    EXPECT_NO_THROW(who.end(waiting.front(), 20s)) << step;
                    waiting.pop_front();
                }
            }
            const bool knows = seen.size() < expected.size() && is_compared(step);
            seen.push_back(knows ? once_like(expected[seen.size()]) : at_rest());
        }
        return seen;
    }

    /// Redisson cleans up behind its answer; nothing else changes by itself.
    [[nodiscard]] std::string at_rest() const {
        auto now = looks();
        static_cast<void>(cli_tests::comes_true(300ms, [&] {
            auto later = looks();
            return std::exchange(now, later) != later;
        }));
        return now;
    }
    [[nodiscard]] std::string once_like(const std::string& expected) const {
        std::string now;
        static_cast<void>(cli_tests::comes_true(3s, [&] {
            now = looks();
            return now == expected;
        }));
        return now;
    }

    std::string last_permit_;
};

INSTANTIATE_TEST_SUITE_P(real,
                         both_look_alike,
                         ::testing::ValuesIn(redisson_versions_to_test()),
                         version_as_name);

TEST_P(both_look_alike, plain) {
    compare({"lock c1 h1 plain orders 28000",
             "unlock c1 h1 plain orders",
             "lock c1 h1 plain orders", // 30 s, renewed
             "(waits) lock c2 h1 plain orders 58000",
             "unlock c1 h1 plain orders",
             "unlock c2 h1 plain orders"});
}

TEST_P(both_look_alike, names_with_braces) {
    compare({"lock c1 h1 plain a{b}c 28000",
             "lock c1 h1 read x{y}z 28000",
             "lock c1 h1 fair {t} 28000",
             "unlock c1 h1 plain a{b}c",
             "unlock c1 h1 read x{y}z",
             "unlock c1 h1 fair {t}"});
}

TEST_P(both_look_alike, fenced) {
    compare({"lock c1 h1 fenced orders", "unlock c1 h1 fenced orders"});
}

TEST_P(both_look_alike, fair) {
    compare({"lock c1 h1 fair orders 28000",
             "(waits) trylock c2 h1 fair orders 28000 28000",
             "(waits) trylock c2 h2 fair orders 28000 28000",
             "unlock c1 h1 fair orders",
             "unlock c2 h1 fair orders",
             "unlock c2 h2 fair orders"});
}

TEST_P(both_look_alike, reading_and_writing) {
    compare({"lock c1 h1 read orders 28000",
             "lock c2 h1 read orders 58000",
             "unlock c1 h1 read orders",
             "unlock c2 h1 read orders",
             "lock c2 h1 read orders 58000",
             "lock c1 h1 read orders 28000",
             "unlock c2 h1 read orders", // the longest goes: the others' time counts
             "unlock c1 h1 read orders",
             "lock c1 h1 write orders 28000",
             "unlock c1 h1 write orders",
             "lock c1 h1 write orders",
             "unlock c1 h1 write orders"});
}

TEST_P(both_look_alike, while_somebody_waits_to_read_or_write) {
    compare({"lock c1 h1 read orders 28000",
             "(waits) lock c2 h1 write orders 58000",
             "unlock c1 h1 read orders",
             "(waits) lock c1 h1 read orders 28000",
             "unlock c2 h1 write orders",
             "unlock c1 h1 read orders",
             "lock c1 h1 write orders", // 30 s, renewed
             "(waits) lock c2 h1 write orders 58000",
             "unlock c1 h1 write orders",
             "unlock c2 h1 write orders",
             "lock c1 h1 read orders 28000",
             "lock c1 h2 read orders 58000",
             "(waits) trylock c2 h1 write orders 600 58000", // in vain
             "unlock c1 h2 read orders",
             "unlock c1 h1 read orders"});
}

TEST_P(both_look_alike, permits) {
    compare({"permit c1 h1 set tickets 1",
             "permit c1 h1 acquire tickets 28000",
             "permit c1 h1 release tickets PERMIT"});
}

TEST_P(both_look_alike, several_as_one) {
    compare({"lock c1 h1 multi a,b,c 28000", "unlock c1 h1 multi a,b,c"});
}

} // namespace
} // namespace holdfast::interop
