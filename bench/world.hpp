#pragma once

// What the rows of an engine with a server take place in: its servers, and who takes part.

#include "pairs.hpp"
#include "programs.hpp"
#include "rows.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace bench {

/// One more contender, and how many times as long as it we may take.
struct rival {
    contender who;
    std::optional<double> at_most;
};

class world {
public:
    /// Adds one for each peer that is here.
    static void join(std::vector<rival>&,
                     peer*,
                     std::string command,
                     std::uint64_t cycles,
                     std::optional<double> at_most);

    /// All of them, and this thread; on two CPUs, the servers sit on the other one.
    void place(placed) const;

    /// The rounds; what the servers do is not counted.
    [[nodiscard]] std::vector<standing> compete(const effort&, const std::vector<contender>&) const;

    /// The same, and a line for each rival of the first. Returns how they stand.
    std::vector<standing> contest(
        const effort&, findings&, const std::string& work, placed, const std::vector<rival>&) const;

protected:
    world() = default;
    ~world() = default;

    void serves(const program& server) { servers_.push_back(server.pid()); }
    /// Null if it cannot be had. `which`: of two alike, on two CPUs.
    [[nodiscard]] std::unique_ptr<peer>
    invite(const char* name, const std::string& address, std::size_t which = 0);
    /// Ten seconds at the least: before that Java is interpreted.
    static void warm_up(bool in_a_hurry,
                        std::initializer_list<peer*>,
                        std::initializer_list<const char*> works);
    /// How the servers count what they are asked.
    void counts_requests(std::function<double()> so_far) { requests_ = std::move(so_far); }

private:
    struct seat {
        int pid;
        std::size_t which;
    };
    std::vector<int> servers_;
    std::vector<seat> peers_;
    std::function<double()> requests_;
};

} // namespace bench
