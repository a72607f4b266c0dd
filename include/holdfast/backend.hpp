#pragma once

// THE SEAM. A backend knows its server and nothing else: it is asked, and it answers.
//
//        attempt · withdraw · release · renew · forget · inspect · examine · force_release · close
//        raise_fence, by capability: only a quorum of engines asks for it
//        ask_release, by capability
//   the core ───────────────────────────────────────────────────────────────────▶ a backend
//            ◀───────────────────────────────────────────────────────────────────
//            answers (by ticket) · woken · granted · bond_lost · wanted · link
//
// Waiting, time-outs, retries, renewing, losing, local queueing and counting exist once, above this
// line. docs/writing-a-backend.md walks through all of it.

#include <holdfast/capabilities.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/fence.hpp>
#include <holdfast/inspect.hpp>

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace holdfast {

// ---------------------------------------------------------------------------------- the nouns

/// 128 random bits that name one acquisition. Every change of ownership compares it.
struct nonce {
    std::array<unsigned char, 16> bytes{};
    friend auto operator<=>(const nonce&, const nonce&) = default;
};

/// Which of an engine's lock structures is meant; engines that have only one ignore it.
enum class kind : std::uint8_t { plain, reentrant, fair, read_write, spin, permits };

/// Whether the keeper prolongs the lease, or it ends by itself after its ttl.
enum class renewal : std::uint8_t { automatic, none };

/// Whether a refused attempt takes a place in the engine's queue.
enum class joining : std::uint8_t { none, queue };

/// What is wanted. The same claim, asked twice, is the same claim: see `nonce`.
struct claim {
    std::string name;
    holdfast::kind kind = kind::plain;
    holdfast::mode mode = mode::exclusive;
    std::uint32_t permits = 1; ///< how many there are in all; only for mode::permit
    duration ttl{};
    duration
        lock_delay{}; ///< the engine keeps it back this long after a lease that was not released
    holdfast::renewal renewal = renewal::automatic;
    holdfast::nonce nonce;
    std::optional<holdfast::nonce> within; ///< our own exclusive grant, under which we want to read
    std::shared_ptr<const party> by;
};

/// Names a bond. Chosen by the backend, never used again by it.
enum class bond_id : std::uint64_t {};

/// What keeps grants and places alive (one grant, a session, a connection, a process), and until
/// when: `ttl` counts from `anchor`, an instant on our own clock not later than the moment at which
/// the engine began to count; `margin` is how much earlier than that the engine may end it.
struct bond_terms {
    bond_id bond{};
    instant anchor{};
    duration ttl{};
    duration margin{};
};

/// The answer yes.
struct grant {
    holdfast::nonce nonce;
    holdfast::fence fence;
    std::uint32_t reserved = 0; ///< how many numbers above `fence` belong to this grant too
    bond_terms terms;
    instant since{}; ///< when the engine decided, if it knows that on our clock; for observers
    std::uint32_t passes = 64; ///< how often it may be passed on; fewer where others wait
};

/// The answer no. A normal answer.
struct contended {
    duration retry_after = forever;        ///< ask again at the latest after this, woken or not
    std::optional<party> holder;           ///< one of those in the way, if known
    std::uint32_t place = 0;               ///< how many are before us; 0 if unknown or not queued
    std::optional<bond_terms> keeps_place; ///< only if our place must be renewed by the keeper
};

/// Whether a request that failed may have had an effect.
enum class applied : std::uint8_t { no, maybe };

/// No answer, or an error. `applied::maybe` is the answer *unknown*.
struct failure {
    error_code code;
    holdfast::applied applied = applied::maybe;
    std::string detail; ///< the engine's own words, for the observer; never a password
};

using attempt_answer = std::variant<grant, contended, failure>;

/// What an operator asked for, or why there is none.
template <class T> using response = boost::system::result<T, failure>;

/// How a release ended. Whatever it says, we are no longer the holder.
enum class release_result : std::uint8_t {
    released, ///< it was ours and has been given back
    lost,     ///< it was no longer ours
    unknown,  ///< no answer; it is retried until definite or until the lease has ended by itself
};

enum class renewed : std::uint8_t { yes, lost, unknown };

/// Whether the fence of a grant is now at least the number asked for.
enum class raised : std::uint8_t { yes, lost, unknown };

/// What became of one bond of a renewal. `terms` counts only for renewed::yes.
struct renewal_answer {
    bond_id bond{};
    renewed outcome = renewed::unknown;
    bond_terms terms;
};

enum class link_state : std::uint8_t { connected, suspended, reconnected, lost, read_only };

/// Names one request; its answer carries the same number.
enum class ticket : std::uint64_t {};

/// Every request: who asks, when it was decided to ask (the anchor of what it grants), and the time
/// by which it must be answered, if need be with "unknown".
struct call {
    holdfast::ticket ticket{};
    instant asked{};
    instant answer_by{};
};

// --------------------------------------------------------------------------------- what comes up

/// Where answers and events go. Any thread may call it, also from inside a verb; a backend must
/// hold none of its own locks while it calls, because the next request may come down before it
/// returns.
class backend_events {
public:
    virtual void attempted(ticket, attempt_answer) = 0;
    virtual void withdrawn(ticket, applied certainty) = 0; ///< maybe: ask again
    virtual void released(ticket, release_result) = 0;
    virtual void renewed(ticket, std::span<const renewal_answer>) = 0;
    virtual void inspected(ticket, response<std::vector<lock_info>>) = 0;
    virtual void examined(ticket, std::vector<finding>) = 0;
    virtual void forced(ticket, response<std::size_t>) = 0;
    virtual void fence_raised(ticket, raised) {} ///< nobody is told who did not ask

    virtual void woken(const nonce&) = 0;                 ///< a hint: attempt this claim again now
    virtual void granted(const nonce&, const grant&) = 0; ///< a queued claim has become a grant
    virtual void bond_lost(bond_id) = 0;                  ///< everything it kept alive is gone
    virtual void grant_lost(const nonce&) = 0;            ///< this one is gone, its bond is not
    virtual void wanted(const nonce&) = 0; ///< somebody else asks for what this grant holds
    virtual void link(link_state, std::string_view detail) = 0;
    virtual void notice(std::string_view sentence) = 0; ///< something an operator should read

protected:
    ~backend_events() = default;
};

// -------------------------------------------------------------------------------------- the verbs

/// What every engine implements. Verbs come from any thread, several at once, and never wait beyond
/// `call.answer_by`. Each is answered exactly once, inline or later.
class backend {
public:
    backend() = default;
    backend(const backend&) = delete;
    backend& operator=(const backend&) = delete;
    virtual ~backend() = default;

    [[nodiscard]] virtual const capabilities& able() const noexcept = 0;

    /// Called once, before any other verb. `events` outlives the backend.
    virtual void start(backend_events& events) = 0;

    /// Asks once, without waiting for a holder. The same nonce again answers "yours, same fence".
    virtual void attempt(const call&, const std::shared_ptr<const claim>&, joining) = 0;

    /// Takes the claim back, whatever became of it: its place, or a grant nobody heard of.
    virtual void withdraw(const call&, const std::shared_ptr<const claim>&) = 0;

    /// Gives back what this very nonce holds.
    virtual void release(const call&, const std::shared_ptr<const claim>&, const grant&) = 0;

    /// Prolongs bonds, as many as possible in one flight; one answer for all of them.
    virtual void renew(const call&, std::span<const bond_id>) = 0;

    /// The core believes in this bond no more: never grant or renew under it again. No answer.
    virtual void forget(bond_id) = 0;

    /// Who holds and who waits, for names that match the glob pattern.
    virtual void inspect(const call&, const std::string& pattern) = 0;

    /// What is good and what is not about this engine's safety and health, worst first. That it
    /// cannot be reached is a finding, too.
    virtual void examine(const call&) = 0;

    /// Only where capabilities::raises_fences: if this very nonce holds the name, its fence becomes
    /// at least `least`, and every later grant of the name gets a larger one. Never lowers one.
    virtual void raise_fence(const call&, const std::shared_ptr<const claim>&, fence /*least*/) {}

    /// An operator's act: ends whatever holds the name. Answers how many holders there were.
    virtual void force_release(const call&, const std::string& name) = 0;

    /// Only where capabilities::asks_holders: lets those who hold the name know that somebody would
    /// like to have it. Answers with forced(), how many were asked.
    virtual void ask_release(const call&, const std::string& /*name*/) {}

    /// Ends everything that is ours, within the bound. Nothing is called after it.
    virtual void close(instant by) = 0;

    /// A descriptor that becomes readable when events wait, and what to do then; -1 if events come
    /// by other ways. The same from construction to the end. Whoever waits watches it: a blocked
    /// caller, or the client's loop.
    [[nodiscard]] virtual int descriptor() const noexcept { return -1; }
    virtual void on_readable() {}

    /// Blocks until there is something to read or `nudge` is readable, says `woken`, and does what
    /// is to be done. For engines that can do so with fewer calls to the kernel; false: this one
    /// cannot, and nothing was done.
    [[nodiscard]] virtual bool wait_readable(int /*nudge*/,
                                             const std::function<void()>& /*woken*/) {
        return false;
    }

    /// Whether the client's loop watches the descriptor. Only then may what is asked be kept back
    /// until something is read: callers who block sleep and wake one by one, and come and go.
    virtual void watched(bool) {}

    /// The same for what must not wait for a caller to be scheduled, such as renewals: only the
    /// client's loop watches it.
    [[nodiscard]] virtual int background_descriptor() const noexcept { return -1; }
    virtual void on_background() {}
};

} // namespace holdfast
