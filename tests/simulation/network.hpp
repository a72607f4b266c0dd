#pragma once

// Between the processes and one server: one link each, that may be cut in either direction.

#include "models/wire.hpp"
#include "simulation/timeline.hpp"

#include <map>
#include <variant>

namespace holdfast::simulation {

class world;

class network {
public:
    network(world& w, std::size_t server, models::transport how)
        : world_{w}, server_{server}, how_{how} {}

    void up(models::request);
    void down(process_id, std::variant<models::reply, models::push>);
    void reconnect(process_id);

    void cut(process_id, bool upwards, bool downwards);
    void join(process_id); // what was cut is whole again
    void join_all();
    void stall_until(tau when) noexcept { stalled_until_ = when; }
    void away_until(tau when) noexcept { away_until_ = when; } // what comes before is lost

private:
    struct line {
        std::uint32_t connection = 1;       // as its process counts them
        std::uint32_t known_connection = 0; // the latest of which the server has heard
        bool broken = false;
        bool cut_up = false;
        bool cut_down = false;
        tau last_up{};
        tau last_down{};
    };

    void arrive(const models::request&, std::uint32_t connection);
    void break_off(process_id);
    void lost(process_id, const std::variant<models::reply, models::push>&);

    world& world_;
    const std::size_t server_;
    const models::transport how_;
    std::map<process_id, line> lines_;
    tau stalled_until_{};
    tau away_until_{};
};

} // namespace holdfast::simulation
