// How to reach the engine `zookeeper`: a root of its own for each test, on servers that they share,
// because a Java machine takes a second to start. The form zookeeper_ensemble has three of them.

#include "conformance/engine.hpp"
#include "gate/gate.hpp"
#include "servers/zookeeper.hpp"
#include "servers/zookeeper_ensemble.hpp"

#include <holdfast/zookeeper.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <string>
#include <vector>

namespace holdfast::conformance {
namespace {

using namespace std::chrono_literals;

constexpr auto session = 3s;

[[nodiscard]] std::vector<std::uint16_t> the_server() {
    static const servers::zookeeper_server one;
    return {one.port()};
}

[[nodiscard]] std::vector<std::uint16_t> the_ensemble() {
    static servers::zookeeper_ensemble three;
    std::vector<std::uint16_t> ports;
    for (std::size_t i = 0; i < servers::zookeeper_ensemble::members; ++i)
        ports.push_back(three.member(i).port());
    return ports;
}

class zookeeper_place final : public place {
public:
    explicit zookeeper_place(const std::vector<std::uint16_t>& ports) {
        for (const auto port : ports)
            gates_.emplace_back(port);
    }

    std::unique_ptr<backend> connect() override {
        zookeeper::options how{.servers = {}, .root = root_, .session = session};
        for (const auto& one : gates_)
            how.servers.push_back({"127.0.0.1", one.port()});
        return zookeeper::make(how);
    }
    std::string url() const override {
        std::string all;
        for (const auto& one : gates_)
            all += (all.empty() ? "" : ",") + one.address();
        return "zookeeper://" + all + root_ + "?session=" + std::to_string(session.count()) + "s";
    }

    void fail() override {
        for (auto& one : gates_) {
            one.refuse();
            one.cut();
        }
    }
    void recover() override {
        for (auto& one : gates_)
            one.admit();
    }

private:
    static inline std::atomic<int> places = 0;
    const std::string root_ = "/place" + std::to_string(++places);
    std::deque<servers::gate> gates_;
};

template <auto ports_of_servers> [[nodiscard]] bool offer(const char* form) {
    if (!is_asked_for(form) || servers::zookeeper_server::missing())
        return false;
    return add({
        .promises = {.engine = "zookeeper",
                     .reach = reach::network,
                     .shared = true,
                     .permits = true,
                     .fair = true,
                     .fences = fence_grade::consensus,
                     .ttl = ttl_scope::session,
                     .wake = wake_by::grant,
                     .assumptions = 1},
        .called = form,
        .can_fail = true,
        .make_place = []() -> std::unique_ptr<place> {
            return std::make_unique<zookeeper_place>(ports_of_servers());
        },
    });
}

[[maybe_unused]] const bool one = offer<&the_server>("zookeeper");
[[maybe_unused]] const bool three = offer<&the_ensemble>("zookeeper_ensemble");

} // namespace
} // namespace holdfast::conformance
