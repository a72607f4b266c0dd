// One worker of `holdfast torture`: an ordinary program that uses locks through the public API, and
// writes down what it believed. It knows nothing of what will be done to it.
//
//   two threads each     counter           lock, read, a little pause, write one more
//                        vault             the same, with the fence shown to the resource
//                        permits           hold one for a while
//                        readers, writers  read mostly, write sometimes

#include "worker.hpp"
#include "../exit_codes.hpp"
#include "../offspring.hpp"
#include "arena.hpp"
#include "chance.hpp"
#include "journal.hpp"
#include "vault.hpp"

#include <holdfast/client.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <sys/socket.h>
#include <thread>
#include <vector>

namespace holdfast::cli::ordeal {

namespace {

using namespace std::chrono_literals;

tick now() { return boot_clock::now().time_since_epoch().count(); }

/// The way to the vault; threads take turns.
class vault_line {
public:
    explicit vault_line(int descriptor) : descriptor_{descriptor} {}

    vault_answer ask(const vault_question& question) {
        const std::scoped_lock turn{guard_};
        vault_answer answer;
        if (::send(descriptor_, &question, sizeof question, MSG_NOSIGNAL) < 0 ||
            ::recv(descriptor_, &answer, sizeof answer, 0) != sizeof answer) {
            return {}; // the conductor is gone, and so are we in a moment
        }
        return answer;
    }

private:
    int descriptor_;
    std::mutex guard_;
};

struct world {
    arena& shared;
    journal& book;
    vault_line& line;
    std::atomic<bool>& stopping;
    std::uint64_t seed;

    [[nodiscard]] duration ttl() const { return duration{shared.ttl}; }
    [[nodiscard]] bool over() const { return stopping || shared.stopping; }
};

/// One thread: asks, holds, writes down.
class hand {
public:
    hand(const world& in, std::uint32_t thread)
        : world_{in}, thread_{thread}, chance_{in.seed + thread * 7919U} {}

    using acquire = std::function<std::optional<lease>(duration wait, const acquire_options&)>;

    /// One round: nothing if it was not granted.
    template <class Section>
    void round(place where, sharing_mode mode, const acquire& ask, Section&& section) {
        auto* entry = world_.book.add();
        if (entry == nullptr) {
            return rest(1s); // no room left to tell of it
        }
        entry->place = where;
        entry->mode = mode;
        entry->thread = thread_;
        if (auto held = granted(*entry, ask)) {
            section(*entry, *held);
            give_back(*entry, *held);
        }
        rest(std::chrono::microseconds{chance_.below(4000)});
    }

    /// A little while, during which the lease is watched; seldom so long that it must be renewed.
    void linger(record& entry, const lease& held) {
        const auto until = now() + drawn_hold().count();
        while (now() < until && entry.ended == 0 && !world_.over()) {
            rest(std::min<duration>(duration{until - now()}, 5ms));
            watch(entry, held);
        }
    }

    [[nodiscard]] chance& luck() { return chance_; }

private:
    std::optional<lease> granted(record& entry, const acquire& ask) {
        note(entry.asked, now());
        try {
            auto held = ask(drawn_wait(), {.ttl = world_.ttl()});
            if (!held) {
                note(entry.ended, now());
                note(entry.outcome, outcome::contended);
                return held;
            }
            note(entry.fence, held->fence().value());
            note(entry.deadline, held->deadline().time_since_epoch().count());
            note(entry.outcome, outcome::held);
            note(entry.acquired, now());
            return held;
        } catch (const std::system_error& problem) {
            tell_of(problem);
            note(entry.ended, now());
            note(entry.outcome, outcome::failed);
            rest(20ms);
            return std::nullopt;
        }
    }

    void tell_of(const std::system_error& problem) {
        if (!world_.shared.has_failure.exchange(true)) {
            std::strncpy(world_.shared.first_failure.data(),
                         problem.what(),
                         world_.shared.first_failure.size() - 1);
        }
    }

    void watch(record& entry, const lease& held) {
        const bool still = held.held();
        note(entry.deadline, held.deadline().time_since_epoch().count());
        if (!still && entry.ended == 0) {
            note(entry.ended, now());
            note(entry.outcome, outcome::lost);
        }
    }

    void give_back(record& entry, lease& held) {
        watch(entry, held);
        if (entry.ended == 0) {
            note(entry.ended, now()); // before it is given back
        }
        if (entry.outcome == outcome::held && chance_.one_in(2)) {
            note(entry.outcome, outcome::released);
            held = {}; // queued, not waited for
            return;
        }
        const auto how = held.release();
        if (entry.outcome == outcome::held) {
            note(entry.outcome,
                 how == release_result::released ? outcome::released
                 : how == release_result::lost   ? outcome::lost
                                                 : outcome::unknown);
        }
    }

    /// Mostly patient; now and then only a try, or so short that the answer may cross the
    /// end.
    duration drawn_wait() {
        switch (chance_.below(10)) {
        case 0:
            return 0s;
        case 1:
            return std::chrono::microseconds{chance_.below(5000)};
        case 2:
        case 3: // long enough to see that nobody is woken
            return 3 * patience_of(world_.ttl()) / 2;
        default:
            return world_.ttl() / 2 +
                   duration{static_cast<std::int64_t>(
                       chance_.below(static_cast<std::uint64_t>(3 * world_.ttl().count() / 2)))};
        }
    }

    duration drawn_hold() {
        if (chance_.one_in(400)) {
            return duration{static_cast<std::int64_t>(
                chance_.below(static_cast<std::uint64_t>(3 * world_.ttl().count() / 2)))};
        }
        return std::chrono::microseconds{chance_.below(3000)};
    }

