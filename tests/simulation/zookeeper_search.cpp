// HOLDFAST_TROUBLE=n: so many more who give up and go deaf.

#include "simulation/zookeeper_search.hpp"
#include "backends/zookeeper/machine.hpp"
#include "lease/defect.hpp"
#include "models/chance.hpp"
#include "simulation/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace holdfast::simulation {
namespace {

using namespace std::chrono_literals;
using zookeeper::op_id;
using zookeeper::outcome;

constexpr instant now{1h};
constexpr instant patience{now + 50ms};
constexpr const char* folder = "/a";

/// Two things with the same digest are taken for the same.
class digest {
public:
    explicit digest(std::uint64_t from = 0) : value_{from} {}
    template <class... T> void add(const T&... parts) { (add_one(parts), ...); }
    [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

private:
    template <class T> void add_one(T number) requires std::is_integral_v<T> || std::is_enum_v<T> {
        value_ = models::chance::mix(value_ * 31 + static_cast<std::uint64_t>(number) + 1);
    }
    void add_one(const std::string& text) { add_one(std::hash<std::string>{}(text)); }
    std::uint64_t value_;
};

// ------------------------------------------------------------------------------ what a machine is

/// One thing that a machine is told.
struct input {
    enum class kind : std::uint8_t {
        ask,
        wait_no_longer,
        withdraw,
        release,
        forget,
        suspended,
        connected,
        replied,
        noticed
    };
    kind what{};
    std::size_t wish = 0;
    std::int64_t session = 0;
    op_id op{};
    zookeeper::reply reply{};
    zookeeper::seen seen{};

    void add_to(digest& d) const {
        d.add(what, wish, session, op, reply.how, reply.path);
        d.add(reply.facts.created_by, reply.facts.session, seen);
        for (const auto& child : reply.children)
            d.add(child);
    }
};

/// Machines by what they were told; what each answers to the last of it is known after the first
/// time.
class machines {
public:
    machines(const std::vector<wants>& wishes, std::size_t number) {
        rules_.first_bond = number * 1000 + 1;
        for (std::size_t i = 0; i < wishes.size(); ++i) {
            auto c = std::make_shared<claim>();
            c->name = "a";
            c->nonce.bytes = {static_cast<unsigned char>(number + 1),
                              static_cast<unsigned char>(i + 1)};
            c->kind = wishes[i] == wants::lock ? kind::plain : kind::read_write;
            c->mode = wishes[i] == wants::lock || wishes[i] == wants::write ? mode::exclusive
                                                                            : mode::shared;
            if (wishes[i] == wants::read_under_the_write)
                c->within = claims_.front()->nonce;
            claims_.push_back(std::move(c));
        }
        histories_[0] = {};
    }

    /// The machine that was told `history` hears one thing more.
    const zookeeper::actions& tell(std::uint64_t& history, const input& next) {
        const auto before = history;
        digest d{before};
        next.add_to(d);
        history = d.value();
        const auto [found, is_new] = answers_.try_emplace(history);
        if (!is_new)
            return found->second;
        auto all = histories_.at(before);
        all.push_back(next);
        zookeeper::machine m{rules_};
        zookeeper::actions out;
        m.start(out);
        for (const auto& one : all) {
            out.clear();
            replay(m, one, out);
        }
        histories_.emplace(history, std::move(all));
        return found->second = std::move(out);
    }

    [[nodiscard]] const claim& wish(std::size_t i) const { return *claims_[i]; }
    [[nodiscard]] std::optional<std::size_t> whose(const nonce& n) const {
        for (std::size_t i = 0; i < claims_.size(); ++i)
            if (claims_[i]->nonce == n)
                return i;
        return std::nullopt;
    }

private:
    void replay(zookeeper::machine& m, const input& i, zookeeper::actions& out) {
        const auto bond = m.bond();
        const call c{ticket{i.wish}, now, patience};
        switch (i.what) {
        case input::kind::ask:
            return m.attempt(c, claims_[i.wish], joining::queue, now, out);
        case input::kind::wait_no_longer:
            return m.on_time(patience, out);
        case input::kind::withdraw:
            return m.withdraw(c, claims_[i.wish], now, out);
        case input::kind::release: {
            grant given{.nonce = claims_[i.wish]->nonce, .fence = {}, .terms = {}};
            given.terms.bond = bond;
            return m.release(c, claims_[i.wish], given, now, out);
        }
        case input::kind::forget:
            return m.forget(bond, out);
        case input::kind::suspended:
            return m.suspended(bond, now, out);
        case input::kind::connected:
            return m.connected(bond, i.session, 30s, now, out);
        case input::kind::replied:
            return m.replied(i.op, i.reply, now, out);
        case input::kind::noticed:
            return m.noticed(i.op, i.seen, now, out);
        }
    }

