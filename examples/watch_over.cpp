// Counts what happens to a client's locks, and tells what it saw.

#include <holdfast/client.hpp>
#include <holdfast/metrics.hpp>
#include <holdfast/synchronized.hpp>

#include <chrono>
#include <iostream>
#include <memory>

namespace {

// Everybody who runs this function runs it alone, on all machines that share the engine: as if it
// carried an annotation.
void nightly_report(const holdfast::client& on) {
    holdfast::synchronized(
        on, [](const holdfast::lease& held) { std::cout << "alone in " << held.name() << '\n'; });
}

} // namespace

int main() {
    using namespace std::chrono;
    const auto seen = std::make_shared<holdfast::metrics>();
    {
        const auto client = holdfast::open({}, {.observer = seen});
        client.require(holdfast::guarantee::fence | holdfast::guarantee::survives_restart);
        for (int i = 0; i < 10; ++i)
            nightly_report(client);
    } // when a client has gone, its observer has heard everything
    const auto half = duration_cast<microseconds>(seen->wait.quantile(0.5));
    std::cout << seen->count(holdfast::event::kind::granted) << " grants, half of them within "
              << half.count() << " us\n";
    return seen->hold.count() == 10 ? 0 : 1;
}
