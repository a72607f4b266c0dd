#include "world.hpp"

#include <sqlite3.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <poll.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace holdfast::sqlite::test {

temporary_directory::temporary_directory() {
    std::string pattern = std::filesystem::temp_directory_path() / "holdfast-sqlite-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr)
        throw std::runtime_error{"mkdtemp"};
    path_ = pattern;
}

temporary_directory::~temporary_directory() {
    std::error_code ignored; // a leftover in /tmp fails no test
    std::filesystem::remove_all(path_, ignored);
}

std::shared_ptr<const claim> claim_for(const wanted_lock& what) {
    detail::kernel_random chance; // a new one each time: forked children must not draw the same
    auto made = std::make_shared<claim>();
    made->name = what.name;
    made->mode = what.mode;
    made->permits = what.permits;
    made->ttl = what.ttl;
    made->lock_delay = what.lock_delay;
    made->renewal = what.renewal;
    made->nonce = detail::draw_nonce(chance);
    made->within = what.within;
    made->by = std::make_shared<party>(party{"here", ::getpid(), "a test"});
    return made;
}

// ----------------------------------------------------------------------------------------- peer

peer::peer(const std::string& path, const machine& on, bool children_keep_locks)
    : engine{make({.path = path, .children_keep_locks = children_keep_locks}, on)} {
    engine->start(said);
}

peer::~peer() {
    if (engine)
        engine->close(boot_clock::now() + soon);
}

call peer::now() {
    const auto at = boot_clock::now();
    return {.ticket = {}, .asked = at, .answer_by = at + soon};
}

attempt_answer peer::attempt(const std::shared_ptr<const claim>& c, joining join) {
    said.answers.clear();
    engine->attempt(now(), c, join);
    EXPECT_EQ(said.answers.size(), 1U);
    return said.answers.back();
}

grant peer::take(const std::shared_ptr<const claim>& c) {
    const auto answer = attempt(c);
    if (const auto* f = std::get_if<failure>(&answer))
        ADD_FAILURE() << "failed: " << f->detail;
    const auto* yes = std::get_if<grant>(&answer);
    EXPECT_NE(yes, nullptr) << "not granted";
    if (yes == nullptr)
        return {};
    EXPECT_EQ(yes->nonce, c->nonce);
    return *yes;
}

contended peer::refused(const std::shared_ptr<const claim>& c, joining join) {
    const auto answer = attempt(c, join);
    if (const auto* f = std::get_if<failure>(&answer))
        ADD_FAILURE() << "failed: " << f->detail;
    const auto* no = std::get_if<contended>(&answer);
    EXPECT_NE(no, nullptr) << "granted, but should not be";
    return no != nullptr ? *no : contended{};
}

failure peer::fails(const std::shared_ptr<const claim>& c) {
    const auto answer = attempt(c);
    const auto* f = std::get_if<failure>(&answer);
    EXPECT_NE(f, nullptr) << "answered, but should fail";
    return f != nullptr ? *f : failure{};
}

release_result peer::release(const std::shared_ptr<const claim>& c, const grant& g) {
    engine->release(now(), c, g);
    return said.releases.back();
}

applied peer::withdraw(const std::shared_ptr<const claim>& c) {
    engine->withdraw(now(), c);
    return said.withdrawals.back();
}

std::vector<renewal_answer> peer::renew(const std::vector<bond_id>& bonds) {
    engine->renew(now(), bonds);
    return said.renewals;
}

renewed peer::renew(bond_id bond) { return renew(std::vector{bond}).front().outcome; }

std::vector<lock_info> peer::inspect(const std::string& pattern) {
    engine->inspect(now(), pattern);
    const auto& answer = said.inspections.back();
    EXPECT_TRUE(answer.has_value());
    return answer.has_value() ? *answer : std::vector<lock_info>{};
}

std::vector<finding> peer::examine() {
    engine->examine(now());
    return said.examinations.back();
}

std::size_t peer::force_release(const std::string& name) {
    engine->force_release(now(), name);
    const auto& answer = said.forcings.back();
    EXPECT_TRUE(answer.has_value());
    return answer.has_value() ? *answer : 0;
}

bool peer::hear_until(const std::function<bool()>& done) {
    const auto give_up = boot_clock::now() + soon;
    while (!done()) {
        const auto left = give_up - boot_clock::now();
        if (left <= duration::zero())
            return false;
        pollfd events{engine->descriptor(), POLLIN, 0};
        ::poll(&events, 1, static_cast<int>(left / 1ms));
        engine->on_readable();
    }
    return true;
}

