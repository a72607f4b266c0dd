// `holdfast watch NAME`: one line for each thing that happens to a lock.
//
//   lookout ── looks ──▶ happenings ──▶ a line each, at once
//
// It ends with a signal, with --for, or when nobody reads what it writes; each of them is as good
// an end as any, so the code is 0.

#include "watch.hpp"
#include "complaint.hpp"
#include "durations.hpp"
#include "exit_codes.hpp"
#include "happenings.hpp"
#include "lookout.hpp"
#include "signals.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <climits>

#include <algorithm>
#include <array>
#include <ctime>
#include <exception>
#include <poll.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;
using kind = happening::kind;
using wall_time = std::chrono::system_clock::time_point;

std::string milliseconds_in(wall_time time) {
    const auto part = std::chrono::duration_cast<std::chrono::milliseconds>(
        time.time_since_epoch() % std::chrono::seconds{1});
    const auto digits = std::to_string(1000 + part.count());
    return "." + digits.substr(1);
}

std::string formatted(const char* how, const std::tm& time) {
    std::array<char, 32> text{};
    return {text.data(), std::strftime(text.data(), text.size(), how, &time)};
}

/// A log needs the date; who watches a terminal knows it.
std::string local_time(wall_time time) {
    const auto seconds = std::chrono::system_clock::to_time_t(time);
    std::tm local{};
    ::localtime_r(&seconds, &local);
    return formatted(is_terminal(STDOUT_FILENO) ? "%H:%M:%S" : "%F %H:%M:%S", local) +
           milliseconds_in(time);
}

std::string utc_time(wall_time time) {
    const auto seconds = std::chrono::system_clock::to_time_t(time);
    std::tm utc{};
    ::gmtime_r(&seconds, &utc);
    return formatted("%FT%H:%M:%S", utc) + milliseconds_in(time) + "Z";
}

// ------------------------------------------------------------------------------- one line each

colour colour_of(kind what) noexcept {
    switch (what) {
    case kind::held:
    case kind::granted:
        return colour::green;
    case kind::lost:
        return colour::red;
    case kind::remark:
        return colour::yellow;
    case kind::waits:
    case kind::left:
        return colour::dim;
    case kind::released:
        break;
    }
    return colour::plain;
}

std::string details_of(const happening& one) {
    std::string text;
    if (one.mode != mode::exclusive) {
        text += ", " + std::string{name_of(one.mode)};
    }
    if (one.fence && one.what == kind::granted) {
        text += ", fence " + std::to_string(one.fence.value());
    }
    const bool is_news = one.what == kind::granted || one.what == kind::waits;
    if (!is_news && one.time > duration::zero()) {
        text += (one.what == kind::held ? ", for " : ", after ") + human(one.time);
    }
    return text;
}

std::string sentence_of(const happening& one) {
    const auto who = described(one.who);
    switch (one.what) {
    case kind::held:
        return "held by " + who;
    case kind::granted:
        return "granted to " + who;
    case kind::released:
        return "released by " + who;
    case kind::lost:
        return "lost by " + who;
    case kind::waits:
        return "awaited by " + who;
    case kind::left:
        return "no longer awaited by " + who;
    case kind::remark:
        break;
    }
    return who + ": " + printable(one.remark);
}

std::string as_text(const happening& one, wall_time time) {
    const auto what = sentence_of(one) + details_of(one);
    return local_time(time) + "  " + in(colour::bold, printable(one.name)) + "  " +
           in(colour_of(one.what), what) + "\n";
}

std::string as_json(const happening& one, wall_time time) {
    const auto when = utc_time(time);
    const bool waiter = one.what == kind::waits || one.what == kind::left;
    json out;
    out.begin_object()
        .member("time", std::string_view{when})
        .member("event", name_of(one.what))
        .member("name", std::string_view{one.name})
        .member("host", std::string_view{one.who.host})
        .member("pid", one.who.pid)
        .member("purpose", std::string_view{one.who.purpose})
        .member("mode", name_of(one.mode));
    if (!waiter) {
        out.key("fence");
        one.fence ? out.value(one.fence.value()) : out.value(nullptr);
    }
    out.member(waiter ? "waited_for_ms" : "held_for_ms", milliseconds_of(one.time));
    if (!one.remark.empty()) {
        out.member("remark", std::string_view{one.remark});
    }
    return out.end_object().text() + "\n";
}

