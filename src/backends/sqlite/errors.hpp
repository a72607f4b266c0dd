#pragma once

// What SQLite says when it cannot, and what that means to a caller.

#include <holdfast/backend.hpp>

#include <stdexcept>
#include <string>

namespace holdfast::sqlite {

/// Something did not work. Thrown inside the engine only: every verb turns it into an answer.
class trouble : public std::runtime_error {
public:
    trouble(int sqlite_code, const std::string& words, applied effect = applied::no)
        : std::runtime_error{words}, code_{sqlite_code}, effect_{effect} {}

    [[nodiscard]] int code() const noexcept { return code_; }
    [[nodiscard]] applied effect() const noexcept { return effect_; }

private:
    int code_;
    applied effect_;
};

/// The file under our feet was moved, deleted or replaced: what it said is worth nothing any more.
struct file_moved : trouble {
    using trouble::trouble;
};

/// What a caller can do about it.
[[nodiscard]] errc meaning_of(int sqlite_code) noexcept;

/// Whether the file itself is damaged, so that trying again is of no use.
[[nodiscard]] bool is_damage(int sqlite_code) noexcept;

[[nodiscard]] failure failure_of(const trouble&);

} // namespace holdfast::sqlite
