// How to reach the engine `memory`: clients that share a store.

#include "conformance/engine.hpp"
#include "conformance/faulty_line.hpp"

#include <holdfast/memory.hpp>

namespace holdfast::conformance {
namespace {

class memory_place final : public place {
public:
    std::unique_ptr<backend> connect() override {
        return std::make_unique<faulty_line>(memory::make(store_), fault_);
    }
    void fail() override { fault_->set(fault::away); }
    void recover() override { fault_->set(fault::none); }

private:
    const std::shared_ptr<memory::store> store_ = memory::make_store();
    const std::shared_ptr<fault_switch> fault_ = std::make_shared<fault_switch>();
};

[[maybe_unused]] const bool added = add({
    .promises = {.engine = "memory",
                 .reach = reach::process,
                 .shared = true,
                 .permits = true,
                 .fair = true,
                 .lock_delay = true,
                 .fence_per_pass = true,
                 .raises_fences = true,
                 .fences = fence_grade::transient,
                 .wake = wake_by::grant},
    .can_fail = true,
    .make_place = []() -> std::unique_ptr<place> { return std::make_unique<memory_place>(); },
});

} // namespace
} // namespace holdfast::conformance
