// Deliberate defects (lock-testing §2.5), one at a time: the simulation must catch each. Only in
// the build `mutants`, where the core and the models carry them; without one, the same build must
// find nothing.

#include "lease/defect.hpp"
#include "simulation/seed.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <optional>
#include <string>

#if defined(HOLDFAST_MUTANTS) && HOLDFAST_MUTANTS

namespace holdfast::simulation {
namespace {

using detail::defect;

struct mutant {
    defect what;
    const char* name;
    options (*draw)(std::uint64_t) = draw_options;
};

constexpr mutant all_mutants[] = {
    {defect::release_without_nonce, "m1_release_without_nonce"},
    {defect::deadline_from_reply, "m2_deadline_from_reply"},
    {defect::held_is_a_flag, "m3_held_is_a_flag"},
    {defect::no_drift_no_margin, "m4_no_drift_no_margin"},
    {defect::renews_after_release, "m5_renews_after_release"},
    {defect::fresh_nonce_on_retry, "m6_fresh_nonce_on_retry"},
    {defect::fence_not_raised, "m7_fence_not_raised"},
    {defect::no_raise_before_read, "m8_no_raise_before_read"},
    {defect::unknown_means_renewed, "m9_unknown_means_renewed"},
    {defect::renewal_recreates, "m10_renewal_recreates"},
    {defect::only_push_wakes, "m15_only_push_wakes"},
    {defect::clock_stops_in_suspend, "m16_clock_stops_in_suspend"},
    {defect::never_lets_go, "m17_never_lets_go"},
    {defect::quorum_less_one, "q1_less_one", draw_quorum},
    {defect::quorum_counts_unknown, "q2_counts_unknown", draw_quorum},
    {defect::quorum_one_nonce, "q3_one_nonce", draw_quorum},
    {defect::quorum_one_round, "q4_one_round", draw_quorum},
    {defect::quorum_deadline_of_reply, "q5_deadline_of_reply", draw_quorum},
    {defect::quorum_no_quarantine, "q6_no_quarantine", draw_quorum},
    {defect::quorum_releases_grants, "q7_releases_grants", draw_quorum},
    {defect::zookeeper_older_session, "z1_older_session", draw_zookeeper},
    {defect::zookeeper_always_next, "z2_always_next", draw_zookeeper},
    {defect::zookeeper_makes_again, "z3_makes_again", draw_zookeeper},
    {defect::zookeeper_leaves_orphans, "z4_leaves_orphans", draw_zookeeper},
    {defect::zookeeper_unknown_renews, "z5_unknown_renews", draw_zookeeper},
    {defect::zookeeper_link_renews, "z6_link_renews", draw_zookeeper},
    {defect::zookeeper_anchor_of_reply, "z8_anchor_of_reply", draw_zookeeper},
    {defect::zookeeper_removes_once, "z9_removes_once", draw_zookeeper},
    {defect::zookeeper_writers_next, "z10_writers_next", draw_zookeeper},
    {defect::no_drift_no_margin, "z11_no_margin", draw_zookeeper},
    {defect::zookeeper_waits_for_a_break, "z12_waits_for_a_break", draw_zookeeper},
    {defect::zookeeper_any_number, "z13_any_number", draw_zookeeper},
    {defect::zookeeper_any_folder, "z14_any_folder", draw_zookeeper},
};

class teeth : public testing::TestWithParam<mutant> {
protected:
    void SetUp() override { detail::chosen_defect = GetParam().what; }
    void TearDown() override { detail::chosen_defect = defect::none; }
};

TEST_P(teeth, bite) {
    constexpr std::uint64_t worlds = 500, most = 5000; // the rarest defects take more of them
    std::map<std::string, unsigned> caught_by;
    std::optional<std::uint64_t> first;
    for (std::uint64_t seed = 0; seed < worlds || (!first && seed < most); ++seed) {
        const auto result = live(GetParam().draw(seed));
        if (result.invariant.empty())
            continue;
        ++caught_by[result.invariant];
        if (!first)
            first = seed;
    }
    EXPECT_TRUE(first) << "survived " << most << " worlds";
    std::cout << GetParam().name << ": first caught in world " << first.value_or(0);
    for (const auto& [invariant, times] : caught_by)
        std::cout << "; " << invariant << ", " << times << " times";
    std::cout << '\n';
}

INSTANTIATE_TEST_SUITE_P(of, teeth, testing::ValuesIn(all_mutants), [](const auto& which) {
    return std::string{which.param.name};
});

} // namespace
} // namespace holdfast::simulation

#endif
