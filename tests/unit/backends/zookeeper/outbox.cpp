// What waits, and what goes out together.

#include "backends/zookeeper/outbox.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::zookeeper::test {
namespace {

class zookeeper_outbox : public testing::Test {
protected:
    outbox box;

    static operation make(std::uint64_t id, const std::string& path, bool alone = true) {
        return {op_id{id}, create{path, {}, lives::with_the_session_and_numbered, alone}};
    }
    static operation take_away(std::uint64_t id, const std::string& path) {
        return {op_id{id}, remove{path}};
    }
    static operation see(std::uint64_t id, const std::string& path) {
        return {op_id{id}, list{path}};
    }
    void put(const std::vector<operation>& all) {
        for (const auto& one : all)
            box.put(one);
    }
    using numbers = std::vector<std::uint64_t>;
    static numbers of(const std::vector<operation>& all) {
        numbers found;
        for (const auto& one : all)
            found.push_back(static_cast<std::uint64_t>(one.id));
        return found;
    }
    void expect(const numbers& together, const numbers& then) {
        const auto next = box.next();
        EXPECT_EQ(of(next.together), together);
        EXPECT_EQ(of(next.then), then);
    }
};

TEST_F(zookeeper_outbox, lets_a_few_changes_pass) {
    for (std::size_t i = 0; i < outbox::enough_on_their_way; ++i) {
        EXPECT_FALSE(box.must_wait(make(1, "/a/x")));
        box.left();
    }
    EXPECT_TRUE(box.must_wait(make(1, "/a/x")));
    EXPECT_TRUE(box.must_wait(take_away(1, "/a/x")));
    EXPECT_FALSE(box.must_wait(make(1, "/a/x", false))) << "it would never go together with others";
    EXPECT_FALSE(box.must_wait(see(1, "/a")));
    EXPECT_FALSE(box.may_go()) << "nothing waits";
    box.put(make(1, "/a/x"));
    EXPECT_FALSE(box.may_go()) << "nothing was answered";
    EXPECT_TRUE(box.must_wait(see(2, "/a"))) << "nobody overtakes who waits";
    EXPECT_FALSE(box.must_wait({op_id{2}, beat{}})) << "but a beat";
    box.answered();
    EXPECT_TRUE(box.may_go());
    expect({1}, {});
    EXPECT_FALSE(box.must_wait(make(1, "/a/x")));
}

TEST_F(zookeeper_outbox, knows_what_changes_something) {
    EXPECT_TRUE(outbox::changes_something(make(1, "/a/x")));
    EXPECT_TRUE(outbox::changes_something(take_away(1, "/a/x")));
    EXPECT_TRUE(outbox::changes_something({op_id{1}, write{"/a/x", {}}}));
    EXPECT_FALSE(outbox::changes_something(see(1, "/a")));
    EXPECT_FALSE(outbox::changes_something({op_id{1}, beat{}}));
}

TEST_F(zookeeper_outbox, sends_changes_together_and_what_looks_after_them) {
    put({make(1, "/a/x"), take_away(2, "/b/y"), see(3, "/c"), make(4, "/d/x"), see(5, "/e")});
    expect({1, 2, 4}, {3, 5});
    EXPECT_FALSE(box.must_wait(see(6, "/a")));
}

TEST_F(zookeeper_outbox, keeps_the_order_within_a_folder) {
    put({see(1, "/a"), take_away(2, "/a/x"), take_away(3, "/b/x")});
    expect({}, {1});
    expect({2, 3}, {});
    put({operation{op_id{4}, look{"/a/x", true}}, make(5, "/a/y")});
    expect({}, {4});
    expect({5}, {});
    put({operation{op_id{6}, create{"/a", {}, lives::while_it_has_children}}, make(7, "/a/y")});
    expect({}, {6});
    expect({7}, {});
}

TEST_F(zookeeper_outbox, never_makes_two_at_once_in_one_folder) {
    put({take_away(1, "/a/x"), make(2, "/a/y"), make(3, "/b/y"), make(4, "/a/z")});
    expect({1, 2, 3}, {});
    expect({4}, {});
}

TEST_F(zookeeper_outbox, sends_alone_what_something_else_follows) {
    put({make(1, "/a/x", false), see(2, "/a"), make(3, "/b/x")});
    expect({3}, {1, 2});
}

TEST_F(zookeeper_outbox, makes_no_group_larger_than_a_server_likes) {
    for (std::uint64_t i = 0; i < outbox::most_together + 5; ++i)
        box.put(take_away(i + 1, "/" + std::to_string(i) + "/x"));
    EXPECT_EQ(box.next().together.size(), outbox::most_together);
    EXPECT_EQ(box.next().together.size(), 5U);
    EXPECT_FALSE(box.may_go());
}

} // namespace
} // namespace holdfast::zookeeper::test
