#include "table.hpp"
#include "scratch.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace bench {
namespace {

[[nodiscard]] std::string read_all(const std::filesystem::path& path) {
    std::ifstream in{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

void write_all(const std::filesystem::path& path, const std::string& what) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path, std::ios::binary} << what;
}

} // namespace

table::table(int argc, char** argv) : words_(argv + 1, argv + argc), load_{load_now()} {
    quick_ = std::erase(words_, "quick") > 0;
    if (quick_)
        how_ = {.rounds = 15,
                .size = 0.2,
                .idle_seconds = 3,
                .directory = {},
                .programs = {},
                .url = {}};
    how_.programs = std::filesystem::canonical("/proc/self/exe").parent_path().string();
}

bool table::wanted(const std::string& name) const {
    return words_.empty() || std::any_of(words_.begin(), words_.end(), [&](const auto& word) {
               return name.find(word) != std::string::npos;
           });
}

void table::measure(std::span<const row> rows) {
    const scratch files;
    for (const auto& one : rows)
        if (wanted(one.name)) {
            std::fprintf(stderr, "bench: %s\n", one.name.c_str());
            how_.directory = files.inside(one.name);
            one.measure(how_, found_);
        }
    std::fputs(tables(found_).c_str(), stdout);
}

void table::publish(const subject& what) const {
    const char* const docs = std::getenv("HOLDFAST_DOCS");
    if (docs == nullptr || quick_ || !words_.empty())
        return;
    const auto at = std::filesystem::path{docs} / (what.engine + ".md");
    write_all(at, page(what, found_, how_, this_occasion(what, load_), read_all(at)));
    write_all(at.parent_path() / (what.engine + ".svg"), chart(found_));
}

} // namespace bench
