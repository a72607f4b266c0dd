#pragma once

// Steps that wait for answers, written one below the other.
//
//   conversation   runs by itself, and is gone when it ends; nobody waits for it
//   part_of<T>     begins when somebody awaits it, who goes on when it has ended
//
// Whoever brings an answer carries on the conversation, on his own thread. So nothing may be locked
// across a co_await, and nothing thrown. What is awaited is named first and then moved: GCC 12
// destroys some temporaries of such an expression twice.

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace holdfast::relational {

struct conversation {
    struct promise_type {
        conversation get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
};

template <class T> class [[nodiscard]] part_of {
public:
    struct promise_type {
        part_of get_return_object() noexcept {
            return part_of{std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() noexcept { return {}; }
        auto final_suspend() noexcept { return back{}; }
        void return_value(T v) noexcept { value.emplace(std::move(v)); }
        void unhandled_exception() noexcept { std::terminate(); }

        std::coroutine_handle<> whole;
        std::optional<T> value;
    };

    part_of(part_of&& other) noexcept : it_{std::exchange(other.it_, {})} {}
    part_of& operator=(part_of&&) = delete;
    ~part_of() {
        if (it_)
            it_.destroy();
    }

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<> whole) noexcept {
        it_.promise().whole = whole;
        return it_;
    }
    [[nodiscard]] T await_resume() noexcept { return std::move(*it_.promise().value); }

private:
    struct back {
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        [[nodiscard]] std::coroutine_handle<>
        await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
            return ended.promise().whole;
        }
        void await_resume() const noexcept {}
    };

    explicit part_of(std::coroutine_handle<promise_type> it) noexcept : it_{it} {}
    std::coroutine_handle<promise_type> it_;
};

} // namespace holdfast::relational
