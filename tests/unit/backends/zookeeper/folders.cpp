// When the number of a node is proof enough that it is first.

#include "backends/zookeeper/folders.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

namespace holdfast::zookeeper::test {
namespace {

constexpr op_id watch{7};

class zookeeper_folders : public testing::Test {
protected:
    folders all;

    [[nodiscard]] static std::string node(int number) {
        std::array<char, 16> text{};
        std::snprintf(text.data(), text.size(), "%010d", number);
        return "/a/_c_00000009-1111-2222-3333-444444444444-lock-" + std::string{text.data()};
    }
    /// A node that a list has shown to be first, and that is removed again. Whether to watch.
    bool comes_and_goes(int number) {
        const bool pays = all.is_first(node(number));
        all.is_being_removed(node(number));
        all.is_removed(node(number), true);
        return pays;
    }
    /// Two in a row, and then the folder is watched: from now on numbers are believed.
    void is_at_home() {
        static_cast<void>(comes_and_goes(3));
        ASSERT_TRUE(all.is_first(node(4)));
        all.asked_to_watch("/a", watch);
        all.is_watched(watch, true);
        all.is_being_removed(node(4));
        all.is_removed(node(4), true);
        ASSERT_TRUE(all.expects_nobody("/a"));
        ASSERT_TRUE(all.proves_first(node(5)));
    }
};

TEST_F(zookeeper_folders, forget_which_are_there_only_if_they_may_be_gone) {
    EXPECT_FALSE(all.knows("/a"));
    all.are_there("/a");
    EXPECT_TRUE(all.knows("/a"));
    all.may_be_gone("/a");
    EXPECT_FALSE(all.knows("/a"));
}

TEST_F(zookeeper_folders, are_watched_from_the_second_time_in_a_row) {
    EXPECT_FALSE(comes_and_goes(3));
    EXPECT_FALSE(comes_and_goes(5)) << "somebody came between";
    EXPECT_FALSE(all.expects_nobody("/a"));
    EXPECT_TRUE(comes_and_goes(6));
    EXPECT_FALSE(all.expects_nobody("/a")) << "nobody has asked for a watch";
    EXPECT_FALSE(all.proves_first(node(7)));
}

TEST_F(zookeeper_folders, let_the_next_number_prove_it_again_and_again) {
    is_at_home();
    for (int number = 5; number < 9; ++number) {
        EXPECT_TRUE(all.expects_nobody("/a"));
        EXPECT_TRUE(all.proves_first(node(number)));
        EXPECT_FALSE(comes_and_goes(number)) << "it is watched already";
    }
    EXPECT_FALSE(all.proves_first(node(8))) << "that was the last";
    EXPECT_FALSE(all.proves_first(node(10)));
}

TEST_F(zookeeper_folders, take_no_number_for_a_proof_before_the_watch_is_there) {
    static_cast<void>(comes_and_goes(3));
    ASSERT_TRUE(all.is_first(node(4)));
    all.asked_to_watch("/a", watch);
    all.is_being_removed(node(4));
    EXPECT_TRUE(all.expects_nobody("/a")) << "the answers come in the order of asking";
    EXPECT_FALSE(all.proves_first(node(5)));
    all.is_watched(watch, true);
    EXPECT_FALSE(all.proves_first(node(5))) << "the removal is not confirmed yet";
    all.is_removed(node(4), true);
    EXPECT_TRUE(all.proves_first(node(5)));
}

TEST_F(zookeeper_folders, take_no_number_for_a_proof_if_the_watch_was_refused) {
    static_cast<void>(comes_and_goes(3));
    ASSERT_TRUE(all.is_first(node(4)));
    all.asked_to_watch("/a", watch);
    all.is_watched(watch, false);
    all.is_being_removed(node(4));
    all.is_removed(node(4), true);
    EXPECT_FALSE(all.expects_nobody("/a"));
    EXPECT_FALSE(all.proves_first(node(5)));
}

TEST_F(zookeeper_folders, do_not_know_what_became_of_a_node_that_somebody_else_removed) {
    is_at_home();
    static_cast<void>(all.is_first(node(5)));
    EXPECT_FALSE(all.expects_nobody("/a")) << "it stands there itself";
    all.is_being_removed(node(5));
    all.is_removed(node(5), false);
    EXPECT_FALSE(all.expects_nobody("/a"));
    EXPECT_FALSE(all.proves_first(node(6)));
}

TEST_F(zookeeper_folders, expect_others_after_a_surprise_until_they_were_alone_twice) {
    is_at_home();
    all.is_surprised("/a");
    EXPECT_FALSE(all.expects_nobody("/a"));
    EXPECT_FALSE(comes_and_goes(6));
    EXPECT_FALSE(all.expects_nobody("/a"));
    EXPECT_FALSE(comes_and_goes(7)) << "it is still watched";
    EXPECT_TRUE(all.expects_nobody("/a"));
    EXPECT_TRUE(all.proves_first(node(8)));
}

TEST_F(zookeeper_folders, are_others_after_they_were_removed) {
    is_at_home();
    all.are_there("/a");
    EXPECT_TRUE(all.noticed(watch, seen::deleted));
    EXPECT_FALSE(all.knows("/a"));
    EXPECT_FALSE(all.expects_nobody("/a"));
    EXPECT_FALSE(all.proves_first(node(5)));
    EXPECT_FALSE(all.noticed(watch, seen::deleted)) << "once";
    EXPECT_FALSE(all.noticed(op_id{8}, seen::deleted)) << "not of a folder";
}

TEST_F(zookeeper_folders, are_out_of_sight_while_there_is_no_connection) {
    is_at_home();
    all.lost_sight();
    EXPECT_FALSE(all.expects_nobody("/a"));
    EXPECT_FALSE(all.proves_first(node(5)));
    EXPECT_FALSE(comes_and_goes(5)) << "as if for the first time";
    EXPECT_TRUE(comes_and_goes(6));
    EXPECT_TRUE(all.noticed(watch, seen::deleted)) << "the old watch is still a folder's";
}

TEST_F(zookeeper_folders, are_not_watched_for_ever_anew_where_connections_break_all_the_time) {
    int watched = 0;
    for (int round = 0; round < 100; ++round) {
        static_cast<void>(comes_and_goes(2 * round));
        if (all.is_first(node(2 * round + 1))) {
            all.asked_to_watch("/a", op_id{static_cast<std::uint64_t>(round) + 1});
            ++watched;
        }
        all.lost_sight();
    }
    EXPECT_EQ(watched, 16);
}

TEST_F(zookeeper_folders, are_watched_anew_as_often_as_they_are_made_anew) {
    for (int round = 0; round < 100; ++round) {
        static_cast<void>(comes_and_goes(3));
        ASSERT_TRUE(all.is_first(node(4))) << round;
        all.asked_to_watch("/a", watch);
        all.is_watched(watch, round % 2 == 0);
        EXPECT_EQ(all.noticed(watch, seen::deleted), round % 2 == 0);
    }
}

TEST_F(zookeeper_folders, are_watched_only_as_long_as_a_server_can_be_told_of_all_of_them) {
    const auto watched = [&](int i) {
        const auto path = "/" + std::to_string(i) + std::string(1000, 'x');
        const auto first = node(3).replace(0, 2, path), second = node(4).replace(0, 2, path);
        static_cast<void>(all.is_first(first));
        all.is_being_removed(first);
        all.is_removed(first, true);
        const bool pays = all.is_first(second);
        if (pays)
            all.asked_to_watch(path, op_id{static_cast<std::uint64_t>(i) + 100});
        return pays;
    };
    int many = 0;
    while (many < 2000 && watched(many))
        ++many;
    EXPECT_GT(many, 200);
    EXPECT_LT(many, 300);
    EXPECT_TRUE(all.noticed(op_id{100}, seen::deleted));
    EXPECT_TRUE(watched(5000)) << "there is room again";
}

TEST_F(zookeeper_folders, are_forgotten_if_there_are_very_many) {
    is_at_home();
    for (int i = 0; i < 25'000; ++i)
        all.are_there("/b" + std::to_string(i));
    EXPECT_FALSE(all.knows("/b0"));
    EXPECT_TRUE(all.knows("/b24999"));
    EXPECT_TRUE(all.proves_first(node(5))) << "but not one that is watched";
}

TEST_F(zookeeper_folders, know_numbers_that_have_no_successor) {
    EXPECT_FALSE(all.proves_first("/a/_c_00000009-1111-2222-3333-444444444444-lock--2147483648"));
    static_cast<void>(all.is_first("/a/something else"));
    EXPECT_FALSE(all.proves_first(node(0)));
}

} // namespace
} // namespace holdfast::zookeeper::test
