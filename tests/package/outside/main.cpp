// Takes a lock in the file named on the command line and prints its fence. No engine is named here
// but in the URL: linking its library is enough.

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <cstdio>
#include <exception>
#include <string>

int main(int argc, char** argv) try {
    auto client = holdfast::open(argc > 1 ? "sqlite:" + std::string{argv[1]} : std::string{});
    holdfast::mutex orders{client, "orders/42"};
    auto lease = orders.acquire();
    std::printf("%lld\n", static_cast<long long>(lease.fence().value()));
    return lease.held() ? 0 : 1;
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 2;
}
