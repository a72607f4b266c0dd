#pragma once

// Our engines on databases to which things happen, and the way to them likewise. Each test runs on
// both: what differs between them is said here, once.

#include "conformance/events.hpp"
#include "gate/gate.hpp"
#include "promise.hpp"
#include "servers/database.hpp"
#include "servers/need.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/sql.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::servers {

using conformance::eventually;
using conformance::in_a_thread;
using conformance::outcome;
using conformance::patience;
using namespace std::chrono_literals;

/// A connection of a program that uses locks, to its own tables.
class session {
public:
    session() = default;
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    virtual ~session() = default;

    /// All rows: fields separated by |, rows by line ends. Throws with the server's words.
    // NOLINTNEXTLINE(modernize-use-nodiscard): many statements are orders, not questions
    virtual std::string ask(const std::string& statements) = 0;
    [[nodiscard]] std::int64_t number(const std::string& question) {
        return std::stoll(ask(question));
    }
};

class sql_server;

struct sql_server_options {
    server_clock clock = server_clock::real;
    /// Which was started with `has_replicas`; from now on its commits wait for this one.
    const sql_server* replica_of = nullptr;
    bool has_replicas = false;
};

/// A real server of either kind, with what these tests do to it.
class sql_server {
public:
    sql_server() = default;
    sql_server(const sql_server&) = delete;
    sql_server& operator=(const sql_server&) = delete;
    virtual ~sql_server() = default;

    [[nodiscard]] virtual database_server& process() = 0;
    [[nodiscard]] virtual std::string url() const = 0; ///< of the user that is nobody special
    [[nodiscard]] std::string url_by(const std::string& hosts) const; ///< the same, another way

    /// As the server's master; others in other processes, too, who know the way in.
    [[nodiscard]] virtual std::string way_in() const = 0;
    [[nodiscard]] virtual std::unique_ptr<session> connect() const = 0;
    // NOLINTNEXTLINE(modernize-use-nodiscard): many statements are orders, not questions
    std::string sql(const std::string& statements) const { return connect()->ask(statements); }
    [[nodiscard]] std::int64_t number(const std::string& question) const {
        return connect()->number(question);
    }

    virtual void promote() = 0;
    virtual void cut_all_users() const = 0; ///< an administrator ends their connections
    [[nodiscard]] virtual bool somebody_waits_for_a_row() const = 0;
};

struct sql_engine {
    const char* name;
    sql::dialect dialect;
    const char* stale; ///< what the server says when a guard finds that the lock is another's
    lack (*missing)();
    std::unique_ptr<sql_server> (*start)(const sql_server_options&);
    std::unique_ptr<session> (*connect)(const std::string& way_in);
};
[[nodiscard]] const std::vector<sql_engine>& sql_engines();
[[nodiscard]] const sql_engine& sql_engine_called(const std::string& name);

class sql_at_fault : public ::testing::TestWithParam<sql_engine> {
protected:
    void SetUp() final {
        HOLDFAST_NEEDS(GetParam().missing());
        set_up();
    }
    virtual void set_up() {} ///< where nothing is missing

    void start(const sql_server_options& how = {}) { server = GetParam().start(how); }

    [[nodiscard]] client open_ours(const std::string& options = "") const {
        return open(server->url() + (options.empty() ? "" : '?' + options));
    }
    [[nodiscard]] std::string guard_of(const lease& l) const {
        return sql::guard(GetParam().dialect, l);
    }

    std::unique_ptr<sql_server> server;
};

#define HOLDFAST_ON_BOTH(suite)                                                                    \
    INSTANTIATE_TEST_SUITE_P(on, suite, ::testing::ValuesIn(sql_engines()), [](const auto& one) {  \
        return std::string{one.param.name};                                                        \
    })

/// Gets it in the end, also with a ttl so short that a busy machine does not answer in time.
[[nodiscard]] lease get(mutex&, const acquire_options&);

inline void PrintTo(const sql_engine& e, std::ostream* out) { *out << e.name; }

} // namespace holdfast::servers