    zookeeper::rules rules_;
    std::vector<std::shared_ptr<const claim>> claims_;
    std::unordered_map<std::uint64_t, std::vector<input>> histories_;
    std::unordered_map<std::uint64_t, zookeeper::actions> answers_;
};

// -------------------------------------------------------------------------------- what a state is

struct wish_state {
    bool asked = false;
    bool answered = false; // with "behind others", or that it is not known
    bool believed = false;
    bool over = false;
};

/// An answer, or what became of a path that was watched.
struct message {
    std::optional<zookeeper::operation> to{};
    zookeeper::reply reply{};
    std::string gone{};
};

struct client_state {
    std::uint64_t history = 0;
    std::int64_t session = 0;
    bool deaf = false;
    bool served = false; // at least once
    std::vector<wish_state> wishes;
    std::deque<zookeeper::operation> up;   // not carried out
    std::deque<message> down;              // not heard of
    std::deque<zookeeper::operation> sent; // not answered
    std::map<std::string, std::vector<op_id>> watches;
    std::vector<std::string> armed; // at the server
};

struct znode {
    std::string name;
    std::int64_t session = 0;
    std::int64_t created = 0;
};

struct state {
    std::vector<client_state> clients;
    std::vector<znode> nodes;
    bool folder_is_there = false;
    int made = 0;
    std::int64_t changes = 0;
    std::int64_t sessions = 0;
    std::vector<std::int64_t> ending; // sessions that nobody believes in, but the server does
    unsigned give_ups = 0;
    unsigned deaf = 0;
    unsigned ends = 0;
    unsigned reaps = 0;

    [[nodiscard]] std::uint64_t name() const {
        digest d;
        d.add(folder_is_there, made, give_ups, deaf, ends, reaps, sessions);
        for (const auto& n : nodes)
            d.add(n.name, n.session, n.created);
        for (const auto e : ending)
            d.add(e);
        for (const auto& c : clients) {
            d.add(c.history, c.deaf, c.served);
            for (const auto& w : c.wishes)
                d.add(w.asked, w.answered, w.believed, w.over);
            for (const auto& op : c.up)
                d.add(op.id);
            for (const auto& m : c.down) {
                d.add(m.to ? m.to->id : op_id{}, m.gone, m.reply.how, m.reply.path);
                for (const auto& child : m.reply.children)
                    d.add(child);
            }
            for (const auto& path : c.armed)
                d.add(path);
        }
        return d.value();
    }
};

// ------------------------------------------------------------------------------------- the search

class searcher {
public:
    explicit searcher(const search_scope& scope) : scope_{scope} {
        state first;
        first.give_ups = scope.give_ups;
        first.deaf = scope.deaf;
        first.ends = scope.ends_of_sessions;
        first.reaps = scope.reaps;
        for (std::size_t i = 0; i < scope.clients.size(); ++i) {
            machines_.push_back(std::make_unique<machines>(scope.clients[i], i));
            auto& c = first.clients.emplace_back();
            c.wishes.resize(scope.clients[i].size());
            c.session = ++first.sessions;
            hear(first, i, {.what = input::kind::connected, .session = c.session});
        }
        for (std::size_t i = 0; i < first.clients.size(); ++i)
            ask(first, i, 0);
        visit(first);
    }

    search_result result;

private:
    using step = std::pair<std::string, std::function<void(state&)>>;

    void visit(const state& s) {
        if (!result.complaint.empty() || !visited_.insert(s.name()).second)
            return;
        ++result.states;
        if (const char* wrong = what_is_wrong_with(s))
            return complain(wrong);
        auto steps = ways_on(s);
        if (steps.empty() && !all_is_over(s))
            return complain("somebody waits for ever, or something is left");
        add_trouble(s, steps);
        for (const auto& [name, take] : steps) {
            way_.push_back(name);
            auto next = s;
            take(next);
            for (std::size_t i = 0; i < next.clients.size(); ++i)
                while (!next.clients[i].deaf && !next.clients[i].down.empty())
                    deliver(next, i);
            visit(next);
            way_.pop_back();
        }
    }

