// What an observer costs that nobody has set: the same program, built with and without the code for
// it. On the engine in memory, where the least would show. Two processes, because two builds of one
// library do not fit into one.

#include "rows.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace bench {
namespace {

class probe {
public:
    explicit probe(const std::string& program) {
        int to[2], from[2];
        check(::pipe2(to, O_CLOEXEC) == 0 && ::pipe2(from, O_CLOEXEC) == 0,
              "the kernel gives pipes");
        posix_spawn_file_actions_t how;
        ::posix_spawn_file_actions_init(&how);
        ::posix_spawn_file_actions_adddup2(&how, to[0], 0);
        ::posix_spawn_file_actions_adddup2(&how, from[1], 1);
        std::string name = program;
        char* const words[] = {name.data(), nullptr};
        check(::posix_spawn(&pid_, program.c_str(), &how, nullptr, words, environ) == 0,
              "the probe has been built");
        ::posix_spawn_file_actions_destroy(&how);
        ::close(to[0]);
        ::close(from[1]);
        to_ = to[1];
        from_ = from[0];
    }
    ~probe() {
        ::close(to_);
        ::close(from_);
        ::waitpid(pid_, nullptr, 0);
    }
    probe(const probe&) = delete;
    probe& operator=(const probe&) = delete;

    sample run(std::uint64_t cycles) const {
        std::int64_t took = 0;
        check(::write(to_, &cycles, sizeof cycles) == sizeof cycles &&
                  ::read(from_, &took, sizeof took) == sizeof took,
              "the probe answers");
        const auto each = static_cast<double>(took) / static_cast<double>(cycles);
        return {each, each, each};
    }

private:
    pid_t pid_ = 0;
    int to_ = -1, from_ = -1;
};

} // namespace

void observers(const effort& how, findings& out) {
    place(placed::one_cpu); // both on the same: what differs is the code
    const probe with{how.programs + "/bench_probe"}, without{how.programs + "/bench_probe_without"};
    const contender all[] = {
        {"observers compiled in, none set",
         how.cycles(20'000),
         [&](std::uint64_t n) { return with.run(n); }},
        {"observers compiled out",
         how.cycles(20'000),
         [&](std::uint64_t n) { return without.run(n); }},
    };
    auto standings = compete(all, how.rounds * 2);
    const auto slower = compare(standings[0], standings[1]);
    out.lines.push_back({"observer off",
                         placed::one_cpu,
                         std::move(standings),
                         slower,
                         std::nullopt,
                         "mean",
                         "no difference: not slower, as far as the bound tells",
                         true});
}

} // namespace bench
