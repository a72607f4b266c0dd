#include "backends/relational/backend.hpp"
#include "backends/relational/front.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
#include <cstring>
#include <poll.h>
#include <unistd.h>

namespace holdfast::relational {
namespace {

using namespace std::chrono_literals;

/// The clocks of servers tell microseconds; this is for what lies between two of their readings.
constexpr duration margin = 5ms;
/// After that a statement that was sent has been carried out, or never will be: the server ends
/// those that take longer, and we cut connections before their time.
constexpr duration longest_doubt = 10s;
constexpr int most_rounds = 6;
constexpr std::uint32_t passes_while_others_wait = 8;
constexpr duration shortest_poll = 10ms, longest_poll = 500ms, longest_trust_in_hints = 2s;
constexpr duration a_moment = 30ms;
/// Most leases are over by then, and need no connection to hear of an operator.
constexpr duration listens_after = 200ms;
constexpr duration tidies_at_most_every = 500ms, tidies_at_least_every = 1h;
/// How long who was woken has to come: after a message, and after a bell, which takes more steps.
constexpr duration longest_yield = 5ms, longest_yield_to_a_bell = 15ms;
constexpr std::size_t most_yields = 1000;
constexpr duration tries_front_again_after = 200ms;
constexpr duration longest_ring = 1s;
constexpr duration longest_sleep = 60s; // where listening is sleeping

[[nodiscard]] bool shares_bond(const claim& c) {
    return c.renewal == renewal::automatic && c.lock_delay == duration::zero();
}

[[nodiscard]] std::int64_t microseconds(duration d) {
    return std::chrono::duration_cast<std::chrono::microseconds>(d).count();
}

[[nodiscard]] octets octets_of(const nonce& n) { return {raw_of(n)}; }

/// Neither 0 nor negative, and never the same again.
[[nodiscard]] std::int64_t number_from(std::uint64_t bits) {
    return static_cast<std::int64_t>(bits >> 1 | 1);
}

[[nodiscard]] std::int64_t new_number() {
    detail::kernel_random chance;
    return number_from(chance.next());
}

/// The bond of a claim that shares none. The same claim asked again means the same.
[[nodiscard]] bond_id own_bond(const claim& c) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, c.nonce.bytes.data(), sizeof bits);
    return bond_id{static_cast<std::uint64_t>(number_from(bits))};
}

[[nodiscard]] std::int64_t number_of(bond_id b) { return static_cast<std::int64_t>(b); }

[[nodiscard]] std::int64_t waiting_bits(const claim& c) {
    return somebody_waits | (c.kind == kind::fair ? fair_ones_wait : 0);
}

[[nodiscard]] octets within_of(const claim& c) {
    return c.within ? octets_of(*c.within) : octets{};
}

[[nodiscard]] std::vector<detail::endpoint> endpoints(const sql::options& how, int usual_port) {
    std::vector<detail::endpoint> all;
    for (const auto& one : how.servers)
        all.push_back({one.host, one.port != 0 ? one.port : usual_port});
    return all;
}

[[nodiscard]] duration tidies_every(const sql::options& how) {
    return std::clamp(how.fence_retention / 100, tidies_at_most_every, tidies_at_least_every);
}

/// What a database takes for text: no half characters.
[[nodiscard]] std::string readable(std::string text) {
    for (std::size_t i = 0; i < text.size();) {
        const auto lead = static_cast<unsigned char>(text[i]);
        const std::size_t length = lead < 0x20   ? 0
                                   : lead < 0x80 ? 1
                                   : lead < 0xc2 ? 0
                                   : lead < 0xe0 ? 2
                                   : lead < 0xf0 ? 3
                                   : lead < 0xf5 ? 4
                                                 : 0;
        bool whole = length > 0 && i + length <= text.size();
        for (std::size_t k = 1; whole && k < length; ++k)
            whole = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
        if (whole && length == 3) // too long, or half of a pair
            whole = !(lead == 0xe0 && static_cast<unsigned char>(text[i + 1]) < 0xa0) &&
                    !(lead == 0xed && static_cast<unsigned char>(text[i + 1]) > 0x9f);
        if (whole && length == 4)
            whole = !(lead == 0xf0 && static_cast<unsigned char>(text[i + 1]) < 0x90) &&
                    !(lead == 0xf4 && static_cast<unsigned char>(text[i + 1]) > 0x8f);
        if (!whole)
            text[i] = '?';
        i += whole ? length : 1;
    }
    return text;
}

} // namespace

