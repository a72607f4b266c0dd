// How to reach the engine `zookeeper`: a root of its own for each test, on one server that they
// share, because a Java machine takes a second to start.

#include "conformance/engine.hpp"
#include "gate/gate.hpp"
#include "servers/zookeeper.hpp"

#include <holdfast/zookeeper.hpp>

#include <atomic>
#include <chrono>
#include <string>

namespace holdfast::conformance {
namespace {

using namespace std::chrono_literals;

constexpr auto session = 3s;

[[nodiscard]] servers::zookeeper_server& the_server() {
    static servers::zookeeper_server one;
    return one;
}

class zookeeper_place final : public place {
public:
    std::unique_ptr<backend> connect() override {
        return zookeeper::make(
            {.servers = {{"127.0.0.1", gate_.port()}}, .root = root_, .session = session});
    }
    std::string url() const override {
        return "zookeeper://" + gate_.address() + root_ +
               "?session=" + std::to_string(session.count()) + "s";
    }

    void fail() override {
        gate_.refuse();
        gate_.cut();
    }
    void recover() override { gate_.admit(); }

private:
    static inline std::atomic<int> places = 0;
    const std::string root_ = "/place" + std::to_string(++places);
    servers::gate gate_{the_server().port()};
};

[[maybe_unused]] const bool added = is_asked_for("zookeeper") &&
                                    !servers::zookeeper_server::missing() &&
                                    add({
                                        .promises = {.engine = "zookeeper",
                                                     .reach = reach::network,
                                                     .shared = true,
                                                     .permits = true,
                                                     .fair = true,
                                                     .fences = fence_grade::consensus,
                                                     .ttl = ttl_scope::session,
                                                     .wake = wake_by::grant,
                                                     .assumptions = 1},
                                        .can_fail = true,
                                        .make_place = []() -> std::unique_ptr<place> {
                                            return std::make_unique<zookeeper_place>();
                                        },
                                    });

} // namespace
} // namespace holdfast::conformance
