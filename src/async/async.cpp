#include "client/client_state.hpp"
#include "lease/hold.hpp"
#include "primitives/checks.hpp"
#include "runtime/quiet_thread.hpp"
#include "waiting/ascent.hpp"

#include <holdfast/async.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace holdfast::detail {
namespace {

namespace asio = boost::asio;

/// A user's handler until it is called. Its executor has work until then, and the client lives: the
/// last word of a client is not spoken on one of its own threads, which it would have to wait for.
template <class Signature> class completion;
template <class... T> class completion<void(error_code, T...)> {
public:
    completion(std::shared_ptr<client_state> state, handler_of<void(error_code, T...)>&& handler)
        : state_{std::move(state)}, callbacks_{state_->callbacks()}, handler_{std::move(handler)} {}

    [[nodiscard]] const std::shared_ptr<client_state>& state() const noexcept { return state_; }

    /// For an answer that keeps the client itself, as a lease does.
    [[nodiscard]] std::shared_ptr<client_state> take_state() noexcept { return std::move(state_); }

    /// If the caller can cancel: `stop(operation, client)` is called when it does.
    template <class Operation, class Stop>
    void on_cancel(const std::shared_ptr<Operation>& whose, Stop stop) {
        auto slot = asio::get_associated_cancellation_slot(handler_.call);
        if (!slot.is_connected())
            return;
        slot.assign([op = std::weak_ptr{whose}, home = std::weak_ptr{state_}, stop](
                        asio::cancellation_type how) {
            const auto found = op.lock();
            const auto there = home.lock();
            if (found && there && how != asio::cancellation_type::none)
                stop(*found, *there);
        });
        // The slot belongs to the handler's executor: only there may it be touched.
        clears_slot_ = handler_.where.context || handler_.where.elsewhere;
    }

    /// On the handler's executor, and never before the initiating call has returned.
    void call(error_code ec, T&&... value) {
        auto where = std::move(handler_.where);
        auto task = [keep = std::move(state_),
                     handler = std::move(handler_.call),
                     clears_slot = clears_slot_,
                     ec,
                     ... v = std::move(value)]() mutable {
            if (clears_slot)
                asio::get_associated_cancellation_slot(handler).clear();
            std::move(handler)(ec, std::move(v)...);
        };
        // They never block: this is what post() does.
        if (where.context)
            return where.context->execute(std::move(task));
        if (where.elsewhere)
            return where.elsewhere->execute(std::move(task));
        // std::function wants a copyable task; a handler is move-only.
        auto shared = std::make_shared<decltype(task)>(std::move(task));
        callbacks_.post([shared] { (*shared)(); });
    }

private:
    std::shared_ptr<client_state> state_;
    lane& callbacks_;
    handler_of<void(error_code, T...)> handler_;
    bool clears_slot_ = false;
};

/// One asynchronous acquisition. Keeps itself alive while the core knows it.
template <class Answer> class async_acquire final : public acquirer {
public:
    async_acquire(std::shared_ptr<client_state> state,
                  request&& wanted,
                  handler_of<void(error_code, Answer)>&& handler)
        : acquirer{std::move(wanted)}, done_{std::move(state), std::move(handler)} {}

    static void start(std::shared_ptr<async_acquire> made) {
        auto& op = *made;
        op.self_ = std::move(made);
        op.done_.on_cancel(op.self_, [](async_acquire& found, client_state& there) {
            there.cancel(found, asio::error::operation_aborted);
        });
        if (const char* wrong = what_is_wrong_with(op.what.options))
            return op.told(errc::bad_option, wrong, nullptr);
        op.done_.state()->start_acquire(op, patience::none); // it may be gone when this returns
    }

    void told(error_code ec, std::string, std::shared_ptr<hold> granted) override {
        const auto alive = std::move(self_);
        if (granted)
            return done_.call({}, hold::make_lease(std::move(granted), done_.take_state()));
        if constexpr (std::is_same_v<Answer, lease>)
            ec = ec ? ec : make_error_code(errc::timed_out); // asked once, and contended
        else if (ec == errc::timed_out)
            ec = {};
        if (ec == errc::cancelled)
            ec = asio::error::operation_aborted;
        done_.call(ec, Answer{});
    }

private:
    completion<void(error_code, Answer)> done_;
    std::shared_ptr<async_acquire> self_;
};

/// Several acquisitions, one after another; the next begins where the answer to the last is told.
template <class Answer>
class async_ascent final : public acquirer,
                           public std::enable_shared_from_this<async_ascent<Answer>> {
public:
    async_ascent(std::shared_ptr<client_state> state,
                 std::vector<request> wanted,
                 handler_of<void(error_code, Answer)> handler)
        : done_{std::move(state), std::move(handler)}, wanted_{std::move(wanted)},
          way_{wanted_.size(), wanted_.front().options.wait, boot_clock::now()} {}

    void start() {
        self_ = this->shared_from_this();
        done_.on_cancel(self_, [](async_ascent& op, client_state& state) { op.cancel(state); });
        if (const char* wrong = what_is_wrong_with(wanted_.front().options))
            return told(errc::bad_option, wrong, nullptr);
        ask();
    }

    void told(error_code ec, std::string, std::shared_ptr<hold> granted) override {
        using step = ascent::step;
        if (!granted)
            return finish(ec);
        taken_.push_back(hold::make_lease(std::move(granted), done_.state()));
        switch (way_.granted(std::all_of(taken_.begin(), taken_.end(), std::mem_fn(&lease::held)),
                             boot_clock::now())) {
        case step::ask:
            return ask();
        case step::start_over:
            give_back();
            return ask();
        case step::give_up:
            return finish(errc::timed_out);
        case step::done:
            return finish({});
        }
    }

private:
    // A cancellation may come while one answer is told and the next is not asked for yet: whoever
    // is later, it or the asking, sees the other.
    void cancel(client_state& state) {
        cancelled_ = true;
        state.cancel(*this, asio::error::operation_aborted);
    }

    void ask() {
        const auto alive = this->shared_from_this();
        const auto state = done_.state(); // the last answer takes it along
        what = wanted_[way_.next()];
        what.options.wait = way_.wait_left(boot_clock::now());
        if (cancelled_)
            return finish(asio::error::operation_aborted);
        state->start_acquire(*this, patience::none);
        if (cancelled_)
            state->cancel(*this, asio::error::operation_aborted);
    }

    void give_back() {
        while (!taken_.empty())
            taken_.pop_back();
    }

    void finish(error_code ec) {
        const auto alive = std::move(self_);
        const bool all = !ec && !taken_.empty() && taken_.size() == wanted_.size();
        Answer answer{};
        if (all)
            answer = multi_lease{std::exchange(taken_, {})};
        else
            give_back();
        if constexpr (std::is_same_v<Answer, multi_lease>)
            ec = all || ec ? ec : make_error_code(errc::timed_out);
        else if (ec == errc::timed_out)
            ec = {};
        if (ec == errc::cancelled)
            ec = asio::error::operation_aborted;
        done_.call(ec, std::move(answer));
    }

    completion<void(error_code, Answer)> done_;
    const std::vector<request> wanted_;
    ascent way_;
    std::vector<lease> taken_;
    std::atomic<bool> cancelled_{false};
    std::shared_ptr<async_ascent> self_;
};

class async_release final : public releaser {
public:
    async_release(std::shared_ptr<client_state> state, handler_of<release_signature> handler)
        : done_{std::move(state), std::move(handler)} {}
    void told(release_result how) override {
        const std::unique_ptr<async_release> self{this};
        done_.call({}, std::move(how));
    }

private:
    completion<release_signature> done_;
};

// Turns a response into (error_code, T) for a handler.
template <class T> auto answer_to(const client& on, handler_of<void(error_code, T)> handler) {
    auto done =
        std::make_shared<completion<void(error_code, T)>>(access::of(on), std::move(handler));
    return [done](response<T> answer) {
        if (answer.has_error())
            done->call(answer.error().code, T{});
        else
            done->call({}, std::move(*answer));
    };
}

} // namespace

