// How to reach the engine `redis`: a server of its own for each test.

#include "conformance/engine.hpp"
#include "servers/redis.hpp"

#include <holdfast/redis.hpp>

namespace holdfast::conformance {
namespace {

class redis_place final : public place {
public:
    std::unique_ptr<backend> connect() override {
        return redis::make({.servers = {{"127.0.0.1", server_.port()}}, .quarantine = {}});
    }
    std::string url() const override { return server_.url() + "?quarantine=0s"; }

    // It neither answers nor closes anything.
    void fail() override { server_.pause(); }
    void recover() override { server_.resume(); }

private:
    servers::redis_server server_;
};

[[maybe_unused]] const bool added =
    !servers::redis_server::missing() && add({
    .promises = {.engine = "redis",
                 .reach = reach::network,
                 .shared = true,
                 .permits = true,
                 .fair = true,
                 .lock_delay = true,
                 .fence_per_pass = true,
                 .fences = fence_grade::hybrid,
                 .wake = wake_by::hint},
    .can_fail = true,
    .make_place = []() -> std::unique_ptr<place> { return std::make_unique<redis_place>(); },
});

} // namespace
} // namespace holdfast::conformance
