// The machine, move by move: what it says to the server, and what becomes of it when an answer is
// lost. The test is the server.

#include "backends/zookeeper/machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::zookeeper::test {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t first_session = 77;

[[nodiscard]] std::shared_ptr<claim>
claim_of(unsigned char number, kind k = kind::plain, mode how = mode::exclusive) {
    auto c = std::make_shared<claim>();
    c->name = "a";
    c->kind = k;
    c->mode = how;
    c->nonce.bytes[0] = number;
    return c;
}

class conversation : public testing::Test {
protected:
    conversation() : conversation{rules{}} {}
    explicit conversation(const rules& r) : m{r} {
        m.start(out);
        connect(first_session);
    }

    machine m;
    instant now{1000s};
    actions out;
    std::uint64_t tickets = 0;
    const std::shared_ptr<claim> mine = claim_of(1);

    void connect(std::int64_t session) { m.connected(m.bond(), session, 30s, now, out); }
    call next_call() { return {ticket{++tickets}, now, now + 1s}; }
    void attempt(const std::shared_ptr<const claim>& what, joining join = joining::queue) {
        m.attempt(next_call(), what, join, now, out);
    }
    void withdraw(const std::shared_ptr<const claim>& what) {
        m.withdraw(next_call(), what, now, out);
    }
    void release(const std::shared_ptr<const claim>& what) {
        grant given{.nonce = what->nonce, .fence = {}, .terms = {}};
        given.terms.bond = m.bond();
        m.release(next_call(), what, given, now, out);
    }

    /// The first thing of this kind that was said to the server or told to us; it is taken off.
    template <class What> std::optional<What> take() {
        for (auto it = out.begin(); it != out.end(); ++it)
            if (auto* a = std::get_if<What>(&*it)) {
                auto found = *a;
                out.erase(it);
                return found;
            }
        return std::nullopt;
    }
    template <class Op> std::optional<std::pair<op_id, Op>> take_said() {
        for (auto it = out.begin(); it != out.end(); ++it)
            if (auto* op = std::get_if<operation>(&*it))
                if (auto* what = std::get_if<Op>(&op->what)) {
                    auto found = std::pair{op->id, *what};
                    out.erase(it);
                    return found;
                }
        return std::nullopt;
    }
    [[nodiscard]] std::size_t said() const {
        return static_cast<std::size_t>(std::count_if(out.begin(), out.end(), [](const auto& one) {
            return std::holds_alternative<operation>(one);
        }));
    }

    void reply_to(op_id op, const zookeeper::reply& r) { m.replied(op, r, now, out); }
    void lose(op_id op) { reply_to(op, {.how = outcome::lost}); }

    /// What is being made becomes this number.
    std::string make(const char* number, std::int64_t transaction) {
        const auto made = take_said<create>();
        EXPECT_TRUE(made);
        const auto path = made->second.path + number;
        reply_to(made->first,
                 {.how = outcome::ok, .path = path, .facts = {transaction, first_session, 0}});
        return path.substr(path.rfind('/') + 1);
    }
    void list(const std::vector<std::string>& children) {
        const auto asked = take_said<zookeeper::list>();
        ASSERT_TRUE(asked);
        reply_to(asked->first, {.how = outcome::ok, .children = children});
    }

    /// One that holds it, with number 5.
    std::string hold(const std::shared_ptr<const claim>& what) {
        attempt(what);
        first_folder();
        const auto node = make("0000000005", 100);
        list({node});
        EXPECT_TRUE(take<tell_attempted>());
        return node;
    }
    /// With the numbers 5 and 6; returns the watch on the folder.
    op_id come_back_until_it_is_watched() {
        hold(mine);
        release(mine);
        reply_to(take_said<remove>()->first, {.how = outcome::ok});
        EXPECT_TRUE(take<tell_released>());
        attempt(mine);
        EXPECT_EQ(said(), 2U) << "node and list";
        list({make("0000000006", 110)});
        EXPECT_TRUE(take<tell_attempted>());
        const auto watched = take_said<look>();
        EXPECT_TRUE(watched && watched->second.path == "/a" && watched->second.watch);
        reply_to(watched->first, {.how = outcome::ok});
        release(mine);
        reply_to(take_said<remove>()->first, {.how = outcome::ok});
        EXPECT_TRUE(take<tell_released>());
        out.clear();
        return watched->first;
    }
    [[nodiscard]] static std::string somebody_at(const char* number) {
        return std::string{"_c_00000009-1111-2222-3333-444444444444-lock-"} + number;
    }
    /// One that waits behind another, with number 6.
    std::string wait(const std::shared_ptr<const claim>& what,
                     const std::vector<std::string>& before) {
        attempt(what);
        first_folder();
        const auto node = make("0000000006", 101);
        auto all = before;
        all.push_back(node);
        list(all);
        const auto told = take<tell_attempted>();
        EXPECT_TRUE(told && std::holds_alternative<contended>(told->answer));
        return node;
    }
    void first_folder() {
        if (folder_known_)
            return;
        folder_known_ = true;
        const auto made = take_said<create>();
        ASSERT_EQ(made->second.path, "/a");
        reply_to(made->first, {.how = outcome::exists});
    }
    void later() {
        now += 300ms;
        m.on_time(now, out);
    }
    void break_connection() { m.suspended(m.bond(), now, out); }

