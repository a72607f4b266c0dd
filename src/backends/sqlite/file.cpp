#include "backends/sqlite/file.hpp"
#include "backends/sqlite/errors.hpp"
#include "runtime/random.hpp"

#include <sqlite3.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <unistd.h>

namespace holdfast::sqlite {
namespace {

// For others who are just making or moving the file.
constexpr duration patience = std::chrono::seconds{15};

[[noreturn]] void refuse(const std::string& sentence) {
    throw_error(errc::backend_refused, sentence);
}

[[noreturn]] void refuse(const std::string& what, int error) {
    const bool may_pass = error == ENOSPC || error == EDQUOT || error == EMFILE || error == ENFILE;
    throw_error(may_pass ? errc::backend_unavailable : errc::backend_refused,
                what + ": " + std::strerror(error));
}

// ----------------------------------------------------------------------------- where it is

[[nodiscard]] std::string resolved(const std::string& path) {
    char* const found = ::realpath(path.c_str(), nullptr);
    if (found == nullptr)
        return {};
    std::string whole{found};
    std::free(found); // NOLINT(cppcoreguidelines-no-malloc): realpath gave it
    return whole;
}

/// All who mean the same file must find the same <path>.d, by whatever link or directory they came.
[[nodiscard]] std::string canonical(const std::string& path) {
    if (auto whole = resolved(path); !whole.empty())
        return whole;
    if (errno != ENOENT)
        refuse(path, errno);
    const auto slash = path.rfind('/');
    const auto parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    const auto file = slash == std::string::npos ? path : path.substr(slash + 1);
    if (file.empty() || file == "." || file == "..")
        refuse(path + " is a directory; name a file in it");
    const auto whole = resolved(parent);
    if (whole.empty())
        refuse("the directory of " + path +
               " does not exist or cannot be entered: " + std::strerror(errno));
    return (whole == "/" ? "" : whole) + '/' + file;
}

[[nodiscard]] std::string parent_of(const std::string& absolute) {
    const auto slash = absolute.rfind('/');
    return slash == 0 ? "/" : absolute.substr(0, slash);
}

[[nodiscard]] bool exists(const std::string& path) noexcept {
    struct stat found {};
    return ::stat(path.c_str(), &found) == 0;
}

// ------------------------------------------------------------------------------ making it

/// An empty file with the right owner and mode. It gets its name only when our descriptor of it is
/// closed: closing it later would drop the locks of another connection of this process.
void put_empty_file(const std::string& path, const sharing& who) {
    detail::kernel_random chance;
    const auto draft = path + ".new-" + std::to_string(chance.next());
    {
        const descriptor file{::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
        if (!file)
            refuse("cannot make the lock file " + path, errno);
        who.give(file.get());
    }
    const int error = ::link(draft.c_str(), path.c_str()) == 0 ? 0 : errno;
    ::unlink(draft.c_str());
    if (error != 0 && error != EEXIST) // EEXIST: somebody was faster
        refuse("cannot make the lock file " + path, error);
}

void write_tables(connection& db, const std::string& domain, const std::string& first_fence) {
    db.execute(schema);
    db.execute("INSERT INTO meta VALUES (1, '" + domain + "')");
    db.execute("INSERT INTO line VALUES ('', 0, x'', 0, 0, 0, 0, " + first_fence + ", 0, 0)");
    db.execute("PRAGMA user_version = " + std::to_string(schema_version));
}

/// Everything in one transaction before there is a log: so the first bytes of the file always say
/// whose it is, even while later changes are in the log only. Nothing is synced on the way (each
/// sync can take seconds on a busy disk): a half-made file is seen to be one, and made anew.
void fill(connection& db, const machine& on) {
    db.execute(
        "PRAGMA page_size = 1024"); // a grant changes two pages; small ones are written faster
    db.execute("PRAGMA synchronous = OFF");
    db.execute("BEGIN EXCLUSIVE");
    if (db.ask_number("SELECT count(*) FROM sqlite_schema") == 0) {
        write_tables(db, on.clock_domain(), std::to_string(on.wall_clock_us()));
        db.execute("PRAGMA application_id = " + std::to_string(application_id));
    }
    db.execute("COMMIT");
}

/// The first fences, and with them the file: on the disk before anything is granted.
void sync_all(connection& db) {
    reserve_fences(db);
    db.execute("PRAGMA synchronous = FULL");
    db.execute("PRAGMA wal_checkpoint(PASSIVE)");
    db.execute("PRAGMA synchronous = NORMAL");
}

// The makers of -wal and -shm are whoever came first; their group must be the file's.
void share_log(const lock_file& file) {
    for (const char* kind : {"-wal", "-shm"}) {
        struct stat found {};
        const auto path = file.path + kind;
        if (::stat(path.c_str(), &found) == 0 && found.st_gid != file.shared.group &&
            found.st_uid == ::geteuid())
            file.shared.give(path);
    }
}

void settle_in(lock_file& file) {
    auto& db = *file.db;
    if (db.ask_text("PRAGMA journal_mode = WAL") != "wal")
        throw trouble{SQLITE_CANTOPEN, file.path + " cannot be used with a write-ahead log here"};
    db.execute(
        "PRAGMA synchronous = NORMAL; PRAGMA secure_delete = OFF; PRAGMA temp_store = MEMORY");
    static_cast<void>(db.ask_number("SELECT count(*) FROM meta")); // only now both files are there
    share_log(file);
}

// ---------------------------------------------------------------------------- checking it

enum class nature : std::uint8_t { empty, ours, another_database, no_database };

[[nodiscard]] nature nature_of(const connection& db) {
    constexpr std::string_view magic{"SQLite format 3\0", 16};
    const auto bytes = db.first_bytes(100);
    if (bytes.empty())
        return nature::empty;
    if (bytes.size() < 100 || bytes.substr(0, magic.size()) != magic)
        return nature::no_database;
    std::int32_t id = 0;
    for (std::size_t at = 68; at < 72; ++at)
        id = (id << 8) | static_cast<unsigned char>(bytes[at]);
    return id == application_id ? nature::ours : nature::another_database;
}

[[nodiscard]] std::string suspect_mark(const std::string& directory) {
    return directory + "/suspect";
}

/// Small files are read through at each opening; of larger ones only those that somebody stumbled
/// over.
[[nodiscard]] bool is_sound(connection& db, const std::string& directory) {
    constexpr std::int64_t small = 256;
    const bool suspect = exists(suspect_mark(directory));
    if (!suspect && db.ask_number("PRAGMA page_count") > small)
        return true;
    if (db.ask_text("PRAGMA quick_check(1)") != "ok")
        return false;
    if (suspect)
        ::unlink(suspect_mark(directory).c_str());
    return true;
}

/// Whether somebody has taken a table or the counter out of it.
[[nodiscard]] bool has_all(connection& db) {
    return db.ask_number("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN"
                         " ('meta', 'process', 'bond', 'line', 'taken')") == 5 &&
           db.ask_number("SELECT count(*) FROM sqlite_schema WHERE type = 'view' AND name IN"
                         " ('holder', 'waiter', 'counter')") == 3 &&
           db.ask_number("SELECT count(*) FROM meta") == 1 &&
           db.ask_number("SELECT count(*) FROM counter") == 1;
}

enum class state : std::uint8_t { good, unmade, old, damaged };

[[nodiscard]] state state_of_ours(lock_file& file) {
    auto& db = *file.db;
    try {
        const auto version = db.ask_number("PRAGMA user_version");
        if (version > schema_version)
            refuse(file.path + " was written by a newer holdfast (format " +
                   std::to_string(version) + ", this one knows " + std::to_string(schema_version) +
                   "); use that one");
        if (version == 0) // whoever made it did not come to the end
            return db.ask_number("SELECT count(*) FROM sqlite_schema") == 0 ? state::unmade
                                                                            : state::damaged;
        if (version < schema_version)
            return is_sound(db, file.directory) ? state::old : state::damaged;
        return has_all(db) && is_sound(db, file.directory) ? state::good : state::damaged;
    } catch (const trouble& what) {
        if (is_damage(what.code()))
            return state::damaged;
        throw;
    }
}

[[nodiscard]] state state_of(lock_file& file) {
    const bool was_ours = exists(file.directory + "/guard"); // sudoers has a .d beside it, too
    switch (nature_of(*file.db)) {
    case nature::empty:
        return state::unmade;
    case nature::ours:
        return state_of_ours(file);
    case nature::another_database:
        refuse(file.path + " is a database of another program; choose another path for the locks");
    case nature::no_database:
        if (was_ours)
            return state::damaged;
        refuse(file.path + " is not a lock file; choose another path for the locks");
    }
    return state::damaged;
}

// --------------------------------------------------------------------------- moving it aside

[[nodiscard]] bool somebody_lives(const std::string& directory) {
    for (const auto id : traces_in(directory))
        if (look_once(directory, id) == liveness::alive)
            return true;
    return false;
}

[[nodiscard]] std::string utc_now(const machine& on) {
    const std::time_t seconds = on.wall_clock_us() / 1'000'000;
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts);
    return text.data();
}

/// Alone, and with nobody alive, nobody can be using the file that goes.
void move_aside(lock_file& file, const machine& on) {
    if (somebody_lives(file.directory))
        refuse(file.path +
               " is damaged, and other processes still use it; end them, then try again");
    file.db.reset();
    auto aside = file.path + ".corrupt-" + utc_now(on);
    for (int again = 2; exists(aside); ++again)
        aside = file.path + ".corrupt-" + utc_now(on) + '-' + std::to_string(again);
    if (::rename(file.path.c_str(), aside.c_str()) != 0)
        refuse(file.path + " is damaged and cannot be moved aside", errno);
    for (const char* kind : {"-wal", "-shm", "-journal"})
        ::rename((file.path + kind).c_str(), (aside + kind).c_str());
    ::unlink(suspect_mark(file.directory).c_str());
    file.notices.push_back(file.path + " was damaged and has been moved aside to " + aside +
                           "; nobody holds anything of it");
}

// ---------------------------------------------------------------------- of an older holdfast

/// Alone, and with nobody alive, nothing in it matters but the fences. (Formats 1 and 2.)
void bring_up_to_date(lock_file& file, const machine& on) {
    if (somebody_lives(file.directory))
        refuse(file.path +
               " is in use by processes of an older holdfast; end them, then try again");
    auto& db = *file.db;
    transaction whole{db};
    const auto first = db.ask_number("SELECT fence_end FROM meta");
    for (const char* table : {"meta", "process", "bond", "holder", "waiter", "taken"})
        db.execute(std::string{"DROP TABLE IF EXISTS "} + table);
    write_tables(db, on.clock_domain(), std::to_string(first));
    whole.commit();
}

// ------------------------------------------------------------------------- whose clock it has

/// The times of another boot mean nothing, and who held something then is gone. The fences go on
/// above all that may have been handed out.
void start_afresh(connection& db, const std::string& domain, std::int64_t floor) {
    transaction whole{db};
    for (const char* table : {"bond", "process", "taken"})
        db.execute(std::string{"DELETE FROM "} + table);
    db.execute("DELETE FROM line WHERE name > ''");
    db.execute("UPDATE line SET fence = max(fence + reserved, " + std::to_string(floor) +
               "), reserved = 0");
    db.execute("UPDATE meta SET domain = '" + domain + "'");
    whole.commit();
}

void adopt_clock(lock_file& file, const machine& on) {
    const auto domain = on.clock_domain();
    if (domain.empty())
        refuse(
            "cannot tell one boot from another: /proc/sys/kernel/random/boot_id is not readable");
    if (file.db->ask_text("SELECT domain FROM meta") == domain)
        return;
    const guard alone{
        file.directory, file.shared, guard::hold::alone, after(boot_clock::now(), patience)};
    if (file.db->ask_text("SELECT domain FROM meta") == domain)
        return;
    if (somebody_lives(file.directory))
        refuse(file.path +
               " is in use by processes whose clock is another (a container with its own"
               " time namespace); use one file for each");
    start_afresh(*file.db, domain, on.wall_clock_us());
}

// ---------------------------------------------------------------------------------- opening it

void check_place(const lock_file& file, const machine& on) {
    struct stat found {};
    if (::stat(file.path.c_str(), &found) == 0) {
        if (S_ISDIR(found.st_mode))
            refuse(file.path + " is a directory; name a file in it");
        if (!S_ISREG(found.st_mode))
            refuse(file.path + " is not a regular file; choose another path for the locks");
    }
    const auto directory = parent_of(file.path);
    if (const auto kind = on.network_file_system(directory); !kind.empty())
        refuse(file.path + " lies on a network file system (" + kind +
               "), where file locks cannot be trusted; choose a local path or another engine");
}

void connect(lock_file& file) {
    struct stat found {};
    if (::stat(file.path.c_str(), &found) != 0) // just moved aside, it will be made anew
        throw trouble{SQLITE_CANTOPEN, std::strerror(errno)};
    if (::faccessat(AT_FDCWD, file.path.c_str(), R_OK | W_OK, AT_EACCESS) != 0)
        refuse(file.path + " cannot be read and written", errno);
    file.shared = sharing::like_file(found);
    file.db = std::make_unique<connection>(file.path);
    file.db->wait_until(after(boot_clock::now(), patience));
    if (file.db->read_only())
        refuse(file.path + " cannot be written: its mode, or the file system, is read-only");
}

/// Makes or replaces the file while nobody else does.
void make(lock_file& file, const machine& on) {
    struct stat parent {};
    if (::stat(parent_of(file.path).c_str(), &parent) != 0)
        refuse(parent_of(file.path), errno);
    if (!exists(file.path))
        file.shared = sharing::in_directory(parent);
    make_directory(file.directory, file.shared);
    const guard alone{
        file.directory, file.shared, guard::hold::alone, after(boot_clock::now(), patience)};
    if (!exists(file.path))
        put_empty_file(file.path, file.shared);
    connect(file);
    if (state_of(file) == state::damaged) {
        move_aside(file, on);
        put_empty_file(file.path, sharing::in_directory(parent));
        connect(file);
    }
    const auto found = state_of(file);
    if (found == state::unmade)
        fill(*file.db, on);
    settle_in(file);
    if (found == state::old)
        bring_up_to_date(file, on);
    if (found != state::good)
        sync_all(*file.db);
}

void open_once(lock_file& file, const machine& on) {
    if (exists(file.path))
        connect(file);
    if (!file.db || state_of(file) != state::good)
        make(file, on);
    settle_in(file);
    make_directory(file.directory, file.shared);
    adopt_clock(file, on);
}

} // namespace

void make_directory(const std::string& path, const sharing& who) {
    if (::mkdir(path.c_str(), 0700) == 0)
        who.for_directory().give(path);
    else if (errno != EEXIST)
        refuse("cannot make the directory " + path + " beside the lock file", errno);
}

// What passes by itself: another user who is just making the file may not have opened its log to us
// yet, and turning the log on is refused, without waiting, while anybody reads.
lock_file open_file(const std::string& path, const machine& on) {
    const auto start = boot_clock::now();
    for (;;) {
        lock_file file;
        file.path = canonical(path);
        file.directory = file.path + ".d";
        check_place(file, on);
        try {
            open_once(file, on);
            return file;
        } catch (const trouble& what) {
            if (is_damage(what.code())) // looked good at first; look closer next time
                mark_suspect(file);
            const int kind = what.code() & 0xff;
            const auto limit =
                kind == SQLITE_BUSY ? patience : duration{std::chrono::milliseconds{500}};
            const bool passing = kind == SQLITE_BUSY || kind == SQLITE_CANTOPEN || is_damage(kind);
            if (!passing || boot_clock::now() - start >= limit)
                throw_error(meaning_of(what.code()),
                            "cannot use " + file.path + ": " + what.what());
        }
        constexpr timespec moment{.tv_sec = 0, .tv_nsec = 2'000'000};
        ::nanosleep(&moment, nullptr);
    }
}

std::string default_path() {
    std::string base;
    if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') {
        base = state; // a relative one is to be ignored (XDG Base Directory)
    } else {
        const char* home = std::getenv("HOME");
        if (home == nullptr || *home != '/') {
            const passwd* user =
                ::getpwuid(::geteuid()); // NOLINT(concurrency-mt-unsafe): rare, at opening
            home = user != nullptr ? user->pw_dir : nullptr;
        }
        if (home == nullptr)
            refuse("there is no home directory for the default lock file; name one, as in "
                   "sqlite:/path/locks.db");
        base = std::string{home} + "/.local/state";
    }
    const auto directory = base + "/holdfast";
    for (auto slash = directory.find('/', 1);; slash = directory.find('/', slash + 1)) {
        const auto level = directory.substr(0, slash);
        if (::mkdir(level.c_str(), 0700) != 0 && errno != EEXIST && !exists(level))
            refuse("cannot make the directory " + level + " for the default lock file", errno);
        if (slash == std::string::npos)
            break;
    }
    return directory + "/locks.db";
}

