#include "world.hpp"

#include <filesystem>

namespace holdfast::sqlite::test {
namespace {

class sqlite_fences : public testing::Test {
protected:
    temporary_directory directory;
    made_up_machine here;
    std::string file = directory.file();

    [[nodiscard]] grant one_grant(const std::string& name = "a") {
        peer p{file, here};
        const auto mine = claim_for({.name = name});
        const auto given = p.take(mine);
        p.release(mine, given);
        return given;
    }
};

TEST_F(sqlite_fences, grow_by_more_than_what_was_reserved_for_passing_on) {
    peer p{file, here};
    fence last;
    for (int i = 0; i < 100; ++i) {
        const auto mine = claim_for({.name = i % 2 == 0 ? "a" : "b"});
        const auto given = p.take(mine);
        EXPECT_GT(given.fence, last);
        EXPECT_EQ(given.reserved, 64U);
        last = fence{given.fence.value() + given.reserved};
        p.release(mine, given);
    }
}

TEST_F(sqlite_fences, grow_across_opening_the_file_again) {
    const auto before = one_grant();
    EXPECT_GT(one_grant().fence.value(), before.fence.value() + before.reserved);
}

TEST_F(sqlite_fences, of_readers_lie_between_the_writers_around_them) {
    const auto before = one_grant();
    peer p{file, here};
    const auto reading = claim_for({.mode = mode::shared});
    const auto read = p.take(reading);
    p.release(reading, read);
    const auto after = one_grant();
    EXPECT_GE(read.fence.value(), before.fence.value() + before.reserved);
    EXPECT_LT(read.fence, after.fence);
}

TEST_F(sqlite_fences, start_at_the_clock_so_that_a_lost_file_does_not_start_lower) {
    const auto before = one_grant();
    EXPECT_GE(before.fence.value(), here.wall_clock_us() - 60'000'000);
    std::filesystem::remove(file);
    here.wall_offset_us = 1'000'000; // it took its time
    EXPECT_GT(one_grant().fence.value(), before.fence.value() + before.reserved);
}

TEST_F(sqlite_fences, go_on_above_everything_reserved_after_a_reboot) {
    const auto before = one_grant();
    const auto reserved_until = look(file, "SELECT reserved_to FROM counter");
    EXPECT_GT(reserved_until, before.fence.value() + fence_block / 2);
    here.domain = "another boot";
    here.wall_offset_us = -3'600'000'000; // and the clock of the board is wrong
    EXPECT_GE(one_grant().fence.value(), reserved_until);
}

TEST_F(sqlite_fences, after_a_reboot_nobody_of_before_holds_or_waits) {
    {
        peer p{file, here};
        static_cast<void>(p.take(claim_for({.lock_delay = 1h})));
        static_cast<void>(p.refused(claim_for({})));
        p.crash();
    }
    here.domain = "another boot";
    peer p{file, here};
    EXPECT_TRUE(p.inspect().empty());
    static_cast<void>(p.take(claim_for({})));
    EXPECT_EQ(look(file, "SELECT count(*) FROM process"), 1);
    EXPECT_EQ(files_in(file + ".d").size(), 3U) << "the FIFOs of before are swept up";
}

TEST_F(sqlite_fences, are_handed_out_only_below_what_is_reserved_on_disk) {
    peer p{file, here};
    const auto first = claim_for({});
    p.release(first, p.take(first));
    change(file, "UPDATE line SET reserved = 100 WHERE name = ''");
    fence last;
    for (int i = 0; i < 10; ++i) {
        const auto mine = claim_for({});
        const auto given = p.take(mine);
        EXPECT_GT(given.fence, last);
        last = given.fence;
        EXPECT_LT(given.fence.value() + given.reserved,
                  look(file, "SELECT reserved_to FROM counter"));
        p.release(mine, given);
    }
    EXPECT_GT(look(file, "SELECT reserved_to - next FROM counter"), fence_block / 2);
}

TEST_F(sqlite_fences, can_run_out_in_the_middle_of_a_release_that_serves_another) {
    peer p{file, here}, q{file, here};
    const auto first = claim_for({}), second = claim_for({});
    const auto held = p.take(first);
    static_cast<void>(q.refused(second));
    change(file, "UPDATE line SET reserved = 0 WHERE name = ''");
    EXPECT_EQ(p.release(first, held), release_result::released);
    const auto given = q.await_grant(second->nonce);
    ASSERT_TRUE(given);
    EXPECT_GT(given->fence, held.fence);
}

TEST_F(sqlite_fences, another_time_namespace_is_refused_while_somebody_lives) {
    peer p{file, here};
    static_cast<void>(p.take(claim_for({})));
    made_up_machine container;
    container.domain = "another time namespace";
    EXPECT_NE(refusal_of(file, container).find("time namespace"), std::string::npos);
    static_cast<void>(p.refused(claim_for({})));
}

TEST_F(sqlite_fences, a_machine_that_cannot_tell_its_boots_apart_is_refused) {
    class without_proc final : public machine {
        [[nodiscard]] std::string clock_domain() const override { return {}; }
    } blind;
    EXPECT_NE(refusal_of(file, blind).find("boot_id"), std::string::npos);
}

} // namespace
} // namespace holdfast::sqlite::test
