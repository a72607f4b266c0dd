#pragma once

// Another implementation of the same locks in a process of its own, driven line by line.
//
//   test ── "7 lock c1 h1 plain orders" ──▶ redisson/Peer.java, curator/Peer.java, redis_py/peer.py
//   or our own ours.cpp: their commands are listed there
//        ◀─ "7 ok" ─────────────────────────┘
//
// A command that waits for a lock is begun; others can be asked meanwhile. Every wait has a bound.

#include "cli/program.hpp"
#include "servers/need.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace holdfast::interop {

inline const std::string newest_redisson = "4.7.0";
inline const std::string older_redisson = "3.27.2";
inline const std::string newest_curator = "5.9.0";
inline const std::string older_curator = "5.4.0";

/// One is enough for ./dev test; ./dev prove sets HOLDFAST_EVERYWHERE and gets all.
[[nodiscard]] std::vector<std::string> redisson_versions_to_test();
[[nodiscard]] std::vector<std::string> curator_versions_to_test();

/// For INSTANTIATE_TEST_SUITE_P.
[[nodiscard]] inline std::string
version_as_name(const ::testing::TestParamInfo<std::string>& info) {
    auto name = "v" + info.param;
    for (auto& c : name)
        c = c == '.' ? '_' : c;
    return name;
}

/// Minutes instead of seconds.
[[nodiscard]] bool takes_its_time();

class peer {
public:
    enum class ticket : std::uint64_t {};

    [[nodiscard]] static servers::lack
    redisson_missing(const std::string& version = newest_redisson);
    [[nodiscard]] static servers::lack curator_missing(const std::string& version = newest_curator);
    [[nodiscard]] static servers::lack redis_py_missing();

    [[nodiscard]] static peer redisson(const std::string& version = newest_redisson);
    [[nodiscard]] static peer curator(const std::string& version = newest_curator);
    [[nodiscard]] static peer redis_py();
    [[nodiscard]] static peer ours();

    /// What it answers after "ok". Throws with its words when it answers an error. The words of
    /// the command can be given apart.
    template <class... Words> std::string ask(const Words&... words) {
        return end(begin(words...));
    }

    template <class... Words> [[nodiscard]] ticket begin(const Words&... words) {
        std::string command;
        ((command += ' ', command += words), ...);
        return send(command);
    }
    [[nodiscard]] bool has_answered(ticket, std::chrono::milliseconds within = {});
    std::string end(ticket, std::chrono::milliseconds within = std::chrono::seconds{60});

    void kill(); ///< -9: whatever it holds is left behind
    void pause();
    void resume();

private:
    explicit peer(const std::vector<std::string>& command);
    ticket send(const std::string& command);

    cli_tests::program process_;
    std::uint64_t last_ = 0;
    std::map<std::uint64_t, std::string> answers_; // heard, but not yet asked for
};

} // namespace holdfast::interop
