// `holdfast top`: a live table of locks.
//
//   lookout ─ looks ─▶ ┐
//   keys ────────────▶ ├─ view ──▶ screen
//   signals ─────────▶ ┘
//
// Without a terminal, or on one that cannot move its cursor, the table is printed once.

#include "top.hpp"
#include "complaint.hpp"
#include "durations.hpp"
#include "exit_codes.hpp"
#include "inspecting.hpp"
#include "keys.hpp"
#include "signals.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <exception>
#include <optional>
#include <poll.h>
#include <unistd.h>

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;

constexpr auto rest_of_a_key = 50ms; // an arrow's bytes come together, also through ssh

std::string clock_text(std::chrono::system_clock::time_point time) {
    const auto seconds = std::chrono::system_clock::to_time_t(time);
    std::tm local{};
    ::localtime_r(&seconds, &local);
    std::array<char, 16> text{};
    return {text.data(), std::strftime(text.data(), text.size(), "%H:%M:%S", &local)};
}

std::string sentence_of(const std::exception_ptr& failed) {
    try {
        std::rethrow_exception(failed);
    } catch (const std::exception& problem) {
        return complaint_about(problem).sentence;
    }
}

class display {
public:
    explicit display(const top_options& options)
        : engine_{without_password(options.url.empty() ? default_url() : options.url)},
          lookout_{options.url, options.pattern, options.every} {
        view_.order = options.order;
    }

    /// Until a key or a signal ends it; the exit code.
    [[nodiscard]] int show() {
        screen terminal;
        draw(terminal);
        while (!code_) {
            wait();
            hear_signals(terminal);
            read_keys();
            for (const auto& seen : lookout_.take()) {
                take_in(seen);
            }
            draw(terminal);
        }
        return *code_;
    }

    [[nodiscard]] bool stops_within(std::chrono::milliseconds time) {
        return lookout_.stops_within(time);
    }

private:
    void wait() const {
        // Keys only from a terminal: a stdin at its end would be readable for ever.
        const int keys = is_terminal(STDIN_FILENO) ? STDIN_FILENO : -1;
        std::array events{pollfd{.fd = lookout_.descriptor(), .events = POLLIN, .revents = 0},
                          pollfd{.fd = queue_.descriptor(), .events = POLLIN, .revents = 0},
                          pollfd{.fd = keys, .events = POLLIN, .revents = 0}};
        ::poll(events.data(), events.size(), -1);
    }

    // --------------------------------------------------------------------------------- signals

    void hear_signals(screen& terminal) {
        while (const auto came = queue_.next()) {
            if (signals_.ignored(came->signal)) {
                continue;
            }
            if (came->signal == SIGTSTP) {
                terminal.pause();
            } else if (came->signal == SIGINT) {
                code_ = exit_code::success; // ^C is a way to quit
            } else if (ends_a_wait(came->signal)) {
                code_ = exit_code::died_of(came->signal);
            } // after SIGWINCH and SIGCONT all is drawn anew anyway
        }
    }

    // ------------------------------------------------------------------------------------ keys

