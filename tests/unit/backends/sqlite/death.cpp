#include "backends/sqlite/liveness.hpp"
#include "promise.hpp"
#include "world.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::sqlite::test {
namespace {

class sqlite_death : public testing::Test {
protected:
    temporary_directory directory;
    made_up_machine here;
    std::string file = directory.file();

    /// A process that takes a lock, says so with its fence, and holds it until it is killed.
    [[nodiscard]] process holder_of(const wanted_lock& what, bool children_keep_locks = false) {
        return process{[=, this](const auto& tell) {
            peer p{file, here, children_keep_locks};
            tell(p.await(claim_for(what)).fence.value());
            ::pause();
            return 0;
        }};
    }
};

TEST_F(sqlite_death, a_killed_holder_is_noticed_at_once_by_the_first_in_line) {
    auto holder = holder_of({.ttl = 1h});
    const auto fence_before = holder.hear();
    peer b{file, here};
    const auto mine = claim_for({.ttl = 1h});
    static_cast<void>(b.refused(mine));
    holder.kill();
    ASSERT_TRUE(b.hear_until([&] { return !b.said.wakings.empty(); }));
    EXPECT_EQ(b.said.wakings.front(), mine->nonce);
    EXPECT_GT(b.take(mine).fence.value(), fence_before);
    EXPECT_EQ(look(file, "SELECT count(*) FROM process"), 1) << "of the dead nothing is left";
    EXPECT_EQ(files_in(file + ".d").size(), 3U);
}

TEST_F(sqlite_death, a_holder_that_dies_while_a_waiter_asks_again_is_noticed) {
    peer b{file, here};
    const auto enough = boot_clock::now() + 30s; // a thousand rounds, where they are quick
    for (int round = 0; round < 1000 && (round < 100 || boot_clock::now() < enough); ++round) {
        auto holder = holder_of({.ttl = 1h});
        static_cast<void>(holder.hear());
        const auto mine = claim_for({.ttl = 1h});
        static_cast<void>(b.refused(mine));
        b.said.wakings.clear();
        ::kill(holder.pid(), SIGKILL); // and it dies while we ask, or a little later
        auto answer = b.attempt(mine);
        const auto asks = round % 20; // the last of them, at times, while it is dying
        for (int again = 0; again < asks && !std::holds_alternative<grant>(answer); ++again)
            answer = b.attempt(mine);
        if (!std::holds_alternative<grant>(answer)) {
            ASSERT_TRUE(b.hear_until([&] { return !b.said.wakings.empty(); })) << round;
            answer = b.attempt(mine);
        }
        ASSERT_TRUE(std::holds_alternative<grant>(answer));
        b.release(mine, std::get<grant>(answer));
    }
}

// Whoever comes in sweeps away what the dead have left; what others are just making is not that.
TEST_F(sqlite_death, those_who_come_in_at_the_same_time_do_not_sweep_each_other_away) {
    const auto comes_and_goes = [this](const auto& tell) {
        int refused = 0;
        for (int round = 0; round < 200; ++round) {
            peer p{file, here};
            const auto answer = p.attempt(claim_for({.mode = mode::shared, .ttl = 1h}));
            refused += std::holds_alternative<failure>(answer) ? 1 : 0;
        }
        tell(refused);
        return 0;
    };
    process a{comes_and_goes}, b{comes_and_goes}, c{comes_and_goes};
    EXPECT_EQ(a.hear(), 0);
    EXPECT_EQ(b.hear(), 0);
    EXPECT_EQ(c.hear(), 0);
}

TEST_F(sqlite_death, a_try_sees_that_the_holder_is_dead) {
    auto holder = holder_of({.ttl = 1h});
    static_cast<void>(holder.hear());
    peer b{file, here};
    static_cast<void>(b.refused(claim_for({}), joining::none));
    holder.kill();
    EXPECT_TRUE(std::holds_alternative<grant>(b.attempt(claim_for({}), joining::none)));
}

TEST_F(sqlite_death, a_dead_waiter_does_not_stop_those_behind_it) {
    peer a{file, here}, c{file, here};
    const auto first = claim_for({.ttl = 1h}), third = claim_for({.ttl = 1h});
    const auto held = a.take(first);
    process second{[&](const auto& tell) {
        peer b{file, here};
        tell(b.refused(claim_for({.ttl = 1h})).place);
        ::pause();
        return 0;
    }};
    EXPECT_EQ(second.hear(), 1);
    EXPECT_EQ(c.refused(third).place, 2U);
    second.kill();
    ASSERT_TRUE(c.hear_until([&] { return !c.said.wakings.empty(); }))
        << "it watches its predecessor";
    EXPECT_EQ(c.refused(third).place, 1U);
    a.release(first, held);
    EXPECT_TRUE(c.await_grant(third->nonce));
}

TEST_F(sqlite_death, a_release_passes_over_a_waiter_that_has_just_died) {
    peer a{file, here}, c{file, here};
    const auto first = claim_for({.ttl = 1h}), third = claim_for({.ttl = 1h});
    const auto held = a.take(first);
    process second{[&](const auto& tell) {
        peer b{file, here};
        tell(b.refused(claim_for({.ttl = 1h})).place);
        ::pause();
        return 0;
    }};
    EXPECT_EQ(second.hear(), 1);
    EXPECT_EQ(c.refused(third).place, 2U);
    second.kill();
    EXPECT_EQ(a.release(first, held), release_result::released);
    EXPECT_TRUE(c.await_grant(third->nonce));
    EXPECT_EQ(look(file, "SELECT count(*) FROM process"), 2);
}

TEST_F(sqlite_death, when_holder_and_first_waiter_die_together_the_next_is_served) {
    auto holder = holder_of({.ttl = 1h});
    static_cast<void>(holder.hear());
    process second{[&](const auto& tell) {
        peer b{file, here};
        tell(b.refused(claim_for({.ttl = 1h})).place);
        ::pause();
        return 0;
    }};
    EXPECT_EQ(second.hear(), 1);
    peer c{file, here};
    const auto third = claim_for({.ttl = 1h});
    EXPECT_EQ(c.refused(third).place, 2U);
    holder.kill();
    second.kill();
    EXPECT_TRUE(c.await(third).fence);
}

TEST_F(sqlite_death, the_death_of_one_reader_among_several_is_noticed_too) {
    peer a{file, here}, c{file, here};
    const auto r = claim_for({.mode = mode::shared, .ttl = 1h}), w = claim_for({.ttl = 1h});
    const auto given = a.take(r);
    auto reader = holder_of({.mode = mode::shared, .ttl = 1h});
    static_cast<void>(reader.hear());
    static_cast<void>(c.refused(w));
    a.release(r, given);
    reader.kill();
    EXPECT_TRUE(c.await(w).fence);
}

TEST_F(sqlite_death, a_waiter_learns_of_holders_that_came_while_it_waited) {
    peer a{file, here}, d{file, here};
    const auto w1 = claim_for({.ttl = 1h}), w2 = claim_for({.ttl = 1h});
    const auto held = a.take(w1);
    const auto reading = [&] {
        return [this](const auto& tell) {
            peer p{file, here};
            const auto r = claim_for({.mode = mode::shared, .ttl = 1h});
            tell(p.refused(r).place);
            tell(p.await(r).fence.value());
            ::pause();
            return 0;
        };
    };
    process r1{reading()}, r2{reading()};
    static_cast<void>(r1.hear());
    static_cast<void>(r2.hear());
    static_cast<void>(d.refused(w2));
    a.release(w1, held); // two readers hold it now; d watched only the one before it
    static_cast<void>(r1.hear());
    static_cast<void>(r2.hear());
    ASSERT_TRUE(d.hear_until([&] { return !d.said.wakings.empty(); }));
    static_cast<void>(d.refused(w2));
    r2.kill();
    r1.kill();
    EXPECT_TRUE(d.await(w2).fence);
}

TEST_F(sqlite_death, the_lock_delay_is_honoured_after_death) {
    auto holder = holder_of({.ttl = 1h, .lock_delay = 30s});
    static_cast<void>(holder.hear());
    holder.kill();
    peer b{file, here};
    const auto mine = claim_for({.ttl = 2h});
    const auto no = b.refused(mine);
    EXPECT_LE(no.retry_after, 30s + 1ms);
    EXPECT_GT(no.retry_after, 20s);
    const auto seen = b.inspect();
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].holders.at(0).remark,
              "its process is dead; its lock delay still keeps others out");
    here.pass(29s);
    EXPECT_LE(b.refused(mine).retry_after, 1s + 1ms) << "looking again does not prolong it";
    here.pass(2s);
    static_cast<void>(b.take(mine));
    EXPECT_EQ(look(file, "SELECT count(*) FROM process"), 1);
}

