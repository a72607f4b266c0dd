#pragma once

// What to say to Redis for each verb of the seam, and what its answers mean. Pure: claims into
// bytes, replies into answers.

#include "backends/redis/names.hpp"
#include "backends/redis/reply.hpp"
#include "backends/redis/scripts.hpp"

#include <holdfast/backend.hpp>
#include <holdfast/redis.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::redis {

/// By its digest, or, if the server does not know that, in full.
enum class calling : std::uint8_t { by_digest, in_full };

/// Which of the structures on the server a claim is about.
enum class structure : std::uint8_t { holder, fair, reader, writer, permit, string };

class protocol {
public:
    protocol(layout,
             std::string prefix,
             announcing,
             duration fence_retention,
             std::string uuid,
             semaphores = semaphores::expirable);

    [[nodiscard]] structure of(const claim&) const noexcept;

    /// The key that decides where a name lives: the name itself, with the prefix before it. It is
    /// a view of the name if there is no prefix.
    class key_text {
    public:
        key_text(const std::string& prefix, std::string_view name)
            : made_{prefix.empty() ? std::string{} : prefix + std::string{name}},
              text_{prefix.empty() ? name : made_} {}
        key_text(const key_text&) = delete;
        key_text& operator=(const key_text&) = delete;
        operator std::string_view() const noexcept { return text_; }
        [[nodiscard]] std::string copy() const { return std::string{text_}; }

    private:
        const std::string made_;
        const std::string_view text_;
    };
    [[nodiscard]] key_text key(std::string_view name) const { return {prefix_, name}; }

    /// Where a release of what this claim waits for is announced.
    [[nodiscard]] std::string channel(const claim&) const;

    void attempt(std::string& out, const claim&, joining, std::int64_t not_after_us, calling) const;
    void give_back(std::string& out, const claim&, calling) const;
    void raise_fence(std::string& out, const claim&, fence, calling) const;
    void take_by_force(std::string& out, std::string_view name, calling) const;
    void look(std::string& out, std::string_view name, calling) const;

    /// Several of one structure and ttl; more than one only of structure::holder.
    void prolong(std::string& out, std::span<const claim* const>, calling) const;

    /// Asks whether it is still ours, and changes nothing.
    void look_for(std::string& out, const claim&) const;
    /// What the answer says; nothing if it makes no sense.
    [[nodiscard]] std::optional<bool> still_ours(const reply&, const claim&) const;

    struct verdict {
        enum class kind : std::uint8_t { granted, contended, too_late, failed };
        kind is = kind::failed;
        holdfast::fence fence;
        std::uint32_t reserved = 0;
        std::int64_t server_us = 0; ///< of one that came too late
        contended no;
        failure why;
    };
    [[nodiscard]] verdict attempted(const reply&, const claim&) const;

    /// 0: it was not ours; else how many heard of the release, and one more. Less: no sense.
    [[nodiscard]] static std::int64_t given_back(const reply&);

    [[nodiscard]] const holder_names& holders() const noexcept { return holders_; }
    [[nodiscard]] const std::string& prefix() const noexcept { return prefix_; }
    [[nodiscard]] announcing announces() const noexcept { return announce_; }
    [[nodiscard]] semaphores which_semaphores() const noexcept { return semaphores_; }
    [[nodiscard]] bool shares_with_java() const noexcept { return layout_ == layout::redisson; }

private:
    [[nodiscard]] short_text holder(const claim&) const;
    [[nodiscard]] composed permits_out(std::string_view name) const {
        return permits_key(name, semaphores_);
    }
    [[nodiscard]] std::string_view publish() const noexcept {
        return announce_ == announcing::both       ? "both"
               : announce_ == announcing::spublish ? "spublish"
                                                   : "publish";
    }

    layout layout_;
    std::string prefix_;
    announcing announce_;
    std::int64_t retention_ms_;
    holder_names holders_;
    semaphores semaphores_;
};

/// Whole milliseconds, never fewer than asked for.
[[nodiscard]] std::int64_t milliseconds_of(duration) noexcept;

} // namespace holdfast::redis
