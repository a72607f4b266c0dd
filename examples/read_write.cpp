// One writer or many readers, in the words of the standard library.

#include <holdfast/client.hpp>
#include <holdfast/shared_mutex.hpp>

#include <iostream>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

int main() {
    const auto client = holdfast::open();
    int page = 0; // stands for something that several programs share
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 2; ++i)
            threads.emplace_back([&] {
                holdfast::shared_mutex lock{client, "page/7"};
                const std::scoped_lock writing{lock};
                ++page;
            });
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] {
                holdfast::shared_mutex lock{client, "page/7"};
                const std::shared_lock reading{lock};
                std::cout << "page " + std::to_string(page) + '\n';
            });
    }
    return page == 2 ? 0 : 1;
}
