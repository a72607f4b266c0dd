#include "waiting_line.hpp"
#include "durations.hpp"
#include "inspecting.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <unistd.h>

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;

/// Most locks are free or free soon: nobody wants to read of those.
constexpr auto before_the_first_line = 300ms;
constexpr auto between_lines = 1s;
constexpr std::string_view beginning = "holdfast: ";
constexpr std::string_view erase_line = "\r\x1b[K";

/// False if it was asked to stop meanwhile.
bool pause(const std::stop_token& stop, std::chrono::milliseconds time) {
    std::mutex guard;
    std::condition_variable_any nobody;
    std::unique_lock hold{guard};
    nobody.wait_for(hold, stop, time, [] { return false; });
    return !stop.stop_requested();
}

party ourselves() {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    return {.host = host.data(), .pid = ::getpid(), .purpose = {}};
}

std::string ordinal(std::size_t n) {
    const bool teens = n % 100 >= 11 && n % 100 <= 13;
    const std::array<std::string_view, 4> endings{"th", "st", "nd", "rd"};
    return std::to_string(n) + std::string{endings.at(teens || n % 10 > 3 ? 0 : n % 10)};
}

/// ", held by db1 pid 4711 (backup --full) for 2m 13s"; zero columns: without its purpose.
std::string holder_of(const lock_info& lock, std::size_t purpose_columns) {
    if (lock.holders.empty()) {
        return "";
    }
    const auto& first = lock.holders.front();
    auto text =
        ", held by " + described({.host = first.who.host, .pid = first.who.pid, .purpose = {}});
    if (purpose_columns > 0 && !first.who.purpose.empty()) {
        text += " (" + shortened(printable(first.who.purpose), purpose_columns) + ")";
    }
    text += first.held_for > duration::zero() ? " for " + human(first.held_for) : "";
    const auto more = lock.holders.size() - 1;
    return more == 0 ? text : text + " and " + std::to_string(more) + " more";
}

std::string place_of(const party& us, const lock_info& lock) {
    const auto ours =
        std::find_if(lock.waiters.begin(), lock.waiters.end(), [&](const auto& waiter) {
            return waiter.who.pid == us.pid && waiter.who.host == us.host;
        });
    if (ours == lock.waiters.end()) {
        return "";
    }
    return "; " + ordinal(static_cast<std::size_t>(ours - lock.waiters.begin()) + 1) + " in line";
}

std::string sentence_now(const client& engine, const std::string& name, std::size_t columns) {
    try {
        return waiting_sentence(name, find_lock(engine, name), ourselves(), columns);
    } catch (const std::system_error& problem) { // the acquisition says it again, if it gives up
        return shortened("waiting for " + printable(name) + "; " + printable(problem.what()),
                         columns);
    }
}

} // namespace

std::string waiting_sentence(const std::string& name,
                             const lock_info& lock,
                             const party& us,
                             std::size_t columns) {
    constexpr std::size_t purpose_that_says_enough = 12;
    constexpr std::size_t name_that_says_enough = 8;
    const auto place = place_of(us, lock);
    const auto shown = printable(name);
    for (const auto purpose : {std::size_t{40}, purpose_that_says_enough}) {
        auto text = "waiting for " + shown;
        text += holder_of(lock, purpose) + place;
        if (columns_of(text) <= columns) {
            return text;
        }
    }
    // Who typed the command knows the name; who holds it and our place are news.
    const auto holder = holder_of(lock, 0);
    for (const auto& news : {holder + place, holder, place}) {
        const auto rest = columns_of("waiting for " + news);
        if (rest + std::min(columns_of(shown), name_that_says_enough) <= columns) {
            return "waiting for " + shortened(shown, columns - rest) + news;
        }
    }
    return shortened("waiting for " + shown, columns);
}

waiting_line::waiting_line(const client& engine, const std::string& name)
    : engine_{engine}, name_{name}, teller_{[this](const std::stop_token& stop) {
          keep_telling(stop);
      }} {}

waiting_line::~waiting_line() {
    teller_.request_stop();
    teller_.join();
}

void waiting_line::keep_telling(const std::stop_token& stop) const {
    bool shown = false;
    for (bool on = pause(stop, before_the_first_line); on; on = pause(stop, between_lines)) {
        if (!in_foreground_of(
                STDERR_FILENO)) { // a background job does not scribble over the prompt
            continue;
        }
        const auto width = width_of(STDERR_FILENO) - 1;
        const auto text = std::string{beginning} +
                          sentence_now(engine_, name_, width - std::min(width, beginning.size()));
        if (stop.stop_requested()) {
            break;
        }
        tell(std::string{erase_line} + in(colour::dim, shortened(text, width), STDERR_FILENO));
        shown = true;
    }
    if (shown && in_foreground_of(STDERR_FILENO)) {
        tell(erase_line);
    }
}

} // namespace holdfast::cli