    const std::string somebody = "_c_00000009-1111-2222-3333-444444444444-lock-0000000003";
    const std::string somebody_else = "_c_0000000a-1111-2222-3333-444444444444-lock-0000000004";

private:
    bool folder_known_ = false;
};

using zookeeper_machine = conversation;

// ------------------------------------------------------------------------------ when all goes well

TEST_F(zookeeper_machine, asks_for_a_session_first) {
    const auto asked = take<open_session>();
    ASSERT_TRUE(asked);
    EXPECT_EQ(asked->bond, m.bond());
    EXPECT_EQ(take<tell_link>()->state, link_state::connected);
}

TEST_F(zookeeper_machine, begins_anew_after_a_silence_as_long_as_a_session) {
    const auto first = m.bond();
    out.clear();
    break_connection();
    now += 20s;
    break_connection(); // it tries again and again
    m.on_time(now, out);
    EXPECT_EQ(m.bond(), first);
    now += 10s;
    m.on_time(now, out);
    EXPECT_TRUE(take<close_session>());
    EXPECT_TRUE(take<tell_bond_lost>());
    EXPECT_TRUE(take<open_session>());
    EXPECT_NE(m.bond(), first);
    now += 100s;
    m.on_time(now, out);
    EXPECT_FALSE(take<open_session>()) << "that one was never there";
}

TEST_F(zookeeper_machine, forgets_a_silence_that_is_over) {
    const auto first = m.bond();
    break_connection();
    now += 20s;
    connect(first_session);
    now += 20s;
    m.on_time(now, out);
    break_connection();
    now += 20s;
    m.on_time(now, out);
    EXPECT_EQ(m.bond(), first);
}

TEST_F(zookeeper_machine, beats_once_before_those_look_who_have_waited_long) {
    const auto also_mine = claim_of(2);
    wait(mine, {somebody});
    wait(also_mine, {somebody});
    out.clear();
    now += 10s;
    attempt(mine);
    EXPECT_TRUE(take_said<beat>()) << "else a grant would not be believed for long";
    EXPECT_TRUE(take_said<zookeeper::list>());
    attempt(also_mine);
    EXPECT_FALSE(take_said<beat>());
    EXPECT_TRUE(take_said<zookeeper::list>());
}

TEST_F(zookeeper_machine, needs_no_list_where_it_was_first_again_and_again) {
    come_back_until_it_is_watched();
    attempt(mine);
    EXPECT_EQ(said(), 1U) << "the node alone";
    make("0000000007", 120);
    const auto told = take<tell_attempted>();
    ASSERT_TRUE(told);
    EXPECT_EQ(std::get<grant>(told->answer).fence.value(), 120);
    EXPECT_EQ(said(), 0U);
    release(mine);
    const auto leaves = take_said<remove>();
    attempt(claim_of(2)); // before the removal is answered
    EXPECT_EQ(said(), 1U);
    reply_to(leaves->first, {.how = outcome::ok});
    make("0000000008", 121);
    EXPECT_TRUE(take<tell_attempted>());
}

TEST_F(zookeeper_machine, looks_if_somebody_was_there_in_between) {
    const auto watch = come_back_until_it_is_watched();
    attempt(mine);
    const auto node = make("0000000008", 120);
    EXPECT_FALSE(take<tell_attempted>());
    list({somebody_at("0000000007"), node});
    const auto told = take<tell_attempted>();
    ASSERT_TRUE(told);
    EXPECT_TRUE(std::holds_alternative<contended>(told->answer));
    withdraw(mine);
    attempt(claim_of(2));
    EXPECT_TRUE(take_said<zookeeper::list>()) << "and the next time, too";
    m.noticed(watch, seen::changed, now, out);
}