// --------------------------------------------------------------------------------- the watching

class watcher {
public:
    explicit watcher(const watch_options& options)
        : options_{options}, end_{options.time ? boot_clock::now() + *options.time : never},
          lookout_{options.url, options.pattern, options.every} {}

    void watch_until_the_end() {
        while (boot_clock::now() < end_) {
            // As long as something is unwritten we take nothing new, and still hear signals. If
            // there is nothing to write, an error on stdout means that its reader is gone.
            const bool unwritten = !text_.empty();
            const short room = unwritten ? POLLOUT : 0;
            std::array events{pollfd{.fd = queue_.descriptor(), .events = POLLIN, .revents = 0},
                              pollfd{.fd = STDOUT_FILENO, .events = room, .revents = 0},
                              pollfd{.fd = unwritten ? -1 : lookout_.descriptor(),
                                     .events = POLLIN,
                                     .revents = 0}};
            ::poll(events.data(), events.size(), milliseconds_left());
            if (is_interrupted() || (events[1].revents & (POLLERR | POLLHUP)) != 0) {
                return;
            }
            if (!unwritten) {
                for (const auto& seen : lookout_.take()) {
                    tell_of(seen);
                }
            }
            write_what_fits();
        }
    }

    [[nodiscard]] bool stops_within(std::chrono::milliseconds time) {
        return lookout_.stops_within(time);
    }

private:
    [[nodiscard]] int milliseconds_left() const {
        constexpr duration longest = 1h;
        const auto left = end_ == never ? longest : std::min(end_ - boot_clock::now(), longest);
        return static_cast<int>(std::max<std::int64_t>(milliseconds_of(left) + 1, 0));
    }

    [[nodiscard]] bool is_interrupted() {
        while (const auto came = queue_.next()) {
            if (ends_a_wait(came->signal) && !signals_.ignored(came->signal)) {
                return true;
            }
            if (came->signal == SIGTSTP && !signals_.ignored(SIGTSTP)) {
                ::raise(SIGSTOP);
            }
        }
        return false;
    }

    void tell_of(const look& seen) {
        if (seen.failed) {
            tell_of_trouble(seen);
            return;
        }
        if (std::exchange(in_trouble_, false)) {
            say("the engine answers again");
        }
        add_lines(before_ ? happenings_between(*before_, seen) : state_of(seen), seen.time);
        if (!before_ && seen.locks.empty() && is_terminal(STDOUT_FILENO)) {
            say("nobody holds '" + options_.pattern + "' now");
        }
        before_ = seen;
    }

    /// The first look must succeed, so that a wrong URL or password ends it; later ones may not.
    void tell_of_trouble(const look& seen) {
        try {
            std::rethrow_exception(seen.failed);
        } catch (const std::exception& problem) {
            if (!before_) {
                throw;
            }
            if (!std::exchange(in_trouble_, true)) {
                say(complaint_about(problem).sentence);
            }
        }
    }

    void add_lines(const std::vector<happening>& all, wall_time time) {
        for (const auto& one : all) {
            text_ += options_.format == format::json ? as_json(one, time) : as_text(one, time);
        }
    }

    /// A pipe that has room has room for PIPE_BUF bytes, so this never waits for its reader.
    void write_what_fits() {
        pollfd out{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
        while (!text_.empty() && ::poll(&out, 1, 0) == 1) {
            const auto fitting = std::min<std::size_t>(text_.size(), PIPE_BUF);
            print(std::string_view{text_}.substr(0, fitting));
            text_.erase(0, fitting);
        }
    }

    const watch_options& options_;
    inherited_signals signals_; // before the lookout's thread exists
    signal_queue queue_;
    instant end_;
    lookout lookout_;
    std::optional<look> before_;
    std::string text_; // not yet written
    bool in_trouble_ = false;
};

bool is_reader_gone(const std::system_error& problem) {
    return problem.code() == std::errc::broken_pipe;
}

} // namespace

int watch(const watch_options& options) {
    watcher eyes{options};
    try {
        eyes.watch_until_the_end();
    } catch (const std::system_error& problem) {
        if (!is_reader_gone(problem)) {
            throw;
        }
    }
    if (!eyes.stops_within(
            300ms)) { // the engine does not answer; nothing is held, so nothing is lost
        ::_exit(exit_code::success);
    }
    return exit_code::success;
}

} // namespace holdfast::cli
