#include "client/engine_entry.hpp"
#include "world.hpp"

#include <cstdlib>
#include <filesystem>
#include <sys/stat.h>

extern "C" {
extern const holdfast::detail::engine_entry holdfast_engine_sqlite;
}

namespace holdfast::sqlite::test {
namespace {

std::string opening(const std::string& rest) {
    try {
        holdfast_engine_sqlite({.scheme = "sqlite", .rest = rest, .children_keep_locks = false});
        return {};
    } catch (const std::system_error& refused) {
        return refused.what();
    }
}

TEST(sqlite_url, names_a_path) {
    const temporary_directory directory;
    EXPECT_EQ(opening(directory.file("a")), "");
    EXPECT_EQ(opening("//" + directory.file("b")), "") << "sqlite:///absolute/path";
    EXPECT_EQ(opening(directory.file("c") + "?"), "");
    EXPECT_EQ(opening(directory.file("d%20e")), "");
    for (const char* name : {"a", "b", "c", "d%20e"})
        EXPECT_TRUE(std::filesystem::exists(directory.file(name))) << name;
}

TEST(sqlite_url, knows_no_options_and_no_hosts) {
    const temporary_directory directory;
    EXPECT_NE(opening(directory.file("a") + "?mode=x&y=z").find("'mode'"), std::string::npos);
    EXPECT_NE(opening("//host/path").find("no other host"), std::string::npos);
    EXPECT_TRUE(files_in(directory.path()).empty());
}

TEST(sqlite_url, without_a_path_means_the_file_of_this_user) {
    const temporary_directory directory;
    const char* const before = std::getenv("XDG_STATE_HOME");
    const std::string saved = before != nullptr ? before : "";
    ::setenv("XDG_STATE_HOME", directory.file("state").c_str(), 1);
    EXPECT_EQ(opening(""), "");
    if (before != nullptr)
        ::setenv("XDG_STATE_HOME", saved.c_str(), 1);
    else
        ::unsetenv("XDG_STATE_HOME");
    EXPECT_TRUE(std::filesystem::exists(directory.file("state/holdfast/locks.db")));
    struct stat found {};
    ASSERT_EQ(::stat(directory.file("state/holdfast").c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0700U);
}

} // namespace
} // namespace holdfast::sqlite::test
