// A name belongs to a slot, and a slot to a server. Where a slot is we learn from any server, and
// from the one that we asked in vain:
//
//   MOVED  it is there now: ask there, and learn the whole map anew
//   ASK    it is on its way there: ask there, this once
//   TRYAGAIN  some of its keys are here and some there: ask again in a moment
//
// Redirections are followed a few times and within the time of the request; nothing else is sent
// twice, except what a server refused in the middle of a move.
//
// Who has no slot any more is forgotten with the next map. A server lives on while an answer of it
// is awaited.

#include "backends/redis/errors.hpp"
#include "backends/redis/names.hpp"
#include "backends/redis/waiting_room.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <map>
#include <optional>
#include <set>

namespace holdfast::redis {
namespace {

constexpr int most_redirections = 5;
constexpr duration learns_at_most_every = std::chrono::milliseconds{100};
constexpr duration servers_patience = std::chrono::milliseconds{1000};
constexpr std::size_t most_servers = 1000; // as many as a cluster should have at most

/// Between two questions for a slot whose keys are half here and half there.
[[nodiscard]] duration pause_after(int refusals) {
    return std::chrono::milliseconds{std::min(10 << std::min(refusals, 5), 200)};
}

/// "MOVED 3999 127.0.0.1:6381", "ASK 3999 :6381" (the same host, another port).
struct redirection {
    bool moved = false;
    std::uint16_t slot = 0;
    endpoint where;
};

[[nodiscard]] std::optional<redirection> redirected(std::string_view error, const endpoint& asked) {
    const auto word = first_word(error);
    if (word != "MOVED" && word != "ASK")
        return std::nullopt;
    redirection to;
    to.moved = word == "MOVED";
    auto rest = error.substr(std::min(word.size() + 1, error.size()));
    const auto space = rest.find(' ');
    const auto colon = rest.rfind(':');
    unsigned slot = 0;
    if (space == std::string_view::npos || colon == std::string_view::npos || colon < space ||
        std::from_chars(rest.data(), rest.data() + space, slot).ptr != rest.data() + space ||
        slot >= 16384)
        return std::nullopt;
    to.slot = static_cast<std::uint16_t>(slot);
    to.where.host = rest.substr(space + 1, colon - space - 1);
    if (to.where.host.empty() || to.where.host == "?")
        to.where.host = asked.host;
    const auto digits = rest.substr(colon + 1);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), to.where.port).ec !=
            std::errc{} ||
        to.where.port < 1 || to.where.port > 65535)
        return std::nullopt;
    return to;
}

class cluster_directory final : public directory {
public:
    explicit cluster_directory(std::shared_ptr<const acquaintance> with)
        : with_{std::move(with)}, ticker_{with_->background,
                                          [this](instant now) { return on_time(now); }} {
        for (const auto& one : with_->how.servers)
            seeds_.push_back({one.host, one.port});
    }
    ~cluster_directory() override { cluster_directory::close(); }

    void ask(server::way w,
             std::string_view key,
             std::string_view bytes,
             instant answer_by,
             on_answer done) override {
        send({w, std::string{key}, std::string{bytes}, answer_by, std::move(done)}, {});
    }

    std::shared_ptr<server> server_of(std::string_view key) override {
        const std::lock_guard lock{guard_};
        return slots_[slot_of(key)];
    }

    std::vector<std::shared_ptr<server>> primaries() override {
        const std::lock_guard lock{guard_};
        std::vector<std::shared_ptr<server>> all;
        for (const auto& one : slots_)
            if (one && std::find(all.begin(), all.end(), one) == all.end())
                all.push_back(one);
        return all;
    }

    bool one_place_for_all() const noexcept override { return false; }
    void troubled(const endpoint&, const failure&) override { learn(); }

    void close() override {
        std::multimap<instant, paused> nobody_asks_again; // ends after the lock is given back
        const std::lock_guard lock{guard_};
        for (const auto& [_, one] : servers_)
            one->close();
        for (const auto& one : forgotten_)
            if (const auto lives = one.lock())
                lives->close();
        for (const auto& [_, one] : guides_)
            one->close();
        nobody_asks_again.swap(pausing_);
    }

private:
    using guest = waiting_room::guest;
    struct attempts {
        int redirections = 0, refusals = 0;
    };
    struct paused {
        guest who;
        attempts until_now;
    };

    void send(guest g, attempts until_now) {
        auto where = server_of(g.key);
        if (!where) {
            with_->background->wake_at(g.answer_by);
            room_.enter(std::move(g));
            return learn();
        }
        send_to(where, std::move(g), until_now, server::asking::no);
    }

