#include "conformance/puppet.hpp"
#include "conformance/events.hpp"

#include <holdfast/mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include <iostream>
#include <sstream>
#include <stdexcept>
#include <unistd.h>

namespace holdfast::conformance {
namespace {

[[nodiscard]] std::string to_line(const wanting& w) {
    const auto& o = w.options;
    std::ostringstream line;
    line << "acquire " << static_cast<int>(w.mode) << ' ' << w.permits << ' ' << o.wait.count()
         << ' ' << o.ttl.count() << ' ' << static_cast<int>(o.order) << ' ' << o.renew << ' '
         << o.lock_delay.count() << ' ' << o.max_hold.count() << ' ' << o.stop_margin.count() << ' '
         << static_cast<int>(o.on_deadline) << ' ' << w.name;
    return line.str();
}

[[nodiscard]] wanting from_line(std::istream& line) {
    wanting w;
    int mode = 0, order = 0, at_deadline = 0;
    duration::rep wait = 0, ttl = 0, lock_delay = 0, max_hold = 0, stop_margin = 0;
    line >> mode >> w.permits >> wait >> ttl >> order >> w.options.renew >> lock_delay >>
        max_hold >> stop_margin >> at_deadline >> std::ws;
    std::getline(line, w.name);
    w.mode = static_cast<holdfast::mode>(mode);
    w.options.wait = duration{wait};
    w.options.ttl = duration{ttl};
    w.options.order = static_cast<queueing>(order);
    w.options.lock_delay = duration{lock_delay};
    w.options.max_hold = duration{max_hold};
    w.options.stop_margin = duration{stop_margin};
    w.options.on_deadline = static_cast<holdfast::on_deadline>(at_deadline);
    return w;
}

} // namespace

// ------------------------------------------------------------------------------- in the parent

puppet::puppet(const place& where) : process_{"dance", {where.url()}} {
    if (const auto line = process_.hear(); line != "open")
        throw std::runtime_error{"a puppet could not open its client: " + line};
}

void puppet::wants(const wanting& w) { process_.say(to_line(w)); }

void puppet::queued() {
    if (const auto line = process_.hear(); line != "waiting")
        throw std::runtime_error{"a puppet should have waited, but: " + line};
}

// An engine may say "contended" again and again while one waits.
std::string puppet::reply() {
    for (;;)
        if (auto line = process_.hear(); line != "waiting")
            return line;
}

std::string puppet::answer() { return reply(); }

fence puppet::granted() {
    std::istringstream line{reply()};
    std::string word;
    std::int64_t number = 0;
    line >> word >> number;
    if (word != "granted")
        throw std::runtime_error{"a puppet should have got it, but: " + line.str()};
    return fence{number};
}

release_result puppet::releases() {
    process_.say("release");
    const auto word = reply();
    return word == "released" ? release_result::released
           : word == "lost"   ? release_result::lost
                              : release_result::unknown;
}

bool puppet::holds() {
    process_.say("held");
    return reply() == "yes";
}

void puppet::watches() {
    process_.say("watch");
    if (const auto line = reply(); line != "watching")
        throw std::runtime_error{line};
}

instant puppet::held_at_last() {
    std::istringstream line{reply()};
    std::string word;
    duration::rep at = 0;
    line >> word >> at;
    if (word != "ended")
        throw std::runtime_error{line.str()};
    return instant{duration{at}};
}

int puppet::leaves() {
    process_.say("leave");
    return process_.wait();
}

int puppet::vanishes() {
    process_.say("vanish");
    return process_.wait();
}

// -------------------------------------------------------------------------------- in the child

namespace {

struct tells_when_it_waits : observer {
    void on(const event& e) override {
        if (e.what == event::kind::waiting)
            tell_parent("waiting");
    }
};

[[nodiscard]] std::optional<lease> acquire(const client& on, const wanting& w) {
    const auto wait = w.options.wait;
    switch (w.mode) {
    case mode::exclusive:
        return mutex{on, w.name}.try_acquire_for(wait, w.options);
    case mode::shared:
        return shared_mutex{on, w.name}.try_acquire_shared_for(wait, w.options);
    case mode::permit:
        return semaphore{on, w.name, w.permits}.try_acquire_for(wait, w.options);
    }
    return {};
}

[[nodiscard]] std::string acquire_and_say(const client& on, const wanting& w, lease& into) {
    try {
        auto got = acquire(on, w);
        if (!got)
            return "contended";
        into = std::move(*got);
        return "granted " + std::to_string(into.fence().value());
    } catch (const std::system_error& e) {
        return "failed " + std::to_string(e.code().value()) + ' ' + e.code().category().name();
    }
}

// The instant is taken before the question: whoever says that it held at `at` held then or later.
void watch(const lease& held) {
    tell_parent("watching");
    instant last{};
    int after_the_end = 0; // a lease that came back to life would be noticed
    while (after_the_end < 10'000) {
        const auto at = boot_clock::now();
        if (held.held())
            last = at;
        else
            ++after_the_end;
    }
    tell_parent("ended " + std::to_string(last.time_since_epoch().count()));
}

HOLDFAST_WORKER(dance) {
    const auto on =
        open(arguments.at(0),
             {.observer = std::make_shared<tells_when_it_waits>(), .purpose = "puppet"});
    lease held;
    tell_parent("open");
    std::string text;
    while (std::getline(std::cin, text)) {
        std::istringstream line{text};
        std::string verb;
        line >> verb;
        if (verb == "acquire") {
            tell_parent(acquire_and_say(on, from_line(line), held));
        } else if (verb == "release") {
            const auto result = held.release();
            tell_parent(result == release_result::released ? "released"
                        : result == release_result::lost   ? "lost"
                                                           : "unknown");
        } else if (verb == "held") {
            tell_parent(held.held() ? "yes" : "no");
        } else if (verb == "watch") {
            watch(held);
        } else if (verb == "leave") {
            return 0;
        } else if (verb == "vanish") {
            ::_exit(0);
        }
    }
    return 0;
}

} // namespace
} // namespace holdfast::conformance
