#pragma once

// One name as it was found, and what follows for somebody who wants it. No I/O, and no clock but
// those given.

#include "backends/relational/statement.hpp"

#include <holdfast/backend.hpp>
#include <holdfast/sql.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::relational {

/// Microseconds of the server's clock.
using server_time = std::int64_t;

struct bond_row {
    std::int64_t id = 0;
    duration ttl{};
    duration lock_delay{};
    server_time expires_at = 0;
    std::int64_t renewals = 0;
    party whose;
};

struct line_row {
    holdfast::nonce nonce;
    std::int64_t place = 0;
    holdfast::mode mode = mode::exclusive;
    std::uint32_t permits = 1;
    bool fair = false;
    holdfast::fence fence;
    std::int64_t bond = 0;           ///< its number, also if it is gone
    std::optional<bond_row> kept_by; ///< nothing: the row is rubbish
};

/// What look() tells.
struct view {
    bool exists = false; ///< else there is no row for the name
    server_time now = 0;
    std::int64_t fence = 0;
    std::int64_t version = 0;
    std::int64_t waiters = 0;
    std::int64_t my_place = 0;  ///< 0: none
    std::uint32_t ahead = 0;    ///< how many wait before us, or in all
    std::vector<line_row> rows; ///< holders, then the first who wait, in order
};
[[nodiscard]] view read_view(const table&);
[[nodiscard]] bond_row read_bond(const table&, std::size_t row, std::size_t first_column);
[[nodiscard]] nonce nonce_from(std::string_view raw);
[[nodiscard]] std::string raw_of(const nonce&);

/// Which bonds we have seen, and since when they have not been renewed, on our own clock.
class sightings {
public:
    /// For how long this very state of it has been seen.
    [[nodiscard]] duration seen_for(const bond_row&, instant now);

private:
    struct sight {
        std::int64_t renewals = 0;
        instant since{};
        instant last{};
    };
    std::map<std::int64_t, sight> seen_;
};

/// Whether time has ended a bond, by the rule that was chosen; and if not, when to look again.
struct ending {
    bool over = false;
    duration look_again = forever;
};
[[nodiscard]] ending
end_of(const bond_row&, sql::stealing, server_time server_now, sightings&, instant now);

/// What somebody who wants a name should do next. `bond` is what keeps him now: what he has under
/// another one nobody would renew.
struct next_step {
    enum class kind : std::uint8_t {
        is_ours,  ///< it was granted already
        sweep,    ///< first clear away what is over, or rubbish
        admit,    ///< it can be ours
        wait,     ///< others are in the way
        make_row, ///< nobody has ever wanted it
    };
    kind what = kind::wait;
    std::vector<line_row> over{};    ///< holders and waiters whose time has ended
    std::vector<line_row> rubbish{}; ///< those whose bond is gone
    std::int64_t waiters_after = 0;  ///< lock.waiters, once we are in
    holdfast::fence fence{};         ///< if it is ours
    duration look_again = forever;
    std::optional<party> holder{};
    std::uint32_t ahead = 0;
};
[[nodiscard]] next_step
decide(const view&, const claim&, bond_id bond, sql::stealing, sightings&, instant now);

} // namespace holdfast::relational