TEST_F(zookeeper_machine, looks_if_the_folder_is_another_one) {
    const auto watch = come_back_until_it_is_watched();
    m.noticed(watch, seen::deleted, now, out);
    attempt(mine);
    EXPECT_EQ(said(), 3U) << "the folder, the node, the list";
}

TEST_F(zookeeper_machine, begins_anew_if_the_folder_has_just_gone) {
    come_back_until_it_is_watched();
    attempt(mine);
    const auto made = take_said<create>();
    ASSERT_TRUE(made && made->second.alone);
    reply_to(made->first, {.how = outcome::no_node});
    EXPECT_EQ(said(), 2U) << "folder and node";
    EXPECT_EQ(take_said<create>()->second.path, "/a");
}

TEST_F(zookeeper_machine, looks_for_what_may_have_been_made_where_no_list_was_asked_for) {
    come_back_until_it_is_watched();
    attempt(mine);
    lose(take_said<create>()->first);
    later();
    EXPECT_TRUE(take_said<catch_up>());
    EXPECT_TRUE(take_said<zookeeper::list>());
}

TEST_F(zookeeper_machine, takes_a_free_lock_in_one_flight) {
    attempt(mine);
    EXPECT_EQ(said(), 3U); // the folder, the node, the list
    first_folder();
    now += 1s;
    const auto node = make("0000000000", 42);
    list({node});
    const auto told = take<tell_attempted>();
    ASSERT_TRUE(told);
    const auto& given = std::get<grant>(told->answer);
    EXPECT_EQ(given.fence.value(), 42);
    EXPECT_EQ(given.terms.anchor, instant{1000s}) << "when it was sent";
    EXPECT_EQ(given.terms.ttl, 30s);
    EXPECT_GE(given.terms.margin, 10s);
    EXPECT_EQ(said(), 0U);
}

TEST_F(zookeeper_machine, believes_less_where_a_tick_may_be_half_of_the_session) {
    machine short_sessions{{.session = 6s}};
    actions told;
    short_sessions.start(told);
    short_sessions.connected(short_sessions.bond(), 1, 6s, now, told);
    short_sessions.attempt(next_call(), mine, joining::none, now, told);
    std::vector<op_id> ids;
    for (const auto& one : told)
        if (const auto* op = std::get_if<operation>(&one))
            ids.push_back(op->id);
    ASSERT_EQ(ids.size(), 3U);
    const auto node = unnumbered(mine->nonce, role::lock) + "0000000000";
    short_sessions.replied(ids[1], {.how = outcome::ok, .path = "/a/" + node}, now, told);
    short_sessions.replied(ids[2], {.how = outcome::ok, .children = {node}}, now, told);
    const auto* const last = std::get_if<tell_attempted>(&told.back());
    ASSERT_NE(last, nullptr);
    EXPECT_EQ(std::get<grant>(last->answer).terms.margin, 2s + 1500ms);
}

TEST_F(zookeeper_machine, releases_by_removing_its_node) {
    const auto node = hold(mine);
    release(mine);
    const auto gone = take_said<remove>();
    EXPECT_EQ(gone->second.path, "/a/" + node);
    EXPECT_FALSE(take<tell_released>());
    reply_to(gone->first, {.how = outcome::ok});
    EXPECT_EQ(take<tell_released>()->result, release_result::released);
}

TEST_F(zookeeper_machine, has_lost_what_was_not_there_to_be_removed) {
    hold(mine);
    release(mine);
    reply_to(take_said<remove>()->first, {.how = outcome::no_node});
    EXPECT_EQ(take<tell_released>()->result, release_result::lost);
}

TEST_F(zookeeper_machine, watches_the_one_before_it) {
    wait(mine, {somebody, somebody_else});
    const auto watched = take_said<look>();
    EXPECT_EQ(watched->second.path, "/a/" + somebody_else);
    EXPECT_TRUE(watched->second.watch);
}

TEST_F(zookeeper_machine, is_granted_by_the_event_alone_if_only_one_was_before_it) {
    wait(mine, {somebody});
    const auto watch = take_said<look>()->first;
    reply_to(watch, {.how = outcome::ok});
    m.noticed(watch, seen::deleted, now, out);
    const auto told = take<tell_granted>();
    ASSERT_TRUE(told);
    EXPECT_EQ(told->given.fence.value(), 101);
    EXPECT_TRUE(take_said<zookeeper::list>()) << "and looks afterwards";
}

