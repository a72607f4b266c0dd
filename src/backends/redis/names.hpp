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
//
// A name with a brace in it is not wrapped again: whoever writes {tag} chooses the slot.

#include <holdfast/backend.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::redis {

/// prefix:{name}
[[nodiscard]] std::string before(std::string_view prefix, std::string_view name);
/// {name}:suffix
[[nodiscard]] std::string behind(std::string_view name, std::string_view suffix);

[[nodiscard]] inline std::string lock_channel(std::string_view name) {
    return before("redisson_lock__channel", name);
}
[[nodiscard]] inline std::string token_key(std::string_view name) {
    return before("redisson_lock_token", name);
}
[[nodiscard]] inline std::string queue_key(std::string_view name) {
    return before("redisson_lock_queue", name);
}
[[nodiscard]] inline std::string patience_key(std::string_view name) {
    return before("redisson_lock_timeout", name);
}
[[nodiscard]] inline std::string read_write_channel(std::string_view name) {
    return before("redisson_rwlock", name);
}
[[nodiscard]] inline std::string permits_key(std::string_view name) {
    return behind(name, "timeout");
}
[[nodiscard]] inline std::string permits_channel(std::string_view name) {
    return before("redisson_sc", name);
}
/// Ours: a writer waits, and readers of ours let it pass.
[[nodiscard]] inline std::string writer_waits_key(std::string_view name) {
    return before("holdfast_writer_waits", name);
}
/// Ours: the channel of the plain layout, where there is no other.
[[nodiscard]] inline std::string plain_channel(std::string_view name) {
    return before("holdfast_channel", name);
}
/// Ours: on it is said, to everybody, which key was taken by force.
inline constexpr std::string_view force_channel = "holdfast_forced";
[[nodiscard]] std::string reader_key(std::string_view name, std::string_view holder);

/// <uuid of this client>:<acquisition>, as Redisson writes <uuid>:<thread>. One acquisition has one
/// number, so a request that was sent twice is recognised.
class holder_names {
public:
    explicit holder_names(std::string uuid) : uuid_{std::move(uuid)} {}
    [[nodiscard]] const std::string& uuid() const noexcept { return uuid_; }
    [[nodiscard]] std::string of(const nonce&) const;

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
