// bench_embedded [quick] [ROW…]: all rows of the table, or those whose name contains one of the
// words.
//
// A full run writes $HOLDFAST_DOCS/embedded.md and embedded.svg, if that is set; a quick one, or
// one of some rows only, prints and writes nothing.

#include "page.hpp"
#include "rows.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

namespace {

struct named_row {
    const char* name;
    void (*measure)(const bench::effort&, bench::findings&);
};

constexpr named_row rows[] = {
    {"uncontended", bench::uncontended},
    {"hand_off", bench::hand_off},
    {"passing_threads", bench::passing_threads},
    {"passing_coroutines", bench::passing_coroutines},
    {"held_leases", bench::held_leases},
    {"queued_waiters", bench::queued_waiters},
    {"observers", bench::observers},
};

/// Where lock files would lie, and gone afterwards.
class scratch {
public:
    scratch() {
        auto pattern = (std::filesystem::current_path() / "bench-XXXXXX").string();
        bench::check(::mkdtemp(pattern.data()) != nullptr, "there is room for lock files");
        path_ = pattern;
    }
    ~scratch() { std::filesystem::remove_all(path_); }
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;
    [[nodiscard]] std::string inside(const char* name) const {
        const auto made = path_ / name;
        std::filesystem::create_directory(made);
        return made.string();
    }

private:
    std::filesystem::path path_;
};

[[nodiscard]] std::string read_all(const std::filesystem::path& path) {
    std::ifstream in{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

void write_all(const std::filesystem::path& path, const std::string& what) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path, std::ios::binary} << what;
}

} // namespace

int main(int argc, char** argv) try {
    std::vector<std::string_view> words(argv + 1, argv + argc);
    const bool quick = std::erase(words, "quick") > 0;
    const auto wanted = [&](std::string_view name) {
        return words.empty() || std::any_of(words.begin(), words.end(), [&](auto word) {
                   return name.find(word) != std::string_view::npos;
               });
    };
    bench::effort how{};
    if (quick)
        how = {.rounds = 15, .size = 0.2, .idle_seconds = 3, .directory = {}, .programs = {}};
    how.programs = std::filesystem::canonical("/proc/self/exe").parent_path().string();

    const scratch files;
    const auto load = bench::load_now();
    bench::findings found;
    for (const auto& row : rows)
        if (wanted(row.name)) {
            std::fprintf(stderr, "bench: %s\n", row.name);
            how.directory = files.inside(row.name);
            row.measure(how, found);
        }
    std::fputs(bench::tables(found).c_str(), stdout);
    const char* const docs = std::getenv("HOLDFAST_DOCS");
    if (docs == nullptr || quick || !words.empty())
        return 0;
    const auto at = std::filesystem::path{docs} / "embedded.md";
    write_all(at, bench::page(found, how, bench::this_occasion(how, load), read_all(at)));
    write_all(at.parent_path() / "embedded.svg", bench::chart(found));
    return 0;
} catch (const std::exception& failed) {
    std::fprintf(stderr, "bench: %s\n", failed.what());
    return 1;
}
