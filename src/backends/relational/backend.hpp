#pragma once

// Locks in three tables of a database, by statements of one round trip each.
//
//   attempt ─▶ take, retake ─ a row changed: granted, with the fence that it has now
//                └ refused ─▶ join (if somebody waits for it) ─▶ look ─▶ decide (view.hpp)
//                                                                 ├ sweep what is over, look again
//                                                                 ├ admit, if nothing has changed
//                                                                 └ contended
//   release, withdraw ─▶ compare the nonce, and wake the first who waits
//   renew ─▶ one statement for all bonds; most clients have one
//
// All grants of a client with one ttl share a bond, unless they are to end by themselves. It is
// there before anything is granted under it, and who takes a lock because it is over removes it in
// the same breath: then it cannot be renewed, and all that it kept is lost, which it was already.
//
// Invariant: what was taken or given back does not take effect later. A statement that was sent and
// not answered may, for a while; until that has passed a withdrawal is not certain, and what was
// granted when it was asked for again is cleared once more after its release.

#include "backends/relational/bounded_set.hpp"
#include "backends/relational/doings.hpp"
#include "backends/relational/pool.hpp"
#include "backends/relational/view.hpp"
#include "runtime/random.hpp"

#include <holdfast/backend.hpp>
#include <holdfast/sql.hpp>

#include <atomic>
#include <map>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

namespace holdfast::relational {

/// A kind of database, as far as the engine must know which it is.
class database : public speaker {
public:
    [[nodiscard]] virtual const capabilities& able() const noexcept = 0;

    /// What is said on the connection that listens.
    [[nodiscard]] virtual std::string listening(std::int64_t client) const = 0;

    /// Where it cannot hear: another one sleeps, and who knows its number, its bell, ends that.
    [[nodiscard]] virtual std::string number_of_bell() const { return {}; }
    [[nodiscard]] virtual std::string sleeping(std::int64_t /*client*/) const { return {}; }
    [[nodiscard]] virtual std::string ringing(std::int64_t /*bell*/) const { return {}; }

    /// Only for modes in which the server itself keeps others out.
    [[nodiscard]] virtual std::string
    front_text(front_query, const std::string& name, mode) const = 0;

    /// What is good about this server and what is not, from the answers to these.
    [[nodiscard]] virtual std::vector<std::string> health_questions() const = 0;
    [[nodiscard]] virtual std::vector<finding> health(const std::vector<table>&) const = 0;
};

/// Waits for the answer to one statement.
class asking {
public:
    asking(pool& of, statement what, std::string about, instant by)
        : of_{of}, what_{std::move(what)}, about_{std::move(about)}, by_{by} {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> whole) {
        of_.ask(std::move(what_), std::move(about_), by_, [this, whole](answer&& a) {
            answer_ = std::move(a);
            whole.resume();
        });
    }
    [[nodiscard]] answer await_resume() { return std::move(answer_); }

private:
    pool& of_;
    statement what_;
    std::string about_;
    instant by_;
    answer answer_;
};

class front;

class sql_backend final : public backend {
public:
    sql_backend(sql::options, std::shared_ptr<database>, int usual_port);
    ~sql_backend() override;

    const capabilities& able() const noexcept override { return database_->able(); }
    void start(backend_events& events) override { events_ = &events; }
    void attempt(const call&, const std::shared_ptr<const claim>&, joining) override;
    void withdraw(const call&, const std::shared_ptr<const claim>&) override;
    void release(const call&, const std::shared_ptr<const claim>&, const grant&) override;
    void renew(const call&, std::span<const bond_id>) override;
    void forget(bond_id) override;
    void inspect(const call&, const std::string& pattern) override;
    void examine(const call&) override;
    void raise_fence(const call&, const std::shared_ptr<const claim>&, fence least) override;
    void force_release(const call&, const std::string& name) override;
    void close(instant by) override;

    int descriptor() const noexcept override { return hot_->descriptor(); }
    void on_readable() override { hot_->dispatch(); }
    bool wait_readable(int nudge, const std::function<void()>& woken) override {
        hot_->wait(nudge, woken);
        return true;
    }
    void watched(bool yes) override { hot_->watched(yes); }
    int background_descriptor() const noexcept override { return background_->descriptor(); }
    void on_background() override { background_->dispatch(); }

private:
    using held = std::shared_ptr<const claim>;
    using kept = std::variant<bond_terms, failure>;

    /// A bond of ours, as far as we know it.
    struct known_bond {
        bond_terms terms;
        duration lock_delay{};
    };

    /// What has to come to its end before we close.
    class under_way {
    public:
        explicit under_way(sql_backend& of) noexcept : of_{of} { ++of_.under_way_; }
        ~under_way() { --of_.under_way_; }
        under_way(const under_way&) = delete;
        under_way& operator=(const under_way&) = delete;

    private:
        sql_backend& of_;
    };

