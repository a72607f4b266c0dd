#include "lease/agenda.hpp"

#include <gtest/gtest.h>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

struct item : agenda_item {
    item() : agenda_item{kind::talk} {}
};

constexpr instant start{1h};

TEST(agendas, give_out_what_is_due_by_time_and_then_by_the_order_of_asking) {
    agenda a;
    item late, first, second;
    a.put(late, start + 2s);
    a.put(first, start + 1s);
    a.put(second, start + 1s);
    EXPECT_EQ(a.next(), start + 1s);
    EXPECT_EQ(a.take_due(start), nullptr);
    EXPECT_EQ(a.take_due(start + 1s), &first);
    EXPECT_EQ(a.take_due(start + 1s), &second);
    EXPECT_EQ(a.take_due(start + 1s), nullptr);
    EXPECT_EQ(a.take_due(start + 5s), &late);
    EXPECT_EQ(a.next(), never);
}

TEST(agendas, keep_one_time_for_each_item_and_never_means_not_at_all) {
    agenda a;
    item i;
    a.put(i, start + 2s);
    a.put(i, start + 1s);
    EXPECT_EQ(a.next(), start + 1s);
    a.put(i, never);
    EXPECT_EQ(a.next(), never);
    a.remove(i);
    a.put(i, start);
    a.clear();
    EXPECT_EQ(a.take_due(never), nullptr);
}

} // namespace
} // namespace holdfast::detail
