#include "backends/redis/backend.hpp"
#include "backends/redis/errors.hpp"
#include "runtime/random.hpp"

#include <algorithm>
#include <poll.h>
#include <utility>

namespace holdfast::redis {
namespace {

/// Redis counts in milliseconds: it may end a lease one of them early, and we look one late.
constexpr duration margin = std::chrono::milliseconds{3};
/// Who answers at the last moment is taken for silent, and what he has to say is not heard.
constexpr duration longest_head_start = std::chrono::milliseconds{50};
/// Most leases are over by then, and need no connection for it.
constexpr duration listens_for_force_after = std::chrono::milliseconds{200};
/// They cannot say that they want it.
constexpr std::uint32_t passes_while_others_wait = 8;
constexpr std::size_t renewed_by_one_script = 100;
constexpr std::size_t most_doubts = 1000;

[[nodiscard]] capabilities abilities(const options& o) {
    capabilities can;
    const bool plain = o.layout == layout::plain;
    can.engine = "redis";
    can.reach = reach::network;
    can.shared = !plain;
    can.permits = !plain;
    can.loses_permits = o.semaphores == semaphores::plain;
    can.fair = !plain;
    can.lock_delay = true;
    can.fence_per_pass = !plain;
    can.raises_fences = !plain;
    can.fences = plain ? fence_grade::transient : fence_grade::hybrid;
    can.ttl = ttl_scope::grant;
    can.wake = plain ? wake_by::polling : wake_by::hint; // others there announce nothing
    can.assumptions = static_cast<std::uint8_t>(assumption::clock_rates_agree) |
                      static_cast<std::uint8_t>(assumption::engine_remembers) |
                      static_cast<std::uint8_t>(assumption::engine_clock_never_jumps);
    return can;
}

void raise(std::atomic<duration::rep>& most, duration::rep to) {
    auto now = most.load(std::memory_order_relaxed);
    while (now < to && !most.compare_exchange_weak(now, to)) {
    }
}

[[nodiscard]] std::string new_uuid() {
    detail::kernel_random chance;
    return uuid_from(detail::draw_nonce(chance));
}

[[nodiscard]] announcing way_to_announce(const options& o) {
    if (o.announce != announcing::by_topology)
        return o.announce;
    return o.topology == topology::cluster ? announcing::spublish : announcing::publish;
}

[[nodiscard]] std::unique_ptr<directory> make_directory(std::shared_ptr<const acquaintance> with) {
    switch (with->how.topology) {
    case topology::sentinel:
        return make_sentinel_directory(std::move(with));
    case topology::cluster:
        return make_cluster_directory(std::move(with));
    case topology::single:
    case topology::replicas:
        break;
    }
    return make_fixed_directory(std::move(with));
}

} // namespace

redis_backend::redis_backend(options o)
    : how_{std::move(o)}, able_{abilities(how_)}, protocol_{how_.layout,
                                                            how_.prefix,
                                                            way_to_announce(how_),
                                                            how_.fence_retention,
                                                            new_uuid(),
                                                            how_.semaphores} {
    auto with = std::make_shared<acquaintance>();
    with->how = how_;
    if (how_.secure)
        with->tls = make_tls_context(how_.tls);
    with->hot = hot_;
    with->background = background_;
    with->announce = protocol_.announces();
    with->in_cluster = how_.topology == topology::cluster;
    with->wake = [this](const nonce& who) { events_->woken(who); };
    with->released = [this](const std::string& channel) {
        manners_.heard(channel, boot_clock::now());
    };
    with->forced = [this](const std::string& key) { look_after_force(key); };
    with->link = [this](link_state s, const std::string& words) { events_->link(s, words); };
    with->notice = [this](const std::string& words) { events_->notice(words); };
    with->trouble = [this](const endpoint& where, const failure& why) {
        directory_->troubled(where, why);
    };
    with->moved = [this] { listen_where_names_live_now(); };
    longest_ttl_ = with->longest_ttl;
    directory_ = make_directory(std::move(with));
    ticker_.emplace(background_, [this](instant now) { return from_time_to_time(now); });
}

redis_backend::~redis_backend() {
    ticker_.reset();
    directory_->close();
}

// ----------------------------------------------------------------------------------- what we say

instant redis_backend::from_time_to_time(instant now) {
    const auto [holds, waits] = holds_or_waits();
    auto next = notebook_.next(now);
    if (holds) // whoever holds a lock for a while wants to know if it is taken away
        for (const auto& where : directory_->primaries())
            where->ears().open();
    if (holds || waits) {
        for (const auto& where : servers_in_use())
            where->look_around(now);
        next = std::min(next, now + looks_around_every);
    }
    if (const auto text = notebook_.due(now, holds))
        write_note(*text);
    looks_at_ = next;
    return next;
}

/// Most leases and waits are over by then.
void redis_backend::look_around_soon(instant now) {
    const auto then = now + looks_around_every;
    auto next = looks_at_.load(std::memory_order_relaxed);
    while (next > then)
        if (looks_at_.compare_exchange_weak(next, then))
            return background_->wake_at(then);
}

void redis_backend::introduce(const claim& what) {
    if (!what.by || !notebook_.introduce(*what.by))
        return;
    const auto now = boot_clock::now();
    write_note(notebook_.written(now));
    background_->wake_at(notebook_.next(now));
}

// On the line that also takes it away: the last word is the last.
void redis_backend::write_note(const std::string& text) {
    const auto key = std::string{note_prefix} + protocol_.holders().uuid();
    std::string bytes;
    append_command(bytes, {"SET", key, text, "PX", std::to_string(milliseconds_of(note_lives))});
    directory_->ask(server::way::hot,
                    key,
                    bytes,
                    boot_clock::now() + how_.silence,
                    [](const reply&, const failure*) {});
}

std::pair<bool, bool> redis_backend::holds_or_waits() {
    const std::lock_guard lock{guard_};
    return {!bonds_.empty(), !listening_.empty()};
}

std::set<std::shared_ptr<server>> redis_backend::servers_in_use() {
    if (directory_->one_place_for_all()) {
        const auto all = directory_->primaries();
        return {all.begin(), all.end()};
    }
    std::vector<std::string> keys;
    {
        const std::lock_guard lock{guard_};
        for (const auto& [_, what] : bonds_)
            keys.emplace_back(std::string_view{protocol_.key(what->name)});
        for (const auto& [_, at] : listening_)
            keys.push_back(at.key);
    }
    std::set<std::shared_ptr<server>> used;
    for (const auto& key : keys)
        if (auto where = directory_->server_of(key))
            used.insert(std::move(where));
    return used;
}

void redis_backend::start(backend_events& events) { events_ = &events; }

// An attempt that nobody will hear the answer of is taken back, behind it on the same line; what
// was sent has until `by` to be done.
void redis_backend::close(instant by) {
    std::vector<held> unheard;
    {
        const std::lock_guard lock{guard_};
        for (const auto& [_, what] : asking_)
            unheard.push_back(what);
    }
    for (const auto& what : unheard)
        give_back(what, by, [](const reply&, const failure*) {});
    if (notebook_.close()) {
        const auto key = std::string{note_prefix} + protocol_.holders().uuid();
        std::string bytes;
        append_command(bytes, {"DEL", key});
        directory_->ask(server::way::hot, key, bytes, by, [](const reply&, const failure*) {});
    }
    const auto all = directory_->primaries();
    const auto settled = [&] {
        return std::all_of(all.begin(), all.end(), [](const auto& one) { return one->settled(); });
    };
    for (auto now = boot_clock::now(); now < by && !settled(); now = boot_clock::now()) {
        pollfd hot{hot_->descriptor(), POLLIN, 0};
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(by - now).count();
        ::poll(&hot, 1, static_cast<int>(std::min<std::int64_t>(left, 10)));
        hot_->dispatch();
    }
    directory_->close();
}

template <class Done>
void redis_backend::give_back(const held& what, instant answer_by, Done done) {
    run(
        server::way::hot,
        what,
        answer_by,
        [this](std::string& out, const held& w, calling how) { protocol_.give_back(out, *w, how); },
        std::move(done));
}

// ------------------------------------------------------------------------------------- attempts

void redis_backend::attempt(const call& c, const held& what, joining join) {
    const auto key = protocol_.key(what->name);
    if (!directory_->one_place_for_all() && !keeps_to_one_slot(key))
        return events_->attempted(c.ticket,
                                  failure{errc::bad_name,
                                          applied::no,
                                          "in a cluster a name has no braces, or one {tag}"});
    raise(*longest_ttl_, (what->ttl + what->lock_delay).count());
    const auto where = directory_->server_of(key);
    if (where)
        if (const auto no = where->grants_nothing(c.asked))
            return events_->attempted(c.ticket, *no);
    introduce(*what);
    if (join == joining::queue && !manners_.idle()) {
        const auto pause = manners_.yields(protocol_.channel(*what), c.asked);
        if (pause > duration::zero()) {
            protocol::verdict after_you;
            after_you.no.retry_after = pause;
            return refused(c, what, join, after_you);
        }
    }
    ask_for(c, what, join, again::no);
}

void redis_backend::ask_for(const call& c, const held& what, joining join, again second) {
    const auto key = protocol_.key(what->name);
    const auto where = directory_->server_of(key);
    const auto not_after = where ? where->clock_at(c.answer_by) : 0;
    // From when on it cannot take effect any more, even if it still lies in some buffer. Without
    // a limit, because we do not know the server's clock yet: when nothing of it would be left.
    const auto settled =
        not_after > 0 ? c.answer_by + where->clock_error() : c.asked + what->ttl + what->lock_delay;
    {
        const std::lock_guard lock{guard_};
        asking_.emplace(what->nonce, what);
    }
    run(
        server::way::hot,
        what,
        c.answer_by - std::min(longest_head_start, (c.answer_by - c.asked) / 10),
        [this, join, not_after](std::string& out, const held& w, calling how) {
            protocol_.attempt(out, *w, join, not_after, how);
        },
        [this, c, what, join, second, settled](const reply& r, const failure* f) {
            if (f != nullptr && f->applied == applied::maybe) // answered, it is over
                doubt(what->nonce, settled);
            answered(c, what, join, r, f, second);
        });
}

void redis_backend::answered(
    const call& c, const held& what, joining join, const reply& r, const failure* f, again second) {
    if (f != nullptr)
        return tell(c, what, *f);
    auto verdict = protocol_.attempted(r, *what);
    using kind = protocol::verdict::kind;
    switch (verdict.is) {
    case kind::granted:
        return granted(c, what, verdict);
    case kind::contended:
        return refused(c, what, join, verdict);
    case kind::failed:
        return tell(c, what, std::move(verdict.why));
    case kind::too_late:
        // Or its clock has jumped: now we know it again.
        if (const auto where = directory_->server_of(protocol_.key(what->name)))
            where->clock_is(verdict.server_us, c.asked);
        if (second == again::no && boot_clock::now() < c.answer_by)
            return ask_for(c, what, join, again::yes);
        return tell(
            c, what, failure{errc::backend_unavailable, applied::no, "the request came too late"});
    }
}

// Until now it was open what became of it, also while replicas were being asked.
void redis_backend::tell(const call& c, const held& what, attempt_answer answer) {
    {
        const std::lock_guard lock{guard_};
        asking_.erase(what->nonce);
    }
    events_->attempted(c.ticket, std::move(answer));
}

void redis_backend::granted(const call& c, const held& what, const protocol::verdict& yes) {
    // The first request of all travels before we know whom we are talking to.
    if (const auto where = directory_->server_of(protocol_.key(what->name)))
        if (const auto no = where->grants_nothing(c.asked))
            return give_back_and_fail(c, what, *no);
    if (how_.acknowledge == 0)
        return believe(c, what, yes);
    const auto where = directory_->server_of(protocol_.key(what->name));
    if (!where)
        return give_back_and_fail(c, what, unacknowledged());
    where->acknowledged(server::way::hot, c.answer_by, [this, c, what, yes, where](bool enough) {
        if (enough)
            believe(c, what, yes);
        else
            give_back_and_fail(c, what, unacknowledged());
    });
}

void redis_backend::believe(const call& c, const held& what, const protocol::verdict& yes) {
    stop_listening(*what);
    grant given;
    given.nonce = what->nonce;
    given.fence = yes.fence;
    given.reserved = yes.reserved;
    if (!manners_.idle() && manners_.others_listened(protocol_.channel(*what), c.asked))
        given.passes = passes_while_others_wait;
    {
        const std::lock_guard lock{guard_};
        given.terms = {bond_id{++last_bond_}, c.asked, what->ttl, margin};
        bonds_.emplace(given.terms.bond, what);
    }
    if (given.terms.bond == bond_id{1})
        background_->wake_at(c.asked + listens_for_force_after);
    look_around_soon(c.asked);
    tell(c, what, given);
}

failure redis_backend::unacknowledged() const {
    return {errc::backend_unavailable,
            applied::no,
            "fewer than " + std::to_string(how_.acknowledge) + " replicas have acknowledged it"};
}

void redis_backend::give_back_and_fail(const call& c, const held& what, const failure& why) {
    give_back(what, c.answer_by, [this, c, what, why](const reply& r, const failure* f) {
        auto answer = why;
        answer.applied = f == nullptr && !r.is_error() ? applied::no : applied::maybe;
        tell(c, what, std::move(answer));
    });
}

// Who wants to wait listens from now on. What was announced before the server heard of that may
// have been missed: then the claim is asked once more.
void redis_backend::refused(const call& c, const held& what, joining join, protocol::verdict& no) {
    if (!protocol_.shares_with_java() && join == joining::queue) // others here announce nothing
        no.no.retry_after = std::min<duration>(no.no.retry_after, std::chrono::milliseconds{100});
    if (join == joining::queue) {
        const auto channel = protocol_.channel(*what);
        {
            const std::lock_guard lock{guard_};
            listening_[what->nonce] = {channel, protocol_.key(what->name).copy()};
        }
        if (const auto where = directory_->server_of(protocol_.key(what->name))) {
            notebook_.waits(what->nonce,
                            what->mode,
                            protocol_.key(what->name).copy(),
                            where->clock_at(c.asked));
            background_->wake_at(notebook_.next(c.asked));
            look_around_soon(c.asked);
            if (where->ears().listen(channel, what->nonce, c.asked) == listener::missed::perhaps)
                events_->woken(what->nonce);
        }
    }
    tell(c, what, std::move(no.no));
}

void redis_backend::stop_listening(const claim& what) {
    notebook_.waits_no_more(what.nonce);
    std::string channel;
    {
        const std::lock_guard lock{guard_};
        const auto found = listening_.find(what.nonce);
        if (found == listening_.end())
            return;
        channel = std::move(found->second.channel);
        listening_.erase(found);
    }
    const auto keep =
        protocol_.of(what) == structure::fair ? listener::keeping::none : listener::keeping::warm;
    for (const auto& where : directory_->primaries())
        if (auto* const ears = where->ears_if_any())
            ears->stop(channel, what.nonce, keep);
}

// After a fail-over or a move of slots: what is announced there would not be heard here.
void redis_backend::listen_where_names_live_now() {
    std::vector<std::pair<nonce, place_to_listen>> all;
    {
        const std::lock_guard lock{guard_};
        all.assign(listening_.begin(), listening_.end());
    }
    for (const auto& [who, at] : all)
        if (const auto where = directory_->server_of(at.key)) {
            where->ears().listen(at.channel, who, boot_clock::now());
            events_->woken(who);
        }
}

void redis_backend::doubt(const nonce& whose, instant until) {
    const std::lock_guard lock{guard_};
    if (doubts_.size() > most_doubts) // of those who gave up; what is over is no doubt any more
        std::erase_if(doubts_,
                      [now = boot_clock::now()](const auto& d) { return d.second <= now; });
    auto& known = doubts_[whose];
    known = std::max(known, until);
}

bool redis_backend::in_doubt(const nonce& whose, instant now) {
    const std::lock_guard lock{guard_};
    const auto found = doubts_.find(whose);
    if (found == doubts_.end())
        return false;
    if (now < found->second)
        return true;
    doubts_.erase(found);
    return false;
}

// -------------------------------------------------------------------------------------- partings

void redis_backend::withdraw(const call& c, const held& what) {
    stop_listening(*what);
    give_back(what, c.answer_by, [this, c, what](const reply& r, const failure* f) {
        const bool done = f == nullptr && protocol::given_back(r) >= 0 &&
                          !in_doubt(what->nonce, boot_clock::now());
        events_->withdrawn(c.ticket, done ? applied::no : applied::maybe);
    });
}

void redis_backend::release(const call& c, const held& what, const grant& given) {
    forget(given.terms.bond);
    if (!manners_.idle())
        manners_.releasing(protocol_.channel(*what), c.asked);
    give_back(what, c.answer_by, [this, c, what](const reply& r, const failure* f) {
        const auto gave = f == nullptr ? protocol::given_back(r) : -1;
        if (gave > 1)
            heard_by(*what, protocol_.channel(*what), gave - 1);
        events_->released(c.ticket,
                          gave >= 1   ? release_result::released
                          : gave == 0 ? release_result::lost
                                      : release_result::unknown);
    });
}

void redis_backend::heard_by(const claim& what,
                             const std::string& channel,
                             std::int64_t listeners) {
    const auto where = directory_->server_of(protocol_.key(what.name));
    std::int64_t ourselves = 0;
    if (where && where->ears().hears_of(channel)) // twice, if it is announced twice
        ourselves = protocol_.announces() == announcing::both ? 2 : 1;
    if (listeners > ourselves)
        manners_.others_listen(channel, boot_clock::now());
}

void redis_backend::forget(bond_id bond) {
    const std::lock_guard lock{guard_};
    if (const auto found = bonds_.find(bond); found != bonds_.end()) {
        doubts_.erase(found->second->nonce);
        bonds_.erase(found);
    }
}

void redis_backend::raise_fence(const call& c, const held& what, fence least) {
    run(
        server::way::hot,
        what,
        c.answer_by,
        [this, least](std::string& out, const held& w, calling how) {
            protocol_.raise_fence(out, *w, least, how);
        },
        [this, c](const reply& r, const failure* f) {
            const auto said = f == nullptr ? protocol::given_back(r) : -1;
            events_->fence_raised(c.ticket,
                                  said == 1   ? raised::yes
                                  : said == 0 ? raised::lost
                                              : raised::unknown);
        });
}

void redis_backend::force_release(const call& c, const std::string& name) {
    run(
        server::way::hot,
        name,
        c.answer_by,
        [this](std::string& out, const std::string& n, calling how) {
            protocol_.take_by_force(out, n, how);
        },
        [this, c](const reply& r, const failure* f) {
            if (f != nullptr)
                return events_->forced(c.ticket, *f);
            if (r.is_error())
                return events_->forced(c.ticket, failure_of(r.text()));
            const auto count = r.number();
            if (!count || *count < 0)
                return events_->forced(c.ticket, not_understood());
            events_->forced(c.ticket, static_cast<std::size_t>(*count));
        });
}

// Somebody says that a lock was taken by force, or may have said so before we could hear it (no
// key). Whether that concerns us, the server knows.
void redis_backend::look_after_force(const std::string& key) {
    std::vector<held> ours;
    {
        const std::lock_guard lock{guard_};
        for (const auto& [_, what] : bonds_)
            if (key.empty() || std::string_view{protocol_.key(what->name)} == key)
                ours.push_back(what);
    }
    for (const auto& what : ours) {
        std::string bytes;
        protocol_.look_for(bytes, *what);
        directory_->ask(server::way::renewal,
                        protocol_.key(what->name),
                        bytes,
                        boot_clock::now() + how_.silence,
                        [this, what](const reply& r, const failure* f) {
                            if (f == nullptr && protocol_.still_ours(r, *what) == false)
                                events_->grant_lost(what->nonce);
                        });
    }
}

// -------------------------------------------------------------------------------------- renewals

/// One renewal of many bonds: answered when the last of its parts is.
struct redis_backend::flight {
    call asked;
    backend_events* to = nullptr;
    std::mutex guard;
    std::vector<renewal_answer> answers;
    std::size_t parts = 0;

