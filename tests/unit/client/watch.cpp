#include "client/watch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <poll.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace holdfast::detail {
namespace {

struct engine { // an eventfd stands for the engine's descriptor
    ~engine() { ::close(fd); }
    const int fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC | EFD_SEMAPHORE);
    void push() const { ::eventfd_write(fd, 1); }
    bool take() const {
        eventfd_t one = 0;
        return ::eventfd_read(fd, &one) == 0;
    }
};

bool readable(int fd) {
    pollfd one{fd, POLLIN, 0};
    return ::poll(&one, 1, 0) == 1;
}

TEST(watching, is_the_loops_duty_while_nobody_is_blocked) {
    const engine e;
    watch w{e.fd, [] {}};
    EXPECT_FALSE(readable(w.for_the_loop()));
    e.push();
    EXPECT_TRUE(readable(w.for_the_loop()));
}

TEST(watching, is_done_by_a_blocked_caller_itself) {
    const engine e;
    sleeper* blocked = nullptr;
    std::thread::id read_by;
    watch w{e.fd, [&] {
                if (e.take()) {
                    read_by = std::this_thread::get_id();
                    blocked->open();
                }
            }};
    sleeper me{w};
    blocked = &me;
    e.push();
    me.wait();
    EXPECT_EQ(read_by, std::this_thread::get_id());
}

TEST(watching, an_engine_is_told_whether_the_loop_does_it_and_may_wait_in_its_own_way) {
    const engine e;
    std::vector<bool> told;
    sleeper* blocked = nullptr;
    watch w{e.fd,
            [] { FAIL() << "the engine reads while it waits"; },
            {[&](int, const std::function<void()>& woken) {
                 EXPECT_TRUE(e.take());
                 woken();
                 blocked->open();
                 return true;
             },
             [&](bool loop) { told.push_back(loop); }}};
    const auto come = [&] {
        sleeper me{w};
        blocked = &me;
        e.push();
        me.wait();
    };
    EXPECT_EQ(told, std::vector<bool>{true});
    come();
    EXPECT_EQ(told, (std::vector{true, false}));
    come(); // parked in between: it was the loop's only before
    EXPECT_EQ(told, (std::vector{true, false}));
    w.loop_is_needed();
    EXPECT_EQ(told, (std::vector{true, false, true}));
    come();
    EXPECT_EQ(told, (std::vector{true, false, true, false, true}));
    w.loop_is_needed_less();
}

/// One caller has come and gone.
void come_and_go(const engine& e, watch& w, sleeper*& blocked) {
    sleeper me{w};
    blocked = &me;
    e.push();
    me.wait();
}

struct parked { // a watch whose last caller has just left
    const engine e;
    sleeper* blocked = nullptr;
    int read = 0;
    watch w{e.fd, [this] {
                if (e.take() && ++read == 1)
                    blocked->open();
            }};
    parked() { come_and_go(e, w, blocked); }

    [[nodiscard]] bool loop_is_told_within(int milliseconds) const {
        pollfd one{w.for_the_loop(), POLLIN, 0};
        return ::poll(&one, 1, milliseconds) == 1;
    }
};

TEST(watching, goes_back_to_the_loop_if_nobody_comes_for_a_while) {
    parked p;
    p.e.push();
    for (int turns = 0; p.read < 2 && turns < 3; ++turns) {
        ASSERT_TRUE(p.loop_is_told_within(5'000)) << "by a tick, then by the engine";
        p.w.on_loop_readable();
    }
    EXPECT_EQ(p.read, 2);
    p.e.push();
    EXPECT_TRUE(readable(p.w.for_the_loop())) << "and stays there";
}

TEST(watching, goes_back_to_the_loop_at_once_if_somebody_asynchronous_waits) {
    parked p;
    p.w.loop_is_needed();
    p.e.push();
    EXPECT_TRUE(readable(p.w.for_the_loop()));
    p.w.loop_is_needed_less();
}

TEST(watching, is_not_parked_while_somebody_asynchronous_waits) {
    const engine e;
    sleeper* blocked = nullptr;
    watch w{e.fd, [&] {
                if (e.take())
                    blocked->open();
            }};
    w.loop_is_needed();
    come_and_go(e, w, blocked);
    e.push();
    EXPECT_TRUE(readable(w.for_the_loop()));
    w.loop_is_needed_less();
}

TEST(watching, ends_when_somebody_else_has_the_answer) {
    const engine e;
    watch w{e.fd, [] {}};
    sleeper me{w};
    std::thread other{[&] { me.open(); }};
    me.wait();
    other.join();
    sleeper again{w}; // opened before it waits
    again.open();
    again.wait();
}

TEST(watching, works_without_a_descriptor) {
    watch w{-1, [] {}};
    EXPECT_EQ(w.for_the_loop(), -1);
    sleeper me{w};
    std::thread other{[&] { me.open(); }};
    me.wait();
    other.join();
}

// Each push answers one blocked caller, whichever: none may be forgotten when the watch changes
// hands.
TEST(watching, is_handed_on_and_nobody_is_forgotten) {
    constexpr int callers = 6, rounds = 2000;
    const engine e;
    std::mutex guard;
    std::vector<sleeper*> blocked;
    const auto answer_one = [&] {
        const std::lock_guard lock{guard};
        if (!blocked.empty() && e.take()) {
            auto* next = blocked.back();
            blocked.pop_back();
            next->open();
        }
    };
    watch w{e.fd, answer_one};
    std::atomic<int> pushed{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < callers; ++i)
        threads.emplace_back([&] {
            for (int k = 0; k < rounds; ++k) {
                sleeper me{w};
                {
                    const std::lock_guard lock{guard};
                    blocked.push_back(&me);
                }
                e.push();
                ++pushed;
                me.wait();
            }
        });
    for (auto& t : threads)
        t.join();
    EXPECT_EQ(pushed.load(), callers * rounds);
    EXPECT_FALSE(readable(e.fd));
}

} // namespace
} // namespace holdfast::detail
