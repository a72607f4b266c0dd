#pragma once

// What this client says of itself on the server, for `holdfast ls` and `show`: who it is, and for
// what it waits. One key for each client, apart from the locks; nothing is ever decided by it.
//
//   holdfast_client:<uuid>  =  host \t pid \t purpose \n  { mode \t since \t name \n }

#include <holdfast/backend.hpp>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis {

struct note {
    party who;
    struct wait {
        holdfast::mode mode{};
        std::int64_t since_us = 0; ///< on the server's clock
        std::string name;          ///< with the prefix of its client before it
    };
    std::vector<wait> waits;
};

inline constexpr std::string_view note_prefix = "holdfast_client:";
inline constexpr duration note_lives = std::chrono::seconds{60};

[[nodiscard]] std::string text_of(const note&);
[[nodiscard]] std::optional<note> note_from(std::string_view text);

/// Ours, and whether the server knows its latest state.
class notebook {
public:
    /// True for the first who asks: it is to be written before anything else.
    [[nodiscard]] bool introduce(const party&);

    /// Nothing more is written. True if something was.
    [[nodiscard]] bool close();

    void waits(const nonce&, mode, std::string name, std::int64_t since_us);
    void waits_no_more(const nonce&);

    /// What to write now, if it has changed or would soon expire; and when to ask again.
    [[nodiscard]] std::optional<std::string> due(instant now, bool something_is_held);
    [[nodiscard]] std::string written(instant now);
    [[nodiscard]] instant next(instant now) const;

private:
    mutable std::mutex guard_;
    bool known_ = false;
    bool changed_ = false;
    party who_;
    std::map<nonce, note::wait> waits_;
    instant written_at_{};
};

} // namespace holdfast::redis
