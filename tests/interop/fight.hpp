#pragma once

// Java and we in several rings, one for each kind of lock: whoever is in counts, and looks whether
// somebody else does.

#include "interop/peer.hpp"
#include "promise.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::interop {

class a_fight {
public:
    struct place {
        std::string client; ///< what opens one, without its name
        std::function<std::string(const std::string& ring)> lock;
        std::function<std::string(const std::string& ring)> counter;
        std::function<std::int64_t(const std::string& ring)> rounds;
    };

    a_fight(place where, std::vector<std::string> kinds)
        : at_{std::move(where)}, kinds_{std::move(kinds)} {}

    void enter(peer& one) {
        one.ask("client c", at_.client);
        one.ask("permit c permit set", at_.lock("permit"), "1"); // no effect if it was set before
        auto& tickets = in_[&one];
        tickets.clear();
        for (const auto& kind : kinds_)
            tickets.push_back(one.begin("guard c",
                                        kind,
                                        kind,
                                        at_.lock(ring_of(kind)),
                                        at_.counter(ring_of(kind)),
                                        "1000000"));
    }

    /// For this long nobody stops by himself, as he would if he saw another one where he was.
    void expect_that_all_stay(std::chrono::milliseconds time) {
        for (auto& [who, tickets] : in_)
            for (std::size_t i = 0; i < tickets.size(); ++i)
                if (who->has_answered(tickets[i], std::exchange(time, {}))) {
                    EXPECT_NO_THROW(ADD_FAILURE() << who->end(tickets[i])) << kinds_[i];
                }
    }

    /// Whoever was confused by what befell the servers is killed and comes back; but nobody may
    /// have stopped because he saw another one where he was.
    void replace_who_is_confused(std::optional<peer>& who,
                                 const std::function<void(std::optional<peer>&)>& revive) {
        std::string why;
        for (auto& ticket : in_[&*who])
            if (why.empty() && who->has_answered(ticket, {}))
                try {
                    why = "it was done: " + who->end(ticket);
                } catch (const std::exception& e) {
                    why = e.what();
                }
        if (why.empty())
            return;
        ASSERT_EQ(why.find(promise_broken), why.npos) << why;
        std::cout << "confused: " << why << '\n';
        in_.erase(&*who);
        who->kill();
        revive(who);
        enter(*who);
    }

    /// Somebody gets on: the ttl of the dead, or their place in a queue, is the longest that nobody
    /// does. Empty, or where nobody did.
    [[nodiscard]] std::string stands_still(const std::function<void()>& meanwhile = [] {}) {
        std::string where;
        for (const auto& kind : kinds_)
            if (!cli_tests::comes_true(std::chrono::seconds{60}, [&] {
                    meanwhile();
                    return rounds(kind) > seen_[kind];
                }))
                where += kind + " stands at " + std::to_string(seen_[kind]) + ". ";
        for (const auto& kind : kinds_)
            seen_[kind] = rounds(kind);
        return where;
    }
    void expect_that_it_goes_on() { EXPECT_EQ(stands_still(), ""); }

    /// Until the time is over and each was killed once, one after the other is killed and comes
    /// back.
    void go_on_with_deaths(std::chrono::seconds time,
                           std::optional<peer>& one,
                           std::optional<peer>& other,
                           const std::function<void(std::optional<peer>&)>& revive) {
        enter(*one);
        enter(*other);
        const auto until = boot_clock::now() + time;
        std::minstd_rand chance{std::random_device{}()};
        int deaths = 0;
        while ((boot_clock::now() < until || deaths < 2) && !::testing::Test::HasFailure()) {
            expect_that_all_stay(std::chrono::milliseconds{chance() % 2000});
            auto& dies =
                deaths < 2 ? (deaths == 0 ? one : other) : (chance() % 2 == 0 ? one : other);
            in_.erase(&*dies);
            dies->kill();
            ++deaths;
            revive(dies);
            enter(*dies);
            expect_that_it_goes_on();
        }
        expect_that_all_stay({});
        for (const auto& kind : kinds_)
            std::cout << kind << ": " << rounds(kind) << " rounds; ";
        std::cout << deaths << " deaths\n";
    }

private:
    /// Readers only look, where writers count.
    [[nodiscard]] static std::string ring_of(const std::string& kind) {
        return kind == "read" ? "write" : kind;
    }
    [[nodiscard]] std::int64_t rounds(const std::string& kind) const {
        return at_.rounds(ring_of(kind));
    }

    const place at_;
    const std::vector<std::string> kinds_;
    std::map<peer*, std::vector<peer::ticket>> in_;
    std::map<std::string, std::int64_t> seen_;
};

} // namespace holdfast::interop
