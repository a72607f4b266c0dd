#include "manual.hpp"

#include <algorithm>
#include <stdexcept>

namespace holdfast::cli::manual {

namespace {

// ------------------------------------------------------------- what several verbs have in common

value a_time() { return {.name = "TIME"}; }
value a_count() { return {.name = "COUNT"}; }
value a_url() { return {.name = "URL", .offer = offer::url}; }

option url_option() {
    return {.names = {"-u", "--url"},
            .value = a_url(),
            .text =
                "the engine, see holdfast --help; else $HOLDFAST_URL, else a file of this user"};
}

option same_as_url() {
    return {.names = {"-u", "--url"},
            .value = a_url(),
            .text = "the same as URL; else $HOLDFAST_URL, else a file of this user"};
}

option json_option() { return {.names = {"--json"}, .text = "answer in JSON"}; }

value lock_name() { return {.name = "NAME", .offer = offer::lock}; }

value pattern() {
    return {.name = "PATTERN", .offer = offer::lock, .text = "only names like this one: orders/*"};
}

// ---------------------------------------------------------------------------------- the verbs

verb run() {
    return {
        .name = "run",
        .synopsis = "run NAME -- CMD …",
        .summary = "hold a lock while a command runs",
        .about = "Holds a lock while a command runs.",
        .usage = {"[OPTIONS] NAME [--] CMD …", "[OPTIONS] NAME -c STRING"},
        .arguments = {lock_name(), {.name = "CMD", .offer = offer::command}},
        .sections =
            {{"Waiting",
              {{.names = {"-n", "--nonblock"}, .text = "do not wait"},
               {.names = {"-w", "--wait"},
                .value = a_time(),
                .text = "wait at most so long: 30 (seconds), 500ms, 2m, 1.5h",
                .also = {"--timeout"}},
               {.names = {"-E"},
                .value = {.name = "CODE"},
                .text = "exit code if somebody else held it all the time; else 1",
                .also = {"--conflict-exit-code"}},
               {.names = {"--fair"}, .text = "first come, first served, also within one process"},
               {.names = {"--spin"},
                .text = "ask again and again, up to 128 ms apart, instead of queueing"},
               {.names = {"--retry"},
                .value = {.name = "POLICY"},
                .text = "if the engine is away: once(1s), times(3, 1s), until_elapsed(30s, 1s), "
                        "exponential(100ms, 5), bounded_exponential(100ms, 5s, 10), forever(1s)"}}},
             {"Sharing",
              {{.names = {"-s", "--shared"}, .text = "together with others who say -s"},
               {.names = {"-x", "--exclusive"},
                .text = "alone, which is the default; the writer among those who say -s",
                .also = {"-e"}},
               {.names = {"-N", "--permits"},
                .value = a_count(),
                .text = "one of so many permits; everybody must name the same number"},
               {.names = {"--and"},
                .value = lock_name(),
                .text = "this lock, too: all of them or none, never a deadlock; may be repeated"}}},
             {"Holding",
              {{.names = {"--ttl"},
                .value = a_time(),
                .text = "how long the lock outlives a holder that fell silent; else 30s"},
               {.names = {"--on-lost"},
                .value =
                    {.name = "ACT", .offer = offer::words, .words = {"term", "kill", "ignore"}},
                .text = "when the lock is about to be lost: term (and kill at half time, the "
                        "default), kill, or ignore"},
               {.names = {"--require"},
                .value = {.name = "LIST",
                          .offer = offer::words,
                          .words = {"fence", "restart", "clock", "fair", "death"}},
                .text = "refuse an engine that does not give all of these, separated by commas: "
                        "fence, restart (forgets nothing), clock (no jump can end it), fair, death "
                        "(of a "
                        "holder: gives back what it held)"}}},
             {"",
              {{.names = {"-c", "--command"},
                .value = {.name = "STRING"},
                .text = "instead of CMD: a string for /bin/sh"},
               url_option()}}},
        .notes = {"The command finds HOLDFAST_NAME and HOLDFAST_FENCE in its environment.",
                  "With -n, an engine that says nothing is given up after 5 seconds; a Redis after "
                  "its connect_timeout, which is 3 seconds."},
        .exits = {{"", "the command's own"},
                  {"128 + N", "if signal N ended it"},
                  {"1 (or -E)", "if somebody else held the lock"},
                  {"76", "if the lock was lost"},
                  {"69", "if the engine could not be reached"},
                  {"77", "if it refused us"},
                  {"64", "for bad usage"},
                  {"127", "command not found"},
                  {"126", "not executable"},
                  {"70", "anything else"}},
        .examples = {
            {"holdfast run nightly-backup -- ./backup.sh", "wait, then run"},
            {"holdfast run -n deploy -- make deploy", "or not at all, if somebody deploys"},
            {"holdfast run -w 30s -E 9 orders -- ./import", "wait for 30 seconds, else exit 9"},
            {"holdfast run -s catalogue -- ./report", "together with other readers"},
            {"holdfast run -N 4 gpu -- ./train", "one of four permits"},
            {"holdfast run from/7 --and to/9 -- ./transfer", "two locks as one"},
            {"holdfast run orders -c 'sort < in > out'", "a shell string"},
            {"holdfast run -u redis://db1 orders -- ./import", "among all who reach that Redis"}}};
}

verb ls() {
    return {.name = "ls",
            .synopsis = "ls [PATTERN]",
            .summary = "who holds and who waits",
            .about = "Lists who holds locks, and how many wait.",
            .usage = {"[OPTIONS] [PATTERN]"},
            .arguments = {pattern()},
            .sections = {{"",
                          {{.names = {"--names"}, .text = "the names alone, one on a line"},
                           url_option(),
                           json_option()}}},
            .examples = {{"holdfast ls"}, {"holdfast ls 'orders/*' --json"}}};
}

verb show() {
    return {.name = "show",
            .synopsis = "show NAME",
            .summary = "the same of one lock, in detail",
            .about =
                "Shows who holds one lock, and who waits for it. Ends with 1 if nobody holds it.",
            .usage = {"[OPTIONS] NAME"},
            .arguments = {lock_name()},
            .sections = {{"", {url_option(), json_option()}}},
            .examples = {{"holdfast show orders/42"}}};
}

verb watch() {
    return {
        .name = "watch",
        .synopsis = "watch NAME",
        .summary = "follow what happens to it",
        .about = "Follows what happens to a lock: who is granted it, who releases or loses it, who "
                 "begins and who ceases to wait. One line for each event.",
        .usage = {"[OPTIONS] NAME|PATTERN"},
        .arguments = {{.name = "PATTERN",
                       .offer = offer::lock,
                       .text = "a name, or all names like this one: orders/*"}},
        .sections =
            {{"",
              {{.names = {"--every"}, .value = a_time(), .text = "how often it looks; else 200ms"},
               {.names = {"--for"},
                .value = a_time(),
                .text = "for how long; else until it is interrupted"},
               url_option(),
               {.names = {"--json"}, .text = "one JSON object for each event"}}}},
        .notes = {"It compares each look at the engine with the one before: who comes and goes "
                  "between two looks is not seen."},
        .examples = {{"holdfast watch deploy"},
                     {"holdfast watch 'orders/*' --json --for 1h >> orders.log"}}};
}

verb top() {
    return {
        .name = "top",
        .synopsis = "top [PATTERN]",
        .summary = "a live table of all locks",
        .about = "Shows a live table of locks: holders, waiters, times and rates. Without a "
                 "terminal it prints the table once.",
        .usage = {"[OPTIONS] [PATTERN]"},
        .arguments = {pattern()},
        .sections =
            {{"",
              {{.names = {"--every"}, .value = a_time(), .text = "how often it looks; else 1s"},
               {.names = {"--sort"},
                .value = {.name = "KEY",
                          .offer = offer::words,
                          .words = {"name", "waiters", "held", "rate"}},
                .text = "what comes first: name (the default), waiters, held, or rate"},
               {.names = {"--once"}, .text = "print the table once, and end"},
               url_option()}}},
        .notes = {"Keys: n w h r sort by name, waiters, time held, rate; arrows, PgUp, PgDn, Home "
                  "and End scroll; / filters; space looks at once; q, ESC or ^C quit.",
                  "GRANTS/S counts the new holders that were seen, over the last ten looks; with ≥ "
                  "where each look saw a new one, and more may have come and gone in between."},
        .examples = {{"holdfast top"}, {"holdfast top 'orders/*' --sort waiters"}}};
}

verb release() {
    return {
        .name = "release",
        .synopsis = "release NAME --force",
        .summary = "take a lock from its holder",
        .about =
            "Takes a lock from whoever holds it, or asks for it. Ends with 1 if nobody holds it.",
        .usage = {"[OPTIONS] NAME --force", "[OPTIONS] NAME --ask"},
        .arguments = {lock_name()},
        .sections =
            {{"",
              {{.names = {"--force"}, .text = "yes, I know that its holder may still be at work"},
               {.names = {"--ask"},
                .text = "only let its holder know; for engines that can, such as ZooKeeper"},
               url_option(),
               json_option()}}},
        .examples = {{"holdfast release orders/42 --force"}}};
}

verb doctor() {
    return {.name = "doctor",
            .synopsis = "doctor [URL]",
            .summary = "what the engine guarantees, and how it is today",
            .about = "Tells what an engine guarantees, what that rests on, and how it is today. "
                     "Ends with 1 if there is a warning or a danger, with 69 if the engine cannot "
                     "be reached.",
            .usage = {"[OPTIONS] [URL]"},
            .arguments = {a_url()},
            .sections = {{"", {same_as_url(), json_option()}}},
            .examples = {{"holdfast doctor"},
                         {"holdfast doctor sqlite:/var/lib/locks.db"},
                         {"holdfast doctor redis://db1"}}};
}

verb torture() {
    return {
        .name = "torture",
        .synopsis = "torture [URL]",
        .summary = "try whether it does, with processes that are paused and killed",
        .about = "Tries whether an engine keeps its promises: starts processes that use locks, "
                 "pauses them, kills them, tells them to end, and checks all that they did. Other "
                 "locks are not touched.",
        .usage = {"[OPTIONS] [URL]"},
        .arguments = {a_url()},
        .sections =
            {{"",
              {{.names = {"--seconds"}, .value = a_count(), .text = "how long; else 30"},
               {.names = {"--workers"}, .value = a_count(), .text = "how many processes; else 4"},
               {.names = {"--ttl"},
                .value = a_time(),
                .text = "of the leases; else 1s. Pauses last from 0.2 to 3 times as long"},
               {.names = {"--seed"},
                .value = {.name = "NUMBER"},
                .text = "the same faults at the same times as in another run"},
               same_as_url(),
               json_option()}}},
        .exits = {{"0", "if nothing was wrong"},
                  {"1", "if something was"},
                  {"130", "if it was interrupted before anything went wrong"},
                  {"69", "if the engine cannot be reached"},
                  {"77", "if it refused us"},
                  {"64", "for bad usage"}},
        .examples = {{"holdfast torture"},
                     {"holdfast torture sqlite:/var/lib/locks.db --seconds 600"}}};
}

verb bench() {
    return {.name = "bench",
            .synopsis = "bench [URL]",
            .summary = "how fast it is, here and now",
            .about = "Measures how fast an engine is, here and now: alone, among threads, among "
                     "processes, and among readers. Other locks are not touched.",
            .usage = {"[OPTIONS] [URL]"},
            .arguments = {a_url()},
            .sections = {{"",
                          {{.names = {"--seconds"},
                            .value = a_count(),
                            .text = "for each of the four; else 2"},
                           {.names = {"--threads"}, .value = a_count(), .text = "else 4"},
                           {.names = {"--processes"}, .value = a_count(), .text = "else 4"},
                           same_as_url(),
                           json_option()}}},
            .examples = {{"holdfast bench"},
                         {"holdfast bench sqlite:/var/lib/locks.db --processes 8 --json"}}};
}

verb schema() {
    return {
        .name = "schema",
        .synopsis = "schema [URL]",
        .summary = "the tables of a database, for accounts that may not make them",
        .about = "Prints the SQL that makes the tables of an engine in a database. Nobody is asked "
                 "or told: give it to somebody who may create tables there. An account that may do "
                 "so itself does not need it.",
        .usage = {"[OPTIONS] [URL]"},
        .arguments = {a_url()},
        .sections = {{"",
                      {{.names = {"-u", "--url"},
                        .value = a_url(),
                        .text = "the same as URL; else $HOLDFAST_URL"}}}},
        .notes = {"The names of the tables, and on PostgreSQL the user who may use them, are those "
                  "of the URL. On MySQL and MariaDB, the user needs SELECT, INSERT, UPDATE and "
                  "DELETE there."},
        .examples = {{"holdfast schema postgres://app@db1/shop | psql -h db1 -U postgres shop"},
                     {"holdfast schema mysql://app@db1/shop | mariadb -h db1 -u root -p shop"}}};
}

verb completion() {
    return {.name = "completion",
            .synopsis = "completion SHELL",
            .summary = "what bash, zsh or fish need to complete our words",
            .about = "Prints the completions for a shell: verbs, options, and the names of locks.",
            .usage = {"bash|zsh|fish"},
            .arguments = {{.name = "SHELL",
                           .offer = offer::words,
                           .words = {"bash", "zsh", "fish"},
                           .text = "bash, zsh or fish"}},
            .examples = {{"source <(holdfast completion bash)", "in ~/.bashrc"},
                         {"source <(holdfast completion zsh)", "in ~/.zshrc, after compinit"},
                         {"holdfast completion fish | source", "in ~/.config/fish/config.fish"}}};
}

verb man() {
    return {.name = "man",
            .synopsis = "man",
            .summary = "the manual page",
            .about = "Prints the manual page, for man(1) to read.",
            .usage = {""},
            .examples = {{"holdfast man | man -l -"}}};
}

} // namespace

const std::vector<verb>& all_verbs() {
    static const std::vector<verb> pages{run(),
                                         ls(),
                                         show(),
                                         watch(),
                                         top(),
                                         release(),
                                         doctor(),
                                         torture(),
                                         bench(),
                                         schema(),
                                         completion(),
                                         man()};
    return pages;
}

std::vector<verb> verbs() {
    auto ours = all_verbs();
    std::erase_if(ours, [](const verb& page) { return page.elsewhere; });
    return ours;
}

const verb& page_of(std::string_view verb) {
    const auto& pages = all_verbs();
    const auto found = std::find_if(
        pages.begin(), pages.end(), [&](const auto& page) { return page.name == verb; });
    if (found == pages.end()) {
        throw std::out_of_range{"the manual has no page of '" + std::string{verb} + "'"};
    }
    return *found;
}

const option& help_option() {
    static const option help{.names = {"-h", "--help"}, .text = "how it is used, with an example"};
    return help;
}

std::vector<option> options_of(const verb& page) {
    std::vector<option> all;
    for (const auto& part : page.sections) {
        all.insert(all.end(), part.options.begin(), part.options.end());
    }
    all.push_back(help_option());
    return all;
}

const std::vector<engine_url>& urls() {
    static const std::vector<engine_url> all{
#ifdef HOLDFAST_HAS_SQLITE
        {"sqlite:",
         "sqlite:PATH",
         "a file, for all of this machine; without PATH that of this user"},
#endif
#ifdef HOLDFAST_HAS_REDIS
        {"redis://",
         "redis://[[USER]:PASSWORD@]HOST[:PORT][/DB]",
         "Redis, where Java's Redisson has its locks. ?password_file=FILE keeps the password out "
         "of "
         "the list of processes"},
        {"rediss://", "rediss://…", "the same under TLS; ?ca=FILE says whom to trust"},
        {"redis+unix://", "redis+unix:///PATH", "through a socket of this machine"},
        {"redis+sentinel://",
         "redis+sentinel://HOST,HOST,…/PRIMARY",
         "the primary that these Sentinels know by that name"},
        {"redis+cluster://", "redis+cluster://HOST,HOST,…", "a cluster, by some of its servers"},
        {"redis+replicas://",
         "redis+replicas://PRIMARY,REPLICA,…",
         "a primary that is never replaced; with ?acknowledge=COUNT so many replicas must know of "
         "a lock"},
#endif
#ifdef HOLDFAST_HAS_ZOOKEEPER
        {"zookeeper://",
         "zookeeper://[USER:PASSWORD@]HOST[:PORT],…[/PATH]",
         "ZooKeeper, where Java's Curator has its locks. ?session=TIME says how long the dead keep "
         "theirs"},
#endif
#ifdef HOLDFAST_HAS_POSTGRES
        {"postgres://",
         "postgres://[USER[:PASSWORD]@]HOST[:PORT],…/DATABASE",
         "tables of a PostgreSQL database. Of several servers, the one that writes"},
#endif
#ifdef HOLDFAST_HAS_MYSQL
        {"mysql://",
         "mysql://[USER[:PASSWORD]@]HOST[:PORT],…/DATABASE",
         "tables of a MySQL or MariaDB database"},
#endif
#ifdef HOLDFAST_HAS_QUORUM
        {"quorum:", "quorum:URL,URL,URL", "a majority of engines that know nothing of each other"},
#endif
    };
    return all;
}

const std::vector<variable>& environment() {
    static const std::vector<variable> variables{
        {"HOLDFAST_URL", "the engine, where -u does not name one"},
        {"HOLDFAST_NAME", "in a command that holdfast run started: the name of the lock"},
        {"HOLDFAST_FENCE",
         "there too: a number that grows with each exclusive holder. Store it with what you write, "
         "and refuse a smaller one. Permits have none"},
        {"NO_COLOR", "if it is set and not empty, there are no colours"},
        {"TERM", "if it is dumb, there are neither colours nor live lines"}};
    return variables;
}

} // namespace holdfast::cli::manual
