#include "schedule.hpp"
#include "chance.hpp"

#include <algorithm>
#include <array>

namespace holdfast::cli::ordeal {

namespace {

using namespace std::chrono_literals;

// Shorter than the ttl, around it, and well beyond: most of what goes wrong goes wrong there.
constexpr std::array pauses_in_percent{20, 90, 105, 150, 150, 300};
constexpr std::array restarts_in_percent{0, 50, 200};

duration part_of(duration whole, int percent) { return whole * percent / 100; }

class drawing {
public:
    explicit drawing(const schedule_options& options) : o_{options}, chance_{options.seed} {}

    schedule whole() {
        const auto last = o_.length - quiet_of(o_.ttl);
        s_.pauses_from = part_of(last, 35);
        bursts({o_.ttl / 4, s_.pauses_from - o_.ttl / 2},
               {fault_kind::kill, fault_kind::kill, fault_kind::kill, fault_kind::term});
        bursts({s_.pauses_from + o_.ttl / 2, last},
               {fault_kind::pause, fault_kind::pause, fault_kind::pause, fault_kind::kill});
        return std::move(s_);
    }

private:
    struct stretch {
        duration from, to;
    };

    /// Bursts of faults with quiet times in between, as many as there is room for.
    void bursts(stretch where, const std::array<fault_kind, 4>& kinds) {
        const auto burst = std::max<duration>(5 * o_.ttl, 2s);
        for (auto at = where.from; at < where.to; at += burst + quiet_of(o_.ttl)) {
            one_burst({at, std::min(at + burst, where.to)}, kinds);
        }
    }

    void one_burst(stretch where, const std::array<fault_kind, 4>& kinds) {
        for (auto at = where.from; at < where.to; at += gap()) {
            const auto drawn = draw(at, kinds[chance_.below(kinds.size())]);
            if (drawn.at + drawn.length + o_.ttl / 2 <= where.to ||
                drawn.what == fault_kind::term) {
                s_.faults.push_back(drawn);
            }
        }
    }

    fault draw(duration at, fault_kind what) {
        fault one{.at = at,
                  .what = what,
                  .worker = static_cast<std::uint32_t>(chance_.below(o_.workers)),
                  .length = {}};
        if (what == fault_kind::pause) {
            one.length =
                part_of(o_.ttl, pauses_in_percent[chance_.below(pauses_in_percent.size())]);
        } else if (what == fault_kind::kill) {
            one.length =
                part_of(o_.ttl, restarts_in_percent[chance_.below(restarts_in_percent.size())]);
        }
        if (what != fault_kind::term && !chance_.one_in(8)) {
            one.aim = aim_at(at);
        }
        return one;
    }

    place aim_at(duration at) {
        const auto counter = at < s_.pauses_from ? place::steady_counter : place::paused_counter;
        const std::array targets{counter,
                                 counter,
                                 counter,
                                 place::vault,
                                 place::vault,
                                 place::vault,
                                 place::permits,
                                 place::readers_writers};
        return targets[chance_.below(targets.size())];
    }

    duration gap() { return part_of(o_.ttl, 20 + static_cast<int>(chance_.below(60))); }

    schedule_options o_;
    chance chance_;
    schedule s_;
};

} // namespace

// One ttl until a dead holder's lease has ended, one more if a dead waiter was next in line.
duration settling_of(duration ttl) noexcept { return 2 * ttl; }

duration patience_of(duration ttl) noexcept { return std::max<duration>(ttl, 1s); }

duration quiet_of(duration ttl) noexcept { return settling_of(ttl) + 3 * patience_of(ttl) / 2; }

duration shortest_run(duration ttl) noexcept { return quiet_of(ttl) + 5 * ttl + 1s; }

schedule draw_schedule(const schedule_options& options) { return drawing{options}.whole(); }

} // namespace holdfast::cli::ordeal