    void complain(const char* wrong) {
        result.complaint = wrong;
        for (const auto& one : way_)
            result.complaint += "\n    " + one;
    }

    [[nodiscard]] const char* what_is_wrong_with(const state& s) const {
        for (std::size_t i = 0; i < s.clients.size(); ++i)
            for (std::size_t j = i + 1; j < s.clients.size(); ++j)
                for (std::size_t a = 0; a < s.clients[i].wishes.size(); ++a)
                    for (std::size_t b = 0; b < s.clients[j].wishes.size(); ++b)
                        if (s.clients[i].wishes[a].believed && s.clients[j].wishes[b].believed &&
                            (machines_[i]->wish(a).mode != mode::shared ||
                             machines_[j]->wish(b).mode != mode::shared))
                            return "two believe";
        return nullptr;
    }

    [[nodiscard]] static bool all_is_over(const state& s) {
        return s.nodes.empty() &&
               std::all_of(s.clients.begin(), s.clients.end(), [](const auto& c) {
                   return std::all_of(c.wishes.begin(), c.wishes.end(), [](const auto& w) {
                       return w.over && !w.believed;
                   });
               });
    }

    // What happens if nothing goes wrong.
    [[nodiscard]] std::vector<step> ways_on(const state& s) {
        std::vector<step> all;
        const auto add = [&](std::size_t i, const char* what, auto take) {
            all.emplace_back(std::to_string(i) + what, std::move(take));
        };
        for (std::size_t i = 0; i < s.clients.size(); ++i) {
            const auto& c = s.clients[i];
            for (std::size_t k = 0; k < c.wishes.size(); ++k) {
                const bool under = scope_.clients[i][k] == wants::read_under_the_write;
                const bool may_ask =
                    k == 0 || (under && c.wishes[k - 1].believed) || c.wishes[k - 1].over;
                if (!c.wishes[k].asked && may_ask)
                    add(i, " asks", [this, i, k](state& n) { ask(n, i, k); });
                if (c.wishes[k].believed)
                    add(i, " releases", [this, i, k](state& n) { release(n, i, k); });
            }
            if (!c.up.empty() && its_turn_to_begin(s, i))
                add(i, " is served", [this, i](state& n) { serve(n, i); });
            if (c.deaf) {
                add(i, " hears again", [i](state& n) { n.clients[i].deaf = false; });
                add(i, " is cut", [this, i](state& n) { break_line(n, i); });
            }
        }
        for (const auto which : s.ending)
            all.emplace_back("session " + std::to_string(which) + " ends",
                             [this, which](state& n) { end(n, which); });
        return all;
    }

    // Of clients who want the same, the first begins first: they can be exchanged.
    [[nodiscard]] bool its_turn_to_begin(const state& s, std::size_t i) const {
        return i == 0 || scope_.clients[i] != scope_.clients[i - 1] || s.clients[i].served ||
               s.clients[i - 1].served;
    }

    void add_trouble(const state& s, std::vector<step>& to) {
        for (std::size_t i = 0; i < s.clients.size(); ++i) {
            const auto& c = s.clients[i];
            for (std::size_t k = 0; k < c.wishes.size() && s.give_ups > 0; ++k)
                if (const auto& w = c.wishes[k]; w.asked && !w.believed && !w.over)
                    to.emplace_back(std::to_string(i) + " gives up",
                                    [this, i, k](state& n) { give_up(n, i, k); });
            const bool busy = !c.sent.empty() || !c.watches.empty();
            if (s.deaf > 0 && busy && its_turn_to_begin(s, i) && !c.deaf)
                to.emplace_back(std::to_string(i) + " goes deaf", [i](state& n) {
                    --n.deaf;
                    n.clients[i].deaf = true;
                });
            if (s.ends > 0 && c.wishes.front().asked && !all_over(c))
                to.emplace_back(std::to_string(i) + " loses its session",
                                [this, i](state& n) { forget(n, i); });
        }
        if (s.reaps > 0 && s.folder_is_there && s.made > 0 && s.nodes.empty())
            to.emplace_back("the folder is removed", [](state& n) { reap(n); });
    }

    [[nodiscard]] static bool all_over(const client_state& c) {
        return std::all_of(c.wishes.begin(), c.wishes.end(), [](const auto& w) { return w.over; });
    }

    // ------------------------------------------------------------------------- what a client does

    void ask(state& s, std::size_t i, std::size_t k) {
        s.clients[i].wishes[k].asked = true;
        s.clients[i].wishes[k].answered = false;
        hear(s, i, {.what = input::kind::ask, .wish = k});
    }

