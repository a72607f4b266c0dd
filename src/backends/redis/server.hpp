#pragma once

// One Redis server: the lines to it, and what we know of it.
//
//   hot lines      attempts and releases: who waits, drives
//   renewals       a line of its own, driven by the client's loop alone: a caller that is not
//                  scheduled must not cost a lease
//   listener       who was released; made when somebody first waits
//
// What may have been forgotten is not given out: a server that started a moment ago and does not
// write down every change may have granted what it no longer knows. For so long as a lease can
// last, it is asked for nothing (quarantine); nor is one that may drop locks when its memory is
// full.

#include "backends/redis/acknowledging.hpp"
#include "backends/redis/line.hpp"
#include "backends/redis/listener.hpp"

#include <holdfast/backend.hpp>
#include <holdfast/redis.hpp>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::redis {

/// What a server says of itself when we meet.
struct server_facts {
    bool known = false; ///< it said something at all: rights may be missing
    std::string version;
    std::string run_id;
    std::string role; ///< master, slave, or nothing
    std::int64_t uptime_s = -1;
    std::string eviction; ///< its policy
    std::int64_t memory_limit = 0;
    bool append_only = false;
    bool syncs_always = false;
    bool snapshots = false;
    int replicas = 0;
    std::string replication_id; ///< the same for all who have one history
    std::string follows;        ///< of a replica: its primary, and whether it hears of it now
    bool is_linked = false;

    [[nodiscard]] bool may_forget() const noexcept { return !append_only || !syncs_always; }
    [[nodiscard]] bool may_evict() const noexcept {
        return memory_limit > 0 && !eviction.empty() && eviction != "noeviction";
    }
};

/// Reads the parts of INFO that matter.
void learn_from_info(server_facts&, std::string_view info);

/// What all servers of a client have in common.
struct acquaintance {
    options how;
    std::shared_ptr<tls_context> tls;
    std::shared_ptr<reactor> hot, background;
    announcing announce = announcing::publish;
    bool wants_primary = true;
    bool in_cluster = false;
    std::function<void(const nonce&)> wake;
    std::function<void(const std::string& channel)> released;
    std::function<void(const std::string& key)> forced; ///< somebody took it from its holder
    std::function<void(link_state, const std::string&)> link;
    std::function<void(const std::string&)> notice;
    std::function<void(const endpoint&, const failure&)> trouble; ///< it may be no primary any more
    std::function<void()> moved; ///< names may live on other servers now
    /// That this client was ever asked for, in nanoseconds: others will have had such, too.
    std::shared_ptr<std::atomic<duration::rep>> longest_ttl =
        std::make_shared<std::atomic<duration::rep>>(0);
};

/// How often a server is looked at while something is held or waited for.
inline constexpr duration looks_around_every = std::chrono::seconds{5};

/// A line that says nothing but who we are.
[[nodiscard]] line_settings plain_settings(const acquaintance&, const endpoint&);

class server : public std::enable_shared_from_this<server> {
public:
    struct by_make {};
    [[nodiscard]] static std::shared_ptr<server> make(std::shared_ptr<const acquaintance>,
                                                      endpoint);
    server(std::shared_ptr<const acquaintance>, endpoint, by_make);
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    enum class way : std::uint8_t { hot, renewal };

    enum class asking : std::uint8_t { no, yes }; ///< for a slot that is on its way to it

    /// `spread` chooses among several hot lines: the same number, the same line.
    void ask(way,
             std::size_t spread,
             std::string_view bytes,
             instant answer_by,
             on_answer,
             asking = asking::no);

    /// Whether enough replicas have what was done here until now.
    void acknowledged(way, instant answer_by, acknowledger::on_known);

    /// Looks, at most every few seconds, whether the server still remembers that it knew us, and
    /// what its clock shows.
    void look_around(instant now);

    /// Why nothing new may be granted here now, if so.
    [[nodiscard]] std::optional<failure> grants_nothing(instant now) const;

    /// What its clock will show at that instant, at the latest; 0 if we do not know.
    [[nodiscard]] std::int64_t clock_at(instant) const;
    void clock_is(std::int64_t us, instant asked);
    void clock_was(std::int64_t us, instant asked); ///< counts if it tells us more than we know
    [[nodiscard]] duration clock_error() const;     ///< by how much that may be too late

    [[nodiscard]] listener& ears();
    [[nodiscard]] listener* ears_if_any() const;
    [[nodiscard]] server_facts facts() const;
    [[nodiscard]] endpoint where() const;

    [[nodiscard]] bool settled() const; ///< no request is on its way

    void move_to(const endpoint&);
    void close();

private:
    struct meeting; // one greeting, while it goes on
    void make_lines();
    [[nodiscard]] line_settings settings(bool thorough);
    [[nodiscard]] duration quarantine() const;
    [[nodiscard]] std::size_t greet(std::string& out, meeting&);
    [[nodiscard]] std::optional<failure> greeted(meeting&, std::size_t, const reply&);
    [[nodiscard]] std::string replica_text(const reply& role) const;
    void met(const server_facts&, const std::string& canary);
    void canary_is(const std::string& now_there);
    void leave_canary();
    [[nodiscard]] std::function<void(const failure&)> troubles();
    void line_opened();
    void line_broken(const failure&);

    const std::shared_ptr<const acquaintance> with_;
    mutable std::mutex guard_;
    endpoint where_;
    server_facts facts_;
    std::optional<instant> forgot_at_; // what it granted before may be unknown to it
    std::string canary_;               // what the server remembered when we last looked
    instant looked_around_at_{};
    bool seen_ = false;
    bool suspended_ = false;
    std::atomic<std::int64_t> clock_ahead_us_{0}; // of our boot clock; 0: unknown
    std::atomic<std::int64_t> clock_error_us_{0};
    std::vector<std::shared_ptr<line>> hot_;
    std::shared_ptr<line> renewals_;
    std::unique_ptr<listener> ears_;
    std::unique_ptr<acknowledger> hot_acknowledger_, renewals_acknowledger_;
};

} // namespace holdfast::redis