bool peer::has_news() const {
    pollfd events{engine->descriptor(), POLLIN, 0};
    return ::poll(&events, 1, 0) == 1;
}

std::optional<grant> peer::await_grant(const nonce& whose) {
    std::optional<grant> found;
    hear_until([&] {
        for (const auto& g : said.grants)
            if (g.nonce == whose)
                found = g;
        return found.has_value();
    });
    return found;
}

grant peer::await(const std::shared_ptr<const claim>& c) {
    for (;;) {
        said.wakings.clear();
        auto answer = attempt(c);
        if (auto* yes = std::get_if<grant>(&answer))
            return *yes;
        const auto* no = std::get_if<contended>(&answer);
        auto ask_again = boot_clock::now() + (no != nullptr ? no->retry_after : duration{1ms});
        for (;;) {
            for (const auto& g : said.grants)
                if (g.nonce == c->nonce)
                    return g;
            const auto left = ask_again - boot_clock::now();
            if (!said.wakings.empty() || left <= duration::zero())
                break;
            pollfd events{engine->descriptor(), POLLIN, 0};
            ::poll(&events, 1, static_cast<int>(left / 1ms) + 1);
            engine->on_readable();
        }
    }
}

// -------------------------------------------------------------------------------------- process

namespace {

/// AddressSanitizer's allocator, unlike libc's, does not survive a fork in the middle of another
/// thread's allocation: the child would wait for that thread for ever. The only other thread here
/// is the one that writes a long log back, and it ends soon.
void await_the_end_of_other_threads() {
    const auto alone = [] {
        const std::filesystem::directory_iterator threads{"/proc/self/task"};
        return std::distance(begin(threads), end(threads)) == 1;
    };
    for (const auto end = boot_clock::now() + soon; !alone() && boot_clock::now() < end;)
        std::this_thread::sleep_for(1ms);
}

} // namespace

process::process(const std::function<int(const std::function<void(std::int64_t)>&)>& body) {
    int ends[2];
    if (::pipe(ends) != 0)
        throw std::runtime_error{"pipe"};
    await_the_end_of_other_threads();
    pid_ = ::fork();
    if (pid_ == 0) {
        ::close(ends[0]);
        try {
            ::_exit(body([&](std::int64_t number) {
                if (::write(ends[1], &number, sizeof number) != sizeof number)
                    ::_exit(99);
            }));
        } catch (const std::exception& what) {
            std::fprintf(stderr, "in a child: %s\n", what.what());
            ::_exit(98);
        }
    }
    ::close(ends[1]);
    from_child_ = ends[0];
}

process::~process() {
    kill();
    ::close(from_child_);
}

std::int64_t process::hear() {
    std::int64_t number = 0;
    EXPECT_EQ(::read(from_child_, &number, sizeof number), static_cast<ssize_t>(sizeof number));
    return number;
}

void process::kill() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        wait();
    }
}

int process::wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// ------------------------------------------------------------------------------------- outsiders

namespace {

std::int64_t run(const std::string& path, const std::string& sql) {
    sqlite3* db = nullptr;
    sqlite3_stmt* statement = nullptr;
    std::int64_t number = 0;
    EXPECT_EQ(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    int keep = 1;
    sqlite3_file_control(db, "main", SQLITE_FCNTL_PERSIST_WAL, &keep);
    EXPECT_EQ(sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    const int code = sqlite3_step(statement);
    EXPECT_TRUE(code == SQLITE_ROW || code == SQLITE_DONE) << sqlite3_errmsg(db);
    if (code == SQLITE_ROW)
        number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return number;
}

} // namespace

std::int64_t look(const std::string& path, const std::string& sql) { return run(path, sql); }
void change(const std::string& path, const std::string& sql) { run(path, sql); }

std::vector<std::string> files_in(const std::string& directory) {
    std::vector<std::string> names;
    if (std::filesystem::exists(directory))
        for (const auto& entry : std::filesystem::directory_iterator{directory})
            names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
}

bool is_root() { return ::geteuid() == 0; }

std::string refusal_of(const std::string& path, const machine& on) {
    try {
        const peer opened{path, on};
        return {};
    } catch (const std::system_error& refused) {
        return refused.what();
    }
}

} // namespace holdfast::sqlite::test
