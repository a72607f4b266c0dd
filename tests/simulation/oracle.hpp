#pragma once

// Knows everything, and compares it after each event with what must always be true.
//
//   I1  at most one holder believes in an exclusive lease, or only readers, or as many as there are
//   permits;
//       and what anybody believes, the engine keeps
//   I2  effects in the order of fences, no update lost (the vault)
//   I3  fences grow with each exclusive grant
//   I4  nothing is asked for what has ended, I5 nothing is left behind (the ledger of each process)
//   I6  a lease is lost at most once, and not held after that; stop comes before the deadline
//   I7  a deadline never moves back
//   I8  work is bounded; so is passing on
//   lock delay: what was lost is kept back; fair order: who asked first is served first
//   liveness: in health nobody waits while nobody holds, and nothing is lost

#include "lease/hold.hpp"
#include "models/wire.hpp"
#include "simulation/timeline.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace holdfast::detail {
struct engine_grant;
} // namespace holdfast::detail

namespace holdfast::simulation {

class process;
class world;
struct asking;
struct machine;

class oracle {
public:
    explicit oracle(world& w) : world_{w} {}

    void asks(const process&, const std::string& name);
    void answered(const process&, const std::string& name);
    void began(process&, const std::shared_ptr<detail::hold>&, const asking&);
    void woke(const machine&);
    void told_stop(const process&, const detail::hold&);
    std::shared_ptr<const claim> lost(const process&, const detail::hold&); // says what it was
    void wanted(process_id, const nonce&);
    void died(const process&);
    void forked(const process& parent, const process& child);
    void engine_granted(const claim&, process_id, fence, std::uint32_t reserved);
    void check();

private:
    struct holding {
        std::shared_ptr<detail::hold> lease;
        process* by;
        std::shared_ptr<const claim> what;
        owner_id owner;
        instant began;
        instant deadline; // as last seen
        std::uint64_t disturbed_before;
        bool stop_told = false;
        bool lost_told = false;
    };
    struct name_state {
        fence last_begun;
        nonce last_nonce;
        std::int64_t last_granted = 0;
        tau kept_back_until{};
        bool kept_from_readers = false;
        bool holder_died = false;
        std::map<process_id, int> waiting;
        tau idle_since{};
    };
    struct passing {
        std::uint32_t passes = 0;
        instant since;
        bool wanted = false;
    };

    void check_passing(const holding&, const detail::engine_grant&);
    void check_fence(const holding&, name_state&);
    void check_lock_delay(const holding&, const name_state&);
    void check_order(const holding&, const detail::engine_grant&, const asking&);
    void check_beliefs();
    void check_nobody_waits_in_vain();
    void check_one(holding&);
    void ended(const holding&);
    [[nodiscard]] holding* find(const detail::hold&);

    world& world_;
    std::vector<holding> holdings_;
    std::map<std::string, name_state> names_;
    std::map<nonce, passing> passings_;
    std::map<std::pair<process_id, std::string>, std::uint64_t> last_served_; // in fair order
};

} // namespace holdfast::simulation
