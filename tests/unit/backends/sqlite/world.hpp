#pragma once

// What the tests of the SQLite engine share: a directory of their own, a machine whose clock they
// turn, peers (a backend together with what it said), and processes that can be killed.

#include "backends/sqlite/backend.hpp"
#include "runtime/random.hpp"

#include <holdfast/backend.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace holdfast::sqlite::test {

using namespace std::chrono_literals;

/// How long a test waits for what must happen soon. Only a failing test ever waits so long.
inline constexpr duration soon = 20s;

class temporary_directory {
public:
    temporary_directory();
    temporary_directory(const temporary_directory&) = delete;
    temporary_directory& operator=(const temporary_directory&) = delete;
    ~temporary_directory();
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string file(const std::string& name = "locks.db") const {
        return path_ + '/' + name;
    }

private:
    std::string path_;
};

/// The real machine, until a test turns something.
class made_up_machine final : public machine {
public:
    [[nodiscard]] instant now() const noexcept override { return machine::now() + ahead; }
    [[nodiscard]] std::string clock_domain() const override {
        return domain.empty() ? machine::clock_domain() : domain;
    }
    [[nodiscard]] std::int64_t wall_clock_us() const override {
        return machine::wall_clock_us() + wall_offset_us;
    }
    [[nodiscard]] std::string network_file_system(const std::string&) const override {
        return network;
    }

    void pass(duration d) { ahead += d; }

    duration ahead{};
    std::string domain;
    std::string network;
    std::int64_t wall_offset_us = 0;
};

/// Everything a backend has said.
class recorder final : public backend_events {
public:
    void attempted(ticket, attempt_answer a) override {
        put([&] { answers.push_back(std::move(a)); });
    }
    void withdrawn(ticket, applied c) override {
        put([&] { withdrawals.push_back(c); });
    }
    void released(ticket, release_result r) override {
        put([&] { releases.push_back(r); });
    }
    void renewed(ticket, std::span<const renewal_answer> r) override {
        put([&] { renewals.assign(r.begin(), r.end()); });
    }
    void inspected(ticket, response<std::vector<lock_info>> r) override {
        put([&] { inspections.push_back(std::move(r)); });
    }
    void examined(ticket, std::vector<finding> all) override {
        put([&] { examinations.push_back(std::move(all)); });
    }
    void forced(ticket, response<std::size_t> r) override {
        put([&] { forcings.push_back(r); });
    }
    void woken(const nonce& n) override {
        put([&] { wakings.push_back(n); });
    }
    void granted(const nonce&, const grant& g) override {
        put([&] { grants.push_back(g); });
    }
    void bond_lost(bond_id b) override {
        put([&] { lost.push_back(b); });
    }
    void grant_lost(const nonce& n) override {
        put([&] { taken.push_back(n); });
    }
    void wanted(const nonce& n) override {
        put([&] { wants.push_back(n); });
    }
    void link(link_state, std::string_view) override {}
    void notice(std::string_view s) override {
        put([&] { notices.emplace_back(s); });
    }

    std::vector<attempt_answer> answers;
    std::vector<applied> withdrawals;
    std::vector<release_result> releases;
    std::vector<renewal_answer> renewals;
    std::vector<response<std::vector<lock_info>>> inspections;
    std::vector<response<std::size_t>> forcings;
    std::vector<std::vector<finding>> examinations;
    std::vector<nonce> wakings, wants, taken;
    std::vector<grant> grants;
    std::vector<bond_id> lost;
    std::vector<std::string> notices;

private:
    template <class Put> void put(Put what) {
        const std::lock_guard lock{mutex_};
        what();
    }
    std::mutex mutex_;
};

struct wanted_lock {
    std::string name = "a";
    holdfast::mode mode = mode::exclusive;
    std::uint32_t permits = 1;
    duration ttl = 30s;
    duration lock_delay{};
    holdfast::renewal renewal = renewal::automatic;
    std::optional<nonce> within{};
};

[[nodiscard]] std::shared_ptr<const claim> claim_for(const wanted_lock&);

/// One client of the file, as the core would drive it; waits only for what the descriptor
/// announces.
class peer {
public:
    explicit peer(const std::string& path,
                  const machine& on = machine::real(),
                  bool children_keep_locks = false);
    peer(const peer&) = delete;
    peer& operator=(const peer&) = delete;
    ~peer(); ///< closes properly, unless crash() was called

    [[nodiscard]] attempt_answer attempt(const std::shared_ptr<const claim>&,
                                         joining = joining::queue);
    [[nodiscard]] grant
    take(const std::shared_ptr<const claim>&); ///< attempt, which must be granted
    [[nodiscard]] contended refused(const std::shared_ptr<const claim>&, joining = joining::queue);
    [[nodiscard]] failure fails(const std::shared_ptr<const claim>&);
    release_result release(const std::shared_ptr<const claim>&, const grant&);
    applied withdraw(const std::shared_ptr<const claim>&);
    std::vector<renewal_answer> renew(const std::vector<bond_id>&);
    [[nodiscard]] renewed renew(bond_id);
    [[nodiscard]] std::vector<lock_info> inspect(const std::string& pattern = "*");
    [[nodiscard]] std::vector<finding> examine();
    [[nodiscard]] std::size_t force_release(const std::string& name);

    /// Lets the backend read what comes until the condition holds; false after `soon`.
    bool hear_until(const std::function<bool()>& done);
    [[nodiscard]] std::optional<grant> await_grant(const nonce&);
    /// As the core does: asks again whenever woken or told to, until granted.
    [[nodiscard]] grant await(const std::shared_ptr<const claim>&);

    [[nodiscard]] bool has_news() const; ///< whether its descriptor is readable now

    void crash() {
        engine.reset();
    } ///< what a process that dies leaves behind: everything but the kernel's

    recorder said;
    std::unique_ptr<backend> engine;

private:
    [[nodiscard]] static call now();
};

/// A child process that runs a function and then waits to be killed, or ends with its result.
class process {
public:
    /// `body` gets a function with which it tells the parent a number; its return value is the
    /// status.
    explicit process(const std::function<int(const std::function<void(std::int64_t)>& tell)>& body);
    process(const process&) = delete;
    process& operator=(const process&) = delete;
    ~process(); ///< kills

    [[nodiscard]] std::int64_t hear(); ///< what it tells next; fails the test if it ends before
    void kill();
    int wait(); ///< its status
    [[nodiscard]] pid_t pid() const { return pid_; }

private:
    pid_t pid_ = -1;
    int from_child_ = -1;
};

/// Reads a number out of the file, as an outsider with a handle of its own.
[[nodiscard]] std::int64_t look(const std::string& path, const std::string& sql);
void change(const std::string& path, const std::string& sql);

[[nodiscard]] std::vector<std::string> files_in(const std::string& directory);
[[nodiscard]] bool is_root();

/// The sentence with which opening this path is refused; empty if it is not.
[[nodiscard]] std::string refusal_of(const std::string& path, const machine& on = machine::real());

} // namespace holdfast::sqlite::test
