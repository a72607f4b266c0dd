#include "servers/zookeeper_ensemble.hpp"
#include "servers/ports.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>

namespace holdfast::servers {
namespace {

using namespace std::chrono_literals;

void must(bool came_true, const char* what) {
    if (!came_true)
        throw std::runtime_error{what};
}

} // namespace

zookeeper_ensemble::zookeeper_ensemble(const zookeeper_options& each, const detour& way) {
    for (int tries = 0; tries < 5; ++tries)
        if (begin(each, way))
            return;
    throw std::runtime_error{"the ensemble did not come up: " + members_.front().log()};
}

bool zookeeper_ensemble::begin(const zookeeper_options& each, const detour& way) {
    members_.clear();
    std::set<std::uint16_t> free;
    while (free.size() < 2 * members)
        free.insert(free_port());
    const std::vector<std::uint16_t> ports{free.begin(), free.end()};
    for (std::size_t i = 0; i < members; ++i) {
        auto options = each;
        options.member = static_cast<int>(i) + 1;
        // In ticks: how long a follower may take to begin, and to answer; others use this machine
        // too. What the test says comes later, and counts.
        options.settings.insert(options.settings.begin(), {"initLimit=50", "syncLimit=15"});
        for (std::size_t other = 0; other < members; ++other) {
            const auto real = ports[2 * other];
            const auto seen = other == i ? real : way(i, other, real);
            options.settings.push_back("server." + std::to_string(other + 1) +
                                       "=127.0.0.1:" + std::to_string(seen) + ":" +
                                       std::to_string(ports[2 * other + 1]));
        }
        members_.emplace_back(options);
    }
    // A member whose port was taken meanwhile has ended.
    return cli_tests::comes_true(
               90s,
               [&] {
                   return std::any_of(members_.begin(),
                                      members_.end(),
                                      [](const zookeeper_server& one) { return !one.runs(); }) ||
                          std::all_of(
                              members_.begin(), members_.end(), [](const zookeeper_server& one) {
                                  return !one.mode().empty();
                              });
               }) &&
           std::all_of(members_.begin(), members_.end(), [](const zookeeper_server& one) {
               return one.runs();
           });
}

std::string zookeeper_ensemble::addresses() const {
    std::string all;
    for (const auto& one : members_)
        all += (all.empty() ? "" : ",") + one.address();
    return all;
}

std::string zookeeper_ensemble::url() const { return "zookeeper://" + addresses(); }

std::size_t zookeeper_ensemble::leader() {
    std::vector<std::size_t> leading;
    must(cli_tests::comes_true(60s,
                               [&] {
                                   leading.clear();
                                   for (std::size_t i = 0; i < members; ++i)
                                       if (members_[i].runs() && members_[i].mode() == "leader")
                                           leading.push_back(i);
                                   return leading.size() == 1;
                               }),
         "nobody leads");
    return leading.front();
}

std::size_t zookeeper_ensemble::follower(std::size_t not_this) {
    std::size_t found = members;
    must(cli_tests::comes_true(60s,
                               [&] {
                                   for (std::size_t i = 0; i < members; ++i)
                                       if (i != not_this && members_[i].runs() &&
                                           members_[i].mode() == "follower")
                                           found = i;
                                   return found != members;
                               }),
         "nobody follows");
    return found;
}

void zookeeper_ensemble::until_all_serve() {
    must(cli_tests::comes_true(90s,
                               [&] {
                                   return std::all_of(members_.begin(),
                                                      members_.end(),
                                                      [](const zookeeper_server& one) {
                                                          return !one.runs() || !one.mode().empty();
                                                      });
                               }),
         "not all serve");
}

void zookeeper_ensemble::restart(std::size_t i) {
    members_.at(i).restart();
    must(cli_tests::comes_true(90s, [&] { return !members_.at(i).mode().empty(); }),
         "a member does not serve again");
}

void zookeeper_ensemble::restart_all() {
    for (auto& one : members_)
        one.kill();
    for (auto& one : members_)
        one.restart();
    until_all_serve();
}

} // namespace holdfast::servers
