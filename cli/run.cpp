// `holdfast run` is three processes, so that none of them can be killed without the others
// noticing.
//
//   shell
//    └─ front      holdfast run …, as it was started: passes signals on, ends as the command ends
//        └─ guardian   holds and renews the lock; subreaper: all that the command starts stays
//        below
//            └─ command    dies with the guardian; the terminal, stdin and stdout are its own
//
//   killed -9     who notices                   what happens
//   front         guardian: the tether ends     everything below is killed, then the lock is
//   released guardian      command: parent-death signal  it dies; the front kills all that was
//   below it both          command: parent-death signal  it dies; what it left running keeps an
//   embedded lock
//
// All three are one process group: to the terminal and the shell they are one job.

#include "run.hpp"
#include "complaint.hpp"
#include "deadline_board.hpp"
#include "descriptors.hpp"
#include "front.hpp"
#include "guardian.hpp"
#include "process_tree.hpp"
#include "signals.hpp"
#include "tether.hpp"

#include <holdfast/primitive.hpp>

#include <cerrno>
#include <sys/prctl.h>
#include <system_error>
#include <unistd.h>

namespace holdfast::cli {

void run(const run_options& options) {
    check_name(options.name); // before anything exists that would have to be cleaned up
    const inherited_signals signals;
    const auto given = inherited_descriptors();
    const deadline_board board;
    auto [front_end, guardian_end] = tether::make();
    adopt_orphans(); // if the guardian dies, its orphans come to us

    const pid_t ourselves = ::getpid();
    const pid_t guardian = ::fork(); // now, while there is only one thread
    if (guardian < 0) {
        throw std::system_error{errno, std::generic_category(), "cannot start the guardian"};
    }
    if (guardian == 0) {
        front_end.cut();
        ::prctl(PR_SET_NAME, "holdfast-guard");
        stand_guard({ourselves, options, signals, board, given}, std::move(guardian_end));
    }
    guardian_end.cut();
    let_go(given);
    // Straight out: signals are still blocked, and whoever waits for us has waited long enough.
    ::_exit(front{guardian, std::move(front_end), signals, board}.wait_for_the_end());
}

} // namespace holdfast::cli
