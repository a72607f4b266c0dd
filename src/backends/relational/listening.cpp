// What we hear without having asked, what is to be done from time to time, and how it is that we
// hear.

#include "backends/relational/backend.hpp"
#include "backends/relational/front.hpp"
#include "backends/relational/parts.hpp"

#include <algorithm>
#include <cstdlib>

namespace holdfast::relational {
namespace {

using namespace std::chrono_literals;

constexpr duration longest_sleep = 60s; // where listening is sleeping
constexpr duration tidies_at_most_every = 500ms, tidies_at_least_every = 1h;

} // namespace

duration tidies_every(const sql::options& how) {
    return std::clamp(how.fence_retention / 100, tidies_at_most_every, tidies_at_least_every);
}

instant sql_backend::on_time(instant now) {
    std::vector<held> lost, late;
    bool listen = false, tidy = false, hints_may_be_lost = false;
    auto next = never;
    {
        const std::lock_guard lock{guard_};
        if (now >= fronts_at_) {
            fronts_at_ = never;
            for (auto& [_, one] : fronted_)
                if (one.is_lost && !std::exchange(one.being_won, true))
                    lost.push_back(one.what);
        }
        if (now >= clears_at_) {
            for (const auto& one : stragglers_)
                late.push_back(one.what);
            std::erase_if(stragglers_, [&](const auto& one) { return now >= one.until; });
            std::erase_if(doubts_, [&](const auto& one) { return now >= one.second; });
            clears_at_ = stragglers_.empty() ? never : now + clears_every;
        }
        if (now >= catches_up_at_) {
            hints_may_be_lost = !places_.empty();
            catches_up_in_ = std::min(2 * catches_up_in_, catches_up_at_least_every(able()));
            catches_up_at_ = hints_may_be_lost ? now + catches_up_in_ : never;
        }
        listen = now >= listens_at_;
        tidy = now >= tidies_at_;
        if (tidy)
            tidies_at_ = now + tidies_every(how_);
        next = std::min(
            {fronts_at_, clears_at_, tidies_at_, catches_up_at_, listen ? never : listens_at_});
    }
    if (tidy)
        tidy_up();
    if (hints_may_be_lost)
        ask_again(query::rung_for);
    for (const auto& each : late)
        clear(each);
    for (const auto& each : lost)
        win_front_again(each);
    if (listen)
        listen_from_now_on();
    return next;
}

void sql_backend::listen_from_now_on() {
    {
        const std::lock_guard lock{guard_};
        listens_at_ = never;
        if (std::exchange(listens_, true) || closed_)
            return;
    }
    own_line_->keep_one_open();
    if (ears_)
        sleep_and_listen();
}

/// Removes what nobody will come back for. A bond is over if the server's clock and our own say so,
/// whatever was chosen for locks that somebody waits for.
conversation sql_backend::tidy_up() {
    const auto by = boot_clock::now() + longest_doubt;
    statement asks{.what = query::idle_bonds};
    asking asked{*own_line_, std::move(asks), {}, by};
    const auto got = co_await asked;
    const auto* rows = std::get_if<table>(&got);
    for (std::size_t i = 0; rows != nullptr && i < rows->rows(); ++i) {
        const auto idle = read_bond(*rows, i, 1);
        {
            const std::lock_guard lock{guard_};
            if (!end_of(
                     idle, sql::stealing::both, rows->number(i, 0), sightings_, boot_clock::now())
                     .over)
                continue;
        }
        statement ends{.what = query::bond_end, .with = {idle.id, idle.renewals}};
        asking ended{*own_line_, std::move(ends), {}, by};
        const auto done = co_await ended;
        static_cast<void>(done);
    }
    for (const auto which : {query::idle_lines_remove, query::idle_locks_remove}) {
        statement removes{.what = which};
        if (which == query::idle_locks_remove)
            removes.with.emplace_back(microseconds(how_.fence_retention));
        asking removed{*own_line_, std::move(removes), {}, by};
        const auto done = co_await removed;
        static_cast<void>(done); // else the next time
    }
}

/// Whoever rings ends our sleep. A ring between two sleeps is not heard; so nobody relies on it.
conversation sql_backend::sleep_and_listen() {
    for (;;) {
        const auto by = boot_clock::now() + longest_sleep + longest_doubt;
        statement asks{.text = database_->number_of_bell()};
        asking asked{*ears_, std::move(asks), {}, by};
        const auto number = co_await asked;
        bool is_new = false;
        std::int64_t bell = 0;
        {
            const std::lock_guard lock{guard_};
            if (closed_)
                co_return;
            if (const auto* row = std::get_if<table>(&number); row != nullptr && !row->empty()) {
                bell = row->number(0, 0);
                is_new = bell_.exchange(bell) != bell;
            }
        }
        if (bell == 0)
            continue; // the connection is tried again after a pause
        if (is_new) {
            statement hangs{.what = query::bell_hang, .with = {client_, bell}};
            asking hung{*own_line_, std::move(hangs), {}, boot_clock::now() + longest_doubt};
            const auto done = co_await hung;
            static_cast<void>(done);
        }
        catch_up();
        statement sleeps{.text = database_->sleeping(client_)};
        asking slept{*ears_, std::move(sleeps), {}, by};
        const auto rung = co_await slept;
        if (const auto* wrong = std::get_if<trouble>(&rung);
            wrong != nullptr && wrong->what == trouble::kind::plain)
            co_return; // this server cannot do that: there is still the poll
    }
}

/// What was said while nobody listened.
void sql_backend::catch_up() {
    ask_again(query::rung_for);
    ask_again(query::taken_from);
}

conversation sql_backend::ask_again(query which) {
    statement asks{.what = which, .with = {client_}};
    asking asked{*own_line_, std::move(asks), {}, boot_clock::now() + longest_doubt};
    const auto got = co_await asked;
    const auto* rows = std::get_if<table>(&got);
    for (std::size_t i = 0; rows != nullptr && i < rows->rows(); ++i) {
        const auto about = nonce_from(rows->text(i, 0));
        if (which == query::rung_for)
            events_->woken(about);
        else
            taken(about);
    }
}

void sql_backend::heard(const whisper& said) {
    constexpr std::size_t digits = 32;
    if (said.size() != 1 + digits)
        return;
    nonce about;
    for (std::size_t i = 0; i < about.bytes.size(); ++i) {
        const auto two = said.substr(1 + 2 * i, 2);
        about.bytes[i] = static_cast<unsigned char>(std::strtoul(two.c_str(), nullptr, 16));
    }
    switch (said.front()) {
    case 'w':
        return events_->woken(about);
    case 'h': {
        {
            const std::lock_guard lock{guard_};
            wanted_.insert(about);
        }
        return events_->wanted(about);
    }
    case 't':
        taken(about);
        return;
    default:
        return;
    }
}

conversation sql_backend::taken(nonce about) {
    if (front_)
        give_up_front(about);
    events_->grant_lost(about);
    statement tells{.what = query::taken_told, .with = {octets_of(about)}};
    asking asked{*own_line_, std::move(tells), {}, boot_clock::now() + longest_doubt};
    const auto got = co_await asked;
    static_cast<void>(got); // else we are told once more
}

} // namespace holdfast::relational
