// Acquiring where the server itself keeps others out: the front is won before the row, given back
// before it, and won again when its connection ends and the lease goes on.

#include "backends/relational/backend.hpp"
#include "backends/relational/front.hpp"
#include "backends/relational/parts.hpp"

#include <algorithm>

namespace holdfast::relational {
namespace {

constexpr duration tries_front_again_after = std::chrono::milliseconds{200};

} // namespace

/// Nothing if it is won.
part_of<std::optional<attempt_answer>>
sql_backend::win_front(call c, held what, joining join, bond_terms terms) {
    if (front_->has(what->nonce))
        co_return std::nullopt;
    auto winning = front_->win(what, c.answer_by);
    const auto won = co_await winning;
    if (const auto* wrong = std::get_if<trouble>(&won))
        co_return failed(*what, *wrong);
    if (std::get<bool>(won))
        co_return std::nullopt;
    if (join == joining::queue && !has_place(what->nonce)) {
        auto placing = take_place(c, what, terms, false);
        if (auto wrong = co_await placing)
            co_return wrong;
    }
    statement looks{.what = query::look, .with = {what->name, octets_of(what->nonce)}};
    auto asked = on_hot(std::move(looks), *what, c.answer_by);
    const auto got = co_await asked;
    if (const auto* wrong = std::get_if<trouble>(&got))
        co_return failed(*what, *wrong);
    next_step next;
    {
        const std::lock_guard lock{guard_};
        next = decide(read_view(std::get<table>(got)),
                      *what,
                      terms.bond,
                      how_.steal,
                      sightings_,
                      boot_clock::now());
    }
    co_return contended_by(*what, join, terms, std::move(next));
}

part_of<bool> sql_backend::leave_front(nonce n) {
    {
        const std::lock_guard lock{guard_};
        fronted_.erase(n);
    }
    auto leaving = front_->give_up(n);
    co_return co_await leaving;
}

conversation sql_backend::give_up_front(nonce n) {
    auto leaving = leave_front(n);
    static_cast<void>(co_await leaving);
}

/// The connection that kept others out has ended. They still wait for the row behind it.
void sql_backend::front_lost(const held& what) {
    {
        const std::lock_guard lock{guard_};
        const auto found = fronted_.find(what->nonce);
        if (found == fronted_.end())
            return; // not granted yet: whoever asks for it will find out
        found->second.is_lost = true;
        if (std::exchange(found->second.being_won, true))
            return;
    }
    win_front_again(what);
}

conversation sql_backend::win_front_again(held what) {
    auto winning = front_->win(what, boot_clock::now() + longest_doubt);
    const auto won = co_await winning;
    const auto* yes = std::get_if<bool>(&won);
    bool too_late = false;
    {
        const std::lock_guard lock{guard_};
        const auto found = fronted_.find(what->nonce);
        too_late = found == fronted_.end(); // given back meanwhile
        if (!too_late)
            found->second.being_won = false;
        if (!too_late && yes != nullptr && *yes) {
            found->second.is_lost = false;
        } else if (!too_late && !closed_) {
            fronts_at_ = std::min(fronts_at_, boot_clock::now() + tries_front_again_after);
            background_->wake_at(fronts_at_);
        }
    }
    if (too_late) {
        auto leaving = front_->give_up(what->nonce);
        static_cast<void>(co_await leaving);
    }
}

} // namespace holdfast::relational
