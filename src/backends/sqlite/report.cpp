#include "backends/sqlite/report.hpp"
#include "backends/sqlite/ledger.hpp"

#include <algorithm>
#include <cstdio>
#include <dirent.h>
#include <fnmatch.h>
#include <map>
#include <sys/statvfs.h>

namespace holdfast::sqlite {
namespace {

/// Asks once for each process, however many names it holds.
class roll_call {
public:
    explicit roll_call(std::string directory) : directory_{std::move(directory)} {}
    [[nodiscard]] liveness operator()(process_id id) {
        const auto [at, is_new] = known_.try_emplace(id, liveness::unknown);
        if (is_new)
            at->second = look_once(directory_, id);
        return at->second;
    }

private:
    std::string directory_;
    std::map<process_id, liveness> known_;
};

[[nodiscard]] party read_party(const rows& row, int first) {
    return {std::string{row.text(first)}, row.number(first + 1), std::string{row.text(first + 2)}};
}

/// When this holder no longer keeps others out, as far as time decides.
[[nodiscard]] bool is_free(const holder_row& h, liveness life, instant now) {
    if (life == liveness::dead && h.kept_by->lock_delay == duration::zero())
        return true;
    return life == liveness::dead && now >= free_at(*h.kept_by);
}

[[nodiscard]] std::string remark_on(const holder_row& h, liveness life, instant now) {
    if (life == liveness::dead)
        return "its process is dead; its lock delay still keeps others out";
    if (now < h.kept_by->expires_at)
        return {};
    if (h.kept_by->children_keep_it && life == liveness::alive)
        return "expired, but processes of it are still alive";
    return now < free_at(*h.kept_by) ? "expired; its lock delay still keeps others out"
                                     : "expired; free for the next who asks";
}

void add_holders(connection& db,
                 roll_call& alive,
                 const std::string& pattern,
                 instant now,
                 std::map<std::string, lock_info>& all) {
    auto found = db.ask(query::all_holders);
    while (found.next()) {
        const auto h = read_holder(found);
        const std::string name{found.text(12)};
        if (!h.kept_by || ::fnmatch(pattern.c_str(), name.c_str(), 0) != 0)
            continue;
        const auto life = alive(h.process);
        if (is_free(h, life, now))
            continue;
        all[name].holders.push_back({.who = read_party(found, 13),
                                     .mode = h.mode,
                                     .fence = h.fence,
                                     .held_for = now - h.granted_at,
                                     .remaining = std::max(h.kept_by->expires_at - now, duration{}),
                                     .remark = remark_on(h, life, now)});
    }
}

void add_waiters(connection& db,
                 roll_call& alive,
                 const std::string& pattern,
                 instant now,
                 std::map<std::string, lock_info>& all) {
    auto found = db.ask(query::all_waiters);
    while (found.next()) {
        const std::string name{found.text(0)};
        if (::fnmatch(pattern.c_str(), name.c_str(), 0) != 0 ||
            alive(found.as<process_id>(1)) == liveness::dead)
            continue;
        all[name].waiters.push_back({.who = read_party(found, 4),
                                     .mode = found.as<mode>(2),
                                     .waited_for = now - found.at(3)});
    }
}

// ------------------------------------------------------------------------------------ findings

using grade = finding::grade;

[[nodiscard]] std::string count_of(std::size_t n, const char* one, const char* many) {
    return std::to_string(n) + ' ' + (n == 1 ? one : many);
}

[[nodiscard]] finding about_file(const lock_file& file) {
    std::array<char, 8> mode{};
    std::snprintf(mode.data(), mode.size(), "%04o", static_cast<unsigned>(file.shared.mode));
    const char* who = (file.shared.mode & 0006) != 0   ? ", shared by everybody"
                      : (file.shared.mode & 0060) != 0 ? ", shared by its group"
                                                       : ", of its owner only";
    return {grade::good, file.path + " (mode " + mode.data() + who + ')', {}};
}

[[nodiscard]] finding about_format(connection& db) {
    const auto version = db.ask_number("PRAGMA user_version");
    const auto journal = db.ask_text("PRAGMA journal_mode");
    const auto check = db.ask_text("PRAGMA quick_check(1)");
    if (check != "ok")
        return {grade::danger,
                "the lock file is damaged: " + check,
                "end all processes that use it; the next to open it moves it aside"};
    if (journal != "wal")
        return {grade::warning,
                "the lock file has no write-ahead log (" + journal + ")",
                "end all processes that use it and open it again"};
    return {grade::good, "format " + std::to_string(version) + ", write-ahead log, sound", {}};
}

[[nodiscard]] finding about_space(const lock_file& file) {
    constexpr std::uint64_t little = 16 << 20;
    struct statvfs disk {};
    if (::statvfs(file.directory.c_str(), &disk) != 0)
        return {grade::warning, file.directory + " cannot be examined", {}};
    const auto free = static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
    const auto text = std::to_string(free >> 20) + " MiB of disk are free";
    if (free < little)
        return {
            grade::warning, text, "on a full disk no lock can be acquired or renewed: make room"};
    return {grade::good, text, {}};
}

void about_processes(const lock_file& file, instant now, std::vector<finding>& out) {
    roll_call alive{file.directory};
    std::size_t living = 0, dead = 0, mute = 0, late = 0;
    {
        auto all = file.db->ask(query::processes);
        while (all.next()) {
            const auto life = alive(all.as<process_id>(0));
            ++(life == liveness::alive ? living : life == liveness::dead ? dead : mute);
        }
    }
    {
        auto all = file.db->ask(query::all_holders);
        while (all.next()) {
            const auto h = read_holder(all);
            if (h.kept_by && now >= h.kept_by->expires_at && alive(h.process) == liveness::alive)
                ++late;
        }
    }
    out.push_back({grade::good, count_of(living, "process uses", "processes use") + " it now", {}});
    if (dead > 0)
        out.push_back({grade::notice,
                       count_of(dead, "process has", "processes have") + " died without a word",
                       "the next who asks for a lock tidies up"});
    if (mute > 0)
        out.push_back(
            {grade::warning,
             count_of(mute, "process has", "processes have") + " no FIFO in " + file.directory +
                 ": its death is noticed only after its ttl",
             "do not remove files there; processes that are started anew have one again"});
    if (late > 0)
        out.push_back(
            {grade::warning,
             count_of(late, "lock is", "locks are") + " expired, but the holder's processes live",
             "look at it with `holdfast ls`; a stopped process, or children that outlive it?"});
}

void about_leftovers(const lock_file& file, std::vector<finding>& out) {
    const auto slash = file.path.rfind('/');
    const auto prefix = file.path.substr(slash + 1) + ".corrupt-";
    DIR* const open = ::opendir(file.path.substr(0, slash + 1).c_str());
    if (open == nullptr)
        return;
    std::size_t count = 0;
    while (const dirent* entry = ::readdir(open)) {
        const std::string_view name{entry->d_name};
        if (name.starts_with(prefix) && !name.ends_with("-wal") && !name.ends_with("-shm"))
            ++count;
    }
    ::closedir(open);
    if (count > 0)
        out.push_back({grade::warning,
                       count_of(count, "damaged file lies", "damaged files lie") + " beside it (" +
                           prefix + "…)",
                       "find out what damaged it, then delete it"});
}

} // namespace

std::vector<lock_info> who_holds(const lock_file& file, const std::string& pattern, instant now) {
    roll_call alive{file.directory};
    std::map<std::string, lock_info> all;
    add_holders(*file.db, alive, pattern, now, all);
    add_waiters(*file.db, alive, pattern, now, all);
    std::vector<lock_info> out;
    for (auto& [name, info] : all) {
        info.name = name;
        out.push_back(std::move(info));
    }
    return out;
}

std::vector<finding> health_of(const lock_file& file, instant now) {
    std::vector<finding> out{about_format(*file.db), about_space(file), about_file(file)};
    about_processes(file, now, out);
    about_leftovers(file, out);
    std::stable_sort(
        out.begin(), out.end(), [](const finding& a, const finding& b) { return a.how > b.how; });
    return out;
}

} // namespace holdfast::sqlite