TEST_F(sqlite_death, a_stopped_holder_is_not_dead_and_loses_its_lock_only_by_time) {
    auto holder = holder_of({.ttl = 10s});
    static_cast<void>(holder.hear());
    ::kill(holder.pid(), SIGSTOP);
    peer b{file, here};
    static_cast<void>(b.refused(claim_for({}), joining::none));
    here.pass(11s);
    static_cast<void>(b.take(claim_for({})));
}

TEST_F(sqlite_death, a_forked_child_does_not_keep_its_parents_lock) {
    process holder{[&](const auto& tell) {
        peer p{file, here};
        const auto given = p.take(claim_for({.ttl = 1h}));
        if (const auto child = ::fork(); child == 0) {
            ::pause();
            ::_exit(0);
        } else {
            tell(child);
        }
        tell(given.fence.value());
        ::pause();
        return 0;
    }};
    const auto grandchild = static_cast<pid_t>(holder.hear());
    static_cast<void>(holder.hear());
    peer b{file, here};
    const auto mine = claim_for({.ttl = 1h});
    static_cast<void>(b.refused(mine));
    holder.kill();
    EXPECT_TRUE(b.await(mine).fence);
    ::kill(grandchild, SIGKILL);
}

TEST_F(sqlite_death,
       children_that_keep_locks_keep_them_until_the_last_is_gone_even_beyond_the_ttl) {
    process holder{[&](const auto& tell) {
        peer p{file, here, true};
        const auto given = p.take(claim_for({.ttl = 10s}));
        const auto child = ::fork();
        if (child == 0) { // a shell would do the same: fork, exec, and know nothing of us
            const auto grandchild = ::fork();
            if (grandchild == 0)
                ::execlp("sleep", "sleep", "1000", nullptr);
            tell(grandchild);
            ::_exit(0);
        }
        ::waitpid(child, nullptr, 0);
        tell(given.fence.value());
        ::pause();
        return 0;
    }};
    const auto grandchild = static_cast<pid_t>(holder.hear());
    static_cast<void>(holder.hear());
    peer b{file, here};
    const auto mine = claim_for({.ttl = 1h});
    static_cast<void>(b.refused(mine));
    holder.kill();
    here.pass(1min);
    EXPECT_EQ(b.refused(mine).retry_after, 30min) << "time does not end it, only the kernel";
    const auto seen = b.inspect();
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].holders.at(0).remark, "expired, but processes of it are still alive");
    EXPECT_TRUE(b.said.wakings.empty());

    ::kill(grandchild, SIGKILL);
    ASSERT_TRUE(b.hear_until([&] { return !b.said.wakings.empty(); }));
    static_cast<void>(b.take(mine));
}

