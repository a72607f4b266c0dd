#pragma once

// Contenders measured against each other on a machine that is never quiet.
//
//   round 1:  ours  raw  flock        Within a round all see the same neighbours; so the quotient
//   of round 2:  raw  flock  ours        two contenders is taken round by round, and what is
//   reported is round 3:  flock  ours  raw        the median of those quotients with its 95 %
//   bound. The order …                                 rotates, so that nobody always comes first.
//
// Counting (system calls, context switches, CPU time) slows down what is counted: it is done in
// rounds of its own, after the timed ones.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace bench {

[[nodiscard]] std::int64_t now_ns() noexcept;

/// Ends the program: a figure that was measured on something wrong must not be printed.
void check(bool holds, const char* sentence);

/// What one batch of cycles took. The latencies may come from some of the cycles only.
struct sample {
    double mean_ns = 0;
    double p50_ns = 0;
    double p99_ns = 0;
};

/// Sorts the latencies in passing.
[[nodiscard]] sample sample_of(double mean_ns, std::vector<float>& latencies_ns);

struct contender {
    std::string name;
    std::uint64_t cycles; ///< in one batch
    std::function<sample(std::uint64_t cycles)> run;
};

/// Per cycle; negative where it could not be counted.
struct cost {
    double syscalls = -1;
    double switches = -1;
    double cpu_ns = -1;
    double requests = -1; ///< that the servers were asked
};

struct standing {
    std::string name;
    sample typical; ///< the medians over all rounds
    cost each;
    std::vector<sample> rounds;
};

/// The rounds of all contenders. The first one is ours. `servers`: children whose work is not
/// counted, since they do it for all. `requests`: how often they were asked so far, if they tell.
[[nodiscard]] std::vector<standing> compete(std::span<const contender>,
                                            std::size_t rounds,
                                            std::span<const int> servers = {},
                                            const std::function<double()>& requests = {});

/// The medians of rounds that were counted in another unit than the contest.
[[nodiscard]] standing standing_of(std::string name, std::vector<sample> rounds);

struct quotient {
    double median = 0;
    double low = 0;
    double high = 0; ///< with 95 % confidence the true median lies between
};

/// By order statistics: no assumption on how noise is distributed.
[[nodiscard]] quotient quotient_of(std::vector<double> values);

/// Ours over theirs, round by round.
[[nodiscard]] quotient
compare(const standing& ours, const standing& theirs, double sample::*what = &sample::mean_ns);

// ------------------------------------------------------------------------------------ placement

enum class placed : std::uint8_t {
    anywhere,
    one_cpu,
    two_cpus ///< neighbours in a queue on different ones
};
[[nodiscard]] const char* name_of(placed) noexcept;
[[nodiscard]] int cpus() noexcept;
/// All that can be had here.
[[nodiscard]] std::vector<placed> places();

/// For this thread and those that it will start. `which`: its number among its equals.
void place(placed, std::size_t which = 0) noexcept;

/// For all threads of another process and of its children.
void place_process(int pid, placed, std::size_t which = 0);

// ------------------------------------------------------------------------------------- counting

/// Counts for this process, its threads and its children, from its making on.
class counting {
public:
    explicit counting(std::span<const int> but_these = {});
    ~counting();
    counting(const counting&) = delete;
    counting& operator=(const counting&) = delete;

    [[nodiscard]] cost read() const; ///< totals since the making; cpu in ns

    /// One sentence if something cannot be counted here, else empty.
    [[nodiscard]] static std::string what_is_missing();

private:
    void add(int task, std::uint64_t syscall_tracepoint);

    std::vector<int> syscalls_, switches_, cpu_; // one for each task
    cost begin_{0, 0, 0, 0};                     // opening the counters was counted, too
};

} // namespace bench
