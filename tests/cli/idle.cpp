// Who waits does nothing: no CPU, hardly a wake-up.

#include "cli/process_tree.hpp"
#include "workshop.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace holdfast::cli_tests {
namespace {

using namespace std::chrono_literals;

struct effort {
    long switches = 0;
    long ticks = 0; ///< of CPU time, 10 ms each

    effort& operator+=(const effort& other) {
        switches += other.switches;
        ticks += other.ticks;
        return *this;
    }
};

effort of_thread(const std::filesystem::path& task) {
    effort spent;
    std::ifstream status{task / "status"};
    for (std::string word; status >> word;) {
        if (word.find("ctxt_switches:") != std::string::npos) {
            long count = 0;
            status >> count;
            spent.switches += count;
        }
    }
    std::ifstream stat{task / "stat"};
    std::string text{std::istreambuf_iterator<char>{stat}, {}};
    std::istringstream fields{text.substr(text.rfind(')') + 2)};
    std::string skipped;
    for (int i = 0; i < 11; ++i) { // up to field 13 of proc(5); 14 and 15 are utime and stime
        fields >> skipped;
    }
    long user = 0;
    long system = 0;
    fields >> user >> system;
    spent.ticks = user + system;
    return spent;
}

effort of_process(pid_t pid) {
    effort spent;
    for (const auto& task :
         std::filesystem::directory_iterator{"/proc/" + std::to_string(pid) + "/task"}) {
        spent += of_thread(task.path());
    }
    return spent;
}

class idle : public workshop {
protected:
    /// What front and guardian of this run do in two seconds.
    static effort in_two_seconds(const program& front) {
        const auto guardian = guardian_of(front);
        auto before = of_process(front.pid());
        before += of_process(guardian);
        EXPECT_TRUE(front.runs_for(2s));
        auto after = of_process(front.pid());
        after += of_process(guardian);
        return {.switches = after.switches - before.switches, .ticks = after.ticks - before.ticks};
    }
};

TEST_F(idle, a_blocked_waiter_hardly_wakes_up) {
    auto holder = start_holding({"a"}, "read x");
    auto waiter = start({"run", "a", "--", "true"});
    until_waiting("a", 1);
    EXPECT_TRUE(waiter.runs_for(200ms)); // until all its threads have found their place
    const auto spent = in_two_seconds(waiter);
    EXPECT_LE(spent.switches, 10);
    EXPECT_LE(spent.ticks, 1);
    holder.write("\n");
    EXPECT_EQ(waiter.exit_code(), 0);
}

TEST_F(idle, a_holder_only_renews) {
    auto holder = start_holding({"a"}, "read x");
    EXPECT_TRUE(holder.runs_for(200ms));
    const auto spent = in_two_seconds(holder); // a renewal is due only every ten seconds
    EXPECT_LE(spent.switches, 20);
    EXPECT_LE(spent.ticks, 1);
}

} // namespace
} // namespace holdfast::cli_tests
