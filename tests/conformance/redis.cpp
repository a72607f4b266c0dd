// How to reach the engine `redis`: a server of its own for each test.

#include "conformance/engine.hpp"
#include "gate/gate.hpp"
#include "servers/redis.hpp"

#include <holdfast/redis.hpp>

namespace holdfast::conformance {
namespace {

class redis_place final : public place {
public:
    std::unique_ptr<backend> connect() override {
        return redis::make({.servers = {{"127.0.0.1", gate_.port()}}});
    }
    std::string url() const override { return "redis://" + gate_.address(); }

    // Nobody gets through, and who was connected is cut off.
    void fail() override {
        gate_.refuse();
        gate_.cut();
    }
    void recover() override { gate_.admit(); }

private:
    // It forgets nothing, so that nobody needs to wait because it has just been started.
    servers::redis_server server_{
        {.data = servers::durability::append_only, .settings = {"appendfsync always"}}};
    servers::gate gate_{server_.port()};
};

[[maybe_unused]] const bool added =
    !servers::redis_server::missing() &&
    add({
        .promises = {.engine = "redis",
                     .reach = reach::network,
                     .shared = true,
                     .permits = true,
                     .fair = true,
                     .lock_delay = true,
                     .fence_per_pass = true,
                     .raises_fences = true,
                     .fences = fence_grade::hybrid,
                     .wake = wake_by::hint,
                     .assumptions = 7},
        .can_fail = true,
        .make_place = []() -> std::unique_ptr<place> { return std::make_unique<redis_place>(); },
    });

} // namespace
} // namespace holdfast::conformance
