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

std::string sentence_now(const client& engine, const std::string& name) {
    try {
        return waiting_sentence(name, find_lock(engine, name), ourselves());
    } catch (const std::system_error&) { // the acquisition itself will say what is wrong
        return "waiting for " + printable(name) + "; the engine does not answer";
    }
}

} // namespace

std::string waiting_sentence(const std::string& name, const lock_info& lock, const party& us) {
    std::string text = "waiting for " + printable(name);
    if (!lock.holders.empty()) {
        const auto& first = lock.holders.front();
        text += ", held by " + printable(first.who.host) + " pid " + std::to_string(first.who.pid);
        if (!first.who.purpose.empty()) {
            text += " (" + shortened(printable(first.who.purpose), 40) + ")";
        }
        text += " for " + human(first.held_for);
    }
    if (lock.holders.size() > 1) {
        text += " and " + std::to_string(lock.holders.size() - 1) + " more";
    }
    const auto ours =
        std::find_if(lock.waiters.begin(), lock.waiters.end(), [&](const auto& waiter) {
            return waiter.who.pid == us.pid && waiter.who.host == us.host;
        });
    if (ours != lock.waiters.end()) {
        text +=
            "; " + ordinal(static_cast<std::size_t>(ours - lock.waiters.begin()) + 1) + " in line";
    }
    return text;
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
        const auto text = "holdfast: " + sentence_now(engine_, name_);
        if (stop.stop_requested()) {
            break;
        }
        const auto fitting = shortened(text, width_of(STDERR_FILENO) - 1);
        tell(std::string{erase_line} + in(colour::dim, fitting, STDERR_FILENO));
        shown = true;
    }
    if (shown && in_foreground_of(STDERR_FILENO)) {
        tell(erase_line);
    }
}

} // namespace holdfast::cli
