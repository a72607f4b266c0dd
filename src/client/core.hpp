#pragma once

// The core of a client: events in, actions out. It owns the turnstiles, the keeper and the releases
// on their way; it does no I/O, reads no clock and takes no lock. The client drives it with the
// real world, tests/simulation with a seed: the same object file.

#include "lease/actions.hpp"
#include "lease/agenda.hpp"
#include "lease/keeper.hpp"
#include "runtime/random.hpp"
#include "waiting/turnstile.hpp"

#include <holdfast/backend.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace holdfast::detail {

struct core_settings {
    capabilities able;
    std::shared_ptr<const party> by = std::make_shared<party>();
    std::uint64_t generation = 0; // of this process, as fork_generation() counts
    bool observed = false;        // somebody listens: say what happens
};

class core {
public:
    core(core_settings, random_source&);
    ~core();
    core(const core&) = delete;
    core& operator=(const core&) = delete;

    // What callers want.
    [[nodiscard]] bool lines_up(wish&) noexcept; // whether it could be queued whatever the time is
    void acquire(wish&, instant now, actions&);  // else
    void cancel(wish&, error_code why, instant now, actions&);
    void release(const std::shared_ptr<hold>&, goodbye*, instant now, actions&);
    void close(instant now, actions&);   // ends all that is ours; what comes after is refused
    void leave_nobody_waiting(actions&); // the engine will not answer any more

    // What the engine says.
    void attempted(ticket, const attempt_answer&, instant now, actions&);
    void withdrawn(ticket, applied certainty, instant now, actions&);
    void released(ticket, release_result, instant now, actions&);
    void renewed(std::span<const renewal_answer>, instant now, actions&);
    void woken(const nonce&, instant now, actions&);
    void granted(const nonce&, const grant&, instant now, actions&);
    void bond_lost(bond_id, instant now, actions&);
    void grant_lost(const nonce&, instant now, actions&);
    void wanted(const nonce&, actions&);

    // What time it is.
    void on_time(instant now, actions&);
    [[nodiscard]] instant next_due() const noexcept { return agenda_.next(); }

    /// The earliest deadline of those who would rather die than outlive it.
    [[nodiscard]] instant deadly_deadline() const noexcept;

    /// How many releases and withdrawals the engine has not settled yet.
    [[nodiscard]] std::size_t unsettled() const noexcept;

private:
    /// A release until the engine has settled it, or the lease has ended by itself.
    struct parting : agenda_item {
        parting(std::shared_ptr<const claim> c, const grant& g)
            : agenda_item{kind::parting}, what{std::move(c)}, given{g} {}
        std::shared_ptr<const claim> what;
        grant given;
        goodbye* waits = nullptr;
        instant gone_at{};
        duration held{};
        back_off pause = after_failures();
        std::list<parting>::iterator self;
    };

    struct nonce_hash {
        std::size_t operator()(const nonce& n) const noexcept {
            std::size_t h;
            std::memcpy(&h, n.bytes.data(), sizeof h); // it is random already
            return h;
        }
    };
    /// Each turnstile under its own name, which it keeps itself; names with several are rare.
    using turnstiles = std::unordered_multimap<std::string_view, turnstile>;
    using queues_of_name = std::ranges::subrange<turnstiles::iterator>;

    // Asking.
    [[nodiscard]] static instant asks_until(const wish&, instant now) noexcept;
    bool refuse_if_impossible(wish&, actions&);
    [[nodiscard]] queues_of_name queues_of(std::string_view name);
    bool enter_again(wish&, shape&, const queues_of_name&, instant now, actions&);
    [[nodiscard]] std::shared_ptr<hold>
    held_by(owner_id, mode, const queues_of_name&, instant now) const;
    turnstile&
    queue_for(const std::shared_ptr<const std::string>& name, const shape&, const queues_of_name&);
    [[nodiscard]] bool contended_here(const turnstile&, instant now) const noexcept;
    void cut_pauses_short(turnstile&, instant now, actions&);
    void close_to_readers(const queues_of_name&) noexcept;
    void answer(wish&, error_code, std::string detail, actions&);
    void unqueue(wish&) noexcept;
    void leave_line(wish&, error_code why, std::string detail, instant now, actions&);
    void give_up(wish&, instant now, actions&);

    // Talking.
    void settle(turnstile&, instant now, actions&);
    void begin_talk(turnstile&, instant now, actions&);
    void attempt(talk&, instant now, actions&);
    void rename(talk&);
    void got(talk&, const grant&, duration handed_over, instant now, actions&);
    void refused(talk&, const contended&, instant now, actions&);
    void failed(talk&, const failure&, instant now, actions&);
    [[nodiscard]] duration pause_after(talk&, instant now, actions&);
    [[nodiscard]] std::optional<duration> next_try(wish&, duration usual, instant now);
    void leave(talk&, instant now, actions&);
    void withdraw(talk&, instant now, actions&);
    [[nodiscard]] instant gone_at(instant sent, const claim&, duration granted = {}) const noexcept;
    void end_talk(talk&);
    void answer_those_who_ask_once(talk&, error_code, const std::string& detail, actions&);
    [[nodiscard]] static bool wanted_by_somebody(const talk&) noexcept;

    // Holding.
    void serve(engine_grant&, wish* whose, instant now, actions&);
    void hand(engine_grant&, wish&, instant now, actions&);
    [[nodiscard]] instant limit_of(const acquire_options&, instant now) const noexcept;
    void part(engine_grant&, goodbye*, duration held, instant now, actions&);
    void send_release(parting&, instant now, actions&);
    void send_what_waits_to_be_released(const std::string& name, instant now, actions&);
    void forget_retry(parting&) noexcept;
    void end_grant(engine_grant&);
    void end_hold(hold&, ending) noexcept;
    void lose_users(engine_grant&, instant now, actions&);
    void lose_bond(bond&, instant now, actions&);
    void lose_hold(hold&, instant now, actions&);
    void stop_those_due(bond&, instant now, actions&);

    // Time.
    void limit_due(hold&, instant now, actions&);
    void talk_due(talk&, instant now, actions&);
    void parting_due(parting&, instant now, actions&);

    [[nodiscard]] ticket next_ticket() noexcept { return ticket{++tickets_}; }
    const core_settings settings_;
    random_source& chance_;
    const notes notes_{settings_.observed};
    agenda agenda_;
    keeper keeper_{agenda_, chance_, notes_};
    bool closed_ = false;
    std::uint64_t tickets_ = 0;

    turnstiles names_;
    template <class Key, class Value, class Hash = std::hash<Key>>
    using flat_map = boost::unordered_flat_map<Key, Value, Hash>;
    flat_map<nonce, talk*, nonce_hash> talks_;
    flat_map<nonce, engine_grant*, nonce_hash> grants_;
    flat_map<ticket, talk*> asked_; // attempts and withdrawals on their way
    flat_map<ticket, parting*> parting_asked_;
    std::list<parting> partings_;
    std::unordered_multimap<std::string_view, parting*>
        retrying_; // those that wait to be sent again
    std::vector<hold*> deadly_;
};

} // namespace holdfast::detail