void reserve_fences(connection& db, std::int64_t beyond) {
    db.execute("PRAGMA synchronous = FULL");
    try {
        transaction whole{db};
        db.tell(query::fence_reserve, fence_block, beyond);
        whole.commit();
    } catch (...) {
        db.execute("PRAGMA synchronous = NORMAL");
        throw;
    }
    db.execute("PRAGMA synchronous = NORMAL");
}

void mark_suspect(const lock_file& file) noexcept {
    const descriptor mark{::open(
        suspect_mark(file.directory).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, file.shared.mode)};
}

guard::guard(const std::string& directory, const sharing& who, hold how, instant by) {
    const auto path = directory + "/guard";
    const int operation = (how == hold::alone ? LOCK_EX : LOCK_SH) | LOCK_NB;
    for (;;) {
        int error = 0;
        if (!file_) {
            descriptor made{::open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
            if (made)
                who.give(made.get());
            else if (errno == EEXIST)
                made = descriptor{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
            error = made ? 0 : errno;
            file_ = std::move(made);
        }
        if (file_ && ::flock(file_.get(), operation) == 0)
            return;
        const auto left = by - boot_clock::now();
        if (left <= duration::zero() || (!file_ && error != EACCES && error != ENOENT))
            throw trouble{error == 0 ? SQLITE_BUSY : SQLITE_CANTOPEN,
                          path + ": " +
                              (error == 0 ? "another process has kept it for too long"
                                          : std::strerror(error))};
        constexpr timespec moment{.tv_sec = 0, .tv_nsec = 1'000'000};
        ::nanosleep(&moment, nullptr);
    }
}

} // namespace holdfast::sqlite
