// What may be forgotten is, when there is too much of it; what was just said is remembered.

#include "backends/relational/bounded_set.hpp"

#include <gtest/gtest.h>

namespace holdfast::relational::test {
namespace {

TEST(bounded_set, remembers_until_it_is_told_otherwise) {
    bounded_set<int> all{3};
    all.insert(1);
    all.insert(2);
    EXPECT_TRUE(all.contains(1));
    EXPECT_FALSE(all.contains(3));
    EXPECT_TRUE(all.erase(1));
    EXPECT_FALSE(all.erase(1));
    EXPECT_FALSE(all.contains(1));
    EXPECT_TRUE(all.contains(2));
}

TEST(bounded_set, never_holds_more_than_it_may_and_always_the_last) {
    bounded_set<int> all{3};
    for (int i = 0; i < 100; ++i) {
        all.insert(i);
        EXPECT_TRUE(all.contains(i));
        int held = 0;
        for (int k = 0; k < 100; ++k)
            held += all.contains(k) ? 1 : 0;
        EXPECT_LE(held, 3);
    }
}

TEST(bounded_set, forgets_nothing_for_what_it_has) {
    bounded_set<int> all{2};
    all.insert(1);
    all.insert(2);
    all.insert(2);
    EXPECT_TRUE(all.contains(1));
}

} // namespace
} // namespace holdfast::relational::test