    // Conversations, and parts of them.
    conversation seek(call, held, joining);
    part_of<std::optional<attempt_answer>> win_front(call, held, joining, bond_terms);
    part_of<std::optional<attempt_answer>> take_place(call, held, bond_terms, bool may_take);
    part_of<std::optional<attempt_answer>> try_at_once(call, held, joining, bond_terms);
    part_of<attempt_answer> look_and_decide(call, held, joining, bond_terms);
    part_of<bool> sweep(call, held, next_step);
    conversation take_back(call, held);
    conversation give_back(call, held, grant);
    part_of<answer> leave_row(call, held, grant);
    conversation clear(held);
    part_of<bool> remove(pool&, held, instant by);
    conversation wake_next(std::string name);
    conversation win_front_again(held);
    conversation give_up_front(nonce);
    part_of<bool> leave_front(nonce);
    void front_lost(const held&);
    conversation prolong(call, std::vector<bond_id>);
    conversation tell_what_is_there(call, std::string pattern);
    conversation tell_health(call);
    conversation raise(call, held, fence least);
    conversation force(call, std::string name);
    conversation taken(nonce);
    void catch_up();
    conversation ask_again(query);
    conversation sleep_and_listen();
    conversation tidy_up();
    void listen_from_now_on();
    [[nodiscard]] instant on_time(instant now);
    conversation go(std::vector<std::int64_t> bonds, instant by);

    part_of<kept> keep_bond(call, held);
    part_of<kept> keep_own_bond(call, held);
    part_of<kept> keep_common_bond(call, held);
    [[nodiscard]] std::optional<bond_terms> known_common(duration ttl) const;

    [[nodiscard]] statement addition(bond_id, const claim&) const;
    [[nodiscard]] asking on_hot(statement, const claim&, instant by);
    [[nodiscard]] attempt_answer granted(const held&, const bond_terms&, const table&);
    [[nodiscard]] attempt_answer contended_by(const claim&, joining, const bond_terms&, next_step);
    [[nodiscard]] attempt_answer failed(const claim&, const trouble&);
    [[nodiscard]] bool has_place(const nonce&);
    [[nodiscard]] bool has_row(const std::string& name);
    [[nodiscard]] bool may_be_wanted(const nonce&, const grant&);
    void expect_stragglers(const held&);
    void heard(const whisper&);
    enum class seen_before : bool { no, yes };
    void after_leaving(const std::string& name, const table&, seen_before seen = seen_before::no);
    void ring(std::int64_t bell);
    [[nodiscard]] duration lets_others_first(const std::string& name);

    const sql::options how_;
    const std::shared_ptr<database> database_;
    const std::int64_t client_;
    const std::shared_ptr<detail::reactor> hot_ = std::make_shared<detail::reactor>();
    const std::shared_ptr<detail::reactor> background_ = std::make_shared<detail::reactor>();
    std::shared_ptr<pool> lines_;    // for what somebody waits for
    std::shared_ptr<pool> own_line_; // for renewals, and for listening
    std::shared_ptr<pool> ears_;     // where listening is sleeping
    std::unique_ptr<front> front_;   // not in mode=lease
    backend_events* events_ = nullptr;
    std::atomic<int> under_way_{0};

    struct nonce_hash {
        std::size_t operator()(const nonce& n) const noexcept;
    };
    std::mutex guard_;
    detail::kernel_random chance_;
    std::map<duration, bond_id> common_; // what all claims with one ttl share
    std::unordered_map<bond_id, known_bond> bonds_;
    std::unordered_set<nonce, nonce_hash> places_;  // of claims of ours in the queue
    bounded_set<std::string> rows_{10'000};         // names that had one when we last saw them
    bounded_set<nonce, nonce_hash> wanted_{10'000}; // what we hold and others were heard to want
    struct fronted {
        held what;
        bond_id bond{};
        bool is_lost = false;
        bool being_won = false; ///< again, just now
    };
    doings seeks_;      // by nonce: what is withdrawn is withdrawn after them
    doings departures_; // names that are being given back: we ask for them after that
    doings keeping_;    // ttls whose common bond is being kept
    std::unordered_map<std::string, instant> yields_;        // until when others may go first
    std::unordered_map<nonce, fronted, nonce_hash> fronted_; // grants that the server keeps, too
    std::unordered_map<nonce, instant, nonce_hash> doubts_;  // until when it may still take effect
    struct straggler {
        held what;
        instant until; ///< it may still come
    };
    std::vector<straggler> stragglers_; // statements about what has been given back since
    instant clears_at_ = never;
    sightings sightings_;
    instant tidies_at_ = never;
    instant catches_up_at_ = never; // while somebody has a place
    duration catches_up_in_{};
    instant fronts_at_ = never; // when those that were lost are tried for again
    instant listens_at_ =
        never; // whoever holds a lock for a while wants to know if it is taken away
    bool listens_ = false;
    std::unordered_set<std::int64_t> ringing_; // bells
    std::atomic<std::int64_t> bell_{0};        // who rings it wakes us
    bool closed_ = false;
    std::optional<detail::ticker> ticker_; // goes first: it uses all of the above
};

} // namespace holdfast::relational
