#include "apart.hpp"

#include <holdfast/async.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>

namespace bench {
namespace {

namespace asio = boost::asio;

struct purse {
    std::uint64_t left;
    std::vector<float> latencies;
};

asio::awaitable<void> work(holdfast::mutex& lock, std::int64_t& last, purse& ours) {
    while (ours.left > 0) {
        --ours.left;
        const auto begin = now_ns();
        auto lease = co_await lock.async_acquire({}, asio::use_awaitable);
        const auto fence = lease.fence().value();
        check(fence > last, "the fence grows");
        last = fence;
        const auto gone = co_await lease.async_release(asio::use_awaitable);
        check(gone == holdfast::release_result::released, "the release is certain");
        ours.latencies.push_back(static_cast<float>(now_ns() - begin));
    }
}

void rethrow(const std::exception_ptr& failed) {
    if (failed)
        std::rethrow_exception(failed);
}

} // namespace

sample by_coroutines(plots& all, std::uint64_t cycles) {
    asio::io_context context{1};
    purse ours{cycles, {}};
    ours.latencies.reserve(cycles);
    const auto begin = now_ns();
    for (std::size_t i = 0; i < all.locks.size(); ++i)
        asio::co_spawn(context, work(all.locks[i], all.last_fence[i], ours), rethrow);
    context.run();
    const auto took = static_cast<double>(now_ns() - begin);
    check(ours.latencies.size() == cycles, "all cycles were done");
    return sample_of(took / static_cast<double>(cycles), ours.latencies);
}

} // namespace bench
