#pragma once

// A count in a database, for showing that it is exact, whatever happens to the locks.
//
//   counter (value, fence)   one row; each holder says that it is there, reads, and writes one more
//   counted (value, fence)   a row for each of them: what was lost or done twice is seen here

#include "conformance/witness.hpp"
#include "gate/sql_at_fault.hpp"
#include "servers/folder.hpp"

#include <atomic>
#include <functional>
#include <thread>

namespace holdfast::servers {

/// Called with each point that a holder comes to.
using milestones = std::function<void(const std::string& point)>;

/// False: somebody newer was there, and nothing was counted.
bool count(
    session& at, const lease& held, const milestones& = [](const auto&) {});

class sql_counter {
public:
    /// It stands there; the locks may be elsewhere.
    explicit sql_counter(const sql_server& at);

    [[nodiscard]] const sql_server& server() const noexcept { return at_; }
    [[nodiscard]] std::string witness_file() const { return room_ / "witness"; }
    [[nodiscard]] std::size_t holds() const { return saw_.judge().holds; }
    [[nodiscard]] std::int64_t so_far() const { return at_.number("SELECT value FROM counter"); }
    [[nodiscard]] bool goes_on() const;

    /// Whoever is refused has lost its lease before.
    void count_once(mutex&, session&, duration ttl);

    void expect_that_each_counted_once() const;

private:
    const sql_server& at_;
    folder room_;
    conformance::witness saw_{witness_file()};
};

/// Several clients, a thread each: what is passed on inside a client is another matter.
class crowd {
public:
    crowd(const std::string& url, sql_counter&, duration ttl);
    ~crowd() { end(); }
    crowd(const crowd&) = delete;
    crowd& operator=(const crowd&) = delete;
    void end();

private:
    std::atomic<bool> over_ = false;
    std::vector<std::thread> threads_;
};

} // namespace holdfast::servers