    void release(state& s, std::size_t i, std::size_t k) {
        auto& w = s.clients[i].wishes[k];
        w.believed = false;
        w.over = true;
        hear(s, i, {.what = input::kind::release, .wish = k});
    }

    // The core withdraws only what was answered, if need be by the clock.
    void give_up(state& s, std::size_t i, std::size_t k) {
        --s.give_ups;
        if (!s.clients[i].wishes[k].answered)
            hear(s, i, {.what = input::kind::wait_no_longer});
        s.clients[i].wishes[k].over = true;
        for (auto j = k + 1; j < s.clients[i].wishes.size(); ++j)
            s.clients[i].wishes[j].asked = s.clients[i].wishes[j].over = true;
        hear(s, i, {.what = input::kind::withdraw, .wish = k});
    }

    // Its deadline has passed: it believes no more, and begins a new session. The server comes to
    // the end of the old one in its own time.
    void forget(state& s, std::size_t i) {
        --s.ends;
        auto& c = s.clients[i];
        s.ending.push_back(c.session);
        disconnect(c);
        c.watches.clear();
        c.sent.clear();
        std::vector<std::size_t> lost_places;
        for (std::size_t k = 0; k < c.wishes.size(); ++k) {
            auto& w = c.wishes[k];
            if (std::exchange(w.believed, false))
                w.over = true;
            else if (w.asked && w.answered && !w.over)
                lost_places.push_back(k);
        }
        for (std::size_t k = 1; k < c.wishes.size(); ++k)
            if (c.wishes[k - 1].over && !c.wishes[k].asked)
                c.wishes[k].asked = c.wishes[k].over = true;
        hear(s, i, {.what = input::kind::forget});
        s.clients[i].session = ++s.sessions;
        hear(s, i, {.what = input::kind::connected, .session = s.sessions});
        for (const auto k : lost_places)
            ask(s, i, k);
    }

    void break_line(state& s, std::size_t i) {
        disconnect(s.clients[i]);
        hear(s, i, {.what = input::kind::suspended});
        for (const auto& op : std::exchange(s.clients[i].sent, {}))
            hear(
                s, i, {.what = input::kind::replied, .op = op.id, .reply = {.how = outcome::lost}});
        auto& c = s.clients[i];
        for (const auto& [path, _] : c.watches) {
            if (path == folder ? s.folder_is_there : find(s, path) != s.nodes.end())
                c.armed.push_back(path);
            else
                c.down.push_back({.gone = path});
        }
        hear(s, i, {.what = input::kind::connected, .session = c.session});
    }

    static void disconnect(client_state& c) {
        c.deaf = false;
        c.up.clear();
        c.down.clear();
        c.armed.clear();
    }

    void deliver(state& s, std::size_t i) {
        auto& c = s.clients[i];
        const auto m = std::move(c.down.front());
        c.down.pop_front();
        if (!m.to) {
            auto taken = c.watches.extract(m.gone);
            if (taken.empty())
                return;
            for (const auto op : taken.mapped())
                hear(s,
                     i,
                     {.what = input::kind::noticed, .op = op, .seen = zookeeper::seen::deleted});
            return;
        }
        c.sent.pop_front();
        const auto* const l = std::get_if<zookeeper::look>(&m.to->what);
        if (l != nullptr && l->watch && m.reply.how == outcome::ok)
            c.watches[l->path].push_back(m.to->id);
        hear(s, i, {.what = input::kind::replied, .op = m.to->id, .reply = m.reply});
    }

    /// The machine hears something, and what it wants is done.
    void hear(state& s, std::size_t i, const input& what) {
        const auto out = machines_[i]->tell(s.clients[i].history, what);
        for (const auto& one : out) {
            auto& c = s.clients[i];
            if (const auto* op = std::get_if<zookeeper::operation>(&one)) {
                c.up.push_back(*op);
                c.sent.push_back(*op);
            } else if (const auto* a = std::get_if<zookeeper::tell_attempted>(&one)) {
                const auto k = static_cast<std::size_t>(a->to);
                attempted(s, i, k, a->answer);
                result.granted_without_a_list += std::holds_alternative<grant>(a->answer) &&
                                                 !what.reply.path.empty() &&
                                                 !machines_[i]->wish(k).within;
            } else if (const auto* g = std::get_if<zookeeper::tell_granted>(&one)) {
                if (const auto k = machines_[i]->whose(g->whose); k && !c.wishes[*k].over) {
                    c.wishes[*k].believed = true;
                    result.granted_by_an_event += what.what == input::kind::noticed;
                }
            } else if (const auto* l = std::get_if<zookeeper::tell_grant_lost>(&one)) {
                if (const auto k = machines_[i]->whose(l->whose); k && c.wishes[*k].believed) {
                    c.wishes[*k].believed = false;
                    c.wishes[*k].over = true;
                }
            }
        }
    }

