#include "simulation/world.hpp"
#include "models/lossy_sql.hpp"
#include "models/session_queue.hpp"
#include "models/volatile_ttl.hpp"
#include "models/zookeeper.hpp"
#include "models/zookeeper_client.hpp"
#include "simulation/faults.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::simulation {
namespace {

using models::sighting;
using namespace std::chrono_literals;

[[nodiscard]] models::transport transport_of(engine e) {
    switch (e) {
    case engine::quorum:
    case engine::volatile_ttl:
        return models::volatile_ttl_client::transport;
    case engine::session_queue:
        return models::session_queue_client::transport;
    case engine::lossy_sql:
        return models::lossy_sql_client::transport;
    case engine::zookeeper:
        return models::zookeeper_client::transport;
    }
    return {};
}

[[nodiscard]] std::unique_ptr<models::server> make_server(const options& o,
                                                          models::machine_room& room) {
    switch (o.engine) {
    case engine::quorum:
    case engine::volatile_ttl:
        return std::make_unique<models::volatile_ttl_server>(room);
    case engine::session_queue:
        return std::make_unique<models::session_queue_server>(room, o.session_ttl);
    case engine::lossy_sql: {
        auto made = std::make_unique<models::lossy_sql_server>(room);
        made->unknown_commit_permille = o.unknown_commit_permille;
        made->deadlock_permille = o.deadlock_permille;
        return made;
    }
    case engine::zookeeper:
        return std::make_unique<models::zookeeper_server>(
            room,
            models::zookeeper_settings{.session = o.session_ttl,
                                       .lag = o.delay_most / 4,
                                       .mutex_is_semaphore = o.mutex_is_semaphore,
                                       .reaps = !o.calm});
    }
    return nullptr;
}

} // namespace

world::world(const options& options, fate& fate, settlers who, bool with_lines)
    : o{options}, story{with_lines}, chances{models::chance::mix(options.seed + 1)}, fates{fate},
      vault{seen}, oracle{*this}, settlers_{std::move(who)} {
    for (std::size_t i = 0; i < std::max<std::size_t>(o.members, 1); ++i)
        rooms_.push_back(std::make_unique<engine_room>(*this, i));
    for (unsigned i = 0; i < o.machines; ++i)
        machines_.push_back({drifting_clock{1000s * (i + 1), o.machine_ppm[i]}, false, {}, {}});
    for (auto& m : machines_)
        begin_process(m);
}

world::~world() = default;

// ---------------------------------------------------------------------------------- life and death

void world::run() {
    unleash_faults(*this);
    run_for_a_while();
    heal();
    run_until_all_have_had_their_turn();
    run_until_nothing_is_left();
    vault.check_nothing_lost();
}

void world::step() {
    auto next = timeline_.take();
    story.mix(static_cast<std::uint64_t>(next.when.count()));
    story.mix(next.order);
    if (next.to != the_world) {
        auto* const p = find(next.to);
        if (p == nullptr)
            return;
        if (p->stopped())
            return p->wait_for(std::move(next));
    }
    ++events_;
    next.what();
    oracle.check();
}

void world::run_for_a_while() {
    while (!timeline_.empty() && events_ < o.events)
        step();
}

void world::heal() {
    say("HEALED");
    healed_ = true;
    healed_at_ = time();
    fates.heal();
    for (auto& room : rooms_) {
        room->network.join_all();
        room->network.stall_until({});
    }
    for (auto& m : machines_)
        wake_up(m);
    for (auto& [id, p] : processes_) {
        if (p->stopped())
            p->go_on();
        p->finish();
    }
}

bool world::healthy() const noexcept { return healed_ && time() > healthy_since(); }

duration world::longest_lease() const noexcept {
    return std::max(o.ttl * 2, o.session_ttl) + o.ttl / 2;
}

// Those who wait get what they wait for, one after the other.
void world::run_until_all_have_had_their_turn() {
    const auto people = o.machines * o.actors * 4;
    const auto longest_hold = std::max(o.ttl * 3, o.usual_hold * 2);
    const auto by = time() + (people + 2) * (longest_hold + longest_lease() + 2s);
    while (!all_at_rest()) {
        if (timeline_.empty() || timeline_.next() > by)
            throw violation{"liveness", "somebody waits for ever"};
        step();
    }
    while (!all_settled()) {
        if (timeline_.empty() || timeline_.next() > by + longest_lease())
            throw violation{"liveness", "a release or withdrawal never settles"};
        step();
    }
}

