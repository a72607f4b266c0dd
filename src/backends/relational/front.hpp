#pragma once

// Modes in which the server itself keeps others out, for as long as a connection lives: who wants a
// lock must win it there first, and then the row behind it, which has the fence, the lease and the
// lock delay. So neither a jump of the server's clock nor a connection that breaks gives a lock
// away: the one is not asked, and after the other there is the rest of the lease, in which it is
// won again if it can be. A holder that stands still keeps it for as long as its connection lives.
//
//   session   a lock of the server's own, by number or name; all of them on one connection
//   row       a row locked in a transaction; a connection for each lock that is held, none for
//   those
//             who wait. All are taken: contended
//
// What a connection has won ends with it.

#include "backends/relational/backend.hpp"

namespace holdfast::relational {

class front {
public:
    front() = default;
    front(const front&) = delete;
    front& operator=(const front&) = delete;
    virtual ~front() = default;

    /// True: won. Trouble: it is not known, and not won.
    [[nodiscard]] virtual part_of<std::variant<bool, trouble>> win(std::shared_ptr<const claim>,
                                                                   instant by) = 0;
    [[nodiscard]] virtual bool has(const nonce&) = 0;
    /// Does nothing to what was not won.
    [[nodiscard]] virtual part_of<bool> give_up(nonce) = 0;
    virtual void close() = 0;
};

/// `lost` is told what ends with its connection.
struct front_settings {
    std::shared_ptr<detail::reactor> hot;
    std::shared_ptr<database> kind;
    pool_settings lines;
    std::size_t most = 1; ///< rows held at the same time
    std::function<void(const std::shared_ptr<const claim>&)> lost;
};
[[nodiscard]] std::unique_ptr<front> make_front(sql::locking, front_settings);

} // namespace holdfast::relational
