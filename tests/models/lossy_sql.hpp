#pragma once

// Like a lease table in a SQL database that is polled: one row for each holder and each waiter.
//
//   statement starts ── the clock is read, once ── waits for the row ── applied ── COMMIT ── answer
//                                                                │            │
//                                          deadlock: not applied ┘            └ unknown: applied,
//                                          or not
//
// Waiters have rows too, with an order and a lease of their own, so grants follow the order of
// asking and a waiter that died is overtaken. Nothing is pushed. Rows are never deleted by time
// alone: what has expired but was not taken is still its holder's when it renews.
//
// Worse than reality: the answer to COMMIT gets lost often, and a statement that everybody has
// given up may still be applied much later.

#include "models/client_side.hpp"

#include <map>
#include <string>
#include <vector>

namespace holdfast::models {

class lossy_sql_server final : public server {
public:
    explicit lossy_sql_server(machine_room& room) : room_{room} {}

    void receive(const request&) override;
    void restart(memory) override;
    void take_away(const std::string& name) override;
    [[nodiscard]] bool backs(const claim&) override;
    [[nodiscard]] std::size_t remembers(std::optional<process_id>) override;

    unsigned unknown_commit_permille = 0;
    unsigned deadlock_permille = 0;

private:
    struct row {
        std::shared_ptr<const claim> by;
        process_id from;
        holdfast::fence fence;
        duration expires;
        duration free_at;
    };
    struct table {
        std::vector<row> holders;
        std::vector<row> waiters; // in the order of asking
        std::int64_t last_fence = 0;
        bool taken_over = false;
    };

    void apply(const request&, duration clock);
    reply execute(const request&, duration clock);
    reply attempt(table&, const request&, duration clock);
    reply remove(table&, const request&);
    reply raise(table&, const request&);
    bool renew(const claim&, process_id, duration clock);
    void expire(table&, duration clock);
    [[nodiscard]] bool admitted(const table&, const claim&) const;
    static fence next_fence(table&, const claim&);

    machine_room& room_;
    std::map<std::string, table> tables_;
    std::uint64_t life_ = 0; // statements of an earlier one are not applied
};

class lossy_sql_client final : public client_of_leases {
public:
    static constexpr duration margin = std::chrono::milliseconds{5};
    static constexpr models::transport transport = models::transport::statements;

    lossy_sql_client(surroundings& around, process_id me) : client_of_leases{around, me, margin} {}
    [[nodiscard]] const capabilities& able() const noexcept override;

protected:
    [[nodiscard]] bool places_are_leases() const override { return true; }
};

} // namespace holdfast::models
