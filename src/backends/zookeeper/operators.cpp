// What an operator asks of ZooKeeper: who holds and waits, and whether the servers can be trusted.
// Each runs on the lane for operators and waits there.

#include "backends/zookeeper/backend.hpp"
#include "backends/zookeeper/notes.hpp"
#include "backends/zookeeper/probe.hpp"

#include <algorithm>
#include <charconv>
#include <fnmatch.h>
#include <map>
#include <utility>

namespace holdfast::zookeeper {
namespace {

constexpr std::size_t most_nodes = 20'000;  // looked at for one answer
constexpr std::size_t most_parties = 1'000; // of one lock
constexpr int deepest = 16;

[[nodiscard]] bool is_pattern(std::string_view text) {
    return text.find_first_of("*?[\\") != std::string_view::npos;
}

/// One node of a queue.
struct member {
    std::string node;
    role as;
    std::string number;
};

[[nodiscard]] std::vector<member> members_of(const std::vector<std::string>& children) {
    std::vector<member> all;
    for (const auto& child : children)
        if (const auto ticket = read_ticket(child))
            all.push_back({child, ticket->as, std::string{ticket->number}});
    std::sort(all.begin(), all.end(), [](const member& a, const member& b) {
        return a.number < b.number;
    });
    return all;
}

[[nodiscard]] mode mode_of(role as) {
    return as == role::reader ? mode::shared : as == role::lease ? mode::permit : mode::exclusive;
}

/// How many at the head of a queue hold it: one who writes, or all who read before him.
[[nodiscard]] std::size_t holders_in(const std::vector<member>& queue) {
    std::size_t count = 0;
    while (count < queue.size() && queue[count].as == role::reader)
        ++count;
    if (count > 0 || queue.empty())
        return count;
    // A writer may read under its own write, with the same number.
    while (count < queue.size() && queue[count].number == queue.front().number)
        ++count;
    return count;
}

[[nodiscard]] failure failure_of(const reply& r) {
    if (r.how == outcome::no_rights)
        return {errc::backend_refused, applied::no, "a node's access list does not let us in"};
    return {errc::backend_unavailable,
            applied::maybe,
            r.words.empty() ? "ZooKeeper did not answer in time" : r.words};
}

[[nodiscard]] std::int64_t number_in(std::string_view text) {
    std::int64_t value = -1;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

[[nodiscard]] std::string seconds(duration d) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
    return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

} // namespace

struct zookeeper_backend::inspection {
    zookeeper_backend& engine;
    const instant by;
    std::size_t looked_at = 0;
    failure problem{};

    [[nodiscard]] bool list_of(const std::string& path, std::vector<std::string>& children) {
        ++looked_at;
        auto r = engine.ask(list{path}, by);
        if (r.how == outcome::ok) {
            children = std::move(r.children);
            return true;
        }
        if (r.how == outcome::no_node)
            return true;
        problem = failure_of(r);
        return false;
    }

    /// What the nodes below one path say; nothing if they are not those of a lock.
    [[nodiscard]] bool
    look_at(const std::string& path, const std::vector<std::string>& children, lock_info& lock) {
        const auto has = [&](const char* name) {
            return std::find(children.begin(), children.end(), name) != children.end();
        };
        const auto queue = members_of(children);
        const auto first = holders_in(queue);
        for (std::size_t i = 0; i < std::min(queue.size(), most_parties); ++i)
            if (!tell_of(path + '/' + queue[i].node, mode_of(queue[i].as), i < first, lock))
                return false;
        if (!has("leases"))
            return true;
        std::vector<std::string> leases, locks;
        if (!list_of(path + "/leases", leases) ||
            (has("locks") && !list_of(path + "/locks", locks)))
            return false;
        for (const auto& one : members_of(leases))
            if (!tell_of(path + "/leases/" + one.node, mode::permit, true, lock))
                return false;
        for (const auto& one : members_of(locks))
            if (!tell_of(path + "/locks/" + one.node, mode::permit, false, lock))
                return false;
        return true;
    }

    [[nodiscard]] bool tell_of(const std::string& node, mode how, bool holds, lock_info& lock) {
        ++looked_at;
        const auto r = engine.ask(look{node}, by);
        if (r.how == outcome::no_node)
            return true; // it has just gone
        if (r.how != outcome::ok) {
            problem = failure_of(r);
            return false;
        }
        const auto since = age_of(r.facts.made_at_ms);
        if (holds)
            lock.holders.push_back({.who = party_in(r.data),
                                    .mode = how,
                                    .fence = fence{how == mode::permit ? 0 : r.facts.created_by},
                                    .held_for = since,
                                    .remaining = std::nullopt,
                                    .remark = r.data == please_release ? "asked to release" : ""});
        else
            lock.waiters.push_back({.who = party_in(r.data), .mode = how, .waited_for = since});
        return true;
    }

