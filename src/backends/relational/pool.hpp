#pragma once

// The connections of one client to one database, as many as are needed at the same time, up to a
// limit. A statement goes to one that is free, or waits for one.
//
//   ask() ─▶ queue ─▶ line ── wire ──▶ server       line: RESTING ─▶ CONNECTING ─▶ GREETING ─▶ OPEN
//                     line ── wire ──▶ server              ▲                                  │
//                                                          └── cut, refused; then a pause ────┘
//
// Invariants: every statement is answered once, at the latest at its time. What was not sent was
// not applied; what was sent may have been. Statements about one name are sent one after the other.
// No lock is held while somebody is told.

#include "backends/relational/conversation.hpp"
#include "backends/relational/wire.hpp"
#include "runtime/reactor.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_set>

namespace holdfast::relational {

class line;

/// How a kind of database is spoken to.
class speaker {
public:
    speaker() = default;
    speaker(const speaker&) = delete;
    speaker& operator=(const speaker&) = delete;
    virtual ~speaker() = default;

    /// `number` is the host's address in digits.
    [[nodiscard]] virtual std::unique_ptr<wire> connect(const detail::endpoint& where,
                                                        const std::string& number) = 0;
    /// The first words on a new connection; trouble, if it is not what we need.
    [[nodiscard]] virtual part_of<std::optional<trouble>> greet(std::shared_ptr<line>) = 0;
};

struct pool_settings {
    std::vector<detail::endpoint> servers{};
    std::size_t most = 1; ///< connections
    duration connect_timeout{};
    std::string first_words{}; ///< what is said on each of them after the greeting, if anything
    std::function<void(const whisper&)> heard{};
    std::function<void()> opened{};
    std::function<void(const failure&)> broken{};
    std::function<void()> ended{}; ///< one that was open is no more
    bool not_for_children = false; ///< a forked child does not keep a connection alive
};

/// It gives our statements to whichever connection is free, and others get ours: what we set,
/// prepare and lock there.
inline constexpr const char* a_pooler_answers = "a connection pooler answers there, and locks need "
                                                "connections of their own: give the address of "
                                                "the server itself";

using on_answer = std::function<void(answer&&)>;

class pool final : public std::enable_shared_from_this<pool> {
public:
    pool(std::shared_ptr<detail::reactor>, std::shared_ptr<speaker>, pool_settings);
    ~pool();
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;

    /// `about` is a name, or nothing.
    void ask(statement, std::string about, instant answer_by, on_answer done);

    /// Connects now if need be, and again whenever it is cut.
    void keep_one_open();

    /// Ends it; who still waits gets trouble for an answer.
    void close();

    [[nodiscard]] bool settled(); ///< nothing waits or is under way

private:
    friend class line;
    struct request {
        statement what{};
        std::string about{};
        instant answer_by = never;
        on_answer done{};
        int tries = 0;
    };
    /// Done once nothing is locked.
    using afterwards = std::vector<std::function<void()>>;
    template <class Body> void locked(Body);

    void send_what_can_be(afterwards&);
    void open_line(afterwards&);
    void finish(request&&, answer&&, afterwards&);
    void cannot_open(const trouble&, afterwards&);
    [[nodiscard]] trouble on_this_server(trouble) const;
    [[nodiscard]] trouble why_nobody_was_free() const;
    [[nodiscard]] instant on_time(instant now);

    const std::shared_ptr<detail::reactor> reactor_;
    const std::shared_ptr<speaker> speaker_;
    const pool_settings settings_;

    std::mutex guard_;                 // everything below, the lines, and their wires
    std::size_t server_ = 0;           // the one that we believe to write
    std::size_t refused_in_a_row_ = 0; // servers, since one was open
    std::optional<trouble> refusal_;   // the last of them
    instant retry_at_{};
    duration back_off_{};
    std::deque<request> waiting_;
    std::unordered_set<std::string> busy_names_;
    std::vector<std::shared_ptr<line>> lines_;
    bool kept_open_ = false;
    bool was_open_ = false;
    bool closed_ = false;
    std::optional<detail::ticker> ticker_;
};

/// One connection of a pool.
class line final : public detail::attended, public std::enable_shared_from_this<line> {
public:
    explicit line(const std::shared_ptr<pool>& of) : pool_{of} {}
    ~line();
    line(const line&) = delete;
    line& operator=(const line&) = delete;

    /// For the greeting: says it on this very connection.
    class saying {
    public:
        saying(std::shared_ptr<line> on, statement what)
            : on_{std::move(on)}, what_{std::move(what)} {}
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> whole);
        [[nodiscard]] answer await_resume() { return std::move(answer_); }

    private:
        std::shared_ptr<line> on_;
        statement what_;
        answer answer_;
    };
    [[nodiscard]] saying say(std::string text) {
        return {shared_from_this(), {.text = std::move(text)}};
    }

    [[nodiscard]] std::int64_t session(); ///< for the greeting: its number in the server

    void on_ready(bool readable, bool writable) override;
    instant on_time(instant) override { return never; }

private:
    friend class pool;
    enum class state : std::uint8_t { resting, resolving, connecting, greeting, open };

    // All of these with the pool's lock held.
    void begin(pool&, pool::afterwards&);
    void connect_to(pool&, const std::string& number, pool::afterwards&);
    void advance(pool&, pool::afterwards&);
    void start(pool&, pool::request, pool::afterwards&);
    void go_on(pool&, progress, pool::afterwards&);
    void watch(pool&, bool for_writing);
    void end(pool&, const trouble&, pool::afterwards&);
    [[nodiscard]] bool is_free() const noexcept { return state_ == state::open && !current_; }

    static conversation greet(std::shared_ptr<line>, std::shared_ptr<pool>, std::uint64_t of);

    const std::weak_ptr<pool> pool_;
    detail::reactor::id id_ = 0;
    state state_ = state::resting;
    std::uint64_t generation_ = 0; // of the connection
    std::unique_ptr<wire> wire_;
    int watched_ = -1;
    bool for_writing_ = false;
    instant give_up_ = never; // connecting and greeting
    std::optional<pool::request> current_;
};

} // namespace holdfast::relational
