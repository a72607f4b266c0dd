#pragma once

// What a client is: one backend, one core behind one mutex, one event loop and two callback lanes.
//
//   caller ──▶ decide (mutex held: the core turns an event into actions)
//                 │
//                 ▼ mutex released
//              perform (engine calls, answers, callbacks) ──▶ backend ──▶ answers ──▶ decide …
//
// Invariant: the mutex is never held across I/O or a callback.

#include "client/core.hpp"
#include "client/watch.hpp"
#include "runtime/deadman.hpp"
#include "runtime/lane.hpp"
#include "runtime/loop.hpp"
#include "runtime/random.hpp"

#include <holdfast/backend.hpp>
#include <holdfast/client.hpp>
#include <holdfast/observer.hpp>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::detail {

/// How long the thread that performs actions may be kept by an engine whose calls block.
enum class patience : std::uint8_t {
    full,   ///< a caller who waits for the answer anyway, or the loop
    short_, ///< unlock(): try now, leave the rest to the loop
    none,   ///< an asynchronous caller: the loop does it
};

/// A caller of an operation, told once, from any thread, with no lock held.
struct acquirer : wish {
    using wish::wish;
    virtual void told(error_code, std::string detail, std::shared_ptr<hold>) = 0;
    bool blocks_no_thread = false;

protected:
    ~acquirer() = default;
};
struct releaser : goodbye {
    virtual void told(release_result) = 0;
    bool blocks_no_thread = false;

protected:
    ~releaser() = default;
};

class client_state final : public backend_events,
                           public std::enable_shared_from_this<client_state> {
public:
    [[nodiscard]] static std::shared_ptr<client_state> make(std::unique_ptr<backend>,
                                                            client_options);
    ~client_state();
    client_state(const client_state&) = delete;
    client_state& operator=(const client_state&) = delete;

    void start_acquire(acquirer&, patience);
    void cancel(acquirer&, error_code why);
    void start_release(const std::shared_ptr<hold>&, releaser*, patience);
    void start_inspect(const std::string& pattern,
                       patience,
                       std::function<void(response<std::vector<lock_info>>)>);
    void start_ask_release(const std::string& name,
                           patience,
                           std::function<void(response<std::size_t>)>);
    void start_force_release(const std::string& name,
                             patience,
                             std::function<void(response<std::size_t>)>);
    void start_examine(patience, std::function<void(response<std::vector<finding>>)>);
    void close(duration at_most);

    [[nodiscard]] const capabilities& able() const noexcept { return backend_->able(); }
    [[nodiscard]] lane& callbacks() noexcept { return lane_; }
    [[nodiscard]] lane& alarms() noexcept { return alarms_; }
    [[nodiscard]] lane& handlers() noexcept { return lane_; }

    /// Where a blocking caller waits for its answer.
    [[nodiscard]] watch& where_to_wait() noexcept { return watch_; }
    [[nodiscard]] bool is_own_thread() const { return loop_.is_this_thread(); }

    /// Throws unless this process is the one that made the client.
    void check_not_forked() const;
    [[nodiscard]] bool forked() const noexcept;

    // backend_events
    void attempted(ticket, attempt_answer) override;
    void withdrawn(ticket, applied) override;
    void released(ticket, release_result) override;
    void renewed(ticket, std::span<const renewal_answer>) override;
    void inspected(ticket, response<std::vector<lock_info>>) override;
    void examined(ticket, std::vector<finding>) override;
    void forced(ticket, response<std::size_t>) override;
    void woken(const nonce&) override;
    void granted(const nonce&, const grant&) override;
    void bond_lost(bond_id) override;
    void grant_lost(const nonce&) override;
    void wanted(const nonce&) override;
    void link(link_state, std::string_view detail) override;
    void notice(std::string_view sentence) override;

private:
    client_state(std::unique_ptr<backend>, client_options);
    void begin();

    /// Lets the core decide under the mutex, then performs what it wants.
    template <class F> void decide(patience, const F&);
    void after_deciding();
    void perform(actions&, patience);
    void perform_one(action&, patience);
    template <class Ask, class Refuse> void ask_engine(patience, call&, Ask, Refuse);
    template <class Ask, class Refuse> void enter_engine(const call&, const Ask&, const Refuse&);
    void start_threads();
    void tell(const tell_observer&);
    [[nodiscard]] call operator_call();

    /// What operators asked for, until the engine answers.
    template <class T> using questions = std::map<ticket, std::function<void(response<T>)>>;
    template <class T, class F>
    void ask_for_operator(questions<T>&, patience, std::function<void(response<T>)>, F ask);
    template <class T> void answer_operator(questions<T>&, ticket, response<T>);

    const std::uint64_t generation_;
    std::unique_ptr<backend> backend_;
    const std::shared_ptr<holdfast::observer> observer_;
    kernel_random chance_;

    std::mutex guard_;
    core core_;
    instant timer_ = never;
    deadman deadman_;
    bool closing_ = false;
    std::atomic<bool> closed_{false};
    std::condition_variable settled_;
    std::uint64_t operator_calls_ = 0;
    questions<std::vector<lock_info>> inspections_;
    questions<std::vector<finding>> examinations_;
    questions<std::size_t> forcings_;

    // Calls into the engine that are going on. Whoever closes it waits until they are over.
    std::atomic<int> in_engine_{0};
    std::atomic<bool> threads_started_{false};

    lane alarms_; // stop tokens and on_lost: nothing else may keep these waiting
    lane lane_;   // observers, and handlers without an executor
    watch watch_; // outlives the loop, which still has its descriptor
    loop loop_;
};

/// The inside of the public handle, for the primitives.
struct access {
    [[nodiscard]] static const std::shared_ptr<client_state>& of(const client& c) noexcept {
        return c.state_;
    }
    [[nodiscard]] static std::shared_ptr<client_state> take(client&& c) noexcept {
        return std::move(c.state_);
    }
};

} // namespace holdfast::detail
