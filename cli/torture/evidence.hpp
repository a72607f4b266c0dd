#pragma once

// All that is known after a run, before anybody judges it.

#include "checks.hpp"
#include "schedule.hpp"

#include <holdfast/capabilities.hpp>

#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli::ordeal {

/// A fault as it was carried out.
struct disturbance : window {
    fault_kind what = fault_kind::pause;
    std::uint32_t worker = 0;
    std::int64_t pid = 0;
};

/// A worker that ended although nobody had asked it to, or did not end although asked.
struct mishap {
    std::uint32_t worker = 0;
    std::int64_t pid = 0;
    std::string how;
};

struct evidence {
    std::string url; ///< fit to be shown
    holdfast::capabilities able;
    std::uint64_t seed = 0;
    std::uint32_t workers = 0;
    std::uint32_t permits = 0;
    duration ttl{};
    window run; ///< from the first worker's start until all were told to finish
    bool interrupted = false;
    int signal = 0; ///< that interrupted it

    ordeal::attempts attempts;
    std::string first_failure; ///< what the engine said when it failed first
    std::vector<vault_entry> vault_log;
    std::int64_t vault_refused = 0;
    std::vector<disturbance> disturbances;
    std::vector<mishap> mishaps;
    std::optional<std::int64_t> orphans; ///< holders and waiters left; nothing: was not looked at
    std::string first_orphan;
};

} // namespace holdfast::cli::ordeal