TEST_F(zookeeper_machine, gives_up_what_the_look_afterwards_does_not_confirm) {
    const auto node = wait(mine, {somebody});
    const auto watch = take_said<look>()->first;
    m.noticed(watch, seen::deleted, now, out);
    ASSERT_TRUE(take<tell_granted>());
    list({somebody, node});
    EXPECT_TRUE(take<tell_grant_lost>());
    EXPECT_TRUE(take<tell_notice>());
    EXPECT_EQ(take_said<remove>()->second.path, "/a/" + node);
}

TEST_F(zookeeper_machine, looks_again_if_more_than_one_was_before_it) {
    const auto node = wait(mine, {somebody, somebody_else});
    const auto watch = take_said<look>()->first;
    m.noticed(watch, seen::deleted, now, out);
    EXPECT_FALSE(take<tell_granted>());
    list({somebody, node});
    EXPECT_EQ(take_said<look>()->second.path, "/a/" + somebody);
}

TEST_F(zookeeper_machine, looks_again_if_the_one_before_it_is_gone_already) {
    const auto node = wait(mine, {somebody});
    reply_to(take_said<look>()->first, {.how = outcome::no_node});
    list({node});
    EXPECT_TRUE(take<tell_granted>());
}

TEST_F(zookeeper_machine, keeps_its_watch_when_it_is_asked_again) {
    const auto node = wait(mine, {somebody});
    ASSERT_TRUE(take_said<look>());
    attempt(mine);
    list({somebody, node});
    EXPECT_FALSE(take_said<look>());
    EXPECT_TRUE(take<tell_attempted>());
}

TEST_F(zookeeper_machine, leaves_at_once_who_does_not_want_to_wait) {
    attempt(mine, joining::none);
    first_folder();
    const auto node = make("0000000006", 101);
    list({somebody, node});
    EXPECT_TRUE(std::holds_alternative<contended>(take<tell_attempted>()->answer));
    EXPECT_EQ(take_said<remove>()->second.path, "/a/" + node);
}

TEST_F(zookeeper_machine, makes_the_folder_again_that_was_reaped) {
    hold(mine);
    release(mine);
    reply_to(take_said<remove>()->first, {.how = outcome::ok});
    out.clear();
    const auto next = claim_of(2);
    attempt(next);
    EXPECT_EQ(said(), 2U) << "the folder is known";
    reply_to(take_said<create>()->first, {.how = outcome::no_node});
    reply_to(take_said<zookeeper::list>()->first, {.how = outcome::no_node});
    EXPECT_EQ(take_said<create>()->second.path, "/a");
    const auto node = make("0000000000", 200);
    list({node});
    EXPECT_TRUE(std::holds_alternative<grant>(take<tell_attempted>()->answer));
}

TEST_F(zookeeper_machine, refuses_a_name_that_has_other_children) {
    attempt(mine);
    first_folder();
    const auto node = make("0000000006", 101);
    list({node, "leases"});
    const auto told = take<tell_attempted>();
    EXPECT_EQ(std::get<failure>(told->answer).code, errc::bad_name);
    EXPECT_EQ(take_said<remove>()->second.path, "/a/" + node);
}

// -------------------------------------------------------------------------- when an answer is lost

TEST_F(zookeeper_machine, finds_the_node_whose_making_was_not_confirmed) {
    attempt(mine);
    first_folder();
    const auto made = take_said<create>();
    const auto listed = take_said<zookeeper::list>();
    break_connection();
    lose(made->first);
    lose(listed->first);
    EXPECT_EQ(said(), 0U);
    connect(first_session);
    EXPECT_TRUE(take_said<catch_up>()) << "another server may be behind";
    const auto node = unnumbered(mine->nonce, role::lock) + "0000000005";
    list({node});
    const auto looked = take_said<look>();
    EXPECT_EQ(looked->second.path, "/a/" + node);
    reply_to(looked->first, {.how = outcome::ok, .facts = {100, first_session, 0}});
    list({node});
    EXPECT_EQ(std::get<grant>(take<tell_attempted>()->answer).fence.value(), 100);
}

TEST_F(zookeeper_machine, makes_the_node_that_was_not_made) {
    attempt(mine);
    first_folder();
    const auto made = take_said<create>();
    const auto listed = take_said<zookeeper::list>();
    break_connection();
    lose(made->first);
    lose(listed->first);
    connect(first_session);
    list({somebody});
    EXPECT_TRUE(take_said<create>());
}

