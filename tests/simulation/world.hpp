#pragma once

// A whole world in one thread: machines with clocks, processes, a network, one engine, a vault,
// faults, and an oracle that looks after each event. Everything in it follows from the options and
// the fate given.

#include "models/wire.hpp"
#include "simulation/fate.hpp"
#include "simulation/network.hpp"
#include "simulation/options.hpp"
#include "simulation/oracle.hpp"
#include "simulation/process.hpp"
#include "simulation/trace.hpp"
#include "simulation/vault.hpp"

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace holdfast::simulation {

/// One engine, or one member of a quorum: a server with its clock and its network.
class engine_room final : public models::machine_room {
public:
    engine_room(world&, std::size_t number);

    duration now() override;
    void call_after(duration, std::function<void()>) override;
    void send(process_id to, models::reply r) override { network.down(to, std::move(r)); }
    void send(process_id to, const models::push& p) override { network.down(to, p); }
    models::chance& luck() override;
    void saw(models::sighting) override;
    void granted(const claim&, process_id, fence, std::uint32_t reserved) override;

    simulation::network network;
    drifting_clock clock;
    std::unique_ptr<models::server> server;

private:
    world& world_;
};

class world final {
public:
    /// Brings people into a new process.
    using settlers = std::function<void(process&)>;

    world(const options&, fate&, settlers, bool with_lines);
    ~world();
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    /// Lives through all of it: trouble, healing, rest. Throws violation.
    void run();

    const options o;
    trace story;
    models::chance chances;
    models::sightings seen;
    fate& fates;
    simulation::vault vault;
    simulation::oracle oracle;
    [[nodiscard]] tau time() const noexcept { return timeline_.now(); }
    void at(tau when, process_id to, lane where, std::function<void()> what) {
        timeline_.at(when, to, where, std::move(what));
    }
    template <class... Part> void say(const Part&... parts) { story.say(time(), parts...); }

    [[nodiscard]] process* find(process_id);
    [[nodiscard]] std::size_t engines() const noexcept { return rooms_.size(); }
    [[nodiscard]] models::server& engine(std::size_t i) noexcept { return *rooms_[i]->server; }
    [[nodiscard]] simulation::network& network(std::size_t i) noexcept {
        return rooms_[i]->network;
    }
    [[nodiscard]] std::unique_ptr<models::client_side> make_client(models::surroundings&,
                                                                   process_id);
    /// Whether what this claim was granted is in force: by the engine, or by a quorum of them.
    [[nodiscard]] bool backs(const claim&);
    [[nodiscard]] bool healed() const noexcept { return healed_; }
    [[nodiscard]] duration longest_lease() const noexcept; // T + D
    [[nodiscard]] tau healthy_since() const noexcept { return healed_at_ + longest_lease(); }
    [[nodiscard]] bool healthy() const noexcept; // healed, and the last of the trouble is over
    [[nodiscard]] std::uint64_t events() const noexcept { return events_; }

    // What the faults do.
    [[nodiscard]] std::size_t machines() const noexcept { return machines_.size(); }
    [[nodiscard]] std::vector<process*> living();
    process& begin_process(machine&, std::uint64_t generation = 0);
    void crash(process&);
    void pause(process&, duration);
    void suspend(std::size_t machine, duration);
    void jump_clock(std::size_t i, duration by) { rooms_[i]->clock.jump(by); }

private:
    void step();
    void run_for_a_while();
    void heal();
    void run_until_all_have_had_their_turn();
    void run_until_nothing_is_left();
    void wake_up(machine&);
    void run_until(tau);
    [[nodiscard]] bool all_at_rest();
    [[nodiscard]] bool all_settled();

    timeline timeline_;
    const settlers settlers_;
    std::vector<machine> machines_;
    std::map<process_id, std::unique_ptr<process>> processes_;
    std::uint32_t processes_begun_ = 0;
    std::vector<std::unique_ptr<engine_room>> rooms_;
    bool healed_ = false;
    tau healed_at_{};
    std::uint64_t events_ = 0;
};

} // namespace holdfast::simulation
