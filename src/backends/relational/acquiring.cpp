// Acquiring: the front where there is one (fronting.cpp), then the row; without looking first, and
// if somebody is in the way with a look.

#include "backends/relational/backend.hpp"
#include "backends/relational/front.hpp"
#include "backends/relational/parts.hpp"

#include <algorithm>

namespace holdfast::relational {
namespace {

using namespace std::chrono_literals;

constexpr int most_rounds = 6;
// A hint that was lost is made up for by catching up; but nobody says when a front is free.
constexpr duration longest_trust_in_hints = 15s, longest_wait_for_a_front = 2s;
constexpr duration a_moment = 30ms;

[[nodiscard]] std::int64_t waiting_bits(const claim& c) {
    return somebody_waits | (c.kind == kind::fair ? fair_ones_wait : 0);
}

[[nodiscard]] octets within_of(const claim& c) {
    return c.within ? octets_of(*c.within) : octets{};
}

/// Ends what is over.
part_of<bool> sweep_bond(pool& lines, bond_row bond, instant by) {
    statement ends{.what = query::bond_end, .with = {bond.id, bond.renewals}};
    asking ended{lines, std::move(ends), {}, by};
    const auto done = co_await ended;
    co_return std::holds_alternative<table>(done);
}

/// Clears away what nobody keeps, unless somebody does by now.
part_of<bool> sweep_one(pool& lines, std::string name, line_row row, instant by) {
    auto clears = row.place == 0 && row.mode == mode::exclusive
                      ? release_of(name, row.nonce, 0, row.bond)
                      : leave_of(name, row.nonce, row.bond);
    asking cleared{lines, std::move(clears), std::move(name), by};
    const auto done = co_await cleared;
    co_return std::holds_alternative<table>(done);
}

} // namespace

void sql_backend::attempt(const call& c, const held& what, joining join) { seek(c, what, join); }

conversation sql_backend::seek(call c, held what, joining join) {
    const doings::under_way seeking{seeks_, raw_of(what->nonce)};
    if (front_ || join == joining::queue) {
        doings::until_done departure{departures_, what->name};
        co_await departure;
    }
    if (const auto pause = lets_others_first(what->name);
        pause > duration::zero() && join == joining::queue && !has_place(what->nonce)) {
        contended no;
        no.retry_after = pause;
        events_->attempted(c.ticket, std::move(no));
        co_return;
    }
    auto keeping = keep_bond(c, what);
    const auto bond = co_await keeping;
    if (const auto* wrong = std::get_if<failure>(&bond)) {
        events_->attempted(c.ticket, *wrong);
        co_return;
    }
    const auto& terms = std::get<bond_terms>(bond);
    std::optional<attempt_answer> answered;
    if (front_ && !what->within) { // our own write has it: it is won when that ends
        auto winning = win_front(c, what, join, terms);
        answered = co_await winning;
    }
    if (!answered) {
        auto trying = try_at_once(c, what, join, terms);
        answered = co_await trying;
    }
    if (!answered) {
        auto looking = look_and_decide(c, what, join, terms);
        answered = co_await looking;
    }
    if (front_ && !std::holds_alternative<grant>(*answered)) {
        auto parting = leave_front(what->nonce);
        static_cast<void>(co_await parting);
    }
    if (auto* wrong = std::get_if<failure>(&*answered); wrong != nullptr && has_place(what->nonce))
        wrong->applied = applied::maybe; // the last step was not, but an earlier one was
    events_->attempted(c.ticket, std::move(*answered));
}

/// Whoever lets go and asks again in the same breath would win for ever: who was woken is still on
/// his way. Those who only try, and those who have a place, do not wait.
duration sql_backend::lets_others_first(const std::string& name) {
    const std::lock_guard lock{guard_};
    const auto found = yields_.find(name);
    if (found == yields_.end())
        return duration::zero();
    const auto left = found->second - boot_clock::now();
    if (left <= duration::zero())
        yields_.erase(found);
    return left;
}

/// Without looking first; nothing if somebody is in the way, and then we have a place if we want
/// one.
part_of<std::optional<attempt_answer>>
sql_backend::try_at_once(call c, held what, joining join, bond_terms terms) {
    const auto& w = *what;
    const bool queued = has_place(w.nonce);
    if (queued && (w.kind == kind::fair || w.mode != mode::exclusive))
        co_return std::nullopt;
    statement taking{.what = has_row(w.name) ? query::retake : query::take,
                     .with = {w.name, octets_of(w.nonce), number_of(terms.bond)}};
    if (w.mode != mode::exclusive) {
        taking.what = query::take_beside;
        taking.with.insert(taking.with.end(),
                           {client_,
                            static_cast<std::int64_t>(w.mode),
                            static_cast<std::int64_t>(w.permits),
                            within_of(w)});
    } else if (queued) { // any version of it, and our place goes
        taking.what = query::admit;
        taking.with.insert(taking.with.end(), {std::int64_t{-1}, std::int64_t{0}});
    }
    auto asked = on_hot(std::move(taking), w, c.answer_by);
    const auto got = co_await asked;
    if (const auto* wrong = std::get_if<trouble>(&got))
        co_return failed(w, *wrong);
    if (!std::get<table>(got).empty())
        co_return granted(what, terms, std::get<table>(got));
    if (queued || join == joining::none)
        co_return std::nullopt;
    auto placing = take_place(c, what, terms, true);
    co_return co_await placing;
}

/// Nothing if we have one, and should look. One that we may have counts as ours, or it would stay
/// when we are let in.
part_of<std::optional<attempt_answer>>
sql_backend::take_place(call c, held what, bond_terms terms, bool may_take) {
    const auto& w = *what;
    listen_from_now_on(); // to hear when it is our turn
    statement joins{.what = query::join,
                    .with = {w.name,
                             octets_of(w.nonce),
                             number_of(terms.bond),
                             client_,
                             static_cast<std::int64_t>(w.mode),
                             static_cast<std::int64_t>(w.permits),
                             waiting_bits(w),
                             std::int64_t{may_take && w.mode == mode::exclusive}}};
    auto joined = on_hot(std::move(joins), w, c.answer_by);
    const auto stands = co_await joined;
    const auto* wrong = std::get_if<trouble>(&stands);
    const auto* told = std::get_if<table>(&stands);
    if (told != nullptr && !told->empty() && !told->is_null(0, 0))
        co_return granted(what, terms, *told);
    if (wrong == nullptr || wrong->why.applied == applied::maybe) {
        const std::lock_guard lock{guard_};
        places_.insert(w.nonce);
        catches_up_in_ = catches_up_first(able());
        catches_up_at_ = std::min(catches_up_at_, boot_clock::now() + catches_up_in_);
        background_->wake_at(catches_up_at_);
    }
    if (wrong != nullptr)
        co_return failed(w, *wrong);
    if (w.mode != mode::exclusive || front_ || told->empty() || told->number(0, 2) == 0)
        co_return std::nullopt;
    // Whoever gives it back finds us in the line: only if that takes long do we look who it is.
    co_return contended_by(w, joining::queue, terms, {.look_again = a_moment});
}

part_of<attempt_answer>
sql_backend::look_and_decide(call c, held what, joining join, bond_terms terms) {
    const auto& w = *what;
    next_step next;
    for (int round = 0; round < most_rounds; ++round) {
        statement looks{.what = query::look, .with = {w.name, octets_of(w.nonce)}};
        auto asked = on_hot(std::move(looks), w, c.answer_by);
        const auto got = co_await asked;
        if (const auto* wrong = std::get_if<trouble>(&got))
            co_return failed(w, *wrong);
        const auto seen = read_view(std::get<table>(got));
        {
            const std::lock_guard lock{guard_};
            next = decide(seen, w, terms.bond, how_.steal, sightings_, boot_clock::now());
            if (seen.my_place <= 0)
                places_.erase(w.nonce); // somebody took us for gone: the core asks again soon
        }
        statement then;
        switch (next.what) {
        case next_step::kind::is_ours: // written once more: what was read may not be confirmed yet
            then = {.what = query::raise_fence,
                    .with = {w.name, octets_of(w.nonce), std::int64_t{0}}};
            break;
        case next_step::kind::wait:
            co_return contended_by(w, join, terms, std::move(next));
        case next_step::kind::sweep: {
            auto sweeping = sweep(c, what, next);
            if (!co_await sweeping)
                co_return contended_by(w, join, terms, std::move(next));
            continue;
        }
        case next_step::kind::make_row:
            then = {.what = query::make_row, .with = {w.name}};
            break;
        case next_step::kind::admit:
            then = {.what = query::admit,
                    .with = {w.name,
                             octets_of(w.nonce),
                             number_of(terms.bond),
                             seen.version,
                             next.waiters_after}};
            if (w.mode != mode::exclusive)
                then = {.what = query::admit_beside,
                        .with = {w.name,
                                 octets_of(w.nonce),
                                 number_of(terms.bond),
                                 client_,
                                 static_cast<std::int64_t>(w.mode),
                                 seen.version,
                                 next.waiters_after,
                                 within_of(w)}};
            break;
        }
        auto doing = on_hot(std::move(then), w, c.answer_by);
        const auto done = co_await doing;
        if (const auto* wrong = std::get_if<trouble>(&done))
            co_return failed(w, *wrong);
        if (std::get<table>(done).empty())
            continue; // it has changed meanwhile
        if (next.what == next_step::kind::admit)
            co_return granted(what, terms, std::get<table>(done));
        if (next.what == next_step::kind::is_ours) {
            table row{2};
            row.add(std::to_string(next.fence.value()));
            row.add("0");
            co_return granted(what, terms, row);
        }
    }
    next.look_again = a_moment; // others are quicker, again and again
    co_return contended_by(w, join, terms, std::move(next));
}

/// False: not now.
part_of<bool> sql_backend::sweep(call c, held what, next_step next) {
    for (const auto& row : next.over) {
        auto ending = sweep_bond(*lines_, *row.kept_by, c.answer_by);
        if (!co_await ending)
            co_return false;
    }
    for (const auto& row : next.rubbish) {
        auto clearing = sweep_one(*lines_, what->name, row, c.answer_by);
        if (!co_await clearing)
            co_return false;
    }
    co_return true;
}

attempt_answer sql_backend::granted(const held& what, const bond_terms& terms, const table& row) {
    const auto& w = *what;
    const bool others_wait = row.number(0, 1) != 0;
    grant given{.nonce = w.nonce, .fence = {}, .reserved = 0, .terms = terms};
    {
        const std::lock_guard lock{guard_};
        places_.erase(w.nonce);
        rows_.insert(w.name);
        const auto known = bonds_.find(terms.bond);
        if (known == bonds_.end())
            return failure{make_error_code(errc::backend_unavailable),
                           applied::maybe,
                           "what was to keep it was lost meanwhile"};
        if (front_) {
            const bool is_lost = !front_->has(w.nonce);
            fronted_.insert_or_assign(w.nonce, fronted{what, terms.bond, is_lost, false});
            if (is_lost) {
                fronts_at_ = boot_clock::now();
                background_->wake_at(fronts_at_);
            }
        }
        given.terms = known->second.terms; // it may have been renewed since we asked
        if (!listens_ && listens_at_ == never) {
            listens_at_ = boot_clock::now() + listens_after;
            tidies_at_ = boot_clock::now() + tidies_every(how_);
            background_->wake_at(std::min(listens_at_, tidies_at_));
        }
    }
    if (w.mode != mode::permit)
        given.fence = fence{row.number(0, 0)};
    if (w.mode == mode::exclusive)
        given.reserved = static_cast<std::uint32_t>(reserved_passes);
    else if (others_wait)
        wake_next(w.name); // there may be room for more
    if (others_wait)
        given.passes = passes_while_others_wait;
    return given;
}

attempt_answer
sql_backend::contended_by(const claim& w, joining join, const bond_terms& terms, next_step next) {
    contended no;
    no.retry_after = next.look_again;
    no.holder = std::move(next.holder);
    if (join == joining::none)
        return no;
    const std::lock_guard lock{guard_};
    if (!places_.contains(w.nonce)) { // asks again for a place
        no.retry_after = std::min(no.retry_after, a_moment);
        return no;
    }
    no.place = next.ahead;
    no.keeps_place = terms;
    const duration most = front_ ? longest_wait_for_a_front : longest_trust_in_hints;
    const auto jitter = duration{
        static_cast<duration::rep>(chance_.next() % static_cast<std::uint64_t>(most.count() / 2))};
    no.retry_after = std::clamp<duration>(no.retry_after, 1ms, most / 2 + jitter);
    return no;
}

attempt_answer sql_backend::failed(const claim& w, const trouble& wrong) {
    if (wrong.what == trouble::kind::blocked || wrong.what == trouble::kind::again) {
        contended no;
        no.retry_after = a_moment;
        return no;
    }
    if (wrong.why.applied == applied::maybe) {
        const std::lock_guard lock{guard_};
        doubts_[w.nonce] = boot_clock::now() + longest_doubt;
    }
    return wrong.why;
}

bool sql_backend::has_place(const nonce& n) {
    const std::lock_guard lock{guard_};
    return places_.contains(n);
}

bool sql_backend::has_row(const std::string& name) {
    const std::lock_guard lock{guard_};
    return rows_.contains(name);
}

} // namespace holdfast::relational
