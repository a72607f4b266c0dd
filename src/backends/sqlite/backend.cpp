// Locks in a file that all processes of one machine share.
//
//   process A                        locks.db (SQLite, WAL)                        process B
//  ┌──────────┐  attempt: one write ┌──────────────────────┐                      ┌──────────┐
//  │ backend  │ ───────────────────▶│ holder · waiter ·    │◀──────────────────── │ backend  │
//  │          │  release: one write,│ bond · process       │   attempt: refused,  │  waits   │
//  │          │  which also makes   └──────────────────────┘   queued             │          │
//  │          │  B's waiter a holder                                              │          │
//  │          │ ──── letter "granted" ──▶ locks.db.d/B.wake ─────────────────────▶│ readable │
//  └──────────┘                                                                   └──────────┘
//       └─ keeps locks.db.d/A.live open; B, next in line, watches it: its end is A's death
//
// Every verb is one write transaction (ledger.cpp has the rules), then what follows from it:
// letters to others, events to our own core. A lease ends at its bond's expires_at (+ lock delay)
// on the boot clock that all share, or with its process. Grants are not synced to disk: who could
// have believed in one is gone after a power failure. Fences are: their numbers are reserved in
// synced blocks beforehand.
//
// No event is told while turns_ is taken.

#include "backends/sqlite/backend.hpp"
#include "backends/sqlite/ledger.hpp"
#include "backends/sqlite/log.hpp"
#include "backends/sqlite/report.hpp"
#include "backends/sqlite/turn.hpp"
#include "runtime/assert.hpp"
#include "runtime/fork.hpp"
#include "runtime/random.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <unistd.h>
#include <unordered_map>
#include <unordered_set>

namespace holdfast::sqlite {
namespace {

constexpr capabilities abilities{
    .engine = "sqlite",
    .reach = reach::machine,
    .shared = true,
    .permits = true,
    .fair = true,
    .lock_delay = true,
    .notices_death = true,
    .blocks_caller = true,
    .fence_per_pass = true,
    .raises_fences = true,
    .fences = fence_grade::hybrid,
    .ttl = ttl_scope::shared,
    .wake = wake_by::grant,
    .assumptions = 0, // one clock for all; a grant is forgotten only together with all processes
};

struct nonce_hash {
    std::size_t operator()(const nonce& n) const noexcept {
        std::size_t bits = 0;
        std::memcpy(&bits, n.bytes.data(), sizeof bits); // random already
        return bits;
    }
};

/// What is to be told to our core once nothing is locked.
struct tidings {
    std::vector<aftermath::push> granted;
    std::vector<nonce> woken;
    std::vector<nonce> wanted;
    std::vector<nonce> taken;
    std::vector<bond_id> lost;
    std::vector<std::string> notices;
};

class engine final : public backend {
public:
    engine(const options& how, const machine& on)
        : on_{on}, path_{how.path}, children_{how.children_keep_locks ? children::keep_locks
                                                                      : children::let_go},
          file_{open_alone(how.path, on)}, watches_{file_.directory} {}
    ~engine() override;

    [[nodiscard]] const capabilities& able() const noexcept override { return abilities; }
    void start(backend_events&) override;
    void attempt(const call&, const std::shared_ptr<const claim>&, joining) override;
    void withdraw(const call&, const std::shared_ptr<const claim>&) override;
    void release(const call&, const std::shared_ptr<const claim>&, const grant&) override;
    void renew(const call&, std::span<const bond_id>) override;
    void forget(bond_id) override;
    void inspect(const call&, const std::string& pattern) override;
    void raise_fence(const call&, const std::shared_ptr<const claim>&, fence) override;
    void force_release(const call&, const std::string& name) override;
    void close(instant by) override;
    [[nodiscard]] int descriptor() const noexcept override { return watches_.descriptor(); }
    void on_readable() override;
    void examine(const call&) override;

private:
    [[nodiscard]] static lock_file open_alone(const std::string& path, const machine& on) {
        const detail::not_while_forking whole;
        connection::close_inherited();
        return open_file(path, on);
    }

    /// A claim of ours in the file's queue, and whose end it waits for.
    struct waiting {
        std::shared_ptr<const claim> what;
        std::vector<process_id> watched;
        instant asked; ///< never: something has happened since; believe only the file
    };
    /// A bond that the core no longer believes in, and when it can be cleared away.
    struct discarded {
        bond_id bond{};
        instant due{};
    };
    using bond_class = std::pair<duration, duration>; // ttl, lock delay