    void landed(std::vector<renewal_answer> some) {
        {
            const std::lock_guard lock{guard};
            answers.insert(answers.end(), some.begin(), some.end());
            if (--parts > 0)
                return;
        }
        to->renewed(asked.ticket, answers);
    }
};

void redis_backend::renew(const call& c, std::span<const bond_id> bonds) {
    auto all = std::make_shared<flight>();
    all->asked = c;
    all->to = events_;
    all->answers.reserve(bonds.size());
    using group = std::vector<std::pair<bond_id, held>>;
    std::vector<group> groups;
    std::map<std::int64_t, std::size_t> open_group; // of those that one script may prolong, by ttl
    {
        const std::lock_guard lock{guard_};
        for (const auto bond : bonds) {
            const auto found = bonds_.find(bond);
            if (found == bonds_.end()) {
                all->answers.push_back({bond, renewed::unknown, {}}); // being released
                continue;
            }
            const auto& what = found->second;
            const auto which = protocol_.of(*what);
            const bool together = directory_->one_place_for_all() &&
                                  (which == structure::holder || which == structure::fair);
            const auto ttl = milliseconds_of(what->ttl + what->lock_delay);
            const auto fits = open_group.find(ttl);
            if (together && fits != open_group.end() &&
                groups[fits->second].size() < renewed_by_one_script) {
                groups[fits->second].emplace_back(bond, what);
                continue;
            }
            if (together)
                open_group[ttl] = groups.size();
            groups.push_back({{bond, what}});
        }
        all->parts = groups.size() + 1;
    }
    for (auto& one : groups)
        renew_some(all, std::move(one));
    all->landed({});
}

void redis_backend::renew_some(const std::shared_ptr<flight>& all,
                               std::vector<std::pair<bond_id, held>> some) {
    const auto first = some.front().second;
    const auto shared =
        std::make_shared<const std::vector<std::pair<bond_id, held>>>(std::move(some));
    run(
        server::way::renewal,
        first,
        all->asked.answer_by,
        [this, shared](std::string& out, const held&, calling how) {
            std::vector<const claim*> claims;
            for (const auto& [_, what] : *shared)
                claims.push_back(what.get());
            protocol_.prolong(out, claims, how);
        },
        [this, first, all, shared](const reply& r, const failure* f) {
            std::vector<renewal_answer> answers;
            const bool sound = f == nullptr && r.size() == shared->size();
            for (std::size_t i = 0; i < shared->size(); ++i) {
                const auto& [bond, what] = (*shared)[i];
                const auto said = sound ? r[i].number().value_or(-1) : -1;
                if (said == 1)
                    answers.push_back(
                        {bond, renewed::yes, {bond, all->asked.asked, what->ttl, margin}});
                else
                    answers.push_back({bond, said == 0 ? renewed::lost : renewed::unknown, {}});
            }
            const auto where = directory_->server_of(protocol_.key(first->name));
            if (how_.acknowledge == 0 || !where)
                return all->landed(std::move(answers));
            where->acknowledged(server::way::renewal,
                                all->asked.answer_by,
                                [all, where, answers = std::move(answers)](bool enough) mutable {
                                    for (auto& one : answers)
                                        if (one.outcome == renewed::yes && !enough)
                                            one.outcome = renewed::unknown;
                                    all->landed(std::move(answers));
                                });
        });
}

} // namespace holdfast::redis