std::size_t sql_backend::nonce_hash::operator()(const nonce& n) const noexcept {
    std::size_t bits = 0;
    std::memcpy(&bits, n.bytes.data(), sizeof bits); // random already
    return bits;
}

sql_backend::sql_backend(sql::options how, std::shared_ptr<database> kind, int usual_port)
    : how_{std::move(how)}, database_{std::move(kind)}, client_{new_number()} {
    pool_settings settings{.servers = endpoints(how_, usual_port),
                           .most = how_.connections,
                           .connect_timeout = how_.connect_timeout};
    settings.opened = [this] { events_->link(link_state::connected, ""); };
    settings.broken = [this](const failure& why) {
        events_->link(link_state::suspended, why.detail);
    };
    lines_ = std::make_shared<pool>(hot_, database_, settings);
    if (how_.mode != sql::locking::lease) {
        auto lines = settings;
        lines.opened = {};
        lines.broken = {};
        front_ = make_front(how_.mode,
                            {.hot = hot_,
                             .kind = database_,
                             .lines = std::move(lines),
                             .most = how_.held_rows,
                             .lost = [this](const held& what) { front_lost(what); }});
    }
    settings.most = 1;
    settings.first_words = database_->listening(client_);
    settings.heard = [this](const whisper& w) { heard(w); };
    settings.opened = [this] { catch_up(); };
    settings.broken = {};
    own_line_ = std::make_shared<pool>(background_, database_, settings);
    settings.opened = {};
    if (!database_->sleeping(client_).empty())
        ears_ = std::make_shared<pool>(background_, database_, std::move(settings));
    ticker_.emplace(background_, [this](instant now) { return on_time(now); });
}

sql_backend::~sql_backend() {
    ticker_.reset();
    lines_->close();
    own_line_->close();
    if (front_)
        front_->close();
    if (ears_)
        ears_->close();
}

asking sql_backend::on_hot(statement what, const claim& about, instant by) {
    return {*lines_, std::move(what), about.name, by};
}

// ----------------------------------------------------------------------------------- acquiring

void sql_backend::attempt(const call& c, const held& what, joining join) { seek(c, what, join); }

