#pragma once

// One simulated process: a core, the client side of an engine, and the people who use it. It drives
// the core just as the real client does: decide, then perform what was decided, answers inline or
// later.

#include "client/core.hpp"
#include "models/client_side.hpp"
#include "simulation/clocks.hpp"
#include "simulation/debts.hpp"
#include "simulation/ledger.hpp"
#include "simulation/timeline.hpp"

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace holdfast::simulation {

class world;

/// A computer: one boot clock for all its processes. With defect M16 they read one that stops in
/// suspend.
struct machine {
    drifting_clock boot;
    bool suspended = false;
    tau suspended_at{};
    duration slept{};
};

/// Somebody in a process who locks things.
class application {
public:
    virtual ~application() = default;
    virtual void told_stop(const std::shared_ptr<detail::hold>&) = 0;
    virtual void told_lost(const std::shared_ptr<detail::hold>&) = 0;
    [[nodiscard]] virtual bool at_rest() const = 0; // waits for nothing, holds nothing
    virtual void finish() = 0;                      // begin nothing new
};

/// A wish of somebody's. It is gone as soon as it was told.
struct asking : detail::wish {
    virtual ~asking() = default;
    virtual void told(error_code, std::shared_ptr<detail::hold>) = 0;
    std::shared_ptr<const std::string> wanted; // a granted lease takes the wish's own along
    instant wished_at{};
    std::uint64_t disturbed_before = 0;
    std::uint64_t order = 0; // of asking, in this process
};

struct leaving : detail::goodbye {
    virtual ~leaving() = default;
    virtual void told(release_result) = 0;
};

class process;

/// What one client side sees of the world: its process, and the way to its server.
class doorway final : public models::surroundings {
public:
    doorway(process& p, std::size_t server) : process_{p}, server_{server} {}
    [[nodiscard]] instant now() const override;
    void call_at(instant, std::function<void()>) override;
    void send(models::request) override;
    void reconnect() override;
    [[nodiscard]] bool refuses(const models::request&) override;
    void saw(models::sighting) override;

private:
    process& process_;
    const std::size_t server_;
};

class process final : public backend_events {
public:
    process(world&, machine&, process_id, std::uint64_t generation);
    ~process();
    process(const process&) = delete;
    process& operator=(const process&) = delete;

    // For those who live in it.
    void acquire(asking&);
    void cancel(asking&);
    void release(const std::shared_ptr<detail::hold>&, leaving*);
    void later(duration, std::function<void()>); // on the application's lane
    [[nodiscard]] instant now() const;
    [[nodiscard]] bool believes(const detail::hold&) const;
    void house(std::unique_ptr<application>);
    [[nodiscard]] world& around() noexcept { return world_; }

    // What befalls it.
    void close();
    void stop() noexcept { stopped_ = true; }
    void go_on();
    void wait_for(happening h) {
        backlog_[static_cast<std::size_t>(h.lane)].push_back(std::move(h));
    }
    void disturbed() noexcept { ++disturbed_; }
    void engine_says(std::size_t server, const models::reply&);
    void engine_says(std::size_t server, const models::push&);
    void send(std::size_t server, models::request);
    void reconnect(std::size_t server);
    void hint_lost(const nonce& whose) { ledger_.hint_lost(whose); }
    [[nodiscard]] bool has_left(const nonce& whose) const { return ledger_.has_left(whose); }

    [[nodiscard]] process_id id() const noexcept { return id_; }
    [[nodiscard]] machine& on() const noexcept { return machine_; }
    [[nodiscard]] bool stopped() const noexcept { return stopped_ || machine_.suspended; }
    [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }
    [[nodiscard]] std::uint64_t disturbances() const noexcept { return disturbed_; }
    [[nodiscard]] bool closed() const noexcept { return closed_; }
    [[nodiscard]] bool settled() const noexcept { return core_.unsettled() == 0; }
    [[nodiscard]] bool at_rest() const;
    [[nodiscard]] instant deadly_deadline() const noexcept { return core_.deadly_deadline(); }
    void finish();
    void check_nothing_left_behind() const { ledger_.check_nothing_left_behind(); }
    void check_all_members_were_asked() const { debts_.check_all_paid(disturbed_); }

    // For those who reach out of it.
    void call_at(instant, std::function<void()>);
    [[nodiscard]] bool refuses(std::size_t server, const models::request&);
    void saw(models::sighting);
    [[nodiscard]] models::chance& chance() noexcept { return chance_; }

private:
    // backend_events
    void attempted(ticket, attempt_answer) override;
    void withdrawn(ticket, applied) override;
    void released(ticket, release_result) override;
    void renewed(ticket, std::span<const renewal_answer>) override;
    void inspected(ticket, response<std::vector<lock_info>>) override {}
    void examined(ticket, std::vector<finding>) override {}
    void forced(ticket, response<std::size_t>) override {}
    void woken(const nonce&) override;
    void granted(const nonce&, const grant&) override;
    void bond_lost(bond_id) override;
    void grant_lost(const nonce&) override;
    void wanted(const nonce&) override;
    void link(link_state, std::string_view) override {}
    void notice(std::string_view) override {}

    [[nodiscard]] std::unique_ptr<backend> make_engine();
    template <class F> void decide(F);
    void note_decision(const detail::action&);
    void arm();
    void arm_kernel();
    void alarm();
    void perform_all(detail::actions&);
    void perform(detail::action&);
    void tell(detail::tell_wish&);
    void watch_passing(const detail::hold&);
    void watch_grant(const nonce&, const detail::actions&);
    void watch_renewal(const renewal_answer&);
    void expect_answer(const call&, const char* to_what);
    void check_work_is_bounded();
    void check_in_time(const asking&, const detail::tell_wish&);

    world& world_;
    machine& machine_;
    const process_id id_;
    const std::uint64_t generation_;
    models::chance chance_;
    ledger ledger_;
    debts debts_; // to members of a quorum
    std::vector<std::unique_ptr<doorway>> doors_;
    std::vector<models::client_side*> clients_; // one for each server; parts of the engine
    std::unique_ptr<backend> engine_;
    std::vector<std::unique_ptr<application>> people_; // after the core, which knows their wishes
    std::set<ticket> unanswered_;
    std::map<bond_id, instant> deadlines_; // as last confirmed
    detail::core core_;

    bool stopped_ = false;
    bool closed_ = false;
    std::array<std::deque<happening>, lanes> backlog_;
    std::uint64_t disturbed_ = 0; // how often it was stopped or suspended

    instant armed_ = never;
    std::uint64_t alarm_ = 0;
    instant deadly_ = never;
    std::uint64_t kernel_alarm_ = 0;

    std::uint64_t causes_ = 0; // of requests to the engine
    std::uint64_t requests_ = 0;
    std::uint64_t asked_ = 0;
    const tau born_;
};

} // namespace holdfast::simulation