TEST_F(zookeeper_machine, never_takes_a_node_of_an_earlier_session_for_its_own) {
    attempt(mine);
    first_folder();
    const auto made = take_said<create>();
    const auto listed = take_said<zookeeper::list>();
    break_connection();
    lose(made->first);
    lose(listed->first);
    connect(first_session);
    const auto old = unnumbered(mine->nonce, role::lock) + "0000000002";
    const auto ours = unnumbered(mine->nonce, role::lock) + "0000000005";
    list({old, ours});
    reply_to(take_said<look>()->first, {.how = outcome::ok, .facts = {50, first_session - 1, 0}});
    EXPECT_EQ(take_said<remove>()->second.path, "/a/" + old);
    EXPECT_FALSE(take_said<create>()) << "there may be another behind it";
    list({ours});
    reply_to(take_said<look>()->first, {.how = outcome::ok, .facts = {100, first_session, 0}});
    list({ours});
    EXPECT_EQ(std::get<grant>(take<tell_attempted>()->answer).fence.value(), 100);
}

TEST_F(zookeeper_machine, lists_again_when_the_list_was_lost) {
    attempt(mine);
    first_folder();
    const auto node = make("0000000005", 100);
    const auto listed = take_said<zookeeper::list>();
    break_connection();
    lose(listed->first);
    connect(first_session);
    EXPECT_FALSE(take_said<create>());
    list({node});
    EXPECT_TRUE(std::holds_alternative<grant>(take<tell_attempted>()->answer));
}

TEST_F(zookeeper_machine, watches_anew_when_the_watch_was_lost) {
    const auto node = wait(mine, {somebody});
    const auto watched = take_said<look>();
    break_connection();
    lose(watched->first);
    connect(first_session);
    list({somebody, node});
    const auto again = take_said<look>();
    ASSERT_TRUE(again);
    m.noticed(watched->first, seen::deleted, now, out); // old news
    EXPECT_FALSE(take<tell_granted>());
    m.noticed(again->first, seen::deleted, now, out);
    EXPECT_TRUE(take<tell_granted>());
}

TEST_F(zookeeper_machine, removes_again_what_may_not_have_been_removed) {
    const auto node = hold(mine);
    release(mine);
    const auto gone = take_said<remove>();
    break_connection();
    lose(gone->first);
    EXPECT_FALSE(take<tell_released>());
    connect(first_session);
    const auto again = take_said<remove>();
    EXPECT_EQ(again->second.path, "/a/" + node);
    reply_to(again->first, {.how = outcome::no_node}); // it was we
    EXPECT_EQ(take<tell_released>()->result, release_result::released);
}

// ------------------------------------------- when a server is too busy, and the connection stays

TEST_F(zookeeper_machine, asks_a_busy_server_again_a_moment_later) {
    attempt(mine);
    first_folder();
    const auto node = make("0000000005", 100);
    lose(take_said<zookeeper::list>()->first);
    EXPECT_EQ(said(), 0U) << "not at once";
    later();
    list({node});
    EXPECT_TRUE(std::holds_alternative<grant>(take<tell_attempted>()->answer));
    take_said<beat>();
    later();
    EXPECT_EQ(said(), 1U) << "the watch on its own node alone";
}

TEST_F(zookeeper_machine, looks_for_what_a_busy_server_may_have_made) {
    attempt(mine);
    first_folder();
    lose(take_said<create>()->first);
    list({somebody});
    later();
    EXPECT_FALSE(take_said<create>());
    const auto caught_up = take_said<catch_up>();
    const auto sought = take_said<zookeeper::list>();
    lose(caught_up->first);
    reply_to(sought->first, {.how = outcome::ok});
    EXPECT_FALSE(take_said<create>()) << "that list may be older than the node";
    later();
    reply_to(take_said<catch_up>()->first, {.how = outcome::ok});
    list({});
    EXPECT_TRUE(take_said<create>());
}

TEST_F(zookeeper_machine, removes_again_what_a_busy_server_did_not_remove) {
    const auto node = hold(mine);
    release(mine);
    lose(take_said<remove>()->first);
    EXPECT_FALSE(take<tell_released>());
    later();
    const auto again = take_said<remove>();
    ASSERT_TRUE(again);
    reply_to(again->first, {.how = outcome::ok});
    EXPECT_EQ(take<tell_released>()->result, release_result::released);
}

TEST_F(zookeeper_machine, watches_again_what_a_busy_server_does_not_watch) {
    const auto node = wait(mine, {somebody});
    lose(take_said<look>()->first);
    later();
    list({node});
    EXPECT_TRUE(take<tell_granted>());
}

TEST_F(zookeeper_machine, checks_again_what_rests_on_an_event_alone) {
    const auto node = wait(mine, {somebody});
    const auto watched = take_said<look>();
    reply_to(watched->first, {.how = outcome::ok});
    m.noticed(watched->first, seen::deleted, now, out);
    EXPECT_TRUE(take<tell_granted>());
    lose(take_said<zookeeper::list>()->first);
    later();
    list({somebody, node}); // somebody was before us after all
    EXPECT_EQ(take<tell_grant_lost>()->whose, mine->nonce);
}

