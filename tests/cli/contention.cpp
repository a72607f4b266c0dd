// Many processes, one lock: nothing is counted twice, nobody waits for ever, also if some are
// killed.

#include "cli/process_tree.hpp"
#include "promise.hpp"
#include "workshop.hpp"

#include <gmock/gmock.h>

#include <csignal>
#include <fstream>
#include <random>
#include <set>
#include <string>

namespace holdfast::cli_tests {
namespace {

using namespace std::chrono_literals;

std::vector<long long> numbers_in(const std::string& file) {
    std::vector<long long> numbers;
    std::ifstream lines{file};
    for (long long number = 0; lines >> number;) {
        numbers.push_back(number);
    }
    return numbers;
}

class contention : public workshop {
protected:
    /// A shell that takes the lock `times` times for this script.
    program start_worker(int times, const std::string& script_file) {
        return program{{"sh",
                        "-c",
                        "cd " + folder().string() + "; i=0; while [ $i -lt " +
                            std::to_string(times) + " ]; do i=$((i+1)); " + holdfast_program() +
                            " run counter -- sh " + script_file + "; done"}};
    }
};

TEST_F(contention, eight_processes_count_to_sixteen_hundred_with_growing_fences) {
    write("counter", "0\n");
    write("increment", "read n < counter; echo $((n+1)) > counter; echo $HOLDFAST_FENCE >> fences");
    std::vector<program> workers;
    for (int i = 0; i < 8; ++i) {
        workers.push_back(start_worker(200, "increment"));
    }
    for (auto& worker : workers) {
        ASSERT_TRUE(comes_true(540s, [&] { return !worker.runs_for(100ms); }));
        ASSERT_EQ(worker.exit_code(), 0);
    }
    EXPECT_EQ(read("counter"), "1600\n") << promise_broken;
    const auto fences = numbers_in(path("fences"));
    EXPECT_EQ(fences.size(), 1600U);
    EXPECT_TRUE(std::is_sorted(fences.begin(), fences.end(), std::less_equal<>{}))
        << promise_broken;
}

/// One round: fronts, guardians and commands are killed -9 at random while eight workers go on. The
/// script takes a kernel lock that its orphans inherit: whoever finds it taken has seen an overlap.
class killing : public contention {
protected:
    void SetUp() override {
        write("overlaps", "");
        write("fences", "");
        write("section", R"(exec 9> alive
            flock -w 0.1 9 || echo $HOLDFAST_FENCE >> overlaps
            echo $HOLDFAST_FENCE >> fences
            setsid sh -c 'sleep 0.3' &
            wait)");
    }

    static std::vector<cli::process> ours() {
        auto everybody = cli::descendants_of(::getpid());
        std::erase_if(everybody, [](const cli::process& one) {
            const auto name = name_of(one.pid);
            return name != "holdfast" && name != "holdfast-guard";
        });
        return everybody;
    }

    static std::string name_of(pid_t pid) {
        std::string name;
        std::getline(std::ifstream{"/proc/" + std::to_string(pid) + "/comm"}, name);
        return name;
    }
};

TEST_F(killing, nobody_overlaps_and_nobody_waits_for_ever) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 chance{seed};
    std::vector<program> workers;
    for (int i = 0; i < 8; ++i) {
        workers.push_back(start_worker(100'000, "section"));
    }
    int killed = 0;
    for (const auto end = boot_clock::now() + 15s; boot_clock::now() < end;) {
        ::poll(nullptr, 0, std::uniform_int_distribution{5, 60}(chance));
        if (const auto alive = ours(); !alive.empty()) {
            const auto chosen =
                std::uniform_int_distribution<std::size_t>{0, alive.size() - 1}(chance);
            killed += ::kill(alive[chosen].pid, SIGKILL) == 0 ? 1 : 0;
        }
    }
    workers.clear(); // the shells; then nobody new comes
    EXPECT_GT(killed, 50);
    EXPECT_GT(numbers_in(path("fences")).size(), 10U);
    EXPECT_EQ(read("overlaps"), "") << promise_broken;
    EXPECT_EQ(holdfast({"run", "-w", "25", "counter", "--", "true"}).code, 0);
    auto fences = numbers_in(path("fences"));
    EXPECT_TRUE(std::is_sorted(fences.begin(), fences.end(), std::less_equal<>{}))
        << promise_broken;
}

} // namespace
} // namespace holdfast::cli_tests
