#include "backends/sqlite/ledger.hpp"
#include "runtime/assert.hpp"

#include <sqlite3.h>

#include <algorithm>

namespace holdfast::sqlite {
namespace {

constexpr duration longest_ttl = std::chrono::hours{24 * 365 * 100}; // sums of three fit 63 bits

[[nodiscard]] bond_row read_bond(const rows& row, int first) {
    return {.ttl = row.length(first),
            .lock_delay = row.length(first + 1),
            .expires_at = row.at(first + 2),
            .shared = row.number(first + 3) != 0,
            .children_keep_it = row.number(first + 4) != 0};
}

[[nodiscard]] waiter_row read_waiter(const rows& row) {
    waiter_row w{.place = row.number(0),
                 .nonce = row.nonce(1),
                 .process = row.as<process_id>(2),
                 .bond = row.as<bond_id>(3),
                 .mode = row.as<mode>(4),
                 .permits = row.as<std::uint32_t>(5),
                 .kept_by = std::nullopt};
    if (!row.is_null(6))
        w.kept_by = read_bond(row, 6);
    return w;
}

[[nodiscard]] crowd crowd_of(const std::vector<holder_row>& holders) {
    crowd all;
    for (const auto& h : holders)
        all.add(h.mode, h.nonce);
    return all;
}

[[nodiscard]] const holder_row* find(const std::vector<holder_row>& holders, const nonce& whose) {
    const auto found = std::find_if(
        holders.begin(), holders.end(), [&](const holder_row& h) { return h.nonce == whose; });
    return found == holders.end() ? nullptr : &*found;
}

/// Reading under one's own write overtakes those who wait for that very write to end.
[[nodiscard]] bool reads_within(const claim& c, const std::vector<holder_row>& holders) {
    return c.mode == mode::shared && c.within && find(holders, *c.within) != nullptr;
}

[[nodiscard]] bool admits(const std::vector<holder_row>& holders, const claim& c) {
    return crowd_of(holders).admits(c.mode, c.permits, c.within ? &*c.within : nullptr);
}

} // namespace

holder_row read_holder(const rows& row) {
    holder_row h{.nonce = row.nonce(0),
                 .process = row.as<process_id>(1),
                 .bond = row.as<bond_id>(2),
                 .mode = row.as<mode>(3),
                 .fence = fence{row.number(4)},
                 .reserved = row.as<std::uint32_t>(5),
                 .granted_at = row.at(6),
                 .kept_by = std::nullopt};
    if (!row.is_null(7))
        h.kept_by = read_bond(row, 7);
    return h;
}

// -------------------------------------------------------------------------------------- asking

// Nobody holds, nobody waits: one look, one number, one row. Else the rules of the queue.
attempted
ledger::attempt(const claim& c, joining join, const asker& us, instant now, aftermath& after) {
    trial t{c, us, now, after};
    if (const auto seen = glance(c.name, us.usual.value_or(bond_id{})); seen.idle) {
        keep_bond(t, known_bond(t, nullptr), seen.usual);
        give(t, seen.fences);
        return std::move(t.result);
    } else if (seen.usual && shares_bond(c) && !is_due(*seen.usual, now)) {
        t.result.bond = kept{*us.usual, *seen.usual}; // not over, so nobody ends it meanwhile
    }
    auto holders = holders_of(c.name);
    if (const auto* mine = find(holders, c.nonce); mine != nullptr && mine->process == self_) {
        say_yours(t, *mine);
        return std::move(t.result);
    }
    auto queue = queue_of(c.name, c.nonce, now);
    if ((queue.empty || reads_within(c, holders)) && admits(holders, c)) {
        t.result.wanted = !queue.empty;
        keep_bond(t, known_bond(t, nullptr));
        give(t, fences());
        return std::move(t.result);
    }
    if (queue.mine) { // before serving: who asks again is not frozen
        keep_bond(t, known_bond(t, &queue.mine->bond));
        if (t.result.bond->id != queue.mine->bond)
            db_.tell(query::waiter_rebind, t.result.bond->id, c.name, queue.mine->place);
        queue = queue_of(c.name, c.nonce, now); // others of ours may have been thawed with it
    }
    hear_queue(t, join, std::move(holders), std::move(queue));
    return std::move(t.result);
}

// Each round without an answer buries one dead waiter, so this comes to an end. The file is read
// again only after it was changed: most who come find a holder and a queue, and both alive.
void ledger::hear_queue(trial& t, joining join, std::vector<holder_row> holders, queue_view queue) {
    const auto& c = t.what;
    for (;;) {
        bool changed = queue.ahead == 0 && settle(c.name, c.nonce, t.now, t.after);
        if (changed || !crowd_of(holders).excludes_all()) // a waiter may have been frozen till now
            changed = serve(c.name, t.now, t.after) || changed;
        if (changed) {
            holders = holders_of(c.name);
            queue = queue_of(c.name, c.nonce, t.now);
        }
        if (const auto* mine = find(holders, c.nonce); mine != nullptr && mine->process == self_) {
            std::erase_if(t.after.pushes, [&](const auto& p) { return p.given.nonce == c.nonce; });
            return say_yours(t, *mine);
        }
        if (!queue.mine && queue.ahead == 0 && admits(holders, c)) {
            t.result.wanted = !queue.empty;
            keep_bond(t, known_bond(t, nullptr));
            return give(t, fences());
        }
        if (!queue.nearest || life_of(queue.nearest->process) != liveness::dead)
            return say_wait(t, join, queue, holders);
        bury(queue.nearest->process, end::died, t.now, t.after);
        holders = holders_of(c.name);
        queue = queue_of(c.name, c.nonce, t.now);
    }
}

// The same nonce again. Its row stood all the time, so nobody else was granted; should its bond be
// one that we said we would not use any more, the grant goes on under another.
void ledger::say_yours(trial& t, const holder_row& mine) {
    const auto known = known_bond(t, &mine.bond);
    if (t.what.renewal == renewal::none && known)
        t.result.bond = kept{mine.bond, *mine.kept_by}; // not renewed by asking twice
    else
        keep_bond(t, known);
    const auto& bond = *t.result.bond;
    if (bond.id != mine.bond)
        db_.tell(query::holder_rebind, bond.id, t.what.name, t.what.nonce);
    t.result.answer = grant{mine.nonce, mine.fence, mine.reserved, terms_of(bond.id, bond.row)};
    t.result.wanted = has_waiters(t.what.name);
}

/// The bond to go on with: the usual one, or for who has his own the one that stands in the row.
std::optional<bond_id> ledger::known_bond(const trial& t, const bond_id* standing) const {
    if (shares_bond(t.what))
        return t.us.usual;
    if (standing == nullptr || t.us.forgotten.contains(*standing))
        return std::nullopt;
    return *standing;
}

void ledger::keep_bond(trial& t, std::optional<bond_id> known) {
    if (!t.result.bond) // one attempt needs one bond, also when it is looked for twice
        keep_bond(t, known, known ? find_bond(*known) : std::nullopt);
}

/// Sees to it that a bond of ours is there and has a good part of its life before it.
void ledger::keep_bond(trial& t,
                       std::optional<bond_id> known,
                       const std::optional<bond_row>& found) {
    if (known && found) {
        t.result.bond =
            is_due(*found, t.now) ? renew(*known, t.now, t.after) : kept{*known, *found};
        return;
    }
    t.result.lost = known; // if there was one: somebody ended it, and with it all that it kept
    const auto ttl = std::min(t.what.ttl, longest_ttl);
    const bond_row row{.ttl = ttl,
                       .lock_delay = std::min(t.what.lock_delay, longest_ttl),
                       .expires_at = sqlite::after(t.now, ttl),
                       .shared = shares_bond(t.what),
                       .children_keep_it = t.us.of_us == children::keep_locks};
    const auto made = db_.tell(query::bond_add,
                               self_,
                               t.us.fresh,
                               row.ttl,
                               row.lock_delay,
                               row.expires_at,
                               row.shared ? 1 : 0,
                               row.children_keep_it ? 1 : 0);
    if (made != 1)
        throw unregistered{SQLITE_BUSY, "this process is no longer known in the lock file"};
    t.result.bond = kept{t.us.fresh, row};
}

void ledger::give(trial& t, fence_range numbers) {
    const auto& c = t.what;
    const auto& bond = *t.result.bond;
    const auto [number, reserved] =
        c.within ? std::pair{own_write(c), 0U} : take_fence(c.mode, numbers);
    db_.tell(query::holder_add, c.name, c.nonce, self_, bond.id, c.mode, number, reserved, t.now);
    t.result.answer = grant{c.nonce, number, reserved, terms_of(bond.id, bond.row)};
}

// Who reads under his own write has that write's number: with a larger one he would shut himself
// out.
fence ledger::own_write(const claim& c) {
    const auto holders = holders_of(c.name);
    const auto* write = c.within ? find(holders, *c.within) : nullptr;
    return write == nullptr ? fence{fences().next - 1} : write->fence;
}

// Readers carry the last number handed out: not below any writer before them, below all after.
std::pair<fence, std::uint32_t> ledger::take_fence(mode how, fence_range numbers) {
    if (how == mode::permit)
        return {};
    if (how == mode::shared)
        return {fence{numbers.next - 1}, 0};
    constexpr auto taken = 1 + reserved_passes;
    if (numbers.next + taken > numbers.end)
        throw out_of_fences{};
    db_.tell(query::fence_take, taken);
    return {fence{numbers.next}, static_cast<std::uint32_t>(reserved_passes)};
}

void ledger::say_wait(trial& t,
                      joining join,
                      const queue_view& queue,
                      const std::vector<holder_row>& holders) {
    const auto& c = t.what;
    t.result.queued = queue.mine || join == joining::queue;
    if (t.result.queued && !queue.mine) {
        keep_bond(t, known_bond(t, nullptr));
        db_.tell(query::waiter_add,
                 c.name,
                 queue.last + 1,
                 c.nonce,
                 self_,
                 t.result.bond->id,
                 c.mode,
                 static_cast<std::int64_t>(c.permits),
                 t.now);
        if (queue.ahead == 0)
            for (const auto& h : holders)
                t.after.letters.push_back({h.process, {letter::word::wanted, h.nonce}});
    }
    t.result.answer = refusal(t, queue, holders);
}

/// Says when to ask again even if nothing is heard, and whom to watch meanwhile.
contended
ledger::refusal(trial& t, const queue_view& queue, const std::vector<holder_row>& holders) {
    constexpr duration a_little = std::chrono::milliseconds{1};
    const auto watch = [&](process_id who) {
        if (who != self_)
            t.result.watch.push_back(who);
    };
    contended no;
    no.retry_after = t.what.ttl / 2;
    no.place = t.result.queued ? queue.ahead + 1 : 0;
    if (!holders.empty())
        no.holder = party_of(holders.front().process);
    if (queue.nearest) {
        watch(queue.nearest->process);
        return no;
    }
    for (const auto& h : holders) {
        const auto life = life_of(h.process);
        if (life != liveness::unknown) // if it died since settle() looked, that is seen at once
            watch(h.process);
        if (!(h.kept_by->children_keep_it && life == liveness::alive))
            no.retry_after = std::min(no.retry_after,
                                      std::max(free_at(*h.kept_by) - t.now, duration{}) + a_little);
    }
    return no;
}

std::optional<bond_id> ledger::withdraw(const claim& c, instant now, aftermath& after) {
    std::optional<bond_id> own;
    {
        auto gone = db_.ask(query::waiter_remove, c.name, c.nonce);
        std::optional<std::int64_t> place;
        while (gone.next()) {
            place = gone.number(0);
            own = gone.as<bond_id>(1);
        }
        if (place) {
            auto next = db_.ask(query::waiter_after, c.name, *place);
            if (next.next())
                after.letters.push_back(
                    {next.as<process_id>(0), {letter::word::look, next.nonce(1)}});
        }
    }
    if (auto held = db_.ask(query::holder_bond, c.name, c.nonce); held.next())
        own = held.as<bond_id>(0);
    db_.tell(query::holder_remove, c.name, c.nonce);
    if (shares_bond(c))
        own.reset();
    if (own)
        db_.tell(query::bond_remove, self_, *own);
    serve(c.name, now, after);
    return own;
}

bool ledger::release(const claim& c, const grant& given, instant now, aftermath& after) {
    if (db_.tell(query::holder_remove, c.name, c.nonce) == 0)
        return false;
    if (!shares_bond(c))
        db_.tell(query::bond_remove, self_, given.terms.bond);
    serve(c.name, now, after);
    return true;
}

// Also when its time is over: whoever takes a lock for that reason ends the bond in the same
// transaction. So a bond that is there has lost nothing but what an operator took; who renews it
// hears of that at the latest here, should the letter not have come.
std::optional<kept> ledger::renew(bond_id id, instant now, aftermath& after) {
    auto found = db_.ask(query::bond_prolong, now, self_, id);
    if (!found.next())
        return std::nullopt;
    const kept renewed{id, read_bond(found, 0)};
    found.finish();
    if (auto taken = taken_from_us(); !taken.empty()) {
        after.taken.insert(after.taken.end(), taken.begin(), taken.end());
        db_.tell(query::taken_remove, self_);
    }
    return renewed;
}

// The numbers that came along with the grant move up with it: so files that were raised together
// count on alike, and their next grants need no raising.
bool ledger::raise_fence(const claim& c, fence least) {
    const auto holders = holders_of(c.name);
    const auto* mine = find(holders, c.nonce);
    if (mine == nullptr || mine->process != self_)
        return false;
    if (mine->fence >= least)
        return true;
    const auto after_ours = least.value() + 1 + mine->reserved;
    const auto numbers = fences();
    if (after_ours > numbers.end)
        throw out_of_fences{after_ours};
    db_.tell(query::holder_refence, least, c.name, c.nonce);
    if (after_ours > numbers.next)
        db_.tell(query::fence_take, after_ours - numbers.next);
    return true;
}

// The name is free at once, whatever its holder believes: that is what the operator asked for. What
// else the same bond keeps was not asked for, and stays.
std::size_t ledger::force_release(const std::string& name, instant now, aftermath& after) {
    const auto holders = holders_of(name);
    for (const auto& h : holders) {
        db_.tell(query::holder_remove, name, h.nonce);
        db_.tell(query::taken_add, h.process, name, h.nonce);
        if (h.kept_by && !h.kept_by->shared)
            db_.tell(query::bond_remove, h.process, h.bond);
        after.letters.push_back({h.process, {letter::word::taken, h.nonce}});
    }
    serve(name, now, after);
    return holders.size();
}

std::vector<nonce> ledger::taken_from_us() {
    std::vector<nonce> all;
    auto found = db_.ask(query::taken_of, self_);
    while (found.next())
        all.push_back(found.nonce(0));
    return all;
}

std::optional<aftermath::push> ledger::find_grant(const std::string& name, const nonce& whose) {
    const auto holders = holders_of(name);
    const auto* mine = find(holders, whose);
    if (mine == nullptr || mine->process != self_)
        return std::nullopt;
    const grant given{
        mine->nonce, mine->fence, mine->reserved, terms_of(mine->bond, *mine->kept_by)};
    return aftermath::push{self_, given, has_waiters(name), mine->granted_at};
}

// ------------------------------------------------------------------------------------- looking

ledger::first_look ledger::glance(const std::string& name, bond_id usual) {
    auto found = db_.ask(query::glance, name, self_, usual);
    if (!found.next())
        throw trouble{SQLITE_CORRUPT, "the lock file has lost its counter of fences"};
    first_look seen{.idle = found.number(0) != 0,
                    .fences = {found.number(1), found.number(2)},
                    .usual = std::nullopt};
    if (!found.is_null(3))
        seen.usual = read_bond(found, 3);
    return seen;
}

ledger::fence_range ledger::fences() {
    auto found = db_.ask(query::fences);
    if (!found.next())
        throw trouble{SQLITE_CORRUPT, "the lock file has lost its counter of fences"};
    return {found.number(0), found.number(1)};
}

std::optional<bond_row> ledger::find_bond(bond_id id) {
    auto found = db_.ask(query::bond_find, self_, id);
    return found.next() ? std::optional{read_bond(found, 0)} : std::nullopt;
}

bool ledger::has_waiters(const std::string& name) {
    return db_.ask(query::has_waiters, name).next();
}

std::vector<holder_row> ledger::holders_of(const std::string& name) {
    std::vector<holder_row> all;
    auto found = db_.ask(query::holders_of, name);
    while (found.next())
        if (auto h = read_holder(found); h.kept_by)
            all.push_back(h);
    return all;
}

// Who comes new needs to know the end of the queue, not all of it.
ledger::queue_view ledger::queue_of(const std::string& name, const nonce& mine, instant now) {
    std::uint32_t size = 0;
    bool stands_in_it = false;
    {
        auto found = db_.ask(query::queue_size, name, mine);
        if (found.next()) {
            size = found.as<std::uint32_t>(0);
            stands_in_it = found.number(1) != 0;
        }
    }
    if (stands_in_it)
        return queue_up_to(name, mine, now);
    auto view = size == 0 ? queue_view{} : end_of_queue(name, now);
    view.ahead = view.nearest ? size : 0;
    return view;
}

ledger::queue_view ledger::queue_up_to(const std::string& name, const nonce& mine, instant now) {
    queue_view view{.mine = {}, .nearest = {}, .empty = false};
    auto found = db_.ask(query::waiters_of, name);
    while (!view.mine && found.next()) {
        const auto w = read_waiter(found);
        if (w.nonce == mine) {
            view.mine = w;
        } else if (!is_frozen(w, now)) {
            ++view.ahead;
            view.nearest = w;
        }
    }
    return view;
}

ledger::queue_view ledger::end_of_queue(const std::string& name, instant now) {
    queue_view view{.mine = {}, .nearest = {}, .empty = false};
    auto found = db_.ask(query::waiters_from_the_end, name);
    while (!view.nearest && found.next()) {
        const auto w = read_waiter(found);
        view.last = std::max(view.last, w.place);
        if (!is_frozen(w, now))
            view.nearest = w;
    }
    return view;
}

liveness ledger::life_of(process_id id) {
    return id == self_ ? liveness::alive : watches_.look_at(id);
}

std::optional<party> ledger::party_of(process_id id) {
    constexpr std::size_t many = 64;
    if (const auto known = met_.find(id); known != met_.end())
        return known->second;
    auto found = db_.ask(query::process_find, id);
    if (!found.next())
        return std::nullopt;
    if (met_.size() >= many)
        met_.clear();
    const party who{std::string{found.text(0)}, found.number(1), std::string{found.text(2)}};
    return met_.emplace(id, who).first->second;
}

// ------------------------------------------------------------------------------------- serving

// Reads until the first who must go on waiting, and only then writes: a cursor and changes to what
// it walks over do not go together.
bool ledger::serve(const std::string& name, instant now, aftermath& after) {
    std::vector<waiter_row> next;
    std::optional<waiter_row> first_left;
    std::size_t together = 0;
    {
        auto waiting = db_.ask(query::waiters_of, name);
        if (!waiting.next())
            return false;
        auto holding = crowd_of(holders_of(name));
        do {
            const auto w = read_waiter(waiting);
            if (is_frozen(w, now))
                continue;
            if (!holding.admits(w.mode, w.permits)) {
                first_left = w;
                break;
            }
            if (life_of(w.process) == liveness::dead) {
                found_dead_.push_back(w.process);
                continue;
            }
            holding.add(w.mode, w.nonce);
            next.push_back(w);
        } while (waiting.next());
        together = holding.size();
    }
    for (const auto& w : next)
        admit(name, w, first_left.has_value(), now, after);
    // Alone, the new holder is whom the next one watches already.
    if (first_left && !next.empty() && together > 1)
        after.letters.push_back({first_left->process, {letter::word::look, first_left->nonce}});
    return !next.empty();
}

// Its lease counts from now, on the clock that we share; so does its bond, unless that is shared
// and was prolonged a short while ago: then it counts from there, which is no more than the truth.
// An explicit lease is not renewed, so it gets all of its time.
void ledger::admit(
    const std::string& name, const waiter_row& w, bool wanted, instant now, aftermath& after) {
    HOLDFAST_ASSERT(w.kept_by, "who is not frozen has a bond");
    const auto [number, reserved] = take_fence(w.mode, fences());
    db_.tell(query::waiter_admitted, name, w.place, w.nonce);
    db_.tell(query::holder_add, name, w.nonce, w.process, w.bond, w.mode, number, reserved, now);
    auto row = *w.kept_by;
    if (!row.shared || is_due(row, now)) {
        auto bond = db_.ask(query::bond_prolong, now, w.process, w.bond);
        const bool kept = bond.next();
        HOLDFAST_ASSERT(kept, "a bond that was read in this transaction is still there");
        row = read_bond(bond, 0);
        bond.finish();
    }
    after.pushes.push_back(
        {w.process, {w.nonce, number, reserved, terms_of(w.bond, row)}, wanted, now});
}

// --------------------------------------------------------------------------------------- ending

/// Ends the holders of a name who are dead, or over by time.
bool ledger::settle(const std::string& name, const nonce& but, instant now, aftermath& after) {
    bool changed = false;
    for (const auto& h : holders_of(name)) {
        if (h.nonce == but)
            continue;
        const auto life = life_of(h.process);
        if (life == liveness::dead)
            bury(h.process, end::died, now, after);
        else if (is_over(h, life, now))
            end_bond(name, h, now, after);
        else
            continue;
        changed = true;
    }
    return changed;
}

// A lease that is over takes its bond along: were the bond renewed later, its process would believe
// in all that the bond has kept, also in what is somebody else's by now.
void ledger::end_bond(const std::string& name, const holder_row& h, instant now, aftermath& after) {
    std::vector<std::string> freed{name};
    if (h.kept_by->shared) {
        auto gone = db_.ask(query::holders_of_bond_remove, h.process, h.bond);
        while (gone.next())
            if (gone.text(0) != name)
                freed.emplace_back(gone.text(0));
    } else {
        db_.tell(query::holder_remove, name, h.nonce);
    }
    if (db_.tell(query::bond_remove, h.process, h.bond) == 1)
        after.letters.push_back({h.process, letter::about_bond(h.bond)});
    for (const auto& each : freed)
        serve(each, now, after);
}

void ledger::end_forgotten(bond_id id, instant now, aftermath& after) {
    std::vector<std::string> freed;
    if (auto found = db_.ask(query::bond_free_at, self_, id); !found.next() || now < found.at(0))
        return;
    {
        auto gone = db_.ask(query::holders_of_bond_remove, self_, id);
        while (gone.next())
            freed.emplace_back(gone.text(0));
    }
    db_.tell(query::bond_remove, self_, id);
    for (const auto& each : freed)
        serve(each, now, after);
}

// What a process leaves behind. One that died keeps others out for its lock delay, if it has one,
// counted from now or from when its lease was over; then its row stays until that has passed too.
// One that is silent (its FIFO is gone, so nobody can tell) keeps what is not over by time.
void ledger::bury(process_id who, end how, instant now, aftermath& after) {
    if (how == end::died)
        db_.tell(query::bonds_of_dead_cut, now, who);
    db_.tell(query::bonds_over_remove, who, now);

    std::vector<std::string> touched;
    {
        auto gone = db_.ask(query::holders_over_remove, who);
        while (gone.next())
            touched.emplace_back(gone.text(0));
    }
    const bool all_gone = [&] {
        auto left = db_.ask(query::bonds_left, who);
        return left.next() && left.number(0) == 0;
    }();
    if (how != end::silent || all_gone) {
        std::vector<std::pair<std::string, std::int64_t>> places;
        {
            auto gone = db_.ask(query::waiters_of_process_remove, who);
            while (gone.next())
                places.emplace_back(gone.text(0), gone.number(1));
        }
        for (auto& [name, place] : places) {
            auto next = db_.ask(query::waiter_after, name, place);
            if (next.next())
                after.letters.push_back(
                    {next.as<process_id>(0), {letter::word::look, next.nonce(1)}});
            touched.push_back(std::move(name));
        }
    }
    if (all_gone) {
        db_.tell(query::process_remove, who);
        db_.tell(query::taken_remove, who);
        after.buried.push_back(who);
    }
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    for (const auto& name : touched)
        serve(name, now, after);
}

void ledger::bury_the_dead(instant now, aftermath& after) {
    while (!found_dead_.empty()) {
        const auto who = found_dead_.back();
        found_dead_.pop_back();
        bury(who, end::died, now, after);
    }
}

// ------------------------------------------------------------------------------ coming and going

void ledger::enter(const party& who, instant now, aftermath& after) {
    db_.tell(query::process_add, self_, who.host, who.pid, who.purpose);
    sweep(now, after);
}

// As if we had died: what was not released before is kept back for its lock delay.
void ledger::leave(instant now, aftermath& after) { bury(self_, end::died, now, after); }

// What others left behind whom nobody has missed: rows of the dead, and FIFOs without rows. The
// latter may belong to somebody who is just coming in and has not opened them yet; so they go now,
// not after the transaction: whoever comes in looks inside a transaction whether his FIFOs are
// still there.
void ledger::sweep(instant now, aftermath& after) {
    std::vector<process_id> known;
    {
        auto all = db_.ask(query::processes);
        while (all.next())
            known.push_back(all.as<process_id>(0));
    }
    const auto traces = watches_.traces();
    for (const auto id : known) {
        if (id == self_)
            continue;
        const auto life = watches_.look_once(id);
        if (life == liveness::dead)
            bury(id, end::died, now, after);
        else if (life == liveness::unknown && !std::binary_search(traces.begin(), traces.end(), id))
            bury(id, end::silent, now, after);
    }
    std::sort(known.begin(), known.end());
    for (const auto id : traces)
        if (!std::binary_search(known.begin(), known.end(), id) &&
            watches_.look_once(id) == liveness::dead)
            watches_.remove_names(id);
}

} // namespace holdfast::sqlite
