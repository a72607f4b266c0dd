#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/fence.hpp>
#include <holdfast/lease.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What the engines on SQL servers have in common.
namespace holdfast::sql {

struct address {
    std::string host = "127.0.0.1";
    int port = 0; ///< 0: the usual one of the engine
};

struct tls_options {
    bool wanted = false;
    bool verify = true;             ///< false: anybody may answer. For trying things out only
    std::string ca_file{};          ///< whom to trust; empty: whom this machine trusts
    std::string certificate_file{}; ///< who we are, if the server asks
    std::string key_file{};
};

/// What keeps others out.
enum class locking : std::uint8_t {
    lease,   ///< a row with a lease
    row,     ///< and a row locked in a transaction, on a connection for each lock that is held
    session, ///< and a lock of the server's own (advisory, GET_LOCK), all on one connection
};

/// When a lease that was not renewed is taken from its holder.
enum class stealing : std::uint8_t {
    clock,   ///< when it is over by the server's clock, which must not jump
    observe, ///< when whoever waits has not seen it renewed for its whole time, on his own clock
    both,    ///< when both say so
};

struct options {
    std::vector<address> servers{{}}; ///< of several, the one that writes
    std::string user{};
    std::string password{};
    std::string database{};
    std::string table = "holdfast"; ///< the tables are called table_lock, table_line, table_bond
    tls_options tls{};
    locking mode = locking::lease;
    stealing steal = stealing::clock;
    duration connect_timeout = std::chrono::seconds{3};
    std::uint32_t connections = 4; ///< at most; one or two of them renew and listen
    std::uint32_t held_rows = 16;  ///< at most, where each has a connection of its own
    bool make_tables = true;       ///< if they are not there
    duration fence_retention = std::chrono::hours{24 * 30}; ///< rows of idle names live so long
};

enum class dialect : std::uint8_t { postgres, mysql };

/// A statement for the user's own transaction, in the database where the lock lives. It locks the
/// lock's row against being given to anybody else until that transaction ends; and if the lease
/// with this fence is no longer the one that holds, the statement fails. So a transaction with it
/// commits only what its holder was entitled to, whatever the clocks did.
[[nodiscard]] std::string
guard(dialect, std::string_view name, holdfast::fence, std::string_view table = "holdfast");

[[nodiscard]] inline std::string
guard(dialect how, const lease& held, std::string_view table = "holdfast") {
    return guard(how, held.name(), held.fence(), table);
}

/// For rows in any other database, which have a column for the fence of the last who wrote them:
///
///     UPDATE account SET balance = 7, <sets> WHERE id = 42 AND <demands>
///
/// changes no row if somebody newer was there before. A new holder does so once before it reads,
/// and sets nothing but the fence: then what a former one sends late finds a larger number.
struct fence_column {
    std::string sets;
    std::string demands;
};
[[nodiscard]] fence_column fenced(holdfast::fence, std::string_view column = "fence");

} // namespace holdfast::sql
