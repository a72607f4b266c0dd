#include "conformance/engine.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace holdfast::conformance {
namespace {

// Filled before main by the engines' files and the suites: made when first asked for, because
// nothing says which file comes first.
[[nodiscard]] std::vector<engine_under_test>& known_engines() {
    static std::vector<engine_under_test> all;
    return all;
}

[[nodiscard]] std::vector<std::pair<std::string, need>>& known_suites() {
    static std::vector<std::pair<std::string, need>> all;
    return all;
}

} // namespace

bool is_asked_for(const char* form) {
    const char* const asked = std::getenv("HOLDFAST_FORM");
    return asked != nullptr && std::string_view{asked} == form;
}

bool add(const engine_under_test& e) {
    known_engines().push_back(e);
    return true;
}

const std::vector<engine_under_test>& engines() { return known_engines(); }

bool list_suite(const char* suite, const need& what) {
    known_suites().emplace_back(suite, what);
    return true;
}

std::vector<engine_under_test> engines_with(const need& what) {
    std::vector<engine_under_test> able;
    for (const auto& e : engines())
        if (what.met_by(e))
            able.push_back(e);
    return able;
}

namespace {

TEST(what_is_not_asked, is_said_aloud) {
    for (const auto& e : engines())
        for (const auto& [suite, what] : known_suites())
            if (!what.met_by(e))
                std::printf(
                    "not for %s: %s, which needs %s\n", e.name(), suite.c_str(), what.sentence);
    EXPECT_FALSE(engines().empty());
}

HOLDFAST_SUITE(capabilities_conformance, nothing);

TEST_P(capabilities_conformance, the_engine_says_what_is_written_here) {
    const auto client = open();
    const auto& said = client.capabilities();
    EXPECT_STREQ(said.engine, promises().engine);
    EXPECT_EQ(said.reach, promises().reach);
    EXPECT_EQ(said.shared, promises().shared);
    EXPECT_EQ(said.permits, promises().permits);
    EXPECT_EQ(said.fair, promises().fair);
    EXPECT_EQ(said.lock_delay, promises().lock_delay);
    EXPECT_EQ(said.notices_death, promises().notices_death);
    EXPECT_EQ(said.keeps_while_stopped, promises().keeps_while_stopped);
    EXPECT_EQ(said.fence_per_pass, promises().fence_per_pass);
    EXPECT_EQ(said.fences, promises().fences);
    EXPECT_EQ(said.wake, promises().wake);
    EXPECT_EQ(said.assumptions, promises().assumptions);
    EXPECT_EQ(said.raises_fences, promises().raises_fences);
    EXPECT_EQ(said.may_forget, promises().may_forget);
}

TEST_P(capabilities_conformance, it_can_examine_itself) {
    const auto client = open();
    for (const auto& found : client.examine()) {
        EXPECT_FALSE(found.what.empty());
        EXPECT_NE(found.how, finding::grade::danger) << found.what << ' ' << found.fix;
    }
}

} // namespace
} // namespace holdfast::conformance
