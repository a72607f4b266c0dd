#pragma once

// One connection to a database, in the words of its client library: it never blocks, and one
// statement is under way at a time.
//
//   make ─▶ advance() until done ─▶ (send() ─▶ proceed() until done ─▶ take())*

#include "backends/relational/statement.hpp"
#include "runtime/address.hpp"

#include <holdfast/backend.hpp>
#include <holdfast/sql.hpp>

#include <string>
#include <variant>
#include <vector>

namespace holdfast::relational {

/// What the caller has to wait for on the descriptor.
enum class progress : std::uint8_t { done, wants_to_read, wants_to_write };

/// Why a statement had no answer.
struct trouble {
    enum class kind : std::uint8_t {
        plain,     ///< the code says it
        blocked,   ///< others were in the way too long: nothing was done; soon again
        again,     ///< it met somebody else's and was undone: at once again
        unusable,  ///< and this connection is of no use any more
        elsewhere, ///< this server does not write; another one may
        no_tables, ///< what is to be there is not
    };
    kind what = kind::plain;
    failure why;
};

using answer = std::variant<table, trouble>;

/// What the server tells without having been asked.
using whisper = std::string;

class wire {
public:
    wire() = default;
    wire(const wire&) = delete;
    wire& operator=(const wire&) = delete;
    virtual ~wire() = default; ///< cuts it: what was not sent will not be

    [[nodiscard]] virtual int descriptor() const noexcept = 0;

    /// Its number in the server, as that said when we connected.
    [[nodiscard]] virtual std::int64_t session() const noexcept = 0;

    /// Goes on connecting. Done with failed() means that it cannot be had.
    [[nodiscard]] virtual progress advance() = 0;
    [[nodiscard]] virtual std::optional<trouble> failed() const = 0;

    [[nodiscard]] virtual progress send(const statement&) = 0;
    [[nodiscard]] virtual progress proceed(bool readable, bool writable) = 0;
    [[nodiscard]] virtual answer take() = 0;

    /// Reads while nothing was asked. False: the connection has ended.
    [[nodiscard]] virtual bool listen(std::vector<whisper>& heard) = 0;
};

} // namespace holdfast::relational
