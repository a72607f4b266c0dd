// At most three at a time, in all processes together. The permits of those who die come back.

#include <holdfast/client.hpp>
#include <holdfast/semaphore.hpp>

#include <atomic>
#include <iostream>
#include <thread>
#include <vector>

int main() {
    const auto client = holdfast::open();
    std::atomic<int> working{0}, too_many{0};
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 8; ++i)
            threads.emplace_back([&] {
                holdfast::semaphore converters{client, "video/converters", 3};
                const auto permit = converters.acquire();
                if (++working > 3)
                    ++too_many;
                std::cout << "converting\n";
                --working;
            });
    }
    return too_many == 0 ? 0 : 1;
}