TEST_F(zookeeper_machine, believes_only_a_beat_that_was_done) {
    hold(mine);
    m.renew({ticket{99}, now, now + 1s}, {m.bond()}, now, out);
    reply_to(take_said<beat>()->first, {.how = outcome::refused});
    EXPECT_EQ(take<tell_renewed>()->answers.at(0).outcome, renewed::unknown);
}

class impatient_machine : public conversation {
protected:
    impatient_machine() : conversation{rules{.connect_timeout = 500ms}} {}
};

TEST_F(impatient_machine, gives_an_attempt_its_whole_time_once_there_is_a_connection) {
    break_connection();
    attempt(mine);
    connect(first_session);
    first_folder();
    now += 900ms;
    m.on_time(now, out);
    EXPECT_FALSE(take<tell_attempted>());
}

TEST_F(zookeeper_machine, removes_what_nobody_wants_however_late_it_is_found) {
    attempt(mine);
    first_folder();
    const auto made = take_said<create>();
    const auto listed = take_said<zookeeper::list>();
    break_connection();
    lose(made->first);
    lose(listed->first);
    withdraw(mine);
    EXPECT_FALSE(take<tell_withdrawn>());
    now += 2s;
    m.on_time(now, out);
    EXPECT_EQ(take<tell_withdrawn>()->certainty, applied::maybe);
    withdraw(mine);
    connect(first_session);
    const auto node = unnumbered(mine->nonce, role::lock) + "0000000005";
    list({node});
    reply_to(take_said<look>()->first, {.how = outcome::ok, .facts = {100, first_session, 0}});
    const auto gone = take_said<remove>();
    EXPECT_EQ(gone->second.path, "/a/" + node);
    reply_to(gone->first, {.how = outcome::ok});
    EXPECT_EQ(take<tell_withdrawn>()->certainty, applied::no);
}

TEST_F(zookeeper_machine, removes_what_was_made_after_it_was_withdrawn) {
    attempt(mine);
    first_folder();
    now += 2s;
    m.on_time(now, out);
    EXPECT_EQ(std::get<failure>(take<tell_attempted>()->answer).applied, applied::maybe);
    withdraw(mine);
    const auto node = make("0000000005", 100);
    EXPECT_EQ(take_said<remove>()->second.path, "/a/" + node);
    list({node});
    EXPECT_FALSE(take<tell_granted>());
}

TEST_F(zookeeper_machine, can_be_believed_again_when_it_is_back) {
    attempt(mine);
    first_folder();
    const auto made = take_said<create>();
    lose(take_said<zookeeper::list>()->first);
    break_connection();
    lose(made->first);
    now += 20s;
    connect(first_session);
    const auto back = now;
    const auto beating = take_said<beat>();
    ASSERT_TRUE(beating);
    now += 1s;
    reply_to(beating->first, {.how = outcome::no_node});
    const auto node = unnumbered(mine->nonce, role::lock) + "0000000005";
    list({node});
    reply_to(take_said<look>()->first, {.how = outcome::ok, .facts = {100, first_session, 0}});
    list({node});
    EXPECT_EQ(std::get<grant>(take<tell_attempted>()->answer).terms.anchor, back);
}

// What was said between the break and the news of it goes out on the next connection.
TEST_F(zookeeper_machine, does_not_ask_twice_for_what_survived_a_break) {
    attempt(mine);
    first_folder();
    break_connection();
    connect(first_session);
    EXPECT_TRUE(take_said<beat>());
    EXPECT_EQ(said(), 2U) << "the node and the list, on their way";
    const auto node = make("0000000005", 100);
    list({node});
    EXPECT_TRUE(std::holds_alternative<grant>(take<tell_attempted>()->answer));
    EXPECT_EQ(said(), 0U);
}

TEST_F(zookeeper_machine, counts_only_the_last_of_two_lists) {
    const auto permit = claim_of(1, kind::permits, mode::permit);
    attempt(permit);
    for (int i = 0; i < 2; ++i)
        reply_to(take_said<create>()->first, {.how = outcome::exists});
    const auto node = make("0000000005", 100);
    const auto first = take_said<zookeeper::list>();
    break_connection();
    connect(first_session);
    EXPECT_FALSE(take_said<beat>()) << "its making was confirmed a moment ago";
    const auto second = take_said<zookeeper::list>();
    ASSERT_TRUE(second);
    reply_to(first->first, {.how = outcome::ok, .children = {node}});
    EXPECT_EQ(said(), 0U);
    reply_to(second->first, {.how = outcome::ok, .children = {node}});
    EXPECT_EQ(take_said<create>()->second.path, "/a/leases");
    EXPECT_TRUE(take_said<create>()) << "one lease";
    EXPECT_FALSE(take_said<create>());
}

