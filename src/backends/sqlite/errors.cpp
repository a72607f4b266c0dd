#include "backends/sqlite/errors.hpp"

#include <sqlite3.h>

namespace holdfast::sqlite {

// The table: native code -> errc. What is not listed can pass, so the caller may try again.
errc meaning_of(int sqlite_code) noexcept {
    switch (sqlite_code & 0xff) {
    case SQLITE_READONLY: // rights, or a read-only mount
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return errc::backend_refused;
    default: // BUSY LOCKED PROTOCOL · FULL IOERR NOMEM CANTOPEN · CORRUPT NOTADB
        return errc::backend_unavailable;
    }
}

bool is_damage(int sqlite_code) noexcept {
    const int kind = sqlite_code & 0xff;
    return kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB;
}

failure failure_of(const trouble& what) {
    return {meaning_of(what.code()), what.effect(), what.what()};
}

} // namespace holdfast::sqlite