    // One verb: take a turn, write, and keep what follows for after the turn.
    template <class Body> std::optional<failure> in_turn(instant by, tidings&, Body);
    template <class Body> void write(instant by, tidings&, Body);
    template <class Body> void write_once(instant by, tidings&, Body&);
    void follow(aftermath&&, tidings&);
    void tell(tidings&&);

    // Being known in the file.
    void register_us(const party*, instant by, tidings&);
    void lose_registration(tidings&);
    void reopen(tidings&);

    // What we remember. All of it is ours alone: the file decides, this only saves looking.
    void remember(const std::shared_ptr<const claim>&, attempted&, instant asked, tidings&);
    void remember_bond(const claim&, const kept&);
    void absorb_forgotten();
    void discard(bond_id, instant since);
    void stop_waiting(const nonce&) noexcept;
    void clear_forgotten(ledger&, instant now, aftermath&);
    void hear(const letter&, tidings&);
    void hear_of_the_dead(tidings&);
    void look_for_taken(tidings&);
    void look_for_grant(const nonce&, tidings&);
    [[nodiscard]] bool is_believed(const letter&) const;
    void take_grant(const aftermath::push&, tidings&);

    [[nodiscard]] bool in_child() const noexcept {
        return generation_ != detail::fork_generation();
    }
    [[nodiscard]] ledger book() {
        return {*file_.db, watches_, met_, presence_ ? presence_->id() : process_id{}};
    }

    const machine& on_;
    const std::string path_;
    const children children_;
    const std::uint64_t generation_ = detail::fork_generation();
    backend_events* events_ = nullptr;

    std::mutex forgetting_;
    std::vector<std::pair<bond_id, instant>> to_forget_; // and since when; until the next turn