    void
    send_to(const std::shared_ptr<server>& where, guest g, attempts until_now, server::asking how) {
        // Shared, because the request is needed again if it is redirected.
        const auto shared = std::make_shared<guest>(std::move(g));
        where->ask(
            shared->way,
            slot_of(shared->key),
            shared->bytes,
            shared->answer_by,
            [this, shared, where, until_now](const reply& r, const failure* f) {
                if (f != nullptr || !r.is_error() || !follow(shared, until_now, r, where->where()))
                    shared->done(r, f);
            },
            how);
    }

    /// Whether it is asked again, somewhere or some time, because of what the server said.
    [[nodiscard]] bool follow(const std::shared_ptr<guest>& who,
                              attempts until_now,
                              const reply& r,
                              const endpoint& by) {
        const auto now = boot_clock::now();
        if (first_word(r.text()) == "TRYAGAIN")
            return pause(who, until_now, now);
        const auto to = redirected(r.text(), by);
        if (!to && first_word(r.text()) == "CLUSTERDOWN")
            learn();
        if (!to || to->slot != slot_of(who->key) || until_now.redirections >= most_redirections ||
            now >= who->answer_by)
            return false;
        const auto there = server_at(to->where);
        if (!there)
            return false;
        if (to->moved) {
            {
                const std::lock_guard lock{guard_};
                slots_[to->slot] = there;
            }
            learn();
        }
        ++until_now.redirections;
        send_to(there,
                std::move(*who),
                until_now,
                to->moved ? server::asking::no : server::asking::yes);
        return true;
    }

    [[nodiscard]] bool pause(const std::shared_ptr<guest>& who, attempts until_now, instant now) {
        const auto when = now + pause_after(until_now.refusals);
        if (when >= who->answer_by)
            return false;
        ++until_now.refusals;
        until_now.redirections = 0;
        {
            const std::lock_guard lock{guard_};
            pausing_.emplace(when, paused{std::move(*who), until_now});
        }
        with_->background->wake_at(when);
        return true;
    }

    void ask_those_again_whose_pause_is_over(instant now) {
        std::vector<paused> due;
        {
            const std::lock_guard lock{guard_};
            const auto end = pausing_.upper_bound(now);
            for (auto it = pausing_.begin(); it != end; ++it)
                due.push_back(std::move(it->second));
            pausing_.erase(pausing_.begin(), end);
        }
        for (auto& one : due)
            send(std::move(one.who), one.until_now);
    }

    // --------------------------------------------------------------------------- the servers

    using servers = std::vector<std::shared_ptr<server>>;

    /// Null if there are too many already: whoever leads us on for ever is not followed.
    [[nodiscard]] std::shared_ptr<server> server_at(const endpoint& where) {
        servers gone; // ends after the lock is given back
        const std::lock_guard lock{guard_};
        if (const auto known = servers_.find(where); known != servers_.end())
            return known->second;
        if (servers_.size() >= most_servers)
            gone = forget_strangers();
        if (servers_.size() >= most_servers)
            return nullptr;
        return servers_.emplace(where, server::make(with_, where)).first->second;
    }

    /// Those that have no slot, and guides that belong to the cluster no more. Under the lock.
    [[nodiscard]] servers forget_strangers() {
        servers gone;
        const std::set<std::shared_ptr<server>> owners{slots_.begin(), slots_.end()};
        std::erase_if(forgotten_, [](const auto& one) { return one.expired(); });
        std::erase_if(servers_, [&](const auto& one) {
            if (owners.contains(one.second))
                return false;
            forgotten_.push_back(one.second);
            gone.push_back(one.second);
            return true;
        });
        const auto among = [](const std::vector<endpoint>& all, const endpoint& one) {
            return std::find(all.begin(), all.end(), one) != all.end();
        };
        std::erase_if(guides_, [&](const auto& one) {
            return !among(seeds_, one.first) && !among(known_nodes_, one.first);
        });
        return gone;
    }

    // ------------------------------------------------------------------------------ the map

    /// A line for learning alone, also to servers that are no primaries.
    [[nodiscard]] std::shared_ptr<line> guide(const endpoint& where) {
        auto& known = guides_[where];
        if (!known)
            known = line::make(with_->background, plain_settings(*with_, where));
        return known;
    }

    // One server after another, until one knows.
    void learn() {
        std::shared_ptr<line> whom;
        const auto now = boot_clock::now();
        {
            const std::lock_guard lock{guard_};
            if (learning_ || now < not_before_) {
                again_ = true;
                with_->background->wake_at(std::max(not_before_, now + learns_at_most_every));
                return;
            }
            again_ = false;
            learning_ = true;
            not_before_ = now + learns_at_most_every;
            candidates_ = seeds_;
            for (const auto& one : known_nodes_)
                if (std::find(candidates_.begin(), candidates_.end(), one) == candidates_.end())
                    candidates_.push_back(one);
            whom = guide(candidates_.front());
        }
        ask_guide(whom, 0);
    }

