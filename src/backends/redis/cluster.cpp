// A name belongs to a slot, and a slot to a server. Where a slot is we learn from any server, and
// from the one that we asked in vain:
//
//   MOVED  it is there now: ask there, and learn the whole map anew
//   ASK    it is on its way there: ask there, this once
//
// Redirections are followed a few times and within the time of the request; nothing else is sent
// twice.

#include "backends/redis/errors.hpp"
#include "backends/redis/names.hpp"
#include "backends/redis/waiting_room.hpp"

#include <array>
#include <atomic>
#include <charconv>
#include <map>
#include <optional>

namespace holdfast::redis {
namespace {

constexpr int most_redirections = 5;
constexpr duration learns_at_most_every = std::chrono::milliseconds{100};
constexpr duration servers_patience = std::chrono::milliseconds{1000};

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
        send({w, std::string{key}, std::string{bytes}, answer_by, std::move(done)}, 0);
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
        const std::lock_guard lock{guard_};
        for (const auto& [_, one] : servers_)
            one->close();
        for (const auto& [_, one] : guides_)
            one->close();
    }

private:
    using guest = waiting_room::guest;
    void send(guest g, int redirections) {
        auto where = server_of(g.key);
        if (!where) {
            with_->background->wake_at(g.answer_by);
            room_.enter(std::move(g));
            return learn();
        }
        send_to(where, std::move(g), redirections, server::asking::no);
    }

    void
    send_to(const std::shared_ptr<server>& where, guest g, int redirections, server::asking how) {
        // Shared, because the request is needed again if it is redirected.
        const auto shared = std::make_shared<guest>(std::move(g));
        where->ask(
            shared->way,
            slot_of(shared->key),
            shared->bytes,
            shared->answer_by,
            [this, shared, where, redirections](const reply& r, const failure* f) {
                const auto to = f == nullptr && r.is_error() ? redirected(r.text(), where->where())
                                                             : std::nullopt;
                if (!to || redirections >= most_redirections ||
                    boot_clock::now() >= shared->answer_by) {
                    if (f == nullptr && r.is_error() && first_word(r.text()) == "CLUSTERDOWN")
                        learn();
                    return shared->done(r, f);
                }
                const auto there = server_at(to->where);
                if (to->moved) {
                    {
                        const std::lock_guard lock{guard_};
                        slots_[to->slot] = there;
                    }
                    learn();
                }
                send_to(there,
                        std::move(*shared),
                        redirections + 1,
                        to->moved ? server::asking::no : server::asking::yes);
            },
            how);
    }

    [[nodiscard]] std::shared_ptr<server> server_at(const endpoint& where) {
        const std::lock_guard lock{guard_};
        auto& known = servers_[where];
        if (!known)
            known = std::make_shared<server>(with_, where);
        return known;
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
        bool changed = false;
        for (std::size_t i = 0; i < r.size(); ++i) {
            const auto first = r[i][0].number(), last = r[i][1].number(),
                       port = r[i][2][1].number();
            if (!first || !last || !port || *first < 0 || *last >= 16384 || *first > *last ||
                *port < 1 || *port > 65535)
                continue;
            endpoint where{std::string{r[i][2][0].text()}, static_cast<int>(*port)};
            if (where.host.empty() || where.host == "?")
                where.host = by.host;
            const auto owner = server_at(where);
            const std::lock_guard lock{guard_};
            for (auto slot = *first; slot <= *last; ++slot) {
                changed = changed || slots_[static_cast<std::size_t>(slot)] != owner;
                slots_[static_cast<std::size_t>(slot)] = owner;
            }
            // Replicas, too, can tell who is the primary now.
            for (std::size_t node = 2; node < r[i].size() && known_nodes_.size() < 1000; ++node) {
                const auto its_port = r[i][node][1].number();
                endpoint one{std::string{r[i][node][0].text()},
                             static_cast<int>(its_port.value_or(0))};
                if (!one.host.empty() && one.port > 0 && one.port < 65536 &&
                    std::find(known_nodes_.begin(), known_nodes_.end(), one) == known_nodes_.end())
                    known_nodes_.push_back(std::move(one));
            }
        }
        {
            const std::lock_guard lock{guard_};
            learning_ = false;
        }
        for (auto& one : room_.empty_out()) {
            if (server_of(one.key))
                send(std::move(one), 0);
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
        if (learn_again)
            learn();
        return room_.next();
    }

    const std::shared_ptr<const acquaintance> with_;
    const ticker ticker_;
    waiting_room room_;
    std::vector<endpoint> seeds_;
    std::mutex guard_;
    std::array<std::shared_ptr<server>, 16384> slots_;
    std::map<endpoint, std::shared_ptr<server>> servers_;
    std::map<endpoint, std::shared_ptr<line>> guides_;
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
