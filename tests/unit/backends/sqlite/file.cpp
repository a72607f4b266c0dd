#include "backends/sqlite/file.hpp"
#include "promise.hpp"
#include "world.hpp"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <grp.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::sqlite::test {
namespace {

namespace fs = std::filesystem;

constexpr uid_t daemon_user = 1, nobody_user = 65534;
constexpr gid_t shared_group = 4242;

class sqlite_file : public testing::Test {
protected:
    temporary_directory directory;
    made_up_machine here;
    std::string file = directory.file();

    void write_file(const std::string& path, const std::string& content) {
        std::ofstream{path, std::ios::binary | std::ios::trunc} << content;
    }
    [[nodiscard]] std::string read_file(const std::string& path) {
        std::ifstream in{path, std::ios::binary};
        return {std::istreambuf_iterator<char>{in}, {}};
    }
    [[nodiscard]] std::vector<std::string> moved_aside() {
        std::vector<std::string> found;
        for (const auto& name : files_in(directory.path()))
            if (name.starts_with("locks.db.corrupt-") && !name.ends_with("-wal") &&
                !name.ends_with("-shm"))
                found.push_back(name);
        return found;
    }
    /// Uses the file and goes.
    std::int64_t use() {
        peer p{file, here};
        return p.take(claim_for({})).fence.value();
    }
};

[[nodiscard]] mode_t mode_of(const std::string& path) {
    struct stat found {};
    EXPECT_EQ(::stat(path.c_str(), &found), 0) << path;
    return found.st_mode & 07777;
}

/// A file system of its own over a directory, while it lives; false if we may not.
class small_disk {
public:
    small_disk(const std::string& where, const char* size)
        : where_{where}, size_{size}, mounted_{::mount("none", where.c_str(), "tmpfs", 0, size) ==
                                               0} {}
    small_disk(const small_disk&) = delete;
    small_disk& operator=(const small_disk&) = delete;
    ~small_disk() {
        if (mounted_)
            ::umount2(where_.c_str(), MNT_DETACH);
    }
    [[nodiscard]] explicit operator bool() const { return mounted_; }
    [[nodiscard]] bool make_read_only() const {
        return ::mount("none", where_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, size_) == 0;
    }

private:
    std::string where_;
    const char* size_;
    bool mounted_;
};

/// Runs something as another user, in a child.
int as_user(uid_t user, const std::function<int()>& body) {
    process child{[&](const auto&) {
        if (::setgroups(1, &shared_group) != 0 || ::setresgid(user, user, user) != 0 ||
            ::setresuid(user, user, user) != 0)
            return 97;
        return body();
    }};
    return child.wait();
}

// ---------------------------------------------------------------------------------- not for us

TEST_F(sqlite_file, a_text_file_is_refused_and_not_touched) {
    write_file(file, "dear diary, " + std::string(5000, 'x'));
    EXPECT_NE(refusal_of(file).find("is not a lock file"), std::string::npos);
    EXPECT_EQ(files_in(directory.path()), std::vector<std::string>{"locks.db"});
    EXPECT_TRUE(read_file(file).starts_with("dear diary"));
}

TEST_F(sqlite_file, the_database_of_another_program_is_refused_and_not_touched) {
    write_file(file, "");
    change(file, "CREATE TABLE t (x)");
    const auto before = read_file(file);
    EXPECT_NE(refusal_of(file).find("another program"), std::string::npos);
    EXPECT_EQ(files_in(directory.path()), std::vector<std::string>{"locks.db"});
    EXPECT_EQ(read_file(file), before);
}

TEST_F(sqlite_file, a_newer_format_is_refused_and_not_touched) {
    use();
    change(file, "PRAGMA user_version = 99");
    EXPECT_NE(refusal_of(file).find("newer holdfast"), std::string::npos);
    EXPECT_EQ(look(file, "PRAGMA user_version"), 99);
    EXPECT_TRUE(moved_aside().empty());
}

TEST_F(sqlite_file, an_older_format_is_brought_up_to_date_and_fences_go_on) {
    fence before;
    {
        peer a{file};
        before = a.take(claim_for({})).fence;
        // As format 2 was: a table for each, and the counter in a row of meta.
        const auto reserved_to = look(file, "SELECT reserved_to FROM counter");
        for (const char* name : {"holder", "waiter", "counter"})
            change(file, std::string{"DROP VIEW "} + name);
        change(file, "DROP TABLE line");
        change(file, "CREATE TABLE waiter (name)");
        change(file, "CREATE TABLE holder AS SELECT 'x' AS name");
        change(file, "ALTER TABLE meta ADD COLUMN fence_end INTEGER");
        change(file, "UPDATE meta SET fence_end = " + std::to_string(reserved_to));
        change(file, "PRAGMA user_version = 2");
        EXPECT_NE(refusal_of(file).find("older holdfast"), std::string::npos) << "a still lives";
    }
    peer b{file};
    EXPECT_GT(b.take(claim_for({})).fence, before);
    EXPECT_EQ(look(file, "SELECT count(*) FROM holder"), 1) << "nobody of before";
    EXPECT_TRUE(moved_aside().empty());
    EXPECT_TRUE(b.said.notices.empty());
}

TEST_F(sqlite_file, a_directory_or_a_device_is_refused) {
    EXPECT_NE(refusal_of(directory.path()).find("is a directory"), std::string::npos);
    EXPECT_NE(refusal_of(directory.path() + "/").find("is a directory"), std::string::npos);
    EXPECT_NE(refusal_of("/dev/null").find("not a regular file"), std::string::npos);
    EXPECT_TRUE(files_in(directory.path()).empty());
}

TEST_F(sqlite_file, a_missing_directory_is_named_and_not_made) {
    const auto sentence = refusal_of(directory.path() + "/missing/locks.db");
    EXPECT_NE(sentence.find("missing"), std::string::npos);
    EXPECT_NE(sentence.find("does not exist"), std::string::npos);
    EXPECT_TRUE(files_in(directory.path()).empty());
}

TEST_F(sqlite_file, a_network_file_system_is_refused_with_its_name) {
    here.network = "NFS";
    const auto sentence = refusal_of(file, here);
    EXPECT_NE(sentence.find("network file system (NFS)"), std::string::npos);
    EXPECT_TRUE(files_in(directory.path()).empty());
}

TEST(sqlite_machine, network_file_systems_are_known_by_number_and_by_name) {
    EXPECT_EQ(network_kind(0x6969, {}), "NFS");
    EXPECT_EQ(network_kind(0xFF534D42, {}), "CIFS");
    EXPECT_EQ(network_kind(0x01021997, {}), "9P");
    EXPECT_EQ(network_kind(0x65735546, "fuse.sshfs"), "fuse.sshfs");
    EXPECT_EQ(network_kind(0x65735546, "virtiofs"), "virtiofs");
    EXPECT_EQ(network_kind(0x65735546, "fuseblk"), "") << "a local disk";
    EXPECT_EQ(network_kind(0xEF53, {}), "") << "ext4";
    EXPECT_EQ(network_kind(0x01021994, {}), "") << "tmpfs";
}

TEST(sqlite_machine, this_machine_knows_its_boot_and_its_disk) {
    const auto& real = machine::real();
    EXPECT_GT(real.clock_domain().size(), 36U);
    EXPECT_EQ(real.clock_domain(), real.clock_domain());
    EXPECT_GT(real.wall_clock_us(), 1'700'000'000'000'000);
    const auto before = boot_clock::now();
    EXPECT_GE(real.now(), before);
    EXPECT_EQ(real.network_file_system("/proc"), "");
}

TEST_F(sqlite_file, what_cannot_be_written_is_refused) {
    if (!is_root())
        GTEST_SKIP() << "needs another user";
    use();
    fs::permissions(directory.path(), fs::perms{0755});
    fs::permissions(file, fs::perms{0644});
    std::string sentence;
    EXPECT_EQ(as_user(nobody_user,
                      [&] {
                          return refusal_of(file).find(
                                     "cannot be read and written: Permission denied") !=
                                         std::string::npos
                                     ? 0
                                     : 1;
                      }),
              0);
    EXPECT_EQ(as_user(nobody_user,
                      [&] {
                          const auto text = refusal_of(directory.file("new.db"));
                          return text.find("Permission denied") != std::string::npos ? 0 : 1;
                      }),
              0);
    EXPECT_FALSE(fs::exists(directory.file("new.db.d")));
}

TEST_F(sqlite_file, a_read_only_file_system_is_refused) {
    const small_disk disk{directory.path(), "size=1m"};
    if (!disk)
        GTEST_SKIP() << "cannot mount";
    use();
    ASSERT_TRUE(disk.make_read_only());
    const auto old_file = refusal_of(file), new_file = refusal_of(directory.file("new.db"));
    EXPECT_NE(old_file.find("Read-only"), std::string::npos) << old_file;
    EXPECT_NE(new_file.find("Read-only"), std::string::npos) << new_file;
}

// -------------------------------------------------------------------------------------- damaged

TEST_F(sqlite_file, a_damaged_file_is_moved_aside_and_said_so) {
    const auto before = use();
    for (const char* kind : {"-wal", "-shm"})
        fs::remove(file + kind);
    write_file(file, std::string(8192, '\xa5'));
    {
        peer p{file, here};
        ASSERT_EQ(p.said.notices.size(), 1U);
        EXPECT_NE(p.said.notices[0].find("moved aside to " + file + ".corrupt-"),
                  std::string::npos);
        EXPECT_GT(p.take(claim_for({})).fence.value(), before) << "the clock is the floor";
        const auto health = p.examine();
        ASSERT_FALSE(health.empty());
        EXPECT_EQ(health[0].how, finding::grade::warning) << "the doctor mentions the leftover";
        EXPECT_NE(health[0].what.find("corrupt-"), std::string::npos);
    }
    ASSERT_EQ(moved_aside().size(), 1U);
    EXPECT_EQ(read_file(directory.file(moved_aside()[0])), std::string(8192, '\xa5'))
        << "as it was";
    peer again{file, here};
    EXPECT_TRUE(again.said.notices.empty());
}

TEST_F(sqlite_file, damage_behind_a_good_first_page_is_found_at_opening) {
    use();
    change(file, "PRAGMA wal_checkpoint(TRUNCATE)");
    {
        std::fstream out{file, std::ios::binary | std::ios::in | std::ios::out};
        out.seekp(1024);
        out << std::string(4096, '\x5a');
    }
    peer p{file, here};
    EXPECT_EQ(p.said.notices.size(), 1U);
    static_cast<void>(p.take(claim_for({})));
    EXPECT_EQ(moved_aside().size(), 1U);
}

TEST_F(sqlite_file, a_file_cut_short_is_moved_aside) {
    use();
    change(file, "PRAGMA wal_checkpoint(TRUNCATE)");
    fs::resize_file(file, 2000);
    peer p{file, here};
    EXPECT_EQ(p.said.notices.size(), 1U);
    static_cast<void>(p.take(claim_for({})));
}

TEST_F(sqlite_file, a_file_without_its_counter_or_a_table_is_moved_aside) {
    use();
    change(file, "DELETE FROM meta");
    EXPECT_GT(use(), 0);
    EXPECT_EQ(moved_aside().size(), 1U);
    change(file, "DROP TABLE bond");
    EXPECT_GT(use(), 0);
    EXPECT_EQ(moved_aside().size(), 2U) << "within one second, too";
}

TEST_F(sqlite_file, a_damaged_file_is_not_moved_under_the_feet_of_the_living) {
    peer p{file, here};
    static_cast<void>(p.take(claim_for({})));
    process other{[&](const auto&) { // not in this process: closing the file would drop its locks
        for (const char* kind : {"-wal", "-shm"})
            fs::remove(file + kind);
        write_file(file, std::string(8192, '\xa5'));
        return refusal_of(file).find("other processes still use it") != std::string::npos ? 0 : 1;
    }};
    EXPECT_EQ(other.wait(), 0);
    EXPECT_TRUE(moved_aside().empty());
}

TEST_F(sqlite_file, damage_met_while_running_is_a_failure_and_the_next_opening_looks_closer) {
    {
        peer p{file, here};
        static_cast<void>(p.take(claim_for({})));
        process other{[&](const auto&) {
            connection db{file};
            db.wait_until(boot_clock::now() + soon);
            db.execute("PRAGMA writable_schema = ON");
            db.execute("DELETE FROM line WHERE name = ''"); // the smallest damage there is
            return 0;
        }};
        EXPECT_EQ(other.wait(), 0);
        const auto f = p.fails(claim_for({.name = "x"}));
        EXPECT_EQ(f.code, errc::backend_unavailable);
        EXPECT_FALSE(f.detail.empty());
        EXPECT_TRUE(fs::exists(file + ".d/suspect"));
    }
    peer p{file, here};
    EXPECT_EQ(p.said.notices.size(), 1U);
    EXPECT_FALSE(fs::exists(file + ".d/suspect"));
}

TEST_F(sqlite_file, a_file_deleted_under_our_feet_loses_everything_and_is_made_anew) {
    peer p{file, here};
    const auto mine = claim_for({.name = "x"});
    const auto held = p.take(mine);
    for (const char* kind : {"", "-wal", "-shm"})
        fs::remove(file + kind);
    const auto give_up = boot_clock::now() + soon;
    while (p.said.lost.empty() && boot_clock::now() < give_up)
        EXPECT_NE(p.renew(held.terms.bond), renewed::lost) << "not a word of it yet";
    EXPECT_EQ(p.said.lost, std::vector{held.terms.bond});
    EXPECT_EQ(p.release(mine, held), release_result::lost);
    EXPECT_GT(p.take(claim_for({.name = "x"})).fence, held.fence);
    EXPECT_EQ(look(file, "SELECT count(*) FROM holder"), 1);
}

TEST_F(sqlite_file, two_who_make_the_file_at_once_make_one) {
    for (int round = 0; round < 10; ++round) {
        const auto path = directory.file("new" + std::to_string(round));
        std::vector<std::unique_ptr<process>> all;
        all.reserve(4);
        for (int i = 0; i < 4; ++i)
            all.push_back(std::make_unique<process>([&](const auto& tell) {
                peer p{path};
                const auto mine = claim_for({});
                const auto given = p.await(mine);
                tell(given.fence.value());
                return p.release(mine, given) == release_result::released ? 0 : 1;
            }));
        std::vector<std::int64_t> fences;
        fences.reserve(4);
        for (auto& each : all)
            fences.push_back(each->hear());
        for (auto& each : all)
            EXPECT_EQ(each->wait(), 0);
        std::sort(fences.begin(), fences.end());
        EXPECT_EQ(std::adjacent_find(fences.begin(), fences.end()), fences.end())
            << promise_broken << "one file, one counter";
    }
}

TEST_F(sqlite_file, links_to_one_file_are_one_file) {
    peer p{file, here};
    static_cast<void>(p.take(claim_for({})));
    fs::create_symlink(file, directory.file("link.db"));
    fs::create_directory_symlink(directory.path(), directory.file("sub"));
    peer q{directory.file("link.db"), here}, r{directory.file("sub/locks.db"), here};
    static_cast<void>(q.refused(claim_for({})));
    static_cast<void>(r.refused(claim_for({})));
    EXPECT_FALSE(fs::exists(directory.file("link.db.d")));
}

// ----------------------------------------------------------------------------------- disk, users

TEST_F(sqlite_file, a_full_disk_is_a_failure_that_passes) {
    const small_disk disk{directory.path(), "size=512k"};
    if (!disk)
        GTEST_SKIP() << "cannot mount";
    peer p{file, here};
    const auto mine = claim_for({});
    const auto held = p.take(mine);
    {
        std::ofstream filler{directory.file("filler"), std::ios::binary};
        const std::string block(4096, 'x');
        while (filler.write(block.data(), 4096).flush()) {
        }
    }
    for (int i = 0; i < 3000; ++i)
        ASSERT_EQ(p.renew(held.terms.bond), renewed::yes)
            << "what is held can be renewed all the same";
    std::optional<failure> failed; // there is a little room left
    for (int i = 0; i < 1000 && !failed; ++i) {
        const auto answer =
            p.attempt(claim_for({.name = std::string(900, 'x') + std::to_string(i)}));
        if (const auto* f = std::get_if<failure>(&answer))
            failed = *f;
    }
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code, errc::backend_unavailable);
    EXPECT_EQ(failed->applied, applied::no);
    EXPECT_NE(refusal_of(directory.file("another.db")), "");
    EXPECT_NE(p.fails(claim_for({.name = std::string(1000, 'y')})).detail, "");

    fs::remove(directory.file("filler"));
    EXPECT_EQ(p.renew(held.terms.bond), renewed::yes);
    EXPECT_EQ(p.release(mine, held), release_result::released);
    static_cast<void>(p.take(claim_for({})));
}

TEST_F(sqlite_file, a_limit_on_file_sizes_is_a_failure_that_passes) {
    process limited{[&](const auto&) {
        ::signal(SIGXFSZ, SIG_IGN);
        peer p{file, here};
        const auto mine = claim_for({});
        const auto held = p.take(mine);
        const rlimit small{16'384, RLIM_INFINITY}, none{RLIM_INFINITY, RLIM_INFINITY};
        ::setrlimit(RLIMIT_FSIZE, &small);
        bool failed = false;
        for (int i = 0; i < 1000 && !failed; ++i)
            failed =
                std::holds_alternative<failure>(p.attempt(claim_for({.name = std::to_string(i)})));
        ::setrlimit(RLIMIT_FSIZE, &none);
        return failed && p.release(mine, held) == release_result::released ? 0 : 1;
    }};
    EXPECT_EQ(limited.wait(), 0);
}

TEST_F(sqlite_file, the_mode_of_a_new_file_follows_its_directory_whatever_the_umask) {
    const auto old = ::umask(077);
    const auto modes = [&](mode_t of_directory) {
        const auto path = directory.file(std::to_string(of_directory));
        fs::create_directory(path);
        EXPECT_EQ(::chmod(path.c_str(), of_directory), 0);
        peer p{path + "/locks.db", here};
        static_cast<void>(p.take(claim_for({})));
        std::vector<mode_t> all{mode_of(path + "/locks.db"),
                                mode_of(path + "/locks.db-wal"),
                                mode_of(path + "/locks.db-shm"),
                                mode_of(path + "/locks.db.d")};
        const auto beside = path + "/locks.db.d/";
        for (const auto& name : files_in(beside))
            EXPECT_EQ(mode_of(beside + name), all[0]) << name;
        return all;
    };
    EXPECT_EQ(modes(0700), (std::vector<mode_t>{0600, 0600, 0600, 0700}));
    EXPECT_EQ(modes(0755), (std::vector<mode_t>{0600, 0600, 0600, 0700}));
    EXPECT_EQ(modes(0775), (std::vector<mode_t>{0660, 0660, 0660, 0770}));
    EXPECT_EQ(modes(0777), (std::vector<mode_t>{0666, 0666, 0666, 0777}));
    EXPECT_EQ(modes(01777), (std::vector<mode_t>{0660, 0660, 0660, 0770}))
        << "as /tmp: not for everybody";
    ::umask(old);
}

TEST_F(sqlite_file, two_users_of_a_group_share_a_file_and_notice_each_others_death) {
    if (!is_root())
        GTEST_SKIP() << "needs two users";
    ASSERT_EQ(::chown(directory.path().c_str(), 0, shared_group), 0);
    ASSERT_EQ(::chmod(directory.path().c_str(), 0770),
              0); // not setgid: new files get their maker's group
    EXPECT_EQ(as_user(daemon_user,
                      [&] {
                          ::umask(077);
                          peer p{file, here};
                          const auto mine = claim_for({});
                          return p.release(mine, p.take(mine)) == release_result::released ? 0 : 1;
                      }),
              0);
    EXPECT_EQ(as_user(nobody_user,
                      [&] {
                          peer p{file, here};
                          const auto mine = claim_for({});
                          return p.release(mine, p.take(mine)) == release_result::released ? 0 : 1;
                      }),
              0);

    process one{[&](const auto& tell) { // dies as daemon
        if (::setgroups(1, &shared_group) != 0 || ::setresgid(1, 1, 1) != 0 ||
            ::setresuid(1, 1, 1) != 0)
            return 97;
        ::umask(077);
        peer p{file, here};
        tell(p.take(claim_for({.ttl = 1h})).fence.value());
        ::pause();
        return 0;
    }};
    const auto before = one.hear();
    process other{[&](const auto& tell) { // waits as nobody
        const gid_t own = nobody_user;
        if (::setgroups(1, &shared_group) != 0 || ::setresgid(own, own, own) != 0 ||
            ::setresuid(own, own, own) != 0)
            return 97;
        peer p{file, here};
        const auto mine = claim_for({.ttl = 1h});
        tell(p.refused(mine).place);
        const auto given = p.await(mine);
        tell(given.fence.value());
        p.release(mine, given);
        return 0;
    }};
    EXPECT_EQ(other.hear(), 1);
    one.kill();
    EXPECT_GT(other.hear(), before);
    EXPECT_EQ(other.wait(), 0);
    EXPECT_EQ(files_in(file + ".d"), std::vector<std::string>{"guard"});
}

TEST_F(sqlite_file, root_does_not_shut_out_the_owner_of_a_file) {
    if (!is_root())
        GTEST_SKIP() << "needs two users";
    ASSERT_EQ(::chown(directory.path().c_str(), daemon_user, daemon_user), 0);
    EXPECT_EQ(as_user(daemon_user, [&] { return use() > 0 ? 0 : 1; }), 0);
    peer root{file, here};
    const auto mine = claim_for({.ttl = 1h});
    const auto held = root.take(mine);
    EXPECT_EQ(as_user(daemon_user,
                      [&] {
                          peer p{file, here};
                          const auto waiting = claim_for({.ttl = 1h});
                          if (p.refused(waiting).place != 1)
                              return 1;
                          return p.examine().front().how == finding::grade::good ? 0 : 2;
                      }),
              0);
    root.release(mine, held);
}

} // namespace
} // namespace holdfast::sqlite::test
