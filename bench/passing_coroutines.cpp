// From one coroutine to the next: a thousand of them on one thread want one lock all the time.
//
// Held to a bare asio::post: a thousand coroutines in a ring, each suspended until the one before
// it posts its handler. As with threads, only what is passed inside the process is timed; the mean
// includes the engine's turns.

#include "crew.hpp"
#include "fence_blocks.hpp"
#include "rows.hpp"

#include <holdfast/async.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <optional>

namespace bench {
namespace {

namespace asio = boost::asio;

constexpr std::size_t coroutines = 1000;

void rethrow(const std::exception_ptr& failed) {
    if (failed)
        std::rethrow_exception(failed);
}

/// The baton of many on one thread: no need to know who they are, for nobody is handed it twice in
/// a row.
struct chain {
    std::uint64_t handed = 0;
    std::uint64_t enough = 0;
    std::int64_t left_at = 0;
    std::int64_t last_fence = 0;
    std::vector<float> latencies;

    void begin(std::uint64_t wanted) {
        handed = 0;
        enough = wanted;
        left_at = last_fence = 0;
        latencies.clear();
        latencies.reserve(wanted + coroutines);
    }
    [[nodiscard]] bool over() const { return handed >= enough; }
    void enter(std::int64_t fence, bool timed) {
        const auto now = now_ns();
        if (fence != 0) {
            check(fence > last_fence, "the fence grows");
            last_fence = fence;
        }
        if (left_at != 0 && timed)
            latencies.push_back(static_cast<float>(now - left_at));
        ++handed;
    }
    void leave() { left_at = now_ns(); }
    [[nodiscard]] sample result(std::int64_t took) {
        check(over(), "all have been handed over");
        return sample_of(static_cast<double>(took) / static_cast<double>(handed), latencies);
    }
};

asio::awaitable<void> want(holdfast::mutex& lock, const fence_blocks& blocks, chain& what) {
    while (!what.over()) {
        auto lease = co_await lock.async_acquire({}, asio::use_awaitable);
        const auto fence = lease.fence().value();
        what.enter(fence, blocks.passed(fence));
        what.leave();
    } // let go here
}

struct ring {
    asio::io_context& on;
    chain& what;
    // optional: assigning such a handler never ends in Boost 1.81, constructing one does
    std::vector<std::optional<asio::any_completion_handler<void()>>> asleep;

    auto sleep(std::size_t who) {
        return asio::async_initiate<decltype(asio::use_awaitable), void()>(
            [this, who](auto handler) { asleep[who].emplace(std::move(handler)); },
            asio::use_awaitable);
    }
    void wake(std::size_t who) {
        if (auto& handler = asleep[who]) {
            asio::post(on, [h = std::move(*handler)]() mutable { std::move(h)(); });
            handler.reset();
        }
    }
};

asio::awaitable<void> go_round(ring& all, std::size_t who) {
    const auto next = (who + 1) % all.asleep.size();
    while (!all.what.over()) {
        co_await all.sleep(who);
        all.what.enter(0, true);
        all.what.leave();
        all.wake(next);
    }
    all.wake(next);
}

void measure(const effort& how, placed where, findings& out) {
    place(where);
    const auto client = holdfast::open("sqlite:" + how.directory + "/coroutines.db");
    holdfast::mutex lock{client, "orders/42"};
    const fence_blocks blocks{lock};
    chain what;
    asio::io_context context{1};

    const auto run = [&](std::uint64_t wanted, auto spawn_all) {
        what.begin(wanted);
        const auto begin = now_ns();
        spawn_all();
        context.restart();
        context.run();
        return what.result(now_ns() - begin);
    };
    const contender all[] = {
        {"holdfast, passed in the process",
         how.cycles(20'000),
         [&](std::uint64_t wanted) {
             return run(wanted, [&] {
                 for (std::size_t i = 0; i < coroutines; ++i)
                     asio::co_spawn(context, want(lock, blocks, what), rethrow);
             });
         }},
        {"a bare asio::post",
         how.cycles(20'000),
         [&](std::uint64_t wanted) {
             ring all_of_them{context, what, {}};
             all_of_them.asleep = decltype(all_of_them.asleep)(coroutines);
             return run(wanted, [&] {
                 for (std::size_t i = 0; i < coroutines; ++i)
                     asio::co_spawn(context, go_round(all_of_them, i), rethrow);
                 asio::post(context, [&] { all_of_them.wake(0); });
             });
         }},
    };
    auto standings = compete(all, how.rounds);
    const auto slower = compare(standings[0], standings[1], &sample::p50_ns);
    out.lines.push_back(
        {"local passing, 1,000 coroutines", where, std::move(standings), slower, 3.0, "p50", {}});
}

} // namespace

void passing_coroutines(const effort& how, findings& out) {
    measure(how, placed::anywhere, out);
    measure(how, placed::one_cpu, out);
}

} // namespace bench