    static void rest(duration time) { std::this_thread::sleep_for(time); }

    const world& world_;
    std::uint32_t thread_;
    chance chance_;
};

hand::acquire of(mutex& lock) {
    return [&lock](duration wait, const acquire_options& options) {
        return lock.try_acquire_for(wait, options);
    };
}

void count_without_fence(const world& in, const client& engine, std::uint32_t thread) {
    hand self{in, thread};
    mutex calm{engine, name_of(in.shared, place::steady_counter)};
    mutex rough{engine, name_of(in.shared, place::paused_counter)};
    while (!in.over()) {
        const bool pauses = in.shared.pauses;
        auto& counter = in.shared.counter[pauses ? 1 : 0];
        const auto add_one = [&](record& entry, const lease& held) {
            const auto found = std::atomic_ref{counter}.load();
            note(entry.read, found);
            self.linger(entry, held);
            if (entry.ended != 0 || !held.held()) {
                return; // it knows that it has lost it
            }
            note(entry.effect, effect::writing);
            if (pauses) { // the moment between looking at the lease and writing, made wider
                std::this_thread::sleep_for(std::chrono::microseconds{self.luck().below(5000)});
            }
            std::atomic_ref{counter}.store(found + 1);
            note(entry.wrote, now());
            note(entry.effect, effect::written);
        };
        self.round(pauses ? place::paused_counter : place::steady_counter,
                   sharing_mode::exclusive,
                   of(pauses ? rough : calm),
                   add_one);
    }
}

void count_with_fence(const world& in, const client& engine, std::uint32_t thread) {
    using verb = vault_question::verb;
    hand self{in, thread};
    mutex lock{engine, name_of(in.shared, place::vault)};
    while (!in.over()) {
        const auto add_one = [&](record& entry, const lease& held) {
            const auto fence = held.fence().value();
            const auto ask = [&](verb what, std::int64_t value) {
                const auto answer = in.line.ask({.what = what, .fence = fence, .value = value});
                note(entry.effect, answer.accepted != 0 ? effect::none : effect::refused);
                return answer;
            };
            if (ask(verb::raise, 0).accepted == 0) {
                return;
            }
            const auto found = ask(verb::read, 0);
            if (found.accepted == 0) {
                return;
            }
            note(entry.read, found.value);
            self.linger(entry, held); // whether it is lost meanwhile, the vault will know
            if (ask(verb::write, found.value + 1).accepted != 0) {
                note(entry.effect, effect::written);
            }
        };
        self.round(place::vault, sharing_mode::exclusive, of(lock), add_one);
    }
}

void use_permits(const world& in, const client& engine, std::uint32_t thread) {
    hand self{in, thread};
    semaphore permits{engine, name_of(in.shared, place::permits), in.shared.permits};
    const hand::acquire one = [&](duration wait, const acquire_options& options) {
        return permits.try_acquire_for(wait, options);
    };
    while (!in.over()) {
        self.round(place::permits,
                   sharing_mode::permit,
                   one,
                   [&](record& entry, const lease& held) { self.linger(entry, held); });
    }
}

void read_and_write(const world& in, const client& engine, std::uint32_t thread) {
    hand self{in, thread};
    shared_mutex lock{engine, name_of(in.shared, place::readers_writers)};
    while (!in.over()) {
        const bool writes = self.luck().one_in(4);
        const hand::acquire ask = [&](duration wait, const acquire_options& options) {
            return writes ? lock.try_acquire_for(wait, options)
                          : lock.try_acquire_shared_for(wait, options);
        };
        self.round(place::readers_writers,
                   writes ? sharing_mode::exclusive : sharing_mode::shared,
                   ask,
                   [&](record& entry, const lease& held) { self.linger(entry, held); });
    }
}

/// Until TERM comes, or it is over for all.
void until_told(const arena& shared) {
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    constexpr timespec moment{.tv_sec = 0, .tv_nsec = 20'000'000};
    while (!shared.stopping && ::sigtimedwait(&term, nullptr, &moment) != SIGTERM) {
    }
}

void work_in(const world& in, const client& engine) {
    using job = void (*)(const world&, const client&, std::uint32_t);
    std::vector<job> jobs{count_without_fence};
    if (in.shared.has_fences) {
        jobs.push_back(count_with_fence);
    }
    if (in.shared.has_permits) {
        jobs.push_back(use_permits);
    }
    if (in.shared.has_readers) {
        jobs.push_back(read_and_write);
    }
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 0; i < 2 * jobs.size(); ++i) {
        threads.emplace_back(jobs[i / 2], std::cref(in), std::cref(engine), i);
    }
    until_told(in.shared);
    in.stopping = true;
}

} // namespace

int work(pid_t conductor) {
    if (!tie_to_parent(conductor)) {
        return exit_code::unavailable;
    }
    const auto memory = shared_memory::inherited(arena_seat);
    auto& shared = *static_cast<arena*>(memory.start());
    journal book{shared_memory::inherited(journal_seat)};
    vault_line line{vault_seat};
    std::atomic<bool> stopping{false};
    client_options ours;
    ours.purpose = "holdfast torture";
    const auto engine = open(shared.url.data(), ours);
    work_in({.shared = shared,
             .book = book,
             .line = line,
             .stopping = stopping,
             .seed = shared.seed + (++shared.born) * 104729U},
            engine);
    engine.close();
    return exit_code::success;
}

} // namespace holdfast::cli::ordeal