void begin_acquire(client&& on, request&& wanted, handler_of<acquire_signature>&& handler) {
    using operation = async_acquire<lease>;
    access::of(on)->check_not_forked();
    operation::start(std::make_shared<operation>(
        access::take(std::move(on)), std::move(wanted), std::move(handler)));
}

void begin_acquire(client&& on, request&& wanted, handler_of<try_acquire_signature>&& handler) {
    using operation = async_acquire<std::optional<lease>>;
    access::of(on)->check_not_forked();
    operation::start(std::make_shared<operation>(
        access::take(std::move(on)), std::move(wanted), std::move(handler)));
}

void begin_acquire_all(const client& on,
                       std::vector<request> wanted,
                       handler_of<acquire_all_signature> handler) {
    access::of(on)->check_not_forked();
    std::make_shared<async_ascent<multi_lease>>(
        access::of(on), std::move(wanted), std::move(handler))
        ->start();
}

void begin_acquire_all(const client& on,
                       std::vector<request> wanted,
                       handler_of<try_acquire_all_signature> handler) {
    access::of(on)->check_not_forked();
    std::make_shared<async_ascent<std::optional<multi_lease>>>(
        access::of(on), std::move(wanted), std::move(handler))
        ->start();
}

void begin_release(lease what, handler_of<release_signature> handler) {
    const auto [h, state] = hold::take(what);
    if (!h)
        throw_error(errc::not_held);
    state->check_not_forked();
    auto op = std::make_unique<async_release>(state, std::move(handler));
    state->start_release(h, op.release(), patience::none);
}

void begin_inspect(const client& on, std::string pattern, handler_of<inspect_signature> handler) {
    access::of(on)->check_not_forked();
    access::of(on)->start_inspect(
        pattern, patience::none, answer_to<std::vector<lock_info>>(on, std::move(handler)));
}

void begin_examine(const client& on, handler_of<examine_signature> handler) {
    access::of(on)->check_not_forked();
    access::of(on)->start_examine(patience::none,
                                  answer_to<std::vector<finding>>(on, std::move(handler)));
}

// Once in a client's life, and it waits for both of the client's threads: so it has its own.
void begin_close(const client& on, duration at_most, handler_of<close_signature> handler) {
    access::of(on)->check_not_forked();
    completion<close_signature> done{access::of(on), std::move(handler)};
    quiet_thread([at_most, done = std::move(done)]() mutable {
        done.state()->close(at_most);
        done.call({});
    }).detach();
}

void begin_force_release(const client& on,
                         std::string name,
                         handler_of<force_release_signature> handler) {
    check_name(name);
    access::of(on)->check_not_forked();
    access::of(on)->start_force_release(
        name, patience::none, answer_to<std::size_t>(on, std::move(handler)));
}

} // namespace holdfast::detail
