#pragma once

// A resource that checks fences: a number that is read and written only by whoever shows a fence
// not smaller than the largest it has been shown. It is what a database with a fence column would
// be.
//
//   raise f     from now on nothing below f        a holder raises before it reads: then nothing
//   read f      the number                         that an older holder still writes can slip in
//   write f v   the number becomes v               between its reading and its writing

#include <cstdint>
#include <vector>

namespace holdfast::cli::ordeal {

struct vault_question {
    enum class verb : std::int64_t { raise, read, write };
    verb what = verb::raise;
    std::int64_t fence = 0;
    std::int64_t value = 0;
};

struct vault_answer {
    std::int64_t accepted = 0; ///< 0: a larger fence has been here
    std::int64_t value = 0;
};

/// One accepted write.
struct vault_entry {
    std::int64_t fence = 0;
    std::int64_t value = 0;
    std::uint32_t worker = 0;
};

class vault {
public:
    [[nodiscard]] vault_answer ask(const vault_question&, std::uint32_t worker);

    [[nodiscard]] const std::vector<vault_entry>& log() const noexcept { return log_; }
    [[nodiscard]] std::int64_t refused() const noexcept { return refused_; }

private:
    std::int64_t highest_ = 0;
    std::int64_t value_ = 0;
    std::int64_t refused_ = 0;
    std::vector<vault_entry> log_; // in the order of acceptance
};

} // namespace holdfast::cli::ordeal
