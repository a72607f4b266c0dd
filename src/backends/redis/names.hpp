#pragma once

// What a lock is called on the server. The names are Redisson's: a Java client that asks for lock N
// finds ours, and is found by us.
//
//   N                                   the lock itself: a hash {holder: count}, or free permits
//   redisson_lock__channel:{N}          who waits listens here; :holder behind it for a fair waiter
//   redisson_lock_token:{N}             the last fence
//   redisson_lock_queue:{N}, redisson_lock_timeout:{N}     who waits in order, and until when
//   redisson_rwlock:{N}                 the channel of a read-write lock
//   {N}:holder:rwlock_timeout:1         one reader's own expiry
//   {N}:timeout, redisson_sc:{N}        the permits that are out, and their channel
//   {N}:holdfast_permits                of a plain semaphore, of which Redisson keeps no record:
//                                       ours that are out
//
// A name with a brace in it is not wrapped again: whoever writes {tag} chooses the slot.

#include <holdfast/backend.hpp>
#include <holdfast/redis.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::redis {

/// A name made of parts, which live elsewhere. It becomes one text only if somebody needs that.
class composed {
public:
    using parts = std::array<std::string_view, 5>;
    explicit composed(const parts& p) noexcept : parts_{p} {}

    [[nodiscard]] std::size_t size() const noexcept;
    void append_to(std::string& out) const;
    operator std::string() const;

private:
    parts parts_;
};

/// prefix:{name}
[[nodiscard]] composed before(std::string_view prefix, std::string_view name);
/// {name}:suffix, and what may come after it
[[nodiscard]] composed
behind(std::string_view name, std::string_view suffix, std::string_view more = {});

[[nodiscard]] inline composed lock_channel(std::string_view name) {
    return before("redisson_lock__channel", name);
}
[[nodiscard]] inline composed token_key(std::string_view name) {
    return before("redisson_lock_token", name);
}
[[nodiscard]] inline composed queue_key(std::string_view name) {
    return before("redisson_lock_queue", name);
}
[[nodiscard]] inline composed patience_key(std::string_view name) {
    return before("redisson_lock_timeout", name);
}
[[nodiscard]] inline composed read_write_channel(std::string_view name) {
    return before("redisson_rwlock", name);
}
/// Which permits are out, and until when; of a plain semaphore only ours are known.
[[nodiscard]] constexpr std::string_view permits_suffix(semaphores which) noexcept {
    return which == semaphores::plain ? "holdfast_permits" : "timeout";
}
[[nodiscard]] inline composed permits_key(std::string_view name,
                                          semaphores which = semaphores::expirable) {
    return behind(name, permits_suffix(which));
}
[[nodiscard]] inline composed permits_channel(std::string_view name) {
    return before("redisson_sc", name);
}
/// Ours: a writer waits, and readers of ours let it pass.
[[nodiscard]] inline composed writer_waits_key(std::string_view name) {
    return before("holdfast_writer_waits", name);
}
/// Ours: the channel of the plain layout, where there is no other.
[[nodiscard]] inline composed plain_channel(std::string_view name) {
    return before("holdfast_channel", name);
}
/// Ours: on it is said, to everybody, which key was taken by force.
inline constexpr std::string_view force_channel = "holdfast_forced";
[[nodiscard]] inline composed reader_key(std::string_view name, std::string_view holder) {
    return behind(name, holder, ":rwlock_timeout:1");
}

/// A text of at most 64 bytes, on the stack.
class short_text {
public:
    short_text() = default;
    explicit short_text(std::string_view text) { append(text); }
    void append(std::string_view);
    operator std::string_view() const noexcept { return {bytes_.data(), size_}; }

private:
    std::array<char, 64> bytes_;
    std::size_t size_ = 0;
};

/// <uuid of this client>:<acquisition>, as Redisson writes <uuid>:<thread>. One acquisition has one
/// number, so a request that was sent twice is recognised.
class holder_names {
public:
    explicit holder_names(std::string uuid) : uuid_{std::move(uuid)} {}
    [[nodiscard]] const std::string& uuid() const noexcept { return uuid_; }
    [[nodiscard]] short_text of(const nonce&) const;

private:
    std::string uuid_;
};

/// A version 4 UUID from 128 random bits.
[[nodiscard]] std::string uuid_from(const nonce& random);

/// Which of the 16,384 slots of a cluster a key belongs to.
[[nodiscard]] std::uint16_t slot_of(std::string_view key) noexcept;

/// Whether Redisson's derived names of this name share its slot. Not so for `a{b`, `a{}b`, `a}b`.
[[nodiscard]] bool keeps_to_one_slot(std::string_view name) noexcept;

} // namespace holdfast::redis
