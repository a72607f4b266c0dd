#pragma once

// What `--help` says, each with an example. Written by hand: a page to read, not a list of
// switches.

namespace holdfast::cli::help {

inline constexpr const char* general = R"(holdfast holds distributed locks.

Usage: holdfast VERB [OPTIONS] …

  run NAME -- CMD …      hold a lock while a command runs
  ls [PATTERN]           who holds and who waits
  show NAME              the same of one lock, in detail
  release NAME --force   take a lock from its holder
  doctor [URL]           what the engine guarantees, and how it is today

Each verb explains itself with --help. The engine is given by -u URL or $HOLDFAST_URL;
without either it is a file of this user, and nothing needs to be installed or started.

Example:
  holdfast run nightly-backup -- ./backup.sh
)";

inline constexpr const char* run = R"(Holds a lock while a command runs.

Usage: holdfast run [OPTIONS] NAME [--] CMD …
       holdfast run [OPTIONS] NAME -c STRING

Waiting:
  -n, --nonblock         do not wait
  -w, --wait TIME        wait at most so long: 30 (seconds), 500ms, 2m, 1.5h
  -E CODE                exit code if somebody else held it all the time; else 1
      --fair             first come, first served, also within one process

Sharing:
  -s, --shared           together with others who say -s
  -x, --exclusive        alone, which is the default; the writer among those who say -s
  -N, --permits COUNT    one of so many permits; everybody must name the same number

Holding:
      --ttl TIME         how long the lock outlives a holder that fell silent; else 30s
      --on-lost ACT      when the lock is about to be lost: term (and kill at half time,
                         the default), kill, or ignore

  -c, --command STRING   instead of CMD: a string for /bin/sh
  -u, --url URL          the engine; else $HOLDFAST_URL, else a file of this user

The command finds HOLDFAST_NAME and HOLDFAST_FENCE in its environment.

Exit status: the command's own; 128 + N if signal N ended it; 1 (or -E) if somebody else
held the lock; 76 if the lock was lost; 69 if the engine could not be reached, 77 if it
refused us; 64 for bad usage; 127 command not found, 126 not executable; 70 anything else.

Examples:
  holdfast run nightly-backup -- ./backup.sh      wait, then run
  holdfast run -n deploy -- make deploy           or not at all, if somebody deploys
  holdfast run -w 30s -E 9 orders -- ./import     wait for 30 seconds, else exit 9
  holdfast run -s catalogue -- ./report           together with other readers
  holdfast run -N 4 gpu -- ./train                one of four permits
  holdfast run orders -c 'sort < in > out'        a shell string
)";

inline constexpr const char* ls = R"(Lists who holds locks, and how many wait.

Usage: holdfast ls [OPTIONS] [PATTERN]

  PATTERN                only names like this one: orders/*
  -u, --url URL          the engine; else $HOLDFAST_URL, else a file of this user
      --json             answer in JSON

Examples:
  holdfast ls
  holdfast ls 'orders/*' --json
)";

inline constexpr const char* show =
    R"(Shows who holds one lock, and who waits for it. Ends with 1 if nobody holds it.

Usage: holdfast show [OPTIONS] NAME

  -u, --url URL          the engine; else $HOLDFAST_URL, else a file of this user
      --json             answer in JSON

Example:
  holdfast show orders/42
)";

inline constexpr const char* release =
    R"(Takes a lock from whoever holds it. Ends with 1 if nobody holds it.

Usage: holdfast release [OPTIONS] NAME --force

      --force            yes, I know that its holder may still be at work
  -u, --url URL          the engine; else $HOLDFAST_URL, else a file of this user
      --json             answer in JSON

Example:
  holdfast release orders/42 --force
)";

inline constexpr const char* doctor =
    R"(Tells what an engine guarantees, what that rests on, and how it is today.
Ends with 1 if there is a warning or a danger, with 69 if the engine cannot be reached.

Usage: holdfast doctor [OPTIONS] [URL]

  -u, --url URL          the same as URL; else $HOLDFAST_URL, else a file of this user
      --json             answer in JSON

Examples:
  holdfast doctor
  holdfast doctor sqlite:/var/lib/locks.db
)";

} // namespace holdfast::cli::help
