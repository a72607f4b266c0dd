// Holds a lock: in the words of the standard library, and as a lease.

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <iostream>
#include <mutex>

using namespace std::chrono_literals;

int main() {
    const auto client = holdfast::open(); // $HOLDFAST_URL, or the embedded file of this user
    holdfast::mutex orders{client, "orders/42"};

    {
        const std::scoped_lock hold{orders};
        std::cout << "nobody else is here now, in no process of this machine\n";
    }

    if (const auto lease = orders.try_acquire_for(500ms)) {
        std::cout << "ours, with fence " << lease->fence().value() << '\n';
    } else {
        std::cout << "somebody else holds it\n"; // an ordinary answer, no error
    }
}
