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

class world final : public models::machine_room {
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
    simulation::network network;

    [[nodiscard]] tau time() const noexcept { return timeline_.now(); }
    void at(tau when, process_id to, lane where, std::function<void()> what) {
        timeline_.at(when, to, where, std::move(what));
    }
    template <class... Part> void say(const Part&... parts) { story.say(time(), parts...); }

    [[nodiscard]] process* find(process_id);
    [[nodiscard]] models::server& engine() noexcept { return *server_; }
    [[nodiscard]] std::unique_ptr<models::client_side> make_client(process&);
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
    void restart_server(models::memory);
    void jump_server_clock(duration by) { server_clock_.jump(by); }

    // machine_room
    duration now() override { return server_clock_.at(time()); }
    void call_after(duration, std::function<void()>) override;
    void send(process_id, models::reply) override;
    void send(process_id, const models::push&) override;
    models::chance& luck() override { return chances; }
    void saw(models::sighting s) override { seen(s); }
    void granted(const claim&, process_id, fence, std::uint32_t reserved) override;

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
    drifting_clock server_clock_;
    const settlers settlers_;
    std::vector<machine> machines_;
    std::map<process_id, std::unique_ptr<process>> processes_;
    std::uint32_t processes_begun_ = 0;
    std::unique_ptr<models::server> server_;
    bool healed_ = false;
    tau healed_at_{};
    std::uint64_t events_ = 0;
};

} // namespace holdfast::simulation
