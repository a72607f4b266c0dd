#pragma once

// A process with a client of its own, that does what it is told.
//
//   acquire …      ─▶ [waiting …] granted FENCE | contended | failed VALUE CATEGORY
//   release        ─▶ released | lost | unknown
//   held           ─▶ yes | no
//   watch          ─▶ watching, and once it is no longer held: ended INSTANT, the last at which it
//   was leave, vanish     ends with and without its destructors

#include "conformance/child.hpp"
#include "conformance/engine.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/fence.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/options.hpp>

#include <optional>
#include <string>

namespace holdfast::conformance {

struct wanting {
    std::string name;
    acquire_options options{};
    holdfast::mode mode = mode::exclusive;
    std::uint32_t permits = 1;
};

class puppet {
public:
    /// Starts it, and returns when it has opened its client.
    explicit puppet(const place&);

    void wants(const wanting&); ///< begins to acquire
    void queued();              ///< waits until it has been told "contended", and waits too
    [[nodiscard]] fence granted();
    [[nodiscard]] std::string answer(); ///< granted, contended or failed, and the details
    fence acquires(const wanting& what) {
        wants(what);
        return granted();
    }

    [[nodiscard]] release_result releases();
    [[nodiscard]] bool holds();

    void watches();                       ///< begins to ask itself without pause
    [[nodiscard]] instant held_at_last(); ///< and has found that it is no longer held

    [[nodiscard]] int leaves();   ///< ends properly; its exit status
    [[nodiscard]] int vanishes(); ///< _exit

    void kill() { process_.kill(); }
    void stop() { process_.stop(); }
    void resume() { process_.resume(); }
    [[nodiscard]] int wait() { return process_.wait(); }
    [[nodiscard]] pid_t pid() const noexcept { return process_.pid(); }

private:
    [[nodiscard]] std::string reply();

    child process_;
};

} // namespace holdfast::conformance
