#pragma once

// The interesting states. A run of the simulation that never came to one of them has proven less
// than it says, so each is counted, and a count of zero is a failure.

#include <array>
#include <cstddef>
#include <cstdint>

namespace holdfast::models {

enum class sighting : std::uint8_t {
    lease_expired_under_a_living_holder,
    dead_holder_taken_over,
    stale_effect_rejected,
    effect_refused_by_own_clock,
    unfenced_resource_harmed,
    unknown_acquire_was_ours,
    unknown_acquire_was_not_ours,
    late_request_landed_after_cleanup,
    renewed_in_the_last_sixth,
    doubt_resolved,
    release_unknown_and_retried,
    grant_raced_with_giving_up,
    predecessor_in_queue_died,
    place_lost_while_waiting,
    grant_pushed_while_asking,
    grant_came_too_late,
    lost_hint_made_good_by_asking,
    lease_passed_on,
    pass_refused_because_wanted,
    pass_refused_by_bound,
    reader_joined,
    read_under_own_write,
    entered_again,
    upgrade_refused,
    explicit_lease_ended,
    max_hold_ended,
    kept_back_by_lock_delay,
    suspend_outlived_a_lease,
    child_held_nothing,
    dead_man_killed,
    engine_refused_at_once,
    engine_forgot_everything,
    client_closed_in_the_middle,
    operator_took_a_lease,
    spinner_was_served,
    retry_policy_gave_up,
    several_held_together,
    one_of_several_lost_on_the_way,
    granted_by_an_event_alone,
    granted_by_a_number_alone,
    lost_making_looked_for, // the last
};

inline constexpr std::size_t sightings_count =
    static_cast<std::size_t>(sighting::lost_making_looked_for) + 1;

[[nodiscard]] const char* name_of(sighting) noexcept;

struct sightings {
    std::array<std::uint64_t, sightings_count> seen{};

    void operator()(sighting s) noexcept { ++seen[static_cast<std::size_t>(s)]; }
    [[nodiscard]] std::uint64_t of(sighting s) const noexcept {
        return seen[static_cast<std::size_t>(s)];
    }
    sightings& operator+=(const sightings& other) noexcept {
        for (std::size_t i = 0; i < sightings_count; ++i)
            seen[i] += other.seen[i];
        return *this;
    }
};

} // namespace holdfast::models