// ------------------------------------------------------------------------------------ the session

TEST_F(zookeeper_machine, renews_by_a_write) {
    hold(mine);
    now += 5s;
    const auto asked = now;
    m.renew(next_call(), {m.bond(), bond_id{999}}, now, out);
    const auto beating = take_said<beat>();
    ASSERT_TRUE(beating);
    now += 100ms;
    reply_to(beating->first, {.how = outcome::no_node});
    const auto told = take<tell_renewed>();
    ASSERT_EQ(told->answers.size(), 2U);
    EXPECT_EQ(told->answers[0].outcome, renewed::lost);
    EXPECT_EQ(told->answers[1].outcome, renewed::yes);
    EXPECT_EQ(told->answers[1].terms.anchor, asked);
}

TEST_F(zookeeper_machine, says_unknown_when_a_renewal_is_not_answered) {
    hold(mine);
    m.renew(next_call(), {m.bond()}, now, out);
    const auto beating = take_said<beat>();
    now += 1s;
    m.on_time(now, out);
    EXPECT_EQ(take<tell_renewed>()->answers[0].outcome, renewed::unknown);
    lose(beating->first);
    EXPECT_FALSE(take<tell_renewed>()) << "once";
}

TEST_F(zookeeper_machine, loses_all_with_its_session_and_begins_another) {
    hold(mine);
    const auto other = claim_of(2);
    attempt(other);
    const auto bond = m.bond();
    out.clear();
    m.expired(bond, out);
    EXPECT_EQ(take<tell_bond_lost>()->bond, bond);
    EXPECT_EQ(take<close_session>()->bond, bond);
    EXPECT_EQ(take<open_session>()->bond, m.bond());
    EXPECT_NE(m.bond(), bond);
    connect(first_session + 1);
    EXPECT_EQ(take_said<create>()->second.path, "/a");
    EXPECT_TRUE(take_said<create>()->second.path.starts_with("/a/" + prefix_of(other->nonce)))
        << "who still asks goes on";
    EXPECT_FALSE(take_said<create>());
}

TEST_F(zookeeper_machine, hears_nothing_of_a_session_that_is_over) {
    attempt(mine);
    first_folder();
    const auto made = take_said<create>();
    const auto bond = m.bond();
    m.forget(bond, out);
    out.clear();
    reply_to(made->first, {.how = outcome::ok, .path = "/a/x", .facts = {1, first_session, 0}});
    m.connected(bond, first_session, 30s, now, out);
    EXPECT_EQ(said(), 0U);
    EXPECT_FALSE(m.is_connected());
}

TEST_F(zookeeper_machine, comes_in_the_order_of_asking_when_a_session_begins) {
    m.forget(m.bond(), out);
    out.clear();
    const auto later = claim_of(9);
    const auto last = claim_of(4);
    for (const auto& one : {later, last, mine})
        attempt(one);
    connect(first_session + 1);
    std::vector<std::string> made;
    while (const auto one = take_said<create>())
        if (one->second.path != "/a")
            made.push_back(one->second.path);
    const auto path = [](const auto& c) { return "/a/" + unnumbered(c->nonce, role::lock); };
    EXPECT_EQ(made, (std::vector<std::string>{path(later), path(last), path(mine)}));
}

TEST_F(zookeeper_machine, loses_the_one_that_somebody_removed) {
    hold(mine);
    now += 100ms;
    m.on_time(now, out);
    const auto own = take_said<look>();
    ASSERT_TRUE(own) << "after a while it watches its own node";
    reply_to(own->first, {.how = outcome::ok});
    m.noticed(own->first, seen::deleted, now, out);
    EXPECT_EQ(take<tell_grant_lost>()->whose, mine->nonce);
}

TEST_F(zookeeper_machine, hears_that_somebody_wants_it) {
    hold(mine);
    now += 100ms;
    m.on_time(now, out);
    const auto own = take_said<look>();
    reply_to(own->first, {.how = outcome::ok});
    m.noticed(own->first, seen::changed, now, out);
    reply_to(take_said<look>()->first, {.how = outcome::ok, .data = std::string{please_release}});
    EXPECT_EQ(take<tell_wanted>()->whose, mine->nonce);
}