void world::run_until_nothing_is_left() {
    for (const auto& [id, p] : processes_)
        p->check_nothing_left_behind();
    // What is on its way arrives; a session that its process has just given up ends, even if nobody
    // heard of that. One that its process keeps does not end by waiting.
    run_until(time() + (has_sessions(o.engine) ? o.session_ttl : o.delay_most * 10));
    for (const auto& [id, p] : processes_)
        if (has_sessions(o.engine) && rooms_[0]->server->remembers(id) > 0)
            throw violation{"I5 nothing is left behind",
                            "a living process has a node in the queue that it does not know of"};
    run_until(time() + longest_lease() * 2);
    for (const auto& [id, p] : processes_)
        p->check_all_members_were_asked();
    for (const auto& room : rooms_)
        if (room->server->remembers({}) > 0)
            throw violation{"I5 nothing is left behind", "the engine keeps something nobody wants"};
}

void world::run_until(tau when) {
    timeline_.at(when, the_world, lane::application, [] {});
    while (time() < when)
        step();
}

bool world::all_at_rest() {
    return std::all_of(
        processes_.begin(), processes_.end(), [](const auto& p) { return p.second->at_rest(); });
}

bool world::all_settled() {
    return std::all_of(
        processes_.begin(), processes_.end(), [](const auto& p) { return p.second->settled(); });
}

// ----------------------------------------------------------------------------------- its creatures

process* world::find(process_id id) {
    const auto found = processes_.find(id);
    return found == processes_.end() ? nullptr : found->second.get();
}

std::vector<process*> world::living() {
    std::vector<process*> all;
    for (auto& [id, p] : processes_)
        all.push_back(p.get());
    return all;
}

process& world::begin_process(machine& m, std::uint64_t generation) {
    const process_id id{++processes_begun_};
    auto& slot = processes_[id];
    slot = std::make_unique<process>(*this, m, id, generation);
    settlers_(*slot);
    return *slot;
}

std::unique_ptr<models::client_side> world::make_client(models::surroundings& around,
                                                        process_id id) {
    switch (o.engine) {
    case engine::quorum:
    case engine::volatile_ttl:
        return std::make_unique<models::volatile_ttl_client>(around, id);
    case engine::session_queue:
        return std::make_unique<models::session_queue_client>(around, id, o.session_ttl);
    case engine::lossy_sql:
        return std::make_unique<models::lossy_sql_client>(around, id);
    case engine::zookeeper:
        return std::make_unique<models::zookeeper_client>(
            around,
            id,
            zookeeper::rules{.session = o.session_raised ? o.session_ttl * 2 / 3 : o.session_ttl,
                             .mutex_is_semaphore = o.mutex_is_semaphore,
                             .first_bond = (static_cast<std::uint64_t>(id) << 32) + 1});
    }
    return nullptr;
}

// In a quorum, forgetful members may leave fewer than q behind a holder: then the oracle only looks
// whether two believe.
bool world::backs(const claim& what) {
    if (o.engine != engine::quorum)
        return engine(0).backs(what);
    return true;
}

void world::crash(process& p) {
    say("CRASH of ", p.id());
    oracle.died(p);
    processes_.erase(p.id());
}

void world::pause(process& p, duration length) {
    say("PAUSE of ", p.id(), " for ", length / 1us, " us");
    p.stop();
    p.disturbed();
    at(time() + length, the_world, lane::application, [this, id = p.id()] {
        if (auto* const same = find(id); same != nullptr && same->stopped()) {
            say(id, " goes on");
            same->go_on();
        }
    });
}

void world::suspend(std::size_t which, duration length) {
    auto& m = machines_[which];
    if (m.suspended)
        return;
    say("SUSPEND of machine ", which, " for ", length / 1us, " us");
    m.suspended = true;
    m.suspended_at = time();
    for (auto& [id, p] : processes_)
        if (&p->on() == &m)
            p->disturbed();
    at(time() + length, the_world, lane::application, [this, &m] { wake_up(m); });
}

void world::wake_up(machine& m) {
    if (!std::exchange(m.suspended, false))
        return;
    m.slept += time() - m.suspended_at;
    oracle.woke(m);
    for (auto& [id, p] : processes_)
        if (&p->on() == &m)
            p->go_on();
}

// ------------------------------------------------------------------------- where engines stand

engine_room::engine_room(world& w, std::size_t number)
    : network{w, number, transport_of(w.o.engine)}, clock{5000s + w.o.clock_skew *
                                                                      static_cast<int>(number),
                                                          number == 0 ? w.o.server_ppm
                                                                      : -w.o.server_ppm},
      server{make_server(w.o, *this)}, world_{w} {}

duration engine_room::now() { return clock.at(world_.time()); }

void engine_room::call_after(duration by, std::function<void()> what) {
    world_.at(clock.when(now() + by), the_world, lane::timers, std::move(what));
}

models::chance& engine_room::luck() { return world_.chances; }
void engine_room::saw(sighting s) { world_.seen(s); }

// A member's grant is no grant yet.
void engine_room::granted(const claim& what, process_id to, fence given, std::uint32_t reserved) {
    if (world_.engines() == 1)
        world_.oracle.engine_granted(what, to, given, reserved);
}

} // namespace holdfast::simulation
