// Two accounts, two transfers in opposite directions at the same time: both locks or none, and
// never a deadlock, whatever the order in which they are named.

#include <holdfast/client.hpp>
#include <holdfast/multi_lock.hpp>

#include <iostream>
#include <map>
#include <string>
#include <thread>

int main() {
    const auto client = holdfast::open();
    std::map<std::string, int> balance{{"account/1", 100}, {"account/2", 100}};

    const auto transfer = [&](const std::string& from, const std::string& to) {
        holdfast::multi_lock both{client, {from, to}};
        for (int i = 0; i < 50; ++i) {
            const auto held = both.acquire();
            if (held.held()) { // of both; held.fence(from) is what a database would check
                --balance.at(from);
                ++balance.at(to);
            }
        }
    };
    {
        std::jthread there{transfer, "account/1", "account/2"};
        std::jthread back{transfer, "account/2", "account/1"};
    }
    std::cout << balance["account/1"] << " + " << balance["account/2"] << '\n';
    return balance["account/1"] == 100 && balance["account/2"] == 100 ? 0 : 1;
}
