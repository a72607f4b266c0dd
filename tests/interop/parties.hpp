#pragma once

// Java and ourselves, each in a process of its own. Both understand the same commands, so a test is
// written once and done with the parts exchanged.

#include "interop/peer.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace holdfast::interop {

class parties : public ::testing::TestWithParam<std::string> {
protected:
    /// First Java in the one part and us in the other, then the other way round.
    struct parts {
        peer& one;
        peer& other;
        std::string said; ///< for messages, and for names that are used once
    };
    [[nodiscard]] std::vector<parts> both_ways() {
        return {{*java, *ours, "java-first"}, {*ours, *java, "ours-first"}};
    }

    struct death {
        std::optional<peer>& dies;
        std::optional<peer>& lives;
        std::string said;
    };
    [[nodiscard]] std::vector<death> deaths() {
        return {{java, ours, "java-dies"}, {ours, java, "we-die"}};
    }

    struct waiter {
        peer* who;
        std::string hand;
        peer::ticket ticket{};
    };
    /// Those who wait for the lock, which is free now, get it one after the other.
    static void expect_turns(std::vector<waiter>& line, const std::string& lock) {
        for (auto& one : line) {
            ASSERT_NO_THROW(one.who->end(one.ticket)) << one.hand;
            for (auto& next : line)
                EXPECT_FALSE(&next > &one && next.who->has_answered(next.ticket))
                    << next.hand << " came before its turn";
            one.who->ask("unlock", one.hand, lock);
        }
    }

    std::optional<peer> java;
    std::optional<peer> ours;
};

} // namespace holdfast::interop