    turns turns_; // everything below belongs to whoever has the turn
    lock_file file_;
    log_keeper log_;
    watch_list watches_;
    acquaintances met_;
    std::optional<presence> presence_; // from the first claim on
    std::unordered_map<nonce, waiting, nonce_hash> waiting_;
    std::map<bond_class, bond_id> usual_;           // the bond that all grants of a class share
    std::unordered_map<bond_id, bond_class> bonds_; // all that are, or may be, in the file
    std::unordered_set<bond_id> forgotten_;
    std::vector<discarded> discarded_; // the forgotten ones, earliest first
    std::uint64_t last_bond_ = 0;
};

// ------------------------------------------------------------------------------------ the verbs

void engine::start(backend_events& events) {
    events_ = &events;
    for (const auto& sentence : std::exchange(file_.notices, {}))
        events_->notice(sentence);
}

void engine::attempt(const call& c, const std::shared_ptr<const claim>& what, joining join) {
    tidings news;
    attempted done;
    const auto failed = in_turn(c.answer_by, news, [&] {
        if (!presence_)
            register_us(what->by.get(), c.answer_by, news);
        const auto fresh = bond_id{++last_bond_};
        instant asked{};
        write(c.answer_by, news, [&](ledger& rules, instant now, aftermath& after) {
            asked = now;
            const auto usual = usual_.find({what->ttl, what->lock_delay}); // none with a delay
            const asker us{usual == usual_.end() ? std::nullopt : std::optional{usual->second},
                           fresh,
                           children_,
                           forgotten_};
            done = rules.attempt(*what, join, us, now, after);
        });
        remember(what, done, asked, news);
    });
    events_->attempted(c.ticket, failed ? attempt_answer{*failed} : std::move(done.answer));
    if (!failed && done.wanted)
        news.wanted.push_back(what->nonce);
    tell(std::move(news));
}

void engine::withdraw(const call& c, const std::shared_ptr<const claim>& what) {
    tidings news;
    const auto failed = in_turn(c.answer_by, news, [&] {
        if (!presence_)
            return; // nothing of us is in the file
        std::optional<bond_id> own;
        write(c.answer_by, news, [&](ledger& rules, instant now, aftermath& after) {
            own = rules.withdraw(*what, now, after);
        });
        if (own)
            bonds_.erase(*own);
        stop_waiting(what->nonce);
    });
    events_->withdrawn(c.ticket, failed ? applied::maybe : applied::no);
    tell(std::move(news));
}

void engine::release(const call& c, const std::shared_ptr<const claim>& what, const grant& given) {
    tidings news;
    bool was_ours = false;
    const auto failed = in_turn(c.answer_by, news, [&] {
        if (!presence_)
            return;
        write(c.answer_by, news, [&](ledger& rules, instant now, aftermath& after) {
            was_ours = rules.release(*what, given, now, after);
        });
        if (!shares_bond(*what) && !forgotten_.contains(given.terms.bond))
            bonds_.erase(given.terms.bond);
    });
    events_->released(c.ticket,
                      failed     ? release_result::unknown
                      : was_ours ? release_result::released
                                 : release_result::lost);
    tell(std::move(news));
}

void engine::renew(const call& c, std::span<const bond_id> bonds) {
    tidings news;
    std::vector<renewal_answer> answers(bonds.size());
    const auto failed = in_turn(c.answer_by, news, [&] {
        write(c.answer_by, news, [&](ledger& rules, instant now, aftermath& after) {
            for (std::size_t i = 0; i < bonds.size(); ++i) {
                answers[i] = {bonds[i], renewed::lost, {}};
                if (forgotten_.contains(bonds[i]) || !presence_)
                    continue;
                if (const auto kept = rules.renew(bonds[i], now, after))
                    answers[i] = {bonds[i], renewed::yes, terms_of(kept->id, kept->row)};
            }
        });
    });
    if (failed)
        for (std::size_t i = 0; i < bonds.size(); ++i)
            answers[i] = {bonds[i], renewed::unknown, {}};
    events_->renewed(c.ticket, answers);
    tell(std::move(news));
}

void engine::forget(bond_id bond) {
    if (in_child())
        return;
    const std::lock_guard lock{forgetting_}; // not a turn: this verb has no time to wait for one
    to_forget_.emplace_back(bond, on_.now());
}

void engine::inspect(const call& c, const std::string& pattern) {
    tidings news;
    std::vector<lock_info> found;
    const auto failed = in_turn(c.answer_by, news, [&] {
        file_.db->wait_until(c.answer_by);
        found = who_holds(file_, pattern, on_.now());
    });
    if (failed)
        events_->inspected(c.ticket, *failed);
    else
        events_->inspected(c.ticket, std::move(found));
    tell(std::move(news));
}

void engine::raise_fence(const call& c, const std::shared_ptr<const claim>& what, fence least) {
    tidings news;
    bool ours = false;
    const auto failed = in_turn(c.answer_by, news, [&] {
        if (!presence_)
            return;
        write(c.answer_by, news, [&](ledger& rules, instant, aftermath&) {
            ours = rules.raise_fence(*what, least);
        });
    });
    events_->fence_raised(c.ticket, failed ? raised::unknown : ours ? raised::yes : raised::lost);
    tell(std::move(news));
}

void engine::force_release(const call& c, const std::string& name) {
    tidings news;
    std::size_t count = 0;
    const auto failed = in_turn(c.answer_by, news, [&] {
        write(c.answer_by, news, [&](ledger& rules, instant now, aftermath& after) {
            count = rules.force_release(name, now, after);
        });
    });
    if (failed)
        events_->forced(c.ticket, *failed);
    else
        events_->forced(c.ticket, count);
    tell(std::move(news));
}

void engine::examine(const call& c) {
    tidings news;
    std::vector<finding> found;
    const auto failed = in_turn(c.answer_by, news, [&] {
        file_.db->wait_until(c.answer_by);
        found = health_of(file_, on_.now());
    });
    if (failed)
        found.insert(found.begin(), {finding::grade::danger, failed->detail, {}});
    events_->examined(c.ticket, std::move(found));
    tell(std::move(news));
}

// If the file cannot be written now, our rows stay: with our FIFO closed, whoever looks sees us
// dead. So the names of the FIFOs go only together with the rows.
void engine::close(instant by) {
    tidings news;
    const auto failed = in_turn(by, news, [&] {
        if (!presence_)
            return;
        write(by, news, [&](ledger& rules, instant now, aftermath& after) {
            rules.leave(now, after);
        });
    });
    static_cast<void>(failed);
    if (in_child())
        return;
    if (const turns::turn ours{turns_, by}) {
        watches_.clear();
        if (presence_)
            watches_.stop_listening_to(*presence_);
        presence_.reset();
    }
}

// After fork() nothing here is ours: neither rows nor descriptors, and SQLite's handle least of
// all.
engine::~engine() {
    if (!in_child())
        return;
    if (presence_)
        presence_->abandon();
    watches_.abandon();
    if (file_.db)
        file_.db->abandon();
}

// ----------------------------------------------------------------------------------- one verb

template <class Body> std::optional<failure> engine::in_turn(instant by, tidings& news, Body body) {
    if (in_child())
        return failure{errc::unsupported,
                       applied::no,
                       "this process is a fork of the one that opened the file"};
    const detail::not_while_forking whole; // a child must not inherit a transaction
    const turns::turn ours{turns_, by};
    if (!ours)
        return failure{errc::backend_unavailable,
                       applied::no,
                       "other threads have kept the lock file too long"};
    std::optional<failure> failed;
    absorb_forgotten();
    try {
        body();
    } catch (const unregistered& what) {
        lose_registration(news);
        failed = failure_of(what);
    } catch (const trouble& what) {
        if (is_damage(what.code()))
            mark_suspect(file_);
        failed = failure_of(what);
    } catch (const error& what) { // from opening the file again
        failed = failure{make_error_code(errc::backend_unavailable), applied::no, what.what()};
    }
    watches_.tidy();
    return failed;
}

/// Writes, and deals with what is no fault of this write: a file that is another one by now, and a
/// full disk. There, what stands in the log goes into the file, so that the log can begin anew
/// without growing.
template <class Body> void engine::write(instant by, tidings& news, Body body) {
    try {
        write_once(by, news, body);
    } catch (const file_moved&) {
        reopen(news);
        throw trouble{
            SQLITE_BUSY,
            "the lock file was moved, deleted or replaced; all that was held in it is lost"};
    } catch (const trouble& what) {
        if (what.code() != SQLITE_FULL)
            throw;
        file_.db->execute("PRAGMA wal_checkpoint(PASSIVE)");
        write_once(by, news, body);
    }
}

template <class Body> void engine::write_once(instant by, tidings& news, Body& body) {
    for (;;) {
        file_.db->wait_until(by);
        aftermath then;
        try {
            auto rules = book();
            transaction whole{*file_.db};
            const auto now = on_.now(); // inside: whoever wrote before us had an earlier now
            clear_forgotten(rules, now, then);
            body(rules, now, then);
            rules.bury_the_dead(now, then);
            whole.commit();
        } catch (const out_of_fences& needed) {
            reserve_fences(*file_.db, needed.beyond);
            continue;
        }
        follow(std::move(then), news);
        log_.keep(file_.path, file_.db->log_pages());
        return;
    }
}

/// Carries out what follows from a transaction that stands. Nothing in here may fail any more.
void engine::follow(aftermath&& then, tidings& news) {
    const auto self = presence_ ? presence_->id() : process_id{};
    for (auto& push : then.pushes) {
        if (push.to != self) {
            watches_.send(push.to, letter::about_grant(push.given, push.wanted, push.at));
        } else {
            take_grant(push, news);
        }
    }
    for (const auto& [to, what] : then.letters) {
        if (to != self)
            watches_.send(to, what);
        else if (what.what == letter::word::wanted)
            news.wanted.push_back(what.about);
        else if (what.what == letter::word::taken)
            news.taken.push_back(what.about);
        else if (what.what == letter::word::bond_lost)
            news.lost.push_back(what.bond());
        else if (waiting_.contains(what.about))
            news.woken.push_back(what.about);
    }
    news.taken.insert(news.taken.end(), then.taken.begin(), then.taken.end());
    for (const auto who : then.buried)
        remove_names(file_.directory, who);
}

void engine::tell(tidings&& news) {
    for (const auto& sentence : news.notices)
        events_->notice(sentence);
    for (const auto bond : news.lost)
        events_->bond_lost(bond);
    for (const auto& about : news.taken)
        events_->grant_lost(about);
    for (const auto& push : news.granted) {
        events_->granted(push.given.nonce, push.given);
        if (push.wanted)
            events_->wanted(push.given.nonce);
    }
    for (const auto& about : news.wanted)
        events_->wanted(about);
    for (const auto& about : news.woken)
        events_->woken(about);
}

// -------------------------------------------------------------------------------- being known

// The FIFOs first, then the row: who finds the row finds the FIFOs. The guard keeps the file from
// being moved aside, or given another clock, between our looking and our being there.
void engine::register_us(const party* who, instant by, tidings& news) {
    const auto named = who != nullptr ? *who : party{.host = {}, .pid = ::getpid(), .purpose = {}};
    detail::kernel_random chance;
    make_directory(file_.directory, file_.shared);
    for (;;) {
        const guard together{file_.directory, file_.shared, guard::hold::together, by};
        presence_.emplace(
            file_.directory, file_.shared, process_id(chance.next() >> 1 | 1), children_);
        bool entered = false;
        try {
            write(by, news, [&](ledger& rules, instant now, aftermath& after) {
                // Since it was opened nobody could know of us: all may have changed.
                if (file_.db->moved() ||
                    file_.db->ask_number("PRAGMA user_version") != schema_version)
                    throw file_moved{SQLITE_IOERR, "the lock file was replaced"};
                if (file_.db->ask_text("SELECT domain FROM meta") != on_.clock_domain())
                    throw trouble{SQLITE_PERM, file_.path + " is in use in another time namespace"};
                entered = presence_->still_there();
                if (entered)
                    rules.enter(named, now, after);
            });
        } catch (...) {
            if (presence_)
                presence_->remove_names();
            presence_.reset();
            throw;
        }
        if (entered)
            break;
        presence_->remove_names(); // somebody tidied up too soon: once more, under another number
    }
    watches_.listen_to(*presence_);
}

/// The file does not know us any more: all bonds are lost, all places gone.
void engine::lose_registration(tidings& news) {
    for (const auto& [bond, like] : bonds_)
        news.lost.push_back(bond);
    for (const auto& [about, claim] : waiting_)
        news.woken.push_back(about);
    waiting_.clear();
    bonds_.clear();
    usual_.clear();
    forgotten_.clear();
    discarded_.clear();
    watches_.clear();
    if (presence_) {
        watches_.stop_listening_to(*presence_);
        presence_->remove_names();
    }
    presence_.reset();
}

void engine::reopen(tidings& news) {
    lose_registration(news);
    file_ = open_file(path_, on_);
    for (auto& sentence : file_.notices)
        news.notices.push_back(std::move(sentence));
    file_.notices.clear();
}

// ------------------------------------------------------------------------------ what we remember

void engine::remember(const std::shared_ptr<const claim>& what,
                      attempted& done,
                      instant asked,
                      tidings& news) {
    if (done.lost) {
        news.lost.push_back(*done.lost);
        discard(*done.lost, on_.now());
    }
    if (done.bond)
        remember_bond(*what, *done.bond);
    if (!done.queued)
        return stop_waiting(what->nonce);
    auto& watch = done.watch;
    std::sort(watch.begin(), watch.end());
    watch.erase(std::unique(watch.begin(), watch.end()), watch.end());
    // Before those watched until now are let go: through a FIFO that is opened after its owner's
    // death no end is ever seen, so the one through which he was seen alive must stay open.
    for (const auto who : watch)
        watches_.watch(who);
    stop_waiting(what->nonce);
    waiting_.insert_or_assign(what->nonce, waiting{what, std::move(watch), asked});
}

void engine::remember_bond(const claim& what, const kept& bond) {
    const bond_class like{what.ttl, what.lock_delay};
    bonds_.insert_or_assign(bond.id, like);
    if (shares_bond(what))
        usual_.insert_or_assign(like, bond.id);
}

void engine::stop_waiting(const nonce& about) noexcept {
    const auto found = waiting_.find(about);
    if (found == waiting_.end())
        return;
    for (const auto who : found->second.watched)
        watches_.unwatch(who);
    waiting_.erase(found);
}

void engine::absorb_forgotten() {
    std::vector<std::pair<bond_id, instant>> all;
    {
        const std::lock_guard lock{forgetting_};
        all.swap(to_forget_);
    }
    for (const auto& [bond, since] : all)
        discard(bond, since);
}

// Its rows stay until its time and its lock delay are over, as for any lease that was not released;
// then some later transaction of ours clears them away.
void engine::discard(bond_id bond, instant since) {
    const auto found = bonds_.find(bond);
    if (found == bonds_.end())
        return;
    const auto [ttl, lock_delay] = found->second;
    const auto usual = usual_.find(found->second);
    if (usual != usual_.end() && usual->second == bond)
        usual_.erase(usual);
    bonds_.erase(found);
    forgotten_.insert(bond);
    const discarded last{bond, after(after(since, ttl), lock_delay)};
    discarded_.insert(std::upper_bound(discarded_.begin(),
                                       discarded_.end(),
                                       last,
                                       [](const auto& a, const auto& b) { return a.due < b.due; }),
                      last);
}

void engine::clear_forgotten(ledger& rules, instant now, aftermath& then) {
    if (discarded_.empty() || now < discarded_.front().due)
        return;
    // If this transaction fails, rows are left behind until our process ends: they keep nobody out.
    while (!discarded_.empty() && now >= discarded_.front().due) {
        if (children_ == children::let_go)
            rules.end_forgotten(discarded_.front().bond, now, then);
        forgotten_.erase(discarded_.front().bond);
        discarded_.erase(discarded_.begin());
    }
}

// -------------------------------------------------------------------------------- what we hear

// Never writes: whatever is to be done, the core will ask for it. Usually it was a letter; should
// somebody have died as well, the descriptor stays readable and we come again.
void engine::on_readable() {
    constexpr duration a_while = std::chrono::milliseconds{100};
    tidings news;
    const auto by = after(boot_clock::now(), a_while);
    const auto failed = in_turn(by, news, [&] {
        file_.db->wait_until(by);
        const auto come = presence_ ? presence_->read() : mail{};
        if (come.letters.empty() && !come.torn)
            return hear_of_the_dead(news);
        if (!come.harmless())
            for (auto& [about, claim] : waiting_)
                claim.asked = never;
        for (const auto& each : come.letters)
            hear(each, news);
        if (!come.torn)
            return;
        std::vector<nonce> all;
        for (const auto& [about, claim] : waiting_)
            all.push_back(about);
        for (const auto& about : all)
            look_for_grant(about, news);
        look_for_taken(news);
    });
    static_cast<void>(failed); // what could not be read will be asked for again
    tell(std::move(news));
}

void engine::hear_of_the_dead(tidings& news) {
    for (const auto who : watches_.ended())
        for (auto& [about, claim] : waiting_)
            if (std::erase(claim.watched, who) > 0) {
                watches_.unwatch(who);
                news.woken.push_back(about);
            }
}

void engine::hear(const letter& l, tidings& news) {
    switch (l.what) {
    case letter::word::granted:
        if (is_believed(l))
            take_grant({presence_->id(), l.given(), l.enclosed.wanted != 0, l.granted_at()}, news);
        else
            look_for_grant(l.about, news);
        break;
    case letter::word::look:
        if (waiting_.contains(l.about))
            news.woken.push_back(l.about);
        break;
    case letter::word::wanted:
        news.wanted.push_back(l.about);
        break;
    case letter::word::taken:
        look_for_taken(news);
        break;
    case letter::word::bond_lost:
        if (const auto found = bonds_.find(l.bond()); found != bonds_.end()) {
            auto there = file_.db->ask(query::bond_find, presence_->id(), l.bond());
            if (!there.next())
                news.lost.push_back(l.bond());
        }
        break;
    }
}

// If it cannot be read now, the next renewal will find it.
void engine::look_for_taken(tidings& news) {
    try {
        const auto taken = book().taken_from_us();
        news.taken.insert(news.taken.end(), taken.begin(), taken.end());
    } catch (const trouble&) {
        return;
    }
}

/// Whether a letter speaks of the place that we have now. All take the time inside their
/// transactions, from one clock: what was granted after we asked was granted to this very asking,
/// and not to an earlier one under the same nonce that an operator has ended since. Should the
/// grant be taken away while the letter lies here, that is told by a letter of its own.
bool engine::is_believed(const letter& l) const {
    const auto found = waiting_.find(l.about);
    return found != waiting_.end() && l.enclosed.granted_at != 0 &&
           l.granted_at() > found->second.asked;
}

/// The file decides. If it cannot be read now, the core is to ask again.
void engine::look_for_grant(const nonce& about, tidings& news) {
    const auto found = waiting_.find(about);
    if (found == waiting_.end())
        return; // answered in another way
    std::optional<aftermath::push> push;
    try {
        push = book().find_grant(found->second.what->name, about);
    } catch (const trouble&) {
        news.woken.push_back(about);
        return;
    }
    if (push)
        take_grant(*push, news);
}

void engine::take_grant(const aftermath::push& push, tidings& news) {
    const auto& about = push.given.nonce;
    if (forgotten_.contains(push.given.terms.bond)) {
        news.woken.push_back(about); // asks again, and goes on under another bond
        return;
    }
    stop_waiting(about);
    news.granted.push_back(push);
    news.granted.back().given.since = push.at;
}

} // namespace

std::unique_ptr<backend> make(const options& how, const machine& on) {
    return std::make_unique<engine>(how, on);
}

std::unique_ptr<backend> make(const options& how) { return make(how, machine::real()); }

} // namespace holdfast::sqlite
