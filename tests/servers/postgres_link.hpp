#pragma once

#include <memory>
#include <string>

struct pg_conn;

namespace holdfast::servers {

/// A connection of a test's own to PostgreSQL, with its session: transactions, locks.
class postgres_link {
public:
    /// What libpq takes: a URL, or words like host=… Throws with the server's words.
    explicit postgres_link(const std::string& where);

    /// All rows that the statements give, as `psql -At` prints them, without the last line's end.
    /// Throws with the server's words, or when there is no answer within half a minute.
    // NOLINTNEXTLINE(modernize-use-nodiscard): many statements are orders, not questions
    std::string ask(const std::string& statements) const;

private:
    struct closing {
        void operator()(pg_conn*) const;
    };
    std::unique_ptr<pg_conn, closing> to_;
};

} // namespace holdfast::servers
