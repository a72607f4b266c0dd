// Waits for a lock without a thread: any completion token of Asio works, here a coroutine.

#include <holdfast/async.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> work(holdfast::client client) {
    holdfast::mutex orders{client, "orders/42"};
    auto lease = co_await orders.async_acquire({.wait = 5s, .ttl = 10s});
    std::cout << "ours, with fence " << lease.fence().value() << '\n';

    // Errors instead of exceptions: somebody (we ourselves) holds it.
    const auto [error, second] =
        co_await orders.async_acquire({.wait = 10ms}, asio::as_tuple(asio::use_awaitable));
    std::cout << "again: " << error.message() << '\n';

    co_await lease.async_release(asio::use_awaitable);
}

int main() {
    asio::io_context io;
    bool well = false;
    asio::co_spawn(io, work(holdfast::open()), [&](const std::exception_ptr& e) { well = !e; });
    io.run();
    return well ? 0 : 1;
}
