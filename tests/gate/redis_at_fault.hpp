#pragma once

// Our Redis engine on a server to which things happen, and the way to it likewise.

#include "conformance/events.hpp"
#include "gate/gate.hpp"
#include "servers/redis.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

namespace holdfast::servers {

using conformance::code;
using conformance::error_of;
using conformance::eventually;
using conformance::happening;
using conformance::in_a_thread;
using conformance::outcome;
using namespace std::chrono_literals;

/// Remembers all sentences for operators.
class sentences : public observer {
public:
    void on(const event& e) override {
        const std::lock_guard lock{guard_};
        if (e.what == event::kind::notice)
            all_ += std::string{e.detail} + '\n';
    }
    [[nodiscard]] bool say(const std::string& text) const {
        return eventually([&] {
            const std::lock_guard lock{guard_};
            return all_.find(text) != std::string::npos;
        });
    }

private:
    mutable std::mutex guard_;
    std::string all_;
};

/// What the call says when it fails; nothing if it does not.
template <class Call> [[nodiscard]] std::string words_of(Call&& call) {
    try {
        call();
    } catch (const std::system_error& e) {
        return e.what();
    }
    return "";
}

class redis_at_fault : public ::testing::Test {
protected:
    void SetUp() override { HOLDFAST_NEEDS(redis_server::missing()); }

    void start(const redis_options& how = {}) {
        server.emplace(how);
        way.emplace(server->port());
    }

    /// Through the gate; the server has just been started, and has forgotten nothing.
    [[nodiscard]] client open_ours(const std::string& options = "quarantine=0",
                                   std::shared_ptr<observer> seen = {}) const {
        return open("redis://" + way->address() + "?" + options, {.observer = std::move(seen)});
    }

    /// From here on its lines are open and the server knows its scripts.
    static void warm_up(const client& ours) {
        (void)mutex{ours, "warm"}.acquire({.wait = 30s}).release();
    }

    [[nodiscard]] bool exists(const std::string& key) const {
        return server->ask({"EXISTS", key}).number == 1;
    }

    std::optional<redis_server> server;
    std::optional<gate> way;
};

/// A store that accepts no writer whose fence is older than one it has seen.
class fenced_store {
public:
    [[nodiscard]] bool write(const lease& by) {
        if (by.fence() < last_)
            return false;
        last_ = by.fence();
        return true;
    }

private:
    fence last_;
};

} // namespace holdfast::servers
