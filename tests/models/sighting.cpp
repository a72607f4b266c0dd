#include "models/sighting.hpp"

namespace holdfast::models {

const char* name_of(sighting s) noexcept {
    switch (s) {
    case sighting::lease_expired_under_a_living_holder:
        return "lease expired under a living holder";
    case sighting::dead_holder_taken_over:
        return "dead holder taken over";
    case sighting::stale_effect_rejected:
        return "stale effect rejected by its fence";
    case sighting::effect_refused_by_own_clock:
        return "effect not even tried: own clock said no";
    case sighting::unfenced_resource_harmed:
        return "a resource without fence check was harmed";
    case sighting::unknown_acquire_was_ours:
        return "unknown acquire turned out to be ours";
    case sighting::unknown_acquire_was_not_ours:
        return "unknown acquire turned out not to be ours";
    case sighting::late_request_landed_after_cleanup:
        return "late request landed after cleanup";
    case sighting::renewed_in_the_last_sixth:
        return "renewed in the last sixth of the ttl";
    case sighting::doubt_resolved:
        return "in doubt, then held again";
    case sighting::release_unknown_and_retried:
        return "unknown release retried";
    case sighting::grant_raced_with_giving_up:
        return "grant raced with giving up";
    case sighting::predecessor_in_queue_died:
        return "predecessor in the queue died";
    case sighting::place_lost_while_waiting:
        return "place lost while waiting";
    case sighting::grant_pushed_while_asking:
        return "grant pushed while a request was on its way";
    case sighting::grant_came_too_late:
        return "grant came too late to be believed";
    case sighting::lost_hint_made_good_by_asking:
        return "lost hint made good by asking again";
    case sighting::lease_passed_on:
        return "lease passed on inside a process";
    case sighting::pass_refused_because_wanted:
        return "pass refused: others want it";
    case sighting::pass_refused_by_bound:
        return "pass refused: 64 or 50 ms";
    case sighting::reader_joined:
        return "reader joined a grant";
    case sighting::read_under_own_write:
        return "read under own write";
    case sighting::entered_again:
        return "entered again";
    case sighting::upgrade_refused:
        return "upgrade from read to write refused";
    case sighting::explicit_lease_ended:
        return "explicit lease ended by itself";
    case sighting::max_hold_ended:
        return "max_hold ended a lease";
    case sighting::kept_back_by_lock_delay:
        return "kept back by lock delay";
    case sighting::suspend_outlived_a_lease:
        return "suspend outlived a lease";
    case sighting::child_held_nothing:
        return "forked child held nothing";
    case sighting::dead_man_killed:
        return "dead-man timer killed a holder";
    case sighting::engine_refused_at_once:
        return "engine refused at once, inside the verb";
    case sighting::engine_forgot_everything:
        return "engine forgot everything";
    case sighting::client_closed_in_the_middle:
        return "client closed in the middle of it all";
    case sighting::operator_took_a_lease:
        return "operator took a lease away";
    case sighting::spinner_was_served:
        return "spinning waiter was served";
    case sighting::retry_policy_gave_up:
        return "retry policy gave up";
    case sighting::several_held_together:
        return "several locks held together";
    case sighting::one_of_several_lost_on_the_way:
        return "one of several locks lost while waiting for another";
    case sighting::granted_by_an_event_alone:
        return "granted by an event alone";
    case sighting::granted_by_a_number_alone:
        return "granted by a number alone";
    case sighting::lost_making_looked_for:
        return "what may have been made was looked for";
    }
    return "?";
}

} // namespace holdfast::models
