#pragma once

// Waiting for the lock on a thread of its own, so that the guardian stays awake for signals.
//
// There is no way to interrupt it from outside; whoever gives up closes the client, which takes the
// claim back, and ends the process.

#include "run.hpp"
#include "wakeup.hpp"

#include <holdfast/client.hpp>
#include <holdfast/multi_lock.hpp>

#include <exception>
#include <optional>
#include <thread>

namespace holdfast::cli {

class acquisition {
public:
    /// Starts to ask. Both must outlive this.
    acquisition(const client&, const run_options&);

    /// Readable once it is over, until is_over() has said so.
    [[nodiscard]] int descriptor() const noexcept { return over_.descriptor(); }
    [[nodiscard]] bool is_over() const noexcept { return over_.lower(); }

    /// Once it is over: the lease, or nothing if somebody else held it all the time. Throws what
    /// asking threw.
    [[nodiscard]] std::optional<multi_lease> take();

private:
    void ask(const client&, const run_options&) noexcept;

    wakeup over_;
    std::optional<multi_lease> granted_;
    std::exception_ptr failed_;
    std::thread asking_;
};

} // namespace holdfast::cli