    void read_keys() {
        if (!read_more()) {
            return;
        }
        for (const auto& pressed : take_keys(typed_, more_input::may_follow)) {
            obey(pressed);
        }
        pollfd more{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
        while (!typed_.empty() && ::poll(&more, 1, static_cast<int>(rest_of_a_key.count())) == 1 &&
               read_more()) {
        }
        for (const auto& pressed : take_keys(typed_, more_input::does_not_follow)) {
            obey(pressed);
        }
    }

    bool read_more() {
        pollfd there{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
        if (!is_terminal(STDIN_FILENO) || ::poll(&there, 1, 0) != 1) {
            return false;
        }
        std::array<char, 256> bytes{};
        const auto size = ::read(STDIN_FILENO, bytes.data(), bytes.size());
        if (size <= 0) { // it hung up, and SIGHUP went to somebody else
            code_ = exit_code::died_of(SIGHUP);
            return false;
        }
        typed_.append(bytes.data(), static_cast<std::size_t>(size));
        return true;
    }

    void obey(const key& pressed) {
        if (view_.typing_filter) {
            edit_filter(pressed);
        } else if (pressed.what == key::kind::text) {
            obey_letter(pressed.text);
        } else if (pressed.what == key::kind::escape) {
            code_ = exit_code::success;
        } else {
            scroll(pressed.what);
        }
    }

    void obey_letter(const std::string& letter) {
        switch (letter.front()) {
        case 'q':
            code_ = exit_code::success;
            break;
        case 'n':
            view_.order = order::name;
            break;
        case 'w':
            view_.order = order::waiters;
            break;
        case 'h':
            view_.order = order::held;
            break;
        case 'r':
            view_.order = order::rate;
            break;
        case '/':
            view_.typing_filter = true;
            break;
        case ' ':
            lookout_.look_now();
            break;
        default:
            break;
        }
    }

    void edit_filter(const key& pressed) {
        switch (pressed.what) {
        case key::kind::text:
            view_.filter += pressed.text;
            break;
        case key::kind::backspace:
            view_.filter = without_last_character(view_.filter);
            break;
        case key::kind::escape:
            view_.filter.clear();
            [[fallthrough]];
        case key::kind::enter:
            view_.typing_filter = false;
            break;
        default:
            break;
        }
        view_.first = 0;
    }

    void scroll(key::kind pressed) {
        const auto page = std::max<std::size_t>(rows_that_fit(screen::size()), 1);
        auto& first = view_.first; // too far down is corrected when it is drawn
        switch (pressed) {
        case key::kind::up:
            first -= std::min<std::size_t>(first, 1);
            break;
        case key::kind::down:
            ++first;
            break;
        case key::kind::page_up:
            first -= std::min(first, page);
            break;
        case key::kind::page_down:
            first += page;
            break;
        case key::kind::home:
            first = 0;
            break;
        case key::kind::end:
            first = view_.rows.size();
            break;
        default:
            break;
        }
    }

    // ----------------------------------------------------------------------------------- looks

    void take_in(const look& seen) {
        if (seen.failed) {
            view_.trouble = sentence_of(seen.failed);
            return;
        }
        view_.trouble.clear();
        view_.title = engine_ + "  " + clock_text(seen.time);
        grants_.add(seen);
        last_ = seen;
    }

    void draw(const screen& terminal) {
        const auto size = screen::size();
        view_.rows = rows_of(last_, grants_);
        keep_matching(view_.rows, view_.filter);
        sort(view_.rows, view_.order);
        const auto count = view_.rows.size();
        const auto fit = std::min(rows_that_fit(size), count);
        view_.first = std::min(view_.first, count - fit);
        terminal.draw(lines_of(view_, size));
    }

    inherited_signals signals_; // before the lookout's thread exists
    signal_queue queue_;
    std::string engine_;
    lookout lookout_;
    grant_counter grants_;
    look last_;
    top_view view_;
    std::string typed_;
    std::optional<int> code_;
};

int print_once(const top_options& options) {
    look seen;
    seen.locks = sorted(open_to_look(options.url).inspect(options.pattern));
    auto rows = rows_of(seen, grant_counter{});
    sort(rows, options.order);
    const bool is_cut = is_terminal(STDOUT_FILENO);
    print(plain_text_of(rows, is_cut ? std::optional{width_of(STDOUT_FILENO)} : std::nullopt));
    return exit_code::success;
}

} // namespace

int top(const top_options& options) {
    if (options.once || !can_move_cursor(STDOUT_FILENO)) {
        return print_once(options);
    }
    display table{options};
    const int code = table.show();
    if (!table.stops_within(300ms)) { // the engine does not answer; nothing is held
        ::_exit(code);
    }
    return code;
}

} // namespace holdfast::cli
