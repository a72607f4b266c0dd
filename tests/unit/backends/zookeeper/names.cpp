#include "backends/zookeeper/names.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::zookeeper::test {
namespace {

using is = standing::is;

constexpr const char* guid = "_c_00010203-0405-0607-0809-0a0b0c0d0eff-";

[[nodiscard]] nonce counting() {
    nonce n;
    for (std::size_t i = 0; i < n.bytes.size(); ++i)
        n.bytes[i] = static_cast<unsigned char>(i);
    n.bytes[15] = 0xff;
    return n;
}

/// A child with its number, of whomever.
[[nodiscard]] std::string child(const char* mark, const char* number, char who = 'a') {
    return "_c_0000000" + std::string(1, who) + "-1111-2222-3333-444444444444-" + mark + number;
}

TEST(zookeeper_names, of_a_claim_are_those_that_curator_would_give) {
    EXPECT_EQ(prefix_of(counting()), guid);
    EXPECT_EQ(prefix_of(counting()).size(), 40U);
    EXPECT_EQ(unnumbered(counting(), role::lock), std::string{guid} + "lock-");
    EXPECT_EQ(unnumbered(counting(), role::reader), std::string{guid} + "__READ__");
    EXPECT_EQ(unnumbered(counting(), role::writer), std::string{guid} + "__WRIT__");
    EXPECT_EQ(unnumbered(counting(), role::lease), std::string{guid} + "lease-");
}

TEST(zookeeper_names, tell_the_nonce_again) {
    EXPECT_EQ(nonce_in(std::string{guid} + "lock-0000000001"), counting());
    EXPECT_EQ(nonce_in(guid), counting());
    EXPECT_EQ(nonce_in("_c_00010203-0405-0607-0809-0a0b0c0d0eff"), std::nullopt);
    EXPECT_EQ(nonce_in("_c_0001020300405-0607-0809-0a0b0c0d0eff-lock-0000000001"), std::nullopt);
    EXPECT_EQ(nonce_in("_c_0001020x-0405-0607-0809-0a0b0c0d0eff-lock-0000000001"), std::nullopt);
    EXPECT_EQ(nonce_in("x-00010203-0405-0607-0809-0a0b0c0d0eff-lock-0000000001"), std::nullopt);
    EXPECT_EQ(nonce_in("_c_000102030405060708090a0b0c0d0eff-lock-0000000001"), std::nullopt);
    EXPECT_EQ(nonce_in(""), std::nullopt);
}

TEST(zookeeper_names, become_one_node_below_the_root) {
    EXPECT_EQ(path_of("", "orders"), "/orders");
    EXPECT_EQ(path_of("/locks", "orders"), "/locks/orders");
    EXPECT_EQ(path_of("/locks", "a/b"), "/locks/a%2Fb");
    EXPECT_EQ(path_of("", "100%"), "/100%25");
    EXPECT_EQ(path_of("", "."), "/%2E");
    EXPECT_EQ(path_of("", ".."), "/%2E.");
    EXPECT_EQ(path_of("", "..."), "/...");
    EXPECT_EQ(path_of("", "zookeeper"), "/%7Aookeeper");
    EXPECT_EQ(path_of("", "zookeepers"), "/zookeepers");
    EXPECT_EQ(path_of("", std::string("a\0b", 3)), "/a%00b");
    EXPECT_EQ(path_of("", "a\tb\x7f"), "/a%09b%7F");
}

TEST(zookeeper_names, that_begin_with_a_slash_are_paths_as_they_are) {
    EXPECT_EQ(path_of("", "/app/locks/a%b"), "/app/locks/a%b");
    EXPECT_EQ(path_of("/root", "/app"), "/root/app");
}

// PathUtils.validatePath looks at UTF-16: the halves of what has no single unit are forbidden.
TEST(zookeeper_names, keep_the_letters_that_zookeeper_takes) {
    EXPECT_EQ(path_of("", "Bestände"), "/Bestände");
    EXPECT_EQ(path_of("", "注文"), "/注文");
    EXPECT_EQ(path_of("", "\xF0\x9F\x94\x92"), "/%F0%9F%94%92");
    EXPECT_EQ(path_of("", "\xC2\x85"), "/%C2%85");
    EXPECT_EQ(path_of("", "\xEE\x80\x80"), "/%EE%80%80");
    EXPECT_EQ(path_of("", "\xEF\xBF\xBD"), "/%EF%BF%BD");
    EXPECT_EQ(path_of("", "\xEF\xBF\xAF"), "/\xEF\xBF\xAF");
}

TEST(zookeeper_names, that_are_no_utf8_are_encoded_byte_by_byte) {
    EXPECT_EQ(path_of("", "a\xFFz"), "/a%FFz");
    EXPECT_EQ(path_of("", "\xC3"), "/%C3");
    EXPECT_EQ(path_of("", "\xC3/"), "/%C3%2F");
    EXPECT_EQ(path_of("", "\xC0\xAF"), "/%C0%AF");
    EXPECT_EQ(path_of("", "\xE0\x80\xAF"), "/%E0%80%AF");
    EXPECT_EQ(path_of("", "\x80\x80"), "/%80%80");
}

TEST(zookeeper_names, are_found_again_from_the_node) {
    std::string all;
    for (int c = 0; c < 256; ++c)
        all.push_back(static_cast<char>(c));
    for (const std::string& name : {std::string{"orders"},
                                    std::string{"a/b"},
                                    std::string{"100%"},
                                    std::string{"%2F"},
                                    std::string{"."},
                                    std::string{".."},
                                    std::string{"zookeeper"},
                                    std::string{"Bestände 🔒"},
                                    "x" + all}) {
        const auto path = path_of("", name);
        EXPECT_EQ(path.find('/', 1), std::string::npos) << path;
        EXPECT_EQ(what_is_wrong_with_path(path), nullptr) << path;
        EXPECT_EQ(name_of_child(path.substr(1)), name);
    }
    EXPECT_EQ(name_of_child("50%"), "50%");
    EXPECT_EQ(name_of_child("%x1%2"), "%x1%2");
}

TEST(zookeeper_names, say_what_is_wrong_with_a_path) {
    EXPECT_EQ(what_is_wrong_with_path("anything at all"), nullptr);
    EXPECT_EQ(what_is_wrong_with_path("/a"), nullptr);
    EXPECT_EQ(what_is_wrong_with_path("/a/b.c/…"), nullptr);
    EXPECT_EQ(what_is_wrong_with_path("/zookeepers"), nullptr);
    for (const char* wrong : {"/",
                              "/a/",
                              "//",
                              "//a",
                              "/a//b",
                              "/.",
                              "/a/..",
                              "/a/./b",
                              "/zookeeper",
                              "/zookeeper/quota",
                              "/a\tb",
                              "/\xF0\x9F\x94\x92",
                              "/\xFF"})
        EXPECT_NE(what_is_wrong_with_path(wrong), nullptr) << wrong;
}

TEST(zookeeper_names, list_the_folders_from_the_top) {
    EXPECT_EQ(folders_to("/a"), std::vector<std::string>{"/a"});
    EXPECT_EQ(folders_to("/a/b/c"), (std::vector<std::string>{"/a", "/a/b", "/a/b/c"}));
}

// ------------------------------------------------------------------------------ who is in the
// queue

TEST(zookeeper_tickets, are_read_as_curator_sorts_them) {
    const auto node = child("lock-", "0000000017"); // what is read is a part of it
    const auto lock = read_ticket(node);
    ASSERT_TRUE(lock);
    EXPECT_EQ(lock->as, role::lock);
    EXPECT_EQ(lock->number, "0000000017");
    EXPECT_EQ(read_ticket(child("__READ__", "0000000001"))->as, role::reader);
    EXPECT_EQ(read_ticket(child("__WRIT__", "0000000001"))->as, role::writer);
    EXPECT_EQ(read_ticket(child("lease-", "0000000001"))->as, role::lease);
    EXPECT_EQ(read_ticket("lock-0000000003")->number, "0000000003");
    EXPECT_EQ(read_ticket("lock-lock-0000000003")->number, "0000000003");
}

TEST(zookeeper_tickets, may_be_negative) {
    EXPECT_EQ(read_ticket(child("lock-", "-2147483648"))->number, "-2147483648");
    EXPECT_EQ(read_ticket(child("lock-", "-000000001"))->number, "-000000001");
    EXPECT_FALSE(read_ticket(child("lock-", "-00000001")));
    EXPECT_FALSE(read_ticket(child("lock-", "--000000001")));
}

TEST(zookeeper_tickets, of_others_than_curator) {
    EXPECT_TRUE(read_ticket("_c_0123456789abcdef0123456789abcdef-lock-0000000004")); // go-zookeeper
    EXPECT_FALSE(read_ticket("0123456789abcdef0123456789abcdef__lock__0000000004")); // kazoo
    EXPECT_FALSE(read_ticket("0123456789abcdef0123456789abcdef__rlock__0000000004"));
    EXPECT_FALSE(read_ticket("x-0100000000000000-0000000004")); // the C recipe
    EXPECT_FALSE(read_ticket("locks"));
    EXPECT_FALSE(read_ticket("leases"));
    EXPECT_FALSE(read_ticket(""));
    EXPECT_FALSE(read_ticket(child("lock-", "")));
    EXPECT_FALSE(read_ticket(child("lock-", "12345678901")));
    EXPECT_FALSE(read_ticket(child("lock-", "000000001x")));
}

TEST(zookeeper_standing, of_a_mutex_is_by_number) {
    const auto first = child("lock-", "0000000007", 'z');
    const auto second = child("lock-", "0000000009", 'a');
    const auto third = child("lock-", "0000000010", 'b');
    const std::vector<std::string> all{third, first, second};
    EXPECT_EQ(stand_of(first, all, company::curators).how, is::first);
    EXPECT_TRUE(stand_of(first, all, company::curators).others_follow);
    const auto two = stand_of(second, all, company::curators);
    EXPECT_EQ(two.how, is::behind);
    EXPECT_EQ(two.other, first);
    EXPECT_EQ(two.before, 1U);
    EXPECT_TRUE(two.next);
    const auto three = stand_of(third, all, company::curators);
    EXPECT_EQ(three.other, second);
    EXPECT_EQ(three.before, 2U);
    EXPECT_FALSE(three.next);
    EXPECT_FALSE(three.others_follow);
}

TEST(zookeeper_standing, is_missing_for_who_is_not_there) {
    const std::vector<std::string> all{child("lock-", "0000000001")};
    EXPECT_EQ(stand_of(child("lock-", "0000000002"), all, company::ours).how, is::missing);
    EXPECT_EQ(stand_of("locks", {"locks"}, company::ours).how, is::missing);
}

// Curator compares as text: a counter that has wrapped comes before all others, and then nobody may
// trust that no one comes before him.
TEST(zookeeper_standing, after_the_counter_has_wrapped_is_by_text_and_never_next) {
    const auto old = child("lock-", "2147483647");
    const auto wrapped = child("lock-", "-2147483648", 'b');
    const std::vector<std::string> all{old, wrapped};
    EXPECT_EQ(stand_of(wrapped, all, company::curators).how, is::first);
    const auto behind = stand_of(old, all, company::curators);
    EXPECT_EQ(behind.how, is::behind);
    EXPECT_EQ(behind.other, wrapped);
    EXPECT_FALSE(behind.next);
}

TEST(zookeeper_standing, of_readers_and_writers) {
    const auto r1 = child("__READ__", "0000000001", '1');
    const auto r2 = child("__READ__", "0000000002", '2');
    const auto w3 = child("__WRIT__", "0000000003", '3');
    const auto r4 = child("__READ__", "0000000004", '4');
    const auto w5 = child("__WRIT__", "0000000005", '5');
    const auto r6 = child("__READ__", "0000000006", '6');
    const std::vector<std::string> all{r6, w5, r4, w3, r2, r1};
    EXPECT_EQ(stand_of(r1, all, company::curators).how, is::first);
    EXPECT_EQ(stand_of(r2, all, company::curators).how, is::first);
    const auto writer = stand_of(w3, all, company::curators);
    EXPECT_EQ(writer.other, r2);
    EXPECT_EQ(writer.before, 2U);
    const auto reader = stand_of(r4, all, company::curators);
    EXPECT_EQ(reader.other, w3);
    EXPECT_EQ(reader.before, 1U);
    EXPECT_TRUE(reader.next); // only a writer could come between, and none can
    const auto last = stand_of(r6, all, company::curators);
    EXPECT_EQ(last.other, w5);
    EXPECT_EQ(last.before, 2U);
    EXPECT_FALSE(last.next);
}

TEST(zookeeper_standing, of_a_writer_is_never_next) {
    const auto w1 = child("__WRIT__", "0000000001", '1');
    const auto r1 = child("__READ__", "0000000001", '9'); // under that write
    const auto w2 = child("__WRIT__", "0000000002", '2');
    EXPECT_FALSE(stand_of(w2, {w1, w2}, company::curators).next);
    EXPECT_EQ(stand_of(w1, {w1, r1, w2}, company::curators).how, is::first);
    EXPECT_EQ(stand_of(r1, {w1, r1, w2}, company::curators).how, is::first);
    const auto after = stand_of(w2, {r1, w2}, company::curators);
    EXPECT_EQ(after.how, is::behind);
    EXPECT_EQ(after.other, r1);
}

TEST(zookeeper_standing, among_ours_is_by_number_whatever_they_are) {
    const auto l1 = child("lock-", "0000000001", '1');
    const auto r2 = child("__READ__", "0000000002", '2');
    const auto l3 = child("lock-", "0000000003", '3');
    const std::vector<std::string> all{l1, r2, l3};
    EXPECT_EQ(stand_of(r2, all, company::ours).other, l1);
    EXPECT_EQ(stand_of(l3, all, company::ours).other, r2);
    EXPECT_FALSE(stand_of(l3, {r2, l3}, company::ours).next);
    EXPECT_EQ(stand_of(r2, all, company::curators).how, is::foreign);
    EXPECT_EQ(stand_of(l1, all, company::curators).how, is::foreign);
}

TEST(zookeeper_standing, beside_what_cannot_be_sorted_is_refused) {
    const auto mine = child("lock-", "0000000001");
    for (const std::string& other :
         {std::string{"locks"},
          std::string{"0123456789abcdef0123456789abcdef__lock__0000000004"},
          std::string{"x-0100000000000000-0000000004"},
          child("lease-", "0000000002", 'b')}) {
        const auto st = stand_of(mine, {mine, other}, company::ours);
        EXPECT_EQ(st.how, is::foreign);
        EXPECT_EQ(st.other, other);
    }
}

} // namespace
} // namespace holdfast::zookeeper::test
