#pragma once

// One lease, as its owner sees it: what may be believed, and until when.
//
//   granted ──▶ HELD ─────── released ──────▶ RELEASED       RELEASED and LOST are final.
//              │   ▲                                         Only a confirmed renewal moves the
//              deadline,
//    no answer │   │ renewed                                 and only forwards.
//              ▼   │
//            IN_DOUBT ── "not yours", or deadline passed ──▶ LOST   (from HELD too)
//
// HELD and IN_DOUBT differ for the observer only: both may act until the deadline.
// Invariant: deadline <= (when the last request that was granted was sent) + ttl.

#include "lease/agenda.hpp"
#include "lease/defect.hpp"

#include <holdfast/backend.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/request.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::detail {

struct engine_grant;

/// The part of a bond that is read without a lock, by every lease that lives on it.
struct bond_belief {
    std::atomic<std::int64_t> deadline{0}; // nanoseconds on the boot clock; never goes back
    std::atomic<bool> lost{false};
};

enum class ending : std::uint8_t { open, released, lost };

struct hold {
    hold() noexcept {} // not defaulted: what is set below need not be zero before
    ~hold() { delete audience_.load(std::memory_order_relaxed); }
    hold(const hold&) = delete;
    hold& operator=(const hold&) = delete;

    std::shared_ptr<const std::string> name;
    holdfast::fence fence;
    std::shared_ptr<bond_belief> bond;
    std::atomic<std::int64_t> until{never.time_since_epoch().count()}; // max_hold; else never
    std::atomic<ending> ended{ending::open};
    std::uint64_t generation = 0; // of the process that acquired it: a forked child holds nothing

    // Guarded by the client's mutex.
    engine_grant* from = nullptr; // null once it has ended
    instant since{};
    owner_id owner = owner_id::nobody;
    duration stop_margin{};
    std::uint32_t entries = 1; // how often its owner has entered
    holdfast::on_deadline on_deadline = on_deadline::nothing;
    bool stopping = false;
    struct limit : agenda_item {
        explicit limit(hold& h) : agenda_item{kind::hold_limit}, of{h} {}
        hold& of;
    };
    std::unique_ptr<limit> limited; // only if `until` is set

    /// Wait-free and signal-safe.
    [[nodiscard]] instant deadline() const noexcept {
        return instant{duration{std::min(bond->deadline.load(std::memory_order_acquire),
                                         until.load(std::memory_order_relaxed))}};
    }
    [[nodiscard]] bool held_at(instant now) const noexcept {
        const bool unended = ended.load(std::memory_order_acquire) == ending::open &&
                             !bond->lost.load(std::memory_order_acquire);
        return has(defect::held_is_a_flag) ? unended : unended && now < deadline();
    }
    [[nodiscard]] bool lost_at(instant now) const noexcept {
        const auto e = ended.load(std::memory_order_acquire);
        return e == ending::lost || (e == ending::open && !held_at(now));
    }

    // The user's side of losing. Never called with the client's mutex held.
    void request_stop();
    void report_lost();
    void report_wanted();
    [[nodiscard]] bool call_when_wanted(const std::function<void()>&); // false: it is already
    [[nodiscard]] std::stop_token token();
    /// False if it is lost already: then the caller sees to it.
    [[nodiscard]] bool call_when_lost(const std::function<void()>&);

    /// The lease that owns a hold. (The constructor is private to keep leases unforgeable.)
    [[nodiscard]] static lease make_lease(std::shared_ptr<hold> h,
                                          std::shared_ptr<client_state> home) {
        return lease{std::move(h), std::move(home)};
    }
    [[nodiscard]] static auto take(lease& l) noexcept {
        return std::pair{std::move(l.hold_), std::move(l.home_)};
    }

private:
    /// Those who want to hear of the end. Most leases have none, and there may be many leases.
    struct audience {
        std::mutex guard;
        std::stop_source stop{std::nostopstate};
        bool stop_requested = false;
        bool lost_reported = false;
        std::vector<std::function<void()>> listeners;
        bool is_wanted = false;
        std::vector<std::function<void()>> asked; // who hears that it is wanted
    };
    [[nodiscard]] audience& listening();

    std::atomic<audience*> audience_{nullptr}; // ours; made when first needed, by whoever is first
};

} // namespace holdfast::detail
