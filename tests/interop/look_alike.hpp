#pragma once

// After the same steps in Java and in C++ the server contains the same.

#include "interop/peer.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::interop {

using steps = std::vector<std::string>;

/// What a server contains, and how it is emptied.
struct picture {
    std::function<std::string()> taken;
    std::function<void()> cleared;
};

class likeness {
public:
    explicit likeness(picture of) : of_{std::move(of)} {}

    /// Each step is done, or begun if it is to wait; then it is looked at what is there.
    void expect(peer& java, peer& ours, const steps& all) {
        const auto by_java = pictures(java, all, {});
        const auto by_us = pictures(ours, all, by_java);
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
        of_.cleared();
        std::vector<std::string> seen;
        std::deque<peer::ticket> waiting;
        for (const auto& step : all) {
            if (step.starts_with("(waits) ")) {
                waiting.push_back(who.begin(step.substr(8)));
                EXPECT_FALSE(who.has_answered(waiting.back(), std::chrono::milliseconds{200}))
                    << step;
            } else {
                auto words = step;
                if (const auto at = words.find("PERMIT"); at != std::string::npos)
                    words.replace(at, 6, last_permit_);
                const auto answer = who.ask(words);
                if (words.find(" acquire ") != std::string::npos)
                    last_permit_ = answer;
                if (words.starts_with("unlock") && !waiting.empty()) { // it is the next one's turn
                    EXPECT_NO_THROW(who.end(waiting.front(), std::chrono::seconds{20})) << step;
                    waiting.pop_front();
                }
            }
            const bool knows = seen.size() < expected.size() && is_compared(step);
            seen.push_back(knows ? once_like(expected[seen.size()]) : at_rest());
        }
        return seen;
    }

    /// Java cleans up behind its answer; nothing else changes by itself.
    [[nodiscard]] std::string at_rest() const {
        auto now = of_.taken();
        static_cast<void>(cli_tests::comes_true(std::chrono::milliseconds{300}, [&] {
            auto later = of_.taken();
            return std::exchange(now, later) != later;
        }));
        return now;
    }
    [[nodiscard]] std::string once_like(const std::string& expected) const {
        std::string now;
        static_cast<void>(cli_tests::comes_true(std::chrono::seconds{3}, [&] {
            now = of_.taken();
            return now == expected;
        }));
        return now;
    }

    picture of_;
    std::string last_permit_;
};

} // namespace holdfast::interop
