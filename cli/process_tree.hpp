#pragma once

// Everybody below one process, however they got there: children, setsid'ed ones, orphans.
//
//   root (a child subreaper)            Orphans below a subreaper become its children, so each
//   living
//    ├─ child                           descendant has a living chain of parents up to the root:
//    │   └─ grandchild                     the root has no child left  <=>  nobody is left
//    └─ adopted orphan                  and only the root's wait() can tell (reap()).

#include <holdfast/clock.hpp>

#include <optional>
#include <sys/types.h>
#include <vector>

namespace holdfast::cli {

/// One line of /proc. Two lines speak of the same process if pid and start agree.
struct process {
    pid_t pid = 0;
    pid_t parent = 0;
    char state = '?'; ///< T: stopped; Z: only its exit status is left, or only its other threads
    unsigned long long started = 0;
};

[[nodiscard]] std::optional<process> look_at(pid_t) noexcept;

[[nodiscard]] bool is_stopped(pid_t) noexcept;

[[nodiscard]] std::vector<process> descendants_of(pid_t root);

/// Whether `pid` is `root` or somewhere below it.
[[nodiscard]] bool belongs_to(pid_t root, pid_t pid) noexcept;

/// Sends to all descendants of this process that exist at the moment.
void signal_descendants(int signal);

/// Makes this process the parent of all orphans below it.
void adopt_orphans() noexcept;

/// What became of one child: its pid, and its status as wait() tells it.
struct reaped {
    pid_t pid;
    int status;
};

/// Collects one dead child of this process, if there is one.
[[nodiscard]] std::optional<reaped> reap() noexcept;

/// Whether anybody is left below this process, living or not yet reaped.
[[nodiscard]] bool has_descendants() noexcept;

/// Kills everybody below this process and returns when nobody is left, or when time is up. Those
/// who fork faster than they are killed are all stopped first, so that they cannot outrun it. True
/// if nobody is left. `on_reaped` is told of each child.
template <class Told> bool kill_descendants(instant give_up_at, Told&& on_reaped);

namespace detail {
void strike_descendants();
void pause_for_deaths() noexcept;
} // namespace detail

template <class Told> bool kill_descendants(instant give_up_at, Told&& on_reaped) {
    for (;;) {
        while (const auto dead = reap()) {
            on_reaped(*dead);
        }
        if (!has_descendants()) {
            return true;
        }
        if (boot_clock::now() >= give_up_at) {
            return false;
        }
        detail::strike_descendants();
        detail::pause_for_deaths();
    }
}

} // namespace holdfast::cli
