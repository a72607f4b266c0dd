// One lock, two languages: this program and ShareWithCpp.java add to the same counter in turn.
//
//   redis-server --appendonly yes --appendfsync always &
//   ./share_with_java redis://127.0.0.1:6379 1000 &  java … ShareWithCpp redis://127.0.0.1:6379
//   1000

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
    const std::string url = argc > 1 ? argv[1] : "redis://127.0.0.1:6379";
    const int times = argc > 2 ? std::atoi(argv[2]) : 1000;
    const char* const file = argc > 3 ? argv[3] : "counter.txt"; // what the lock protects

    const auto client = holdfast::open(url, {.purpose = "examples/redis/share_with_java"});
    holdfast::mutex turn{client, "counter"}; // redisson.getFencedLock("counter")

    for (int i = 0; i < times; ++i) {
        const auto lease = turn.acquire();
        long count = 0;
        std::ifstream{file} >> count;
        std::ofstream{file} << count + 1 << '\n';
        if (i + 1 == times)
            std::printf("C++: %d turns done, fence %lld, counter %ld\n",
                        times,
                        static_cast<long long>(lease.fence().value()),
                        count + 1);
    }
}
