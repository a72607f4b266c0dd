#pragma once

// The rows of the table, one file each; what each has found is a list of lines.

#include "pairs.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace bench {

/// One comparison: how many times as long we take as what we are held to.
struct line {
    std::string work;
    placed where = placed::anywhere;
    std::vector<standing> all;     ///< ours, the limit, others for scale
    quotient slower;               ///< ours over the limit
    std::optional<double> at_most; ///< the target; none where it is only for scale
    std::string measure = "mean";  ///< what the quotient is of
    std::string remark;
    bool the_same = false;   ///< the target is that there is no difference
    std::size_t against = 1; ///< which of them is the limit
};

/// One figure with its own limit.
struct figure {
    std::string work;
    std::string what;
    double value = 0;
    std::string unit;
    std::optional<double> at_most;
    std::string remark;
};

struct findings {
    std::vector<line> lines;
    std::vector<figure> figures;
};

/// How much time to spend.
struct effort {
    std::size_t rounds = 17;
    double size = 1;       ///< of a batch, of the usual one
    int idle_seconds = 16; ///< more than half a ttl: renewals and asking again are in it
    std::string directory; ///< for lock files; on the file system that users would use
    std::string programs;  ///< where the probes are
    std::string url;       ///< of the engine, for rows that any engine can do

    [[nodiscard]] std::uint64_t cycles(std::uint64_t usual) const {
        const auto scaled = static_cast<std::uint64_t>(static_cast<double>(usual) * size);
        return scaled < 100 ? 100 : scaled;
    }
};

void uncontended(const effort&, findings&);
void hand_off(const effort&, findings&);
void passing_threads(const effort&, findings&);
void passing_coroutines(const effort&, findings&);
/// `while_held(how_many)` looks from outside whether they are.
void held_leases(
    const effort&, findings&, const std::function<void(std::size_t)>& while_held = [](std::size_t) {
    });
void queued_waiters(const effort&, findings&);
void observers(const effort&, findings&);

} // namespace bench
