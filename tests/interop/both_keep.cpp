// What Java and we hold is kept while we live, however short its ttl.

#include "interop/both.hpp"

#include <map>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

class both_keep : public with_both {
protected:
    /// Each of these locks of three seconds is prolonged so often, and never ends.
    [[nodiscard]] bool are_renewed(const std::vector<std::string>& names, int times) const {
        struct seen {
            bool low = false;
            int renewals = 0;
        };
        std::map<std::string, seen> all;
        return cli_tests::comes_true(40s, [&] {
            bool enough = true;
            for (const auto& name : names) {
                auto& one = all[name];
                const auto left = number({"PTTL", name});
                if (std::exchange(one.low, left < 2200 || (one.low && left <= 2500)) && left > 2500)
                    ++one.renewals;
                enough = enough && one.renewals >= times;
            }
            return enough;
        });
    }
};

INSTANTIATE_TEST_SUITE_P(real,
                         both_keep,
                         ::testing::ValuesIn(redisson_versions_to_test()),
                         version_as_name);

TEST_P(both_keep, a_short_ttl_is_renewed_while_the_other_waits) {
    open_short_lived("short", 3s);
    for (const auto& [one, other, said] : both_ways()) {
        std::vector<std::pair<std::string, peer::ticket>> waits;
        const std::vector<std::string> kinds{"plain", "fair", "write", "read", "fenced"};
        for (const auto& kind : kinds)
            one.ask("lock short h1", kind, said + "-" + kind);
        for (const auto& kind : kinds) { // a hand each: they wait side by side
            const auto wanted = kind == "read" ? "write" : kind;
            waits.emplace_back(wanted,
                               other.begin("lock short", "h-" + kind, wanted, said + "-" + kind));
        }
        std::vector<std::string> names;
        for (const auto& kind : kinds)
            names.push_back(said + "-" + kind);
        EXPECT_TRUE(are_renewed(names, 4)) << said;
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            const auto name = said + "-" + kinds[i];
            EXPECT_FALSE(other.has_answered(waits[i].second)) << name << " was given to two";
            EXPECT_NO_THROW(one.ask("unlock short h1", kinds[i], name)) << name;
            EXPECT_NO_THROW(other.end(waits[i].second, 15s)) << name;
            EXPECT_NO_THROW(other.ask("unlock short", "h-" + kinds[i], waits[i].first, name));
        }
    }
}

TEST_P(both_keep, our_permit_is_renewed_while_java_waits) {
    open_short_lived("short", 3s);
    java->ask("permit c1 h1 set tickets 1");
    const auto ours_is = ours->ask("permit short h1 acquire tickets");
    const auto waiting = java->begin("permit c1 h1 acquire tickets");
    const auto deadline = [&] {
        return std::stod(
            server->ask({"ZRANGE", "{tickets}:timeout", "0", "0", "WITHSCORES"}).items.at(1).text);
    };
    auto before = deadline();
    for (int i = 0; i < 4; ++i) {
        ASSERT_TRUE(cli_tests::comes_true(10s, [&] { return deadline() > before; }));
        before = deadline();
    }
    EXPECT_FALSE(java->has_answered(waiting));
    EXPECT_EQ(ours->ask("permit short h1 release tickets", ours_is), "true");
    EXPECT_NO_THROW(java->end(waiting, 15s));
}

} // namespace
} // namespace holdfast::interop