    /// All locks below a path that match.
    [[nodiscard]] bool walk(const std::string& path,
                            const std::string& name,
                            const std::string& pattern,
                            int depth,
                            std::vector<lock_info>& found) {
        std::vector<std::string> children;
        if (looked_at > most_nodes || depth > deepest)
            return true;
        if (!list_of(path.empty() ? "/" : path, children))
            return false;
        const bool is_queue =
            !members_of(children).empty() ||
            std::find(children.begin(), children.end(), "leases") != children.end();
        if (!name.empty() && is_queue) {
            if (::fnmatch(pattern.c_str(), name.c_str(), 0) != 0)
                return true;
            lock_info lock{.name = name, .holders = {}, .waiters = {}};
            if (!look_at(path, children, lock))
                return false;
            if (!lock.holders.empty() || !lock.waiters.empty())
                found.push_back(std::move(lock));
            return true;
        }
        for (const auto& child : children) {
            if (path.empty() && child == "zookeeper")
                continue;
            // A child of the root is a name as it is; what lies deeper is a path.
            const auto called = depth == 0 ? name_of_child(child)
                                : depth == 1
                                    ? "/" + path.substr(engine.how_.root.size() + 1) + "/" + child
                                    : name + "/" + child;
            if (!walk(path + '/' + child, called, pattern, depth + 1, found))
                return false;
        }
        return true;
    }
};

void zookeeper_backend::inspect(const call& c, const std::string& pattern) {
    operators_.post([this, c, pattern] {
        std::vector<lock_info> found;
        inspection all{*this, c.answer_by};
        if (auto why = why_not_connected(c.answer_by))
            return events_->inspected(c.ticket, std::move(*why));
        bool ok = true;
        if (is_pattern(pattern)) {
            ok = all.walk(how_.root, {}, pattern, 0, found);
        } else if (what_is_wrong_with_path(pattern) == nullptr) {
            const auto path = path_of(how_.root, pattern);
            std::vector<std::string> children;
            lock_info lock{.name = pattern, .holders = {}, .waiters = {}};
            ok = all.list_of(path, children) && all.look_at(path, children, lock);
            if (!lock.holders.empty() || !lock.waiters.empty())
                found.push_back(std::move(lock));
        }
        if (ok)
            events_->inspected(c.ticket, std::move(found));
        else
            events_->inspected(c.ticket, all.problem);
    });
}

/// Does something with the node of each holder, and tells how many there were.
void zookeeper_backend::with_holders(
    const call& c,
    const std::string& name,
    std::function<decltype(operation::what)(std::string path)> what) {
    operators_.post([this, c, name, what = std::move(what)] {
        inspection all{*this, c.answer_by};
        const auto path = path_of(how_.root, name);
        std::vector<std::string> children, leases, holders;
        if (auto why = why_not_connected(c.answer_by))
            return events_->forced(c.ticket, std::move(*why));
        if (!all.list_of(path, children) || !all.list_of(path + "/leases", leases))
            return events_->forced(c.ticket, all.problem);
        const auto queue = members_of(children);
        for (std::size_t i = 0; i < holders_in(queue); ++i)
            holders.push_back(path + '/' + queue[i].node);
        for (const auto& one : members_of(leases))
            holders.push_back(path + "/leases/" + one.node);
        std::size_t count = 0;
        for (auto& node : holders) {
            const auto r = ask(what(std::move(node)), c.answer_by);
            if (r.how == outcome::ok)
                ++count;
            else if (r.how != outcome::no_node)
                return events_->forced(c.ticket, failure_of(r));
        }
        events_->forced(c.ticket, count);
    });
}

void zookeeper_backend::force_release(const call& c, const std::string& name) {
    with_holders(c, name, [](std::string path) { return remove{std::move(path)}; });
}

void zookeeper_backend::ask_release(const call& c, const std::string& name) {
    with_holders(c, name, [](std::string path) {
        return write{std::move(path), std::string{please_release}};
    });
}

// ------------------------------------------------------------------------------------- examining

namespace {

using grade = finding::grade;

void say(std::vector<finding>& all, grade how, std::string what, std::string fix = {}) {
    all.push_back({how, std::move(what), std::move(fix)});
}

void examine_servers(const std::vector<report>& servers, std::vector<finding>& all) {
    std::size_t serving = 0, reserved = 0;
    std::map<std::string, int> versions;
    std::string leader;
    for (const auto& one : servers) {
        const auto where = text_of(one.at);
        switch (one.how) {
        case report::is::serving: {
            ++serving;
            auto version = one.value("Zookeeper version");
            version = version.substr(0, version.find_first_of("-,"));
            ++versions[version];
            const auto mode = one.value("Mode");
            if (mode == "leader")
                leader = where;
            say(all,
                grade::good,
                where + " serves: " + mode + ", ZooKeeper " + version + ", latency min/avg/max " +
                    one.value("Latency min/avg/max") + " ms");
            break;
        }
        case report::is::reserved:
            ++reserved;
            say(all,
                grade::notice,
                where + " does not answer 'srvr'",
                "add srvr to 4lw.commands.whitelist, and doctor can say more");
            break;
        default:
            say(all,
                grade::warning,
                why_nobody_serves({one}),
                "start it, or leave it out of the URL");
        }
    }
    if (serving + reserved == 0) {
        say(all,
            grade::danger,
            "no server serves: " + why_nobody_serves(servers),
            "start the servers, or correct the URL");
        return;
    }
    if (versions.size() > 1)
        say(all, grade::notice, "the servers have different versions", "finish the upgrade");
    if (servers.size() == 1 && servers.front().value("Mode") == "standalone")
        say(all,
            grade::warning,
            "it is one server: while it is away nobody gets a lock, and those who hold lose theirs",
            "run three or five servers on machines of their own");
    else if (servers.size() == 1 && serving == 1)
        say(all,
            grade::notice,
            "the URL names one server of an ensemble: without it this client has no way in",
            "name all of them: zookeeper://h1,h2,h3");
    else if (servers.size() > 1 && reserved == 0 && leader.empty())
        say(all,
            grade::notice,
            "none of the servers in the URL leads",
            "name all servers of the ensemble");
    if (servers.size() > 1 && servers.size() % 2 == 0)
        say(all,
            grade::notice,
            std::to_string(servers.size()) + " servers survive no more failures than " +
                std::to_string(servers.size() - 1),
            "use an odd number");
}

} // namespace

void zookeeper_backend::examine(const call& c) {
    operators_.post([this, c] {
        std::vector<finding> all;
        const auto servers = ask_all(how_.servers, std::chrono::seconds{2});
        examine_servers(servers, all);
        const bool is_up = !why_not_connected(c.answer_by);
        duration granted{};
        {
            const std::lock_guard lock{guard_};
            granted = machine_.session_time();
        }
        if (is_up) {
            const auto began = boot_clock::now();
            const auto beaten = ask(beat{}, c.answer_by);
            const auto took =
                std::chrono::duration_cast<std::chrono::microseconds>(boot_clock::now() - began);
            if (beaten.how == outcome::ok)
                say(all,
                    grade::good,
                    "a write was confirmed after " + std::to_string(took.count()) + " us");
            else
                say(all,
                    grade::warning,
                    "a write was not confirmed: " + failure_of(beaten).detail,
                    "ask again; look at the leader's disk and log");
            say(all,
                granted == how_.session ? grade::good : grade::notice,
                "the session ends after " + seconds(granted) + " of silence" +
                    (granted == how_.session
                         ? ""
                         : ", though " + seconds(how_.session) + " were asked for"),
                granted == how_.session
                    ? ""
                    : "see minSessionTimeout and maxSessionTimeout of the servers");
            for (const auto& one : servers) {
                if (one.how != report::is::serving)
                    continue;
                const auto conf = zookeeper::ask(one.at, "conf", std::chrono::seconds{1});
                const auto tick = number_in(conf.value("tickTime"));
                if (tick > 0 && granted < 4 * std::chrono::milliseconds{tick})
                    say(all,
                        grade::warning,
                        "a session of " + seconds(granted) + " has fewer than four ticks of " +
                            std::to_string(tick) +
                            " ms: a partition inside the ensemble may end it before we know",
                        "session=" + seconds(4 * std::chrono::milliseconds{tick}) + " or longer");
                break;
            }
        } else {
            say(all, grade::danger, "there is no session with ZooKeeper", "see above");
        }
        if (how_.access == access::open)
            say(all,
                grade::notice,
                "whoever reaches the servers may delete our nodes",
                "user:password@ and acl=creator in the URL, if all who share the locks can do the "
                "same");
        std::stable_sort(all.begin(), all.end(), [](const finding& a, const finding& b) {
            return a.how > b.how;
        });
        events_->examined(c.ticket, std::move(all));
    });
}

} // namespace holdfast::zookeeper