    void ask_guide(const std::shared_ptr<line>& whom, std::size_t at) {
        std::string bytes;
        append_command(bytes, {"CLUSTER", "SLOTS"});
        whom->ask(bytes,
                  boot_clock::now() + servers_patience,
                  [this, at, where = whom->where()](const reply& r, const failure* f) {
                      guided(at, where, r, f);
                  });
    }

    void guided(std::size_t at, const endpoint& by, const reply& r, const failure* f) {
        if (f == nullptr && r.size() > 0)
            return learned(by, r);
        std::shared_ptr<line> next;
        failure why;
        {
            const std::lock_guard lock{guard_};
            last_problem_ = f != nullptr   ? *f
                            : r.is_error() ? failure_of(r.text())
                                           : failure{errc::backend_unavailable,
                                                     applied::no,
                                                     by.text() + ": it has no slots yet"};
            if (r.is_error() && r.text().find("cluster support disabled") != std::string_view::npos)
                last_problem_ = {errc::backend_refused,
                                 applied::no,
                                 by.text() + " is no cluster; write redis:// for it"};
            why = last_problem_;
            if (at + 1 < candidates_.size())
                next = guide(candidates_[at + 1]);
            else
                learning_ = false;
        }
        if (next)
            return ask_guide(next, at + 1);
        room_.turn_out(never, why);
    }

    void learned(const endpoint& by, const reply& r) {
        std::vector<std::shared_ptr<server>> owners(slots_.size());
        std::vector<endpoint> nodes; // replicas, too, can tell who is the primary now
        const auto node = [&](const reply& one) -> std::optional<endpoint> {
            const auto port = one[1].number();
            if (!port || *port < 1 || *port > 65535)
                return std::nullopt;
            endpoint where{std::string{one[0].text()}, static_cast<int>(*port)};
            if (where.host.empty() || where.host == "?")
                where.host = by.host;
            return where;
        };
        for (std::size_t i = 0; i < r.size(); ++i) {
            const auto first = r[i][0].number(), last = r[i][1].number();
            const auto primary = node(r[i][2]);
            if (!first || !last || !primary || *first < 0 || *last >= 16384 || *first > *last)
                continue;
            const auto owner = server_at(*primary);
            std::fill(owners.begin() + *first, owners.begin() + *last + 1, owner);
            for (std::size_t n = 2; n < r[i].size() && nodes.size() < most_servers; ++n)
                if (const auto one = node(r[i][n]);
                    one && std::find(nodes.begin(), nodes.end(), *one) == nodes.end())
                    nodes.push_back(*one);
        }
        bool changed = false;
        {
            servers gone; // ends after the lock is given back
            const std::lock_guard lock{guard_};
            changed = !std::equal(owners.begin(), owners.end(), slots_.begin());
            std::move(owners.begin(), owners.end(), slots_.begin());
            known_nodes_ = std::move(nodes);
            gone = forget_strangers();
            learning_ = false;
        }
        for (auto& one : room_.empty_out()) {
            if (server_of(one.key))
                send(std::move(one), {});
            else {
                const failure why{errc::backend_unavailable,
                                  applied::no,
                                  "no server of the cluster has the slot of that name"};
                one.done({}, &why);
            }
        }
        if (changed)
            with_->moved();
    }

    instant on_time(instant now) {
        bool learn_again = false;
        failure why;
        {
            const std::lock_guard lock{guard_};
            learn_again = again_ && !learning_ && now >= not_before_;
            why = last_problem_.code ? last_problem_
                                     : failure{errc::backend_unavailable,
                                               applied::no,
                                               "no server of the cluster has answered"};
        }
        room_.turn_out(now, why);
        ask_those_again_whose_pause_is_over(now);
        if (learn_again)
            learn();
        const std::lock_guard lock{guard_};
        auto next = room_.next();
        if (!pausing_.empty())
            next = std::min(next, pausing_.begin()->first);
        if (again_)
            next = std::min(next, std::max(not_before_, now + learns_at_most_every));
        return next;
    }

    const std::shared_ptr<const acquaintance> with_;
    const ticker ticker_;
    waiting_room room_;
    std::vector<endpoint> seeds_;
    std::mutex guard_;
    std::array<std::shared_ptr<server>, 16384> slots_;
    std::map<endpoint, std::shared_ptr<server>> servers_;
    std::vector<std::weak_ptr<server>> forgotten_; // an answer of theirs may be awaited
    std::map<endpoint, std::shared_ptr<line>> guides_;
    std::multimap<instant, paused> pausing_; // by when they ask again
    std::vector<endpoint> known_nodes_, candidates_;
    bool learning_ = false;
    bool again_ = false;
    instant not_before_{};
    failure last_problem_;
};

} // namespace

std::unique_ptr<directory> make_cluster_directory(std::shared_ptr<const acquaintance> with) {
    return std::make_unique<cluster_directory>(std::move(with));
}

} // namespace holdfast::redis
