#pragma once

// One connection that all threads share. Who asks, writes; who waits, reads; requests that are
// ready at the same moment go out in one write, and the n-th reply belongs to the n-th request.
// While enough is under way to keep the server busy, what is asked gathers until an answer comes,
// if it is the client's loop that waits for it.
//
//   RESTING ── somebody asks ──▶ CONNECTING ──▶ GREETING ──▶ OPEN
//      ▲                            │              │          │
//      └── back-off, growing ───────┴──────────────┴──────────┘  refused, silent, cut
//
// Invariants: every request is answered once, at the latest at its time. What was not written when
// the connection broke was not applied; what was written may have been. Nothing is sent again here.
// No lock is held while somebody is told.

#include "backends/redis/reply.hpp"
#include "backends/redis/transport.hpp"
#include "runtime/random.hpp"
#include "runtime/reactor.hpp"

#include <holdfast/backend.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::redis {

using detail::attended;
using detail::reactor;
using detail::ticker;

/// Exactly one of the two: a reply of the server (which may be an error), or why there is none.
using on_answer = std::function<void(const reply&, const failure*)>;

struct line_settings {
    endpoint where;
    std::shared_ptr<tls_context> tls;
    duration connect_timeout{};
    duration silence{};
    bool stays_open = false; ///< connects again by itself, and not only when somebody asks

    /// What to say first, and how many replies that has.
    std::function<std::size_t(std::string& out)> greet;
    /// The i-th of them; a failure ends the connection.
    std::function<std::optional<failure>(std::size_t i, const reply&)> greeted;
    std::function<void()> opened{};
    std::function<void(const failure&)> broken{};
    /// If set, what comes is not an answer to anything: this is the line of a listener.
    std::function<void(const reply&)> heard{};
};

class line final : public attended, public std::enable_shared_from_this<line> {
public:
    struct by_make {};
    [[nodiscard]] static std::shared_ptr<line> make(std::shared_ptr<reactor>, line_settings);
    line(std::shared_ptr<reactor>, line_settings, by_make);
    ~line();
    line(const line&) = delete;
    line& operator=(const line&) = delete;

    /// Sends one command; its reply, or the failure, comes to `done`. Never blocks. With `before`,
    /// the bytes are that many commands more, whose replies come first and interest nobody.
    void ask(std::string_view bytes, instant answer_by, on_answer done, std::size_t before = 0);

    /// Sends without expecting an answer: only for a listener, and only while it is open.
    void say(std::string_view bytes);

    /// Connects now if need be.
    void open_now();

    /// Another address from now on, with a new connection.
    void move_to(const endpoint&);

    /// Ends it for good. Nobody is told anything any more.
    void close();

    [[nodiscard]] endpoint where() const;
    /// Nothing is on its way. What waits for a server that we never reached is not.
    [[nodiscard]] bool settled() const;

    void on_ready(bool readable, bool writable) override;
    void on_unwatched() override;
    instant on_time(instant now) override;

private:
    enum class state : std::uint8_t { resting, resolving, connecting, greeting, open, closed };
    struct request {
        on_answer done;
        instant answer_by{};
        std::uint64_t ends_at = 0; // in the stream
        std::size_t before = 0;    // replies that come first
    };
    struct parked {
        std::string bytes;
        request what;
    };
    struct one_write {
        std::uint64_t ends_at = 0; // in the stream
        instant when{};
    };
    using guard = std::unique_lock<std::mutex>;

    void start_connecting(guard&);
    void resolved(std::uint64_t generation, std::vector<socket_address>, std::string problem);
    void connect_to_next(guard&, std::string problem);
    void try_another_address(guard&);
    void suspect_no_tls();
    void answered_in_the_clear(std::uint64_t generation);
    void advance(guard&);
    void begin_greeting(guard&);
    void become_open(guard&);
    void put(std::string_view bytes, request);
    void flush(guard&);
    [[nodiscard]] bool enough_under_way();
    void answered_up_to(std::uint64_t place, instant now);
    void read(guard&);
    [[nodiscard]] bool take(const reply&, std::uint64_t generation);
    void break_off(guard&, failure why);
    [[nodiscard]] instant next_due(instant now) const;
    [[nodiscard]] failure failed(std::string sentence) const;
    [[nodiscard]] failure was_cut() const;
    [[nodiscard]] std::string silent(std::string words) const;

    const std::shared_ptr<reactor> reactor_; // a resolver's thread may outlive the backend
    line_settings settings_;
    reactor::id id_ = 0;

    mutable std::mutex guard_;
    state state_ = state::resting;
    std::uint64_t generation_ = 0; // of the connection; what belongs to an older one is void
    std::shared_ptr<transport> connection_;
    std::vector<socket_address> addresses_;
    std::string resolving_problem_;
    bool resolved_ = false;           // addresses_ are there, or the problem
    socket_address trying_{};         // one of them
    duration turn_{};                 // how long one may be silent while others wait to be tried
    instant turn_ends_ = never;       // of the one that we are trying
    instant tls_suspected_ = never;   // when we ask whether it speaks in the clear
    bool found_in_the_clear_ = false; // on this connection: it is of no use
    bool known_in_the_clear_ = false; // since the last that was
    instant give_up_connecting_ = never;
    instant retry_at_{};
    instant opened_{}; // for the last time
    duration back_off_{};
    failure last_problem_;
    std::optional<failure> not_open_because_; // of the attempts since it was open, the last
    detail::kernel_random chance_;

    std::deque<parked> parked_; // asked before it was open
    std::deque<request> unanswered_;
    std::deque<one_write> under_way_; // what was written and is not answered, a write each
    duration shortest_trip_ = std::chrono::seconds{1};
    std::size_t greetings_left_ = 0;
    std::size_t greeting_ = 0;
    instant oldest_sent_{}; // when the first of the unanswered was sent, at the latest
    instant last_heard_{};
    instant pinged_{};

    std::string out_;     // to be written
    std::string sending_; // being written, by whoever has the role
    std::size_t sending_done_ = 0;
    std::uint64_t written_ = 0; // bytes of the stream
    std::uint64_t promised_ = 0;
    bool writing_ = false;
    bool reading_ = false;
    bool waits_to_write_ = false;
    int corked_ = 0; // somebody is reading, and will write what gathers meanwhile
    reply_reader replies_;
    std::uint64_t replies_of_ = 0;
};

} // namespace holdfast::redis