    void attempted(state& s, std::size_t i, std::size_t k, const attempt_answer& answer) {
        auto& w = s.clients[i].wishes[k];
        if (w.over)
            return;
        w.answered = true;
        w.believed = std::holds_alternative<grant>(answer);
        if (const auto* f = std::get_if<failure>(&answer);
            f != nullptr && f->applied == applied::no)
            w.over = true; // the caller is told
    }

    // ------------------------------------------------------------------------ what the server does

    [[nodiscard]] static std::vector<znode>::iterator find(state& s, const std::string& path) {
        return std::find_if(s.nodes.begin(), s.nodes.end(), [&](const znode& n) {
            return folder + ('/' + n.name) == path;
        });
    }

    void serve(state& s, std::size_t i) {
        const auto op = std::move(s.clients[i].up.front());
        s.clients[i].up.pop_front();
        s.clients[i].served = true;
        message m{.to = op, .reply = carry_out(s, i, op)};
        s.clients[i].down.push_back(std::move(m));
        if (const auto* c = std::get_if<zookeeper::create>(&op.what);
            c != nullptr && c->path == folder && !s.clients[i].up.empty())
            serve(s, i);
    }

    zookeeper::reply carry_out(state& s, std::size_t i, const zookeeper::operation& op) {
        auto& c = s.clients[i];
        if (const auto* m = std::get_if<zookeeper::create>(&op.what)) {
            if (m->path == folder)
                return {.how =
                            std::exchange(s.folder_is_there, true) ? outcome::exists : outcome::ok};
            if (!s.folder_is_there)
                return {.how = outcome::no_node};
            auto path = m->path;
            if (m->lives == zookeeper::lives::with_the_session_and_numbered) {
                std::array<char, 16> number{};
                std::snprintf(number.data(), number.size(), "%010d", s.made);
                path += number.data();
            }
            if (find(s, path) != s.nodes.end())
                return {.how = outcome::exists};
            ++s.made;
            s.nodes.push_back({path.substr(3), c.session, ++s.changes});
            return {.how = outcome::ok, .path = path, .facts = {s.changes, c.session, 0}};
        }
        if (std::holds_alternative<zookeeper::list>(op.what)) {
            if (!s.folder_is_there)
                return {.how = outcome::no_node};
            zookeeper::reply r{.how = outcome::ok};
            for (const auto& n : s.nodes)
                r.children.push_back(n.name);
            return r;
        }
        if (const auto* l = std::get_if<zookeeper::look>(&op.what);
            l != nullptr && l->path == folder) {
            if (!s.folder_is_there)
                return {.how = outcome::no_node};
            c.armed.push_back(folder);
        } else if (l != nullptr) {
            const auto found = find(s, l->path);
            if (found == s.nodes.end())
                return {.how = outcome::no_node};
            if (l->watch)
                c.armed.push_back(l->path);
            return {.how = outcome::ok, .facts = {found->created, found->session, 0}};
        }
        if (const auto* r = std::get_if<zookeeper::remove>(&op.what)) {
            const auto found = find(s, r->path);
            if (found == s.nodes.end())
                return {.how = outcome::no_node};
            remove(s, found);
        }
        return {.how = outcome::ok};
    }

    static std::vector<znode>::iterator remove(state& s, std::vector<znode>::iterator which) {
        announce(s, folder + ('/' + which->name));
        return s.nodes.erase(which);
    }

    static void reap(state& s) {
        --s.reaps;
        s.folder_is_there = false;
        s.made = 0;
        announce(s, folder);
    }

    static void announce(state& s, const std::string& gone) {
        for (auto& c : s.clients)
            if (std::erase(c.armed, gone) > 0)
                c.down.push_back({.gone = gone});
    }

    void end(state& s, std::int64_t which) {
        std::erase(s.ending, which);
        for (auto it = s.nodes.begin(); it != s.nodes.end();)
            it = it->session == which ? remove(s, it) : std::next(it);
    }

