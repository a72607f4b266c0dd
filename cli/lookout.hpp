#pragma once

// Looks at the engine again and again, on a thread of its own: an engine that does not answer must
// not make us deaf to signals and keys. What `watch` and `top` see, they see through it.

#include "wakeup.hpp"

#include <holdfast/client.hpp>
#include <holdfast/inspect.hpp>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::cli {

/// What was seen at once, somewhere between `asked` and `answered`.
struct look {
    instant asked{};
    instant answered{};
    std::chrono::system_clock::time_point time{}; ///< for people
    std::vector<lock_info> locks{};               ///< by name; nobody's locks are left out
    std::exception_ptr failed{};                  ///< then there are no locks
};

class lookout {
public:
    /// Throws if the URL makes no sense. An engine that cannot be opened now is opened later.
    lookout(std::string url, std::string pattern, duration every);

    /// Readable when there is something new.
    [[nodiscard]] int descriptor() const noexcept { return news_.descriptor(); }

    /// The looks since the last call, the oldest first; if there are too many, the last of them.
    [[nodiscard]] std::deque<look> take();

    /// Does not wait for the next time.
    void look_now();

    /// False if the engine still keeps it waiting then; then only the end of the process helps.
    [[nodiscard]] bool stops_within(std::chrono::milliseconds);

private:
    void keep_looking(const std::stop_token&);
    [[nodiscard]] look look_once();

    std::string url_;
    std::optional<client> engine_; // none as long as it cannot be opened
    std::string pattern_;
    duration every_;
    wakeup news_;
    std::mutex guard_;
    std::condition_variable_any changed_;
    std::deque<look> seen_;
    bool hurry_ = false;
    bool stopped_ = false;
    std::jthread looking_; // last: it uses all the others
};

} // namespace holdfast::cli
