// Work that ends in time: the stop token fires before the lease can.

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <condition_variable>
#include <iostream>
#include <mutex>

using namespace std::chrono_literals;

int main() {
    holdfast::mutex report{holdfast::open(), "nightly-report"};

    // Not renewed, so that it ends while you watch. By default a lease lasts as long as you need
    // it, and the token fires only if it could not be renewed, or was taken away.
    auto lease = report.acquire({.ttl = 2s, .renew = false, .stop_margin = 1s});
    lease.on_lost([] { std::cout << "lost\n"; });

    int pages = 0;
    bool in_time = false;
    std::mutex pause_guard;
    std::condition_variable_any pause;
    for (const auto stop = lease.stop_token(); !stop.stop_requested(); ++pages) {
        std::unique_lock lock{pause_guard}; // one page takes 50 ms, or ends early
        pause.wait_for(lock, stop, 50ms, [] { return false; });
        in_time = lease.held();
    }
    std::cout << pages << " pages, and " << (in_time ? "still held" : "too late") << '\n';
    lease.release();
    return in_time ? 0 : 1;
}