    const search_scope& scope_;
    std::vector<std::unique_ptr<machines>> machines_;
    std::unordered_set<std::uint64_t> visited_;
    std::vector<std::string> way_;
};

struct named_scope {
    const char* name;
    search_scope what;
};

const named_scope& scope_called(std::string_view name) {
    using enum wants;
    static const named_scope all[] = {
        {"mutexes", {{{lock}, {lock}, {lock}}, 2, 0, 0}},
        {"mutexes_and_a_deaf_client", {{{lock}, {lock}, {lock}}, 0, 1, 0}},
        {"mutexes_and_the_end_of_a_session", {{{lock}, {lock}, {lock}}, 0, 0, 1}},
        {"two_mutexes_and_all_trouble", {{{lock}, {lock}}, 0, 1, 1}},
        {"a_reading_under_the_write", {{{write, read_under_the_write}, {write}, {write}}, 0, 0, 0}},
        {"a_reading_under_the_write_in_trouble",
         {{{write, read_under_the_write}, {write}}, 0, 1, 0}},
        {"a_writer_between_readers", {{{read}, {write}, {read}}, 1, 0, 0}},
        {"a_folder_that_is_made_anew", {{{lock, lock, lock}, {lock, lock}}, 0, 0, 0, 1}},
        {"the_next_number_and_a_deaf_client", {{{lock, lock, lock}, {lock}}, 0, 1, 0, 0}},
        {"the_next_number_and_all_trouble", {{{lock, lock, lock}}, 1, 1, 1, 1}},
    };
    return *std::find_if(
        std::begin(all), std::end(all), [&](const auto& one) { return one.name == name; });
}

class zookeeper_search : public testing::TestWithParam<const char*> {};

TEST_P(zookeeper_search, finds_no_way_to_two_who_believe) {
    auto scope = scope_called(GetParam()).what;
    const auto more = static_cast<unsigned>(number_from_environment("HOLDFAST_TROUBLE", 0));
    scope.give_ups += more;
    scope.deaf += more;
    const auto found = search(scope);
    EXPECT_EQ(found.complaint, "");
    std::cout << GetParam() << ": " << found.states << " states, " << found.granted_by_an_event
              << " grants by an event alone, " << found.granted_without_a_list
              << " by a number alone\n";
}

INSTANTIATE_TEST_SUITE_P(of,
                         zookeeper_search,
                         testing::Values("mutexes",
                                         "mutexes_and_a_deaf_client",
                                         "mutexes_and_the_end_of_a_session",
                                         "two_mutexes_and_all_trouble",
                                         "a_reading_under_the_write",
                                         "a_reading_under_the_write_in_trouble",
                                         "a_writer_between_readers",
                                         "a_folder_that_is_made_anew",
                                         "the_next_number_and_a_deaf_client",
                                         "the_next_number_and_all_trouble"),
                         [](const auto& which) { return std::string{which.param}; });

#if defined(HOLDFAST_MUTANTS) && HOLDFAST_MUTANTS

struct defective {
    detail::defect what;
    const char* name; // begins so that the teeth are run together
    const char* scope;
};

class defective_search : public testing::TestWithParam<defective> {};

TEST_P(defective_search, finds_a_way) {
    detail::chosen_defect = GetParam().what;
    const auto found = search(scope_called(GetParam().scope).what);
    detail::chosen_defect = detail::defect::none;
    EXPECT_NE(found.complaint, "");
    std::cout << GetParam().name << ": after " << found.states << " states, " << found.complaint
              << '\n';
}

constexpr defective all_defective[] = {
    {detail::defect::zookeeper_always_next, "teeth_z2_always_next", "mutexes"},
    {detail::defect::zookeeper_makes_again, "teeth_z3_makes_again", "mutexes_and_a_deaf_client"},
    {detail::defect::zookeeper_removes_once, "teeth_z9_removes_once", "mutexes_and_a_deaf_client"},
    {detail::defect::zookeeper_writers_next, "teeth_z10_writers_next", "a_reading_under_the_write"},
    {detail::defect::zookeeper_any_number, "teeth_z13_any_number", "a_folder_that_is_made_anew"},
    {detail::defect::zookeeper_any_folder, "teeth_z14_any_folder", "a_folder_that_is_made_anew"},
};

INSTANTIATE_TEST_SUITE_P(of,
                         defective_search,
                         testing::ValuesIn(all_defective),
                         [](const auto& which) { return std::string{which.param.name}; });

#endif

} // namespace

search_result search(const search_scope& scope) { return searcher{scope}.result; }

} // namespace holdfast::simulation
