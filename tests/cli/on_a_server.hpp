#pragma once

// The program on an engine that is a server: what a person reads when something is wrong there.

#include "workshop.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

namespace holdfast::cli_tests {

class on_a_server : public workshop {
protected:
    /// The program said one sentence that has this in it, and nothing else.
    static void expect_sentence(const outcome& how, int code, const std::string& part) {
        EXPECT_EQ(how.code, code) << how.err;
        EXPECT_EQ(how.out, "");
        EXPECT_THAT(how.err,
                    testing::AllOf(testing::StartsWith("holdfast: "), testing::HasSubstr(part)));
        EXPECT_EQ(std::count(how.err.begin(), how.err.end(), '\n'), 1) << how.err;
    }
    /// ls, show, watch and release --force all say it.
    static void expect_looking_says(const std::string& url, int code, const std::string& part) {
        expect_sentence(holdfast({"ls", "-u", url}), code, part);
        expect_sentence(holdfast({"show", "-u", url, "job"}), code, part);
        expect_sentence(holdfast({"watch", "-u", url, "job"}), code, part);
        expect_sentence(holdfast({"release", "job", "--force", "-u", url}), code, part);
    }
    [[nodiscard]] static outcome run_on(const std::string& url, const std::string& name = "job") {
        return holdfast({"run", "-w", "3s", "-u", url, name, "--", "echo", "held"});
    }
    /// A command that holds it until it reads a line, or is killed.
    [[nodiscard]] static program start_holding_on(const std::string& url,
                                                  const std::string& name = "job") {
        auto holder = start({"run", "-u", url, name, "--", "sh", "-c", "echo ready; read x"});
        EXPECT_EQ(holder.out.line(), "ready") << holder.err.all();
        return holder;
    }

    static void expect_that_a_lock_is_held_seen_and_taken_by_force(const std::string& url) {
        EXPECT_EQ(run_on(url).out, "held\n");
        auto holder = start(
            {"run", "-u", url, "job", "--", "sh", "-c", "echo $HOLDFAST_FENCE; exec sleep 60"});
        EXPECT_GT(std::stoll(holder.out.line().value_or("0")), 0);
        EXPECT_EQ(holdfast({"run", "-n", "-u", url, "job", "--", "true"}).code, 1);
        EXPECT_EQ(holdfast({"run", "-n", "-E", "9", "-u", url, "job", "--", "true"}).code, 9);
        EXPECT_THAT(holdfast({"ls", "-u", url}).out, testing::HasSubstr("job"));
        EXPECT_THAT(holdfast({"show", "-u", url, "job"}).out, testing::HasSubstr("held by"));
        EXPECT_EQ(holdfast({"release", "job", "--force", "-u", url}).code, 0);
        EXPECT_EQ(holder.exit_code(), 76) << "lost";
        EXPECT_EQ(holdfast({"show", "-u", url, "job"}).code, 1);
    }

    template <class Server> static void expect_that_a_waiter_survives_a_restart(Server& server) {
        auto holder = start_holding_on(server.url());
        auto waiter = start({"run", "-u", server.url(), "-w", "25s", "job", "--", "echo", "held"});
        EXPECT_TRUE(waiter.runs_for(std::chrono::milliseconds{300}));
        server.restart();
        EXPECT_TRUE(waiter.runs_for(std::chrono::milliseconds{300})) << "it is still held";
        holder.signal(SIGTERM);
        const auto served = waiter.end();
        EXPECT_EQ(served.out, "held\n") << served.err;
    }
};

} // namespace holdfast::cli_tests