TEST_F(sqlite_death, a_program_that_is_executed_keeps_nothing) {
    process holder{[&](const auto& tell) {
        peer p{file, here};
        tell(p.take(claim_for({.ttl = 1h})).fence.value());
        ::execlp("sleep", "sleep", "1000", nullptr);
        return 1;
    }};
    static_cast<void>(holder.hear());
    peer b{file, here};
    EXPECT_TRUE(b.await(claim_for({.ttl = 1h})).fence);
}

TEST_F(sqlite_death, what_the_dead_left_is_swept_up_by_the_next_who_comes) {
    for (int i = 0; i < 5; ++i) {
        auto holder = holder_of({.name = "lock " + std::to_string(i), .ttl = 1h});
        static_cast<void>(holder.hear());
        holder.kill();
    }
    ASSERT_EQ(::mkfifo((file + ".d/00000000deadbeef.live").c_str(), 0600),
              0); // died before it was known
    EXPECT_EQ(look(file, "SELECT count(*) FROM process") >= 1, true);
    peer b{file, here};
    static_cast<void>(b.take(claim_for({.name = "another"})));
    EXPECT_EQ(look(file, "SELECT count(*) FROM process"), 1);
    EXPECT_EQ(look(file, "SELECT count(*) FROM holder"), 1);
    EXPECT_EQ(files_in(file + ".d").size(), 3U);
}

TEST_F(sqlite_death, a_process_without_its_fifo_counts_as_alive_until_its_time_is_over) {
    auto holder = holder_of({.ttl = 10s});
    static_cast<void>(holder.hear());
    for (const auto& name : files_in(file + ".d"))
        if (name != "guard")
            ::unlink((file + ".d/" + name).c_str());
    peer b{file, here};
    static_cast<void>(b.refused(claim_for({}), joining::none));
    holder.kill();
    static_cast<void>(b.refused(claim_for({}), joining::none));
    here.pass(11s);
    static_cast<void>(b.take(claim_for({})));
    peer c{file, here};
    static_cast<void>(c.take(claim_for({.name = "x"})));
    EXPECT_EQ(look(file, "SELECT count(*) FROM process"), 2);
}

