// The asynchronous face links as well; nothing here runs.

#include <holdfast/async.hpp>
#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

boost::asio::awaitable<void> hold_for_a_moment(holdfast::client client);

boost::asio::awaitable<void> hold_for_a_moment(holdfast::client client) {
    holdfast::mutex orders{client, "orders/42"};
    auto lease = co_await orders.async_acquire({}, boost::asio::use_awaitable);
    lease.release();
}