TEST_F(zookeeper_machine, says_that_nothing_was_sent_where_there_is_no_connection) {
    m.forget(m.bond(), out);
    attempt(mine);
    now += 1s;
    m.on_time(now, out);
    EXPECT_EQ(std::get<failure>(take<tell_attempted>()->answer).applied, applied::no);
    attempt(mine);
    m.unreachable(m.bond(), {errc::backend_unavailable, applied::no, "refused"}, now, out);
    EXPECT_EQ(std::get<failure>(take<tell_attempted>()->answer).detail, "refused");
}

TEST_F(zookeeper_machine, remembers_why_there_is_no_connection) {
    break_connection();
    m.unreachable(m.bond(), {errc::backend_unavailable, applied::no, "refused"}, now, out);
    attempt(mine);
    now += 10s;
    m.on_time(now, out);
    EXPECT_EQ(std::get<failure>(take<tell_attempted>()->answer).detail, "refused");
}

// ------------------------------------------------------------------------- readers, and permits

TEST_F(zookeeper_machine, reads_under_its_own_write_with_the_number_of_the_write) {
    const auto write = claim_of(1, kind::read_write);
    hold(write);
    const auto read = claim_of(2, kind::read_write, mode::shared);
    read->within = write->nonce;
    attempt(read);
    const auto made = take_said<create>();
    EXPECT_EQ(made->second.path, "/a/" + unnumbered(read->nonce, role::reader) + "0000000005");
    EXPECT_EQ(made->second.lives, lives::with_the_session);
    reply_to(made->first,
             {.how = outcome::ok, .path = made->second.path, .facts = {102, first_session, 0}});
    EXPECT_EQ(std::get<grant>(take<tell_attempted>()->answer).fence.value(), 102);
}

TEST_F(zookeeper_machine, refuses_to_read_under_what_it_does_not_hold) {
    const auto read = claim_of(2, kind::read_write, mode::shared);
    read->within = mine->nonce;
    attempt(read);
    EXPECT_EQ(std::get<failure>(take<tell_attempted>()->answer).applied, applied::no);
    hold(mine); // a mutex: who waits behind it does not expect a reader
    attempt(read);
    EXPECT_EQ(std::get<failure>(take<tell_attempted>()->answer).applied, applied::no);
    EXPECT_EQ(said(), 0U);
}

TEST_F(zookeeper_machine, of_permits_leaves_nothing_behind_where_it_may_not_look) {
    const auto permit = claim_of(1, kind::permits, mode::permit);
    attempt(permit);
    for (int i = 0; i < 2; ++i)
        reply_to(take_said<create>()->first, {.how = outcome::exists});
    const auto mutex = make("0000000005", 100);
    list({mutex});
    reply_to(take_said<create>()->first, {.how = outcome::exists});
    const auto lease = make("0000000007", 101);
    reply_to(take_said<zookeeper::list>()->first, {.how = outcome::no_rights});
    EXPECT_EQ(std::get<failure>(take<tell_attempted>()->answer).code, errc::backend_refused);
    EXPECT_EQ(take_said<remove>()->second.path, "/a/locks/" + mutex);
    EXPECT_EQ(take_said<remove>()->second.path, "/a/leases/" + lease);
    EXPECT_FALSE(take_said<create>());
}

TEST_F(zookeeper_machine, of_permits_leaves_the_mutex_when_it_has_the_lease) {
    const auto permit = claim_of(1, kind::permits, mode::permit);
    permit->permits = 2;
    attempt(permit);
    for (int i = 0; i < 2; ++i)
        reply_to(take_said<create>()->first, {.how = outcome::exists});
    const auto mutex = make("0000000005", 100);
    list({mutex});
    reply_to(take_said<create>()->first, {.how = outcome::exists});
    const auto lease = make("0000000007", 101);
    const auto listed = take_said<zookeeper::list>();
    EXPECT_TRUE(listed->second.watch);
    reply_to(listed->first, {.how = outcome::ok, .children = {"x", "y", lease}});
    EXPECT_TRUE(std::holds_alternative<contended>(take<tell_attempted>()->answer));
    EXPECT_EQ(said(), 0U) << "stays first, and waits";
    m.noticed(listed->first, seen::children_changed, now, out);
    list({"y", lease});
    EXPECT_TRUE(take<tell_granted>());
    EXPECT_EQ(take_said<remove>()->second.path, "/a/locks/" + mutex);
    release(permit);
    EXPECT_EQ(take_said<remove>()->second.path, "/a/leases/" + lease);
}

} // namespace
} // namespace holdfast::zookeeper::test