TEST_F(sqlite_death, letters_that_nobody_reads_harm_neither_writer_nor_reader) {
    peer a{file, here}, b{file, here};
    const auto mine = claim_for({.ttl = 1h});
    const auto held = a.take(claim_for({.ttl = 1h}));
    static_cast<void>(b.refused(mine));
    const auto who = static_cast<process_id>(look(file, "SELECT process FROM waiter"));
    for (int i = 0; i < 10'000; ++i)
        watch_list{file + ".d"}.send(who, {letter::word::look, mine->nonce});
    const auto claim_of_a = claim_for({});
    EXPECT_EQ(a.force_release("a"), 1U); // its letter "granted" does not fit in any more
    static_cast<void>(held);
    EXPECT_TRUE(b.await_grant(mine->nonce)) << "who finds his box full looks at everything";
    static_cast<void>(claim_of_a);
}

TEST_F(sqlite_death, rubbish_in_the_letter_box_is_survived) {
    peer a{file, here}, b{file, here};
    const auto mine = claim_for({.ttl = 1h});
    static_cast<void>(a.take(claim_for({.ttl = 1h})));
    static_cast<void>(b.refused(mine));
    for (const auto& name : files_in(file + ".d"))
        if (name.ends_with(".wake")) {
            const int box = ::open((file + ".d/" + name).c_str(), O_RDWR | O_NONBLOCK);
            EXPECT_EQ(::write(box, "rubbish", 7), 7);
            ::close(box);
        }
    EXPECT_EQ(a.force_release("a"), 1U);
    EXPECT_TRUE(b.await_grant(mine->nonce));
}

TEST_F(sqlite_death, many_processes_killed_at_random_never_overlap_and_never_stop) {
    // Whoever holds the lock must get the kernel's record lock on the cell at once. Of a killed
    // process the kernel drops record locks before it lets go of any file, so before it is seen to
    // be dead.
    constexpr int processes = 6, rounds = 150;
    const auto cell = directory.file("cell");
    const auto work = [&](const auto& tell) {
        const int fd = ::open(cell.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        peer p{file};
        for (;;) {
            const auto mine = claim_for({.ttl = 5s});
            const auto given = p.await(mine);
            struct flock whole {
                .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0, .l_pid = 0
            };
            if (::fcntl(fd, F_SETLK, &whole) != 0)
                return 2; // two holders
            std::int64_t last = 0;
            if (::pread(fd, &last, sizeof last, 0) < 0 || given.fence.value() <= last)
                return 3; // a fence that does not grow
            last = given.fence.value();
            if (::pwrite(fd, &last, sizeof last, 0) != sizeof last)
                return 4;
            ::sched_yield();
            whole.l_type = F_UNLCK;
            ::fcntl(fd, F_SETLK, &whole);
            tell(given.fence.value());
            if (p.release(mine, given) != release_result::released)
                return 5;
        }
    };
    std::vector<std::unique_ptr<process>> all;
    all.reserve(processes);
    for (int i = 0; i < processes; ++i)
        all.push_back(std::make_unique<process>(work));
    detail::kernel_random chance;
    for (int round = 0; round < rounds; ++round) {
        auto& victim = all[chance.next() % all.size()];
        for (auto n = chance.next() % 5; n-- > 0;)
            static_cast<void>(victim->hear()); // it gets on
        int status = 0;
        ASSERT_EQ(::waitpid(victim->pid(), &status, WNOHANG), 0)
            << promise_broken << "ended with " << WEXITSTATUS(status);
        ::kill(victim->pid(), SIGKILL);
        ASSERT_EQ(victim->wait(), 128 + SIGKILL);
        victim = std::make_unique<process>(work);
    }
    for (auto& each : all)
        static_cast<void>(each->hear()); // all still get on
    for (auto& each : all) {
        int status = 0;
        ASSERT_EQ(::waitpid(each->pid(), &status, WNOHANG), 0)
            << promise_broken << "ended with " << WEXITSTATUS(status);
        each->kill();
    }
    peer last{file};
    static_cast<void>(last.take(claim_for({})));
    EXPECT_EQ(look(file, "SELECT count(*) FROM process"), 1);
    EXPECT_EQ(files_in(file + ".d").size(), 3U);
}

} // namespace
} // namespace holdfast::sqlite::test
