#pragma once

// One name that all want all the time: between two processes, and inside one.
//
// Between processes the lock changes hands through the server; what is passed on inside a process
// never gets there. So the two are counted apart: hand-offs by the baton, and all grants together.

#include "crew.hpp"
#include "world.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace bench {

/// Somebody who does the same as our two processes, and how many times as long we may take.
struct sharing {
    std::string name;
    std::uint64_t hand_offs; ///< in one batch
    /// Gets ready; strangers find the baton in the file. What comes back is one round: until the
    /// baton says that it is over.
    std::function<std::function<void()>(baton&, const std::string& file)> join;
    struct {
        std::optional<double> mean, p50, p99; ///< of a hand-off; one without is left out
        std::optional<double> grants; ///< the mean of all grants, passes inside a process included
    } at_most;
};

inline constexpr std::size_t sharing_processes = 2, sharing_threads = 8; ///< threads of each

/// Two peers alike; nobody, if they cannot be had.
[[nodiscard]] std::vector<sharing>
two_of(peer* first, peer* second, std::uint64_t hand_offs, decltype(sharing::at_most));

/// Two processes of this program. In each a Worker{arguments…, who, baton} is made when its first
/// round begins; its work() is one round.
template <class Worker, class... Arguments>
[[nodiscard]] auto two_processes(placed where, const Arguments&... arguments) {
    return [=](baton& what, const std::string&) {
        auto me = std::make_shared<std::optional<Worker>>();
        auto both = std::make_shared<crew>(
            where,
            [=, &what](std::size_t who, int) {
                if (!*me)
                    me->emplace(arguments..., who, what);
                (*me)->work();
            },
            sharing_processes);
        return [both] { both->order(0); };
    };
}

struct one_of_them {
    peer* who;
    std::uint64_t cycles;
    std::optional<double> at_most;
};

/// One process of ours: a client, and threads that want the name until it is over.
class sharing_worker {
public:
    sharing_worker(const std::string& url,
                   const std::string& name,
                   std::size_t threads,
                   std::chrono::microseconds hold,
                   std::size_t who,
                   baton& what);
    void work();

private:
    std::size_t threads_, who_;
    std::chrono::microseconds hold_;
    baton& baton_;
    holdfast::client client_;
    holdfast::mutex mutex_;
};

/// Two processes with eight threads each. `unit`: what a hand-off is counted in, by p50.
void between_processes(const world&,
                       const effort&,
                       findings&,
                       placed,
                       const std::string& work,
                       const std::string& name,
                       const std::vector<sharing>& them,
                       const std::optional<rival>& unit = {});

/// 64 threads of one process, ours and theirs: all grants, however they come.
void in_one_process(const world&,
                    const effort&,
                    findings&,
                    placed,
                    const std::string& work,
                    std::uint64_t cycles,
                    const one_of_them&);

inline constexpr std::chrono::milliseconds held_for_a_moment{2};
/// Who has it holds it for a moment, and the other one waits: what a hand-off takes by itself, in
/// units.
void one_to_the_other(const world&,
                      const effort&,
                      findings&,
                      placed,
                      const std::string& work,
                      const std::string& name,
                      const rival& unit);

inline constexpr const char* work_of_two = "one name, 2 processes × 8 threads";
inline constexpr const char* work_of_one = "one name, 64 threads of one process";

} // namespace bench
