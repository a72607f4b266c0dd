#pragma once

// The least that a program with a database's own C client would have to do for our locks: a row for
// each name, one statement to take it and one to give it back, each committed by itself.
//
//   take      UPDATE … fence + 1, holder, until when   WHERE name, and nobody holds it any more
//   release   UPDATE … no holder                       WHERE name and holder
//
// And what ShedLock says, on its own table: it has no fence, and nobody is woken.
//
//   shed_take      UPDATE … lock_until later, locked_by   WHERE name, and lock_until <= now
//   shed_release   UPDATE … lock_until now                WHERE name and locked_by

#include "pairs.hpp"

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace bench {

inline constexpr std::size_t raw_names = 1000;
[[nodiscard]] inline std::string raw_name(std::size_t which) {
    return "raw/" + std::to_string(which);
}
inline constexpr const char* shed_name = "shed";

/// One connection. What cannot be right ends the program.
class raw_sql {
public:
    raw_sql() = default;
    raw_sql(const raw_sql&) = delete;
    raw_sql& operator=(const raw_sql&) = delete;
    virtual ~raw_sql() = default;

    /// The fence, or 0: somebody else has it.
    [[nodiscard]] virtual std::int64_t take(const std::string& name) = 0;
    [[nodiscard]] virtual bool release(const std::string& name) = 0;
    [[nodiscard]] virtual bool shed_take() = 0;
    [[nodiscard]] virtual bool shed_release() = 0;

    virtual void round_trip() = 0; ///< that changes nothing
    virtual void commit() = 0;     ///< of one row that nobody else wants

    /// The last cell of the answer.
    virtual std::string ask(const std::string& text) = 0;
};

/// What a user would write around the two statements.
inline void raw_cycle(raw_sql& on, const std::string& name, std::int64_t& last_fence) {
    const auto fence = on.take(name);
    check(fence > last_fence, "the raw fence grows");
    last_fence = fence;
    check(on.release(name), "the raw release is certain");
}

inline void shed_cycle(raw_sql& on) {
    check(on.shed_take(), "nobody else wants it");
    check(on.shed_release(), "the release is certain");
}

/// Connections that many threads share: each has one for a statement.
class raw_connections {
public:
    explicit raw_connections(std::vector<std::unique_ptr<raw_sql>> all) : free_{std::move(all)} {}

    template <class Use> auto with(Use use) {
        std::unique_lock lock{guard_};
        freed_.wait(lock, [this] { return !free_.empty(); });
        auto mine = std::move(free_.back());
        free_.pop_back();
        lock.unlock();
        const auto found = use(*mine);
        lock.lock();
        free_.push_back(std::move(mine));
        lock.unlock();
        freed_.notify_one();
        return found;
    }

private:
    std::mutex guard_;
    std::condition_variable freed_;
    std::vector<std::unique_ptr<raw_sql>> free_;
};

} // namespace bench
