#include "workshop.hpp"
#include "cli/process_tree.hpp"
#include "parsed.hpp"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::cli_tests {

namespace {

std::filesystem::path make_folder() {
    auto name = (std::filesystem::temp_directory_path() / "holdfast-cli-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
        throw std::system_error{errno, std::generic_category(), "mkdtemp"};
    }
    return name;
}

/// Reaps what has been adopted and ended; true if nobody is left.
bool nobody_left_within(std::chrono::milliseconds time) {
    return comes_true(time, [] {
        while (cli::reap()) {
        }
        return !cli::has_descendants();
    });
}

} // namespace

std::string holdfast_program() {
    const char* given = std::getenv("HOLDFAST_PROGRAM");
    return given != nullptr ? given : HOLDFAST_CLI;
}

workshop::workshop() : folder_{make_folder()} {
    cli::adopt_orphans(); // who outlives holdfast becomes our child, and is found out
    ::setenv("HOLDFAST_URL", ("sqlite:" + path("locks.db")).c_str(), 1);
    ::unsetenv("HOLDFAST_NAME");
    ::unsetenv("HOLDFAST_FENCE");
}

workshop::~workshop() {
    std::error_code ignored; // a leftover in the temporary folder harms nobody
    std::filesystem::remove_all(folder_, ignored);
}

void workshop::TearDown() {
    if (!nobody_left_within(std::chrono::seconds{5})) {
        for (const auto& one : cli::descendants_of(::getpid())) {
            ADD_FAILURE() << "process " << one.pid << " (" << one.state << ") was left behind";
        }
        cli::kill_descendants(boot_clock::now() + patience, [](const cli::reaped&) {});
    }
}

program workshop::start(const std::vector<std::string>& arguments, const start_options& options) {
    std::vector<std::string> all{holdfast_program()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return program{all, options};
}

outcome workshop::holdfast(const std::vector<std::string>& arguments,
                           const start_options& options) {
    auto with_input = options;
    with_input.input = options.input.value_or("");
    return start(arguments, with_input).end();
}

program workshop::start_holding(const std::vector<std::string>& options,
                                const std::string& script) {
    std::vector<std::string> arguments{"run"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"--", "sh", "-c", "echo ready; " + script});
    auto running = start(arguments);
    if (running.out.line() != "ready") {
        throw std::runtime_error{"it did not start: " + running.err.all()};
    }
    return running;
}

void workshop::until_waiting(const std::string& name, std::size_t count) {
    const auto give_up_at = boot_clock::now() + patience;
    while (waiters_in(holdfast({"show", name, "--json"}).out) != count) {
        if (boot_clock::now() >= give_up_at) {
            throw std::runtime_error{"nobody began to wait"};
        }
    }
}

std::string workshop::read(const std::string& file) const {
    std::ostringstream text;
    text << std::ifstream{path(file), std::ios::binary}.rdbuf();
    return text.str();
}

void workshop::write(const std::string& file, const std::string& text) const {
    std::ofstream{path(file), std::ios::binary} << text;
}

} // namespace holdfast::cli_tests
