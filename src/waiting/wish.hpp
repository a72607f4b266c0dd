#pragma once

// One caller's wish, from asking to answer. Made by whoever drives the core, on its stack or heap;
// the core links it while it waits and never touches it after the answer was given out.

#include "lease/agenda.hpp"

#include <holdfast/request.hpp>

#include <boost/intrusive/list.hpp>

#include <utility>

namespace holdfast::detail {

class turnstile;
struct talk;

struct wish : agenda_item, boost::intrusive::list_base_hook<> {
    explicit wish(request&& r = {}) : agenda_item{kind::wish}, what{std::move(r)} {}

    request what;
    instant asked_at{};
    turnstile* queued_at = nullptr; // null before and after it waits
    talk* own = nullptr;            // fair order: the talk that stands in the engine's queue for it
    instant give_up = never;        // one that asks just once waits for one request at most
    std::uint32_t failures = 0;     // of the engine, one after another, while it waited
    instant failing_since{};
    instant retry_at{}; // as its retry policy has it; an earlier try is somebody else's

    [[nodiscard]] bool asks_once() const noexcept { return what.options.wait <= duration::zero(); }

protected:
    ~wish() = default;
};

/// Somebody who waits for the answer to a release.
struct goodbye {
protected:
    ~goodbye() = default;
};

} // namespace holdfast::detail