conversation sql_backend::seek(call c, held what, joining join) {
    if (const auto pause = lets_others_first(what->name, c.asked);
        pause > duration::zero() && join == joining::queue) {
        contended no;
        no.retry_after = pause;
        events_->attempted(c.ticket, std::move(no));
        co_return;
    }
    if (front_) {
        doings::until_done others{departures_, what->name};
        co_await others;
    }
    auto keeping = keep_bond(c, what);
    const auto bond = co_await keeping;
    if (const auto* wrong = std::get_if<failure>(&bond)) {
        events_->attempted(c.ticket, *wrong);
        co_return;
    }
    const auto& terms = std::get<bond_terms>(bond);
    std::optional<attempt_answer> answered;
    if (front_) {
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
    events_->attempted(c.ticket, std::move(*answered));
}

/// Whoever lets go and asks again in the same breath would win for ever: who was woken is still on
/// his way. Those who only try, and those who have a place, do not wait.
duration sql_backend::lets_others_first(const std::string& name, instant now) {
    const std::lock_guard lock{guard_};
    const auto found = yields_.find(name);
    if (found == yields_.end())
        return duration::zero();
    const auto left = found->second - now;
    if (left <= duration::zero())
        yields_.erase(found);
    return left;
}

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
        auto placing = take_place(c, what, terms);
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

/// Without looking first; nothing if somebody is in the way, and then we have a place if we want
/// one.
part_of<std::optional<attempt_answer>>
sql_backend::try_at_once(call c, held what, joining join, bond_terms terms) {
    const auto& w = *what;
    const bool queued = has_place(w.nonce);
    if (queued && (w.kind == kind::fair || w.mode != mode::exclusive))
        co_return std::nullopt;
    statement taking{.what = query::take,
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
    auto placing = take_place(c, what, terms);
    co_return co_await placing;
}

/// Nothing if we have one.
part_of<std::optional<attempt_answer>>
sql_backend::take_place(call c, held what, bond_terms terms) {
    const auto& w = *what;
    listen_from_now_on(); // to hear when it is our turn
    statement joins{.what = query::join,
                    .with = {w.name,
                             octets_of(w.nonce),
                             number_of(terms.bond),
                             client_,
                             static_cast<std::int64_t>(w.mode),
                             static_cast<std::int64_t>(w.permits),
                             waiting_bits(w)}};
    auto joined = on_hot(std::move(joins), w, c.answer_by);
    const auto stands = co_await joined;
    if (const auto* wrong = std::get_if<trouble>(&stands))
        co_return failed(w, *wrong);
    const std::lock_guard lock{guard_};
    places_.try_emplace(w.nonce);
    co_return std::nullopt;
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
        case next_step::kind::is_ours: {
            table row{2};
            row.add(std::to_string(next.fence.value()));
            row.add("0");
            co_return granted(what, terms, row);
        }
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
        if (next.what == next_step::kind::admit && !std::get<table>(done).empty())
            co_return granted(what, terms, std::get<table>(done));
    }
    next.look_again = a_moment; // others are quicker, again and again
    co_return contended_by(w, join, terms, std::move(next));
}

/// Ends what is over, and clears away what nobody keeps. False: not now.
part_of<bool> sweep_one(pool& lines, std::string name, line_row row, instant by) {
    statement clears{.what = row.place == 0 && row.mode == mode::exclusive ? query::release
                                                                           : query::leave,
                     .with = {name, octets_of(row.nonce)}};
    if (clears.what == query::release)
        clears.with.emplace_back(std::int64_t{0});
    asking cleared{lines, std::move(clears), std::move(name), by};
    const auto done = co_await cleared;
    co_return std::holds_alternative<table>(done);
}

part_of<bool> sweep_bond(pool& lines, bond_row bond, instant by) {
    statement ends{.what = query::bond_end, .with = {bond.id, bond.renewals}};
    asking ended{lines, std::move(ends), {}, by};
    const auto done = co_await ended;
    co_return std::holds_alternative<table>(done);
}

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
        doubts_.erase(w.nonce);
        const auto known = bonds_.find(terms.bond);
        if (known == bonds_.end())
            return failure{make_error_code(errc::backend_unavailable),
                           applied::maybe,
                           "what was to keep it was lost meanwhile"};
        if (front_) {
            const bool is_lost = !front_->has(w.nonce);
            fronted_.insert_or_assign(w.nonce, fronted{what, terms.bond, is_lost});
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
    const auto at = places_.find(w.nonce);
    if (at == places_.end()) { // asks again for a place
        no.retry_after = std::min(no.retry_after, a_moment);
        return no;
    }
    no.place = next.ahead;
    no.keeps_place = terms;
    auto& pause = at->second.pause;
    pause = std::clamp(pause * 2, shortest_poll, longest_poll);
    const auto most = able().wake == wake_by::polling ? pause : longest_trust_in_hints;
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

// ----------------------------------------------------------------------------- what keeps things

// Called with or without the lock: a bell that is hung up meanwhile is told to all bonds.
statement sql_backend::addition(bond_id id, const claim& w) const {
    const auto who = w.by ? *w.by : party{.host = {}, .pid = ::getpid(), .purpose = {}};
    return {.what = query::bond_add,
            .with = {number_of(id),
                     client_,
                     microseconds(w.ttl),
                     microseconds(w.lock_delay),
                     bell_,
                     readable(who.host),
                     who.pid,
                     readable(who.purpose)}};
}

part_of<sql_backend::kept> sql_backend::keep_bond(call c, held what) {
    if (shares_bond(*what))
        return keep_common_bond(c, std::move(what));
    return keep_own_bond(c, std::move(what));
}

part_of<sql_backend::kept> sql_backend::keep_own_bond(call c, held what) {
    const auto id = own_bond(*what);
    const bond_terms terms{id, boot_clock::now(), what->ttl, margin};
    auto asked = on_hot(addition(id, *what), *what, c.answer_by);
    const auto got = co_await asked;
    if (const auto* wrong = std::get_if<trouble>(&got))
        co_return wrong->why;
    const std::lock_guard lock{guard_};
    bonds_.insert_or_assign(id, known_bond{terms, what->lock_delay});
    co_return terms;
}

// A third of its time is what it may be old: then the keeper would renew it, too.
part_of<sql_backend::kept> sql_backend::keep_common_bond(call c, held what) {
    const auto key = std::to_string(what->ttl.count());
    for (;;) {
        const auto now = boot_clock::now();
        {
            const std::lock_guard lock{guard_};
            if (const auto known = known_common(what->ttl);
                known && now - known->anchor < what->ttl / 3)
                co_return *known;
        }
        if (keeping_.begin_alone(key))
            break;
        if (now >= c.answer_by)
            co_return failure{make_error_code(errc::backend_unavailable),
                              applied::no,
                              "the server did not answer in time"};
        doings::until_done others{keeping_, key};
        co_await others;
    }

    std::optional<bond_terms> before;
    auto id = bond_id{};
    {
        const std::lock_guard lock{guard_};
        before = known_common(what->ttl);
        id = before ? before->bond
                    : bond_id{static_cast<std::uint64_t>(number_from(chance_.next()))};
    }
    const bond_terms terms{id, boot_clock::now(), what->ttl, margin};
    auto keeps =
        before ? statement{.what = query::bond_keep, .with = {number_of(id)}} : addition(id, *what);
    asking asked{*lines_, std::move(keeps), {}, c.answer_by};
    const auto got = co_await asked;

    const auto* wrong = std::get_if<trouble>(&got);
    const bool is_gone = wrong == nullptr && std::get<table>(got).empty();
    {
        const std::lock_guard lock{guard_};
        if (is_gone) {
            bonds_.erase(id);
        } else if (wrong == nullptr) {
            bonds_.insert_or_assign(id, known_bond{terms, {}});
            common_.insert_or_assign(what->ttl, id);
        }
    }
    keeping_.end(key);
    if (wrong != nullptr)
        co_return wrong->why;
    if (!is_gone)
        co_return terms;
    events_->bond_lost(id);
    auto anew = keep_common_bond(c, what);
    co_return co_await anew;
}

/// With the lock held.
std::optional<bond_terms> sql_backend::known_common(duration ttl) const {
    const auto common = common_.find(ttl);
    if (common == common_.end())
        return std::nullopt;
    const auto known = bonds_.find(common->second);
    return known == bonds_.end() ? std::nullopt : std::optional{known->second.terms};
}

void sql_backend::renew(const call& c, std::span<const bond_id> bonds) {
    prolong(c, {bonds.begin(), bonds.end()});
}

conversation sql_backend::prolong(call c, std::vector<bond_id> bonds) {
    one_of ids;
    for (const auto id : bonds)
        ids.ids.push_back(number_of(id));
    statement renews{.what = query::bonds_renew, .with = {std::move(ids)}};
    asking asked{*own_line_, std::move(renews), {}, c.answer_by};
    const auto got = co_await asked;

    const auto* rows = std::get_if<table>(&got);
    std::unordered_set<std::int64_t> there;
    std::vector<nonce> lost;
    for (std::size_t i = 0; rows != nullptr && i < rows->rows(); ++i) {
        if (rows->is_null(i, 1))
            there.insert(rows->number(i, 0));
        else
            lost.push_back(nonce_from(rows->text(i, 1)));
    }
    std::vector<renewal_answer> answers;
    {
        const std::lock_guard lock{guard_};
        for (const auto id : bonds) {
            const auto known = bonds_.find(id);
            if (rows == nullptr) {
                answers.push_back({id, renewed::unknown, {}});
            } else if (known == bonds_.end() || !there.contains(number_of(id))) {
                answers.push_back({id, renewed::lost, {}});
                bonds_.erase(id);
            } else {
                auto& terms = known->second.terms;
                terms.anchor = std::max(terms.anchor, c.asked);
                answers.push_back({id, renewed::yes, terms});
            }
        }
    }
    events_->renewed(c.ticket, answers);
    for (const auto& each : lost)
        taken(each);
}

void sql_backend::forget(bond_id bond) {
    std::vector<nonce> fronts;
    {
        const std::lock_guard lock{guard_};
        bonds_.erase(bond);
        for (const auto& [n, one] : fronted_)
            if (one.bond == bond)
                fronts.push_back(n);
    }
    for (const auto& each : fronts)
        give_up_front(each);
}

// ------------------------------------------------------------------------------------ giving back

void sql_backend::release(const call& c, const held& what, const grant& given) {
    give_back(c, what, given);
}

conversation sql_backend::give_back(call c, held what, grant given) {
    const under_way here{*this};
    const auto& w = *what;
    if (front_)
        departures_.begin(w.name);
    const bool own = !shares_bond(w);
    const auto bond = number_of(given.terms.bond);
    statement gives{.what = query::leave, .with = {w.name, octets_of(w.nonce)}};
    if (w.mode == mode::exclusive) {
        gives.what = query::release;
        gives.with.emplace_back(own ? bond : std::int64_t{0});
    }
    if (front_) { // first: whoever is woken by the rest finds it free
        auto parting = leave_front(what->nonce);
        static_cast<void>(co_await parting);
    }
    auto asked = on_hot(std::move(gives), w, c.answer_by);
    const auto got = co_await asked;
    const auto* rows = std::get_if<table>(&got);
    if (rows != nullptr && own) {
        {
            const std::lock_guard lock{guard_};
            bonds_.erase(given.terms.bond);
        }
        if (w.mode != mode::exclusive)
            go({bond}, c.answer_by);
    }
    if (front_)
        departures_.end(w.name);
    if (rows != nullptr && !rows->empty() && rows->number(0, 1) != 0 && w.mode == mode::exclusive) {
        const std::lock_guard lock{guard_};
        const auto now = boot_clock::now();
        if (yields_.size() > most_yields)
            std::erase_if(yields_, [&](const auto& one) { return one.second <= now; });
        yields_[w.name] = now + (ears_ ? longest_yield_to_a_bell : longest_yield);
    }
    events_->released(c.ticket,
                      rows == nullptr ? release_result::unknown
                      : rows->empty() ? release_result::lost
                                      : release_result::released);
    if (rows != nullptr)
        after_leaving(w.name, *rows);
}

/// Wakes the first who waits, if that has not been done; or there was somebody, and is no more.
void sql_backend::after_leaving(const std::string& name, const table& row) {
    if (row.empty() || row.number(0, 1) == 0)
        return;
    if (row.is_null(0, 2))
        lines_->ask({.what = query::calm, .with = {name, row.number(0, 0)}},
                    {},
                    boot_clock::now() + longest_doubt,
                    [](answer&&) {});
    else if (row.number(0, 2) < 0)
        wake_next(name);
    else
        ring(row.number(0, 2));
}

/// Once at a time: who is woken looks at all that he waits for.
void sql_backend::ring(std::int64_t bell) {
    auto text = database_->ringing(bell);
    {
        const std::lock_guard lock{guard_};
        if (text.empty() || !ringing_.insert(bell).second)
            return;
    }
    lines_->ask(
        {.text = std::move(text)}, {}, boot_clock::now() + longest_ring, [this, bell](answer&&) {
            const std::lock_guard lock{guard_};
            ringing_.erase(bell);
        });
}

conversation sql_backend::wake_next(std::string name) {
    statement wakes{.what = query::next_in_line, .with = {name}};
    asking asked{*lines_, std::move(wakes), name, boot_clock::now() + longest_doubt};
    const auto got = co_await asked;
    if (const auto* rows = std::get_if<table>(&got))
        after_leaving(name, *rows);
}

void sql_backend::withdraw(const call& c, const held& what) { take_back(c, what); }

conversation sql_backend::take_back(call c, held what) {
    const under_way here{*this};
    const auto& w = *what;
    if (front_)
        departures_.begin(w.name);
    bool certain = true;
    if (front_) {
        auto parting = leave_front(what->nonce);
        static_cast<void>(co_await parting);
    }
    for (const auto which : {query::release, query::leave}) {
        statement goes{.what = which, .with = {w.name, octets_of(w.nonce)}};
        if (which == query::release) {
            if (w.mode != mode::exclusive)
                continue;
            goes.with.emplace_back(std::int64_t{0});
        }
        auto asked = on_hot(std::move(goes), w, c.answer_by);
        const auto got = co_await asked;
        if (const auto* rows = std::get_if<table>(&got))
            after_leaving(w.name, *rows);
        else
            certain = false;
    }
    {
        const std::lock_guard lock{guard_};
        const auto doubt = doubts_.find(w.nonce);
        if (doubt != doubts_.end() && boot_clock::now() < doubt->second)
            certain = false;
        if (certain) {
            places_.erase(w.nonce);
            doubts_.erase(w.nonce);
        }
        if (certain && !shares_bond(w))
            bonds_.erase(own_bond(w));
    }
    if (certain && !shares_bond(w))
        go({number_of(own_bond(w))}, c.answer_by);
    if (front_)
        departures_.end(w.name);
    events_->withdrawn(c.ticket, certain ? applied::no : applied::maybe);
}

/// Removes bonds of ours, and with them all that they keep.
conversation sql_backend::go(std::vector<std::int64_t> bonds, instant by) {
    const under_way here{*this};
    one_of ids{std::move(bonds)};
    statement goes{.what = query::bonds_remove, .with = {std::move(ids)}};
    asking asked{*lines_, std::move(goes), {}, by};
    const auto got = co_await asked;
    static_cast<void>(got); // what is left ends by itself
}

// What has a lock delay ends by itself, as if we had died.
void sql_backend::close(instant by) {
    std::vector<std::int64_t> ours;
    {
        const std::lock_guard lock{guard_};
        for (const auto& [id, known] : bonds_)
            if (known.lock_delay == duration::zero())
                ours.push_back(number_of(id));
        bonds_.clear();
        closed_ = true;
    }
    if (!ours.empty())
        go(std::move(ours), by);
    while ((under_way_ > 0 || !lines_->settled()) && boot_clock::now() < by) {
        pollfd one{hot_->descriptor(), POLLIN, 0};
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(by - boot_clock::now());
        ::poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 100)));
        hot_->dispatch();
    }
    lines_->close();
    own_line_->close();
    if (front_)
        front_->close();
    if (ears_)
        ears_->close();
}

// --------------------------------------------------------------------------------- what we hear

instant sql_backend::on_time(instant now) {
    std::vector<held> lost;
    bool listen = false, tidy = false;
    auto next = never;
    {
        const std::lock_guard lock{guard_};
        if (now >= fronts_at_) {
            fronts_at_ = never;
            for (const auto& [_, one] : fronted_)
                if (one.is_lost)
                    lost.push_back(one.what);
        }
        listen = now >= listens_at_;
        tidy = now >= tidies_at_;
        if (tidy)
            tidies_at_ = now + tidies_every(how_);
        next = std::min({fronts_at_, tidies_at_, listen ? never : listens_at_});
    }
    if (tidy)
        tidy_up();
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
                is_new = std::exchange(bell_, bell) != bell;
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
conversation sql_backend::catch_up() {
    for (const auto which : {query::rung_for, query::taken_from}) {
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
    case 'h':
        return events_->wanted(about);
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
