#include "servers/database.hpp"
#include "cli/process_tree.hpp"
#include "servers/ports.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <unistd.h>

namespace holdfast::servers {
namespace {

using namespace std::chrono_literals;

/// Or is dead, and its parent has not noticed.
bool stands_still(pid_t pid) {
    const auto seen = cli::look_at(pid);
    return !seen || seen->state == 'T' || seen->state == 'Z' || seen->state == 'X';
}

void halt(pid_t pid) {
    ::kill(pid, SIGSTOP);
    if (!cli_tests::comes_true(cli_tests::patience, [=] { return stands_still(pid); }))
        throw std::runtime_error{"process " + std::to_string(pid) + " did not stop"};
}

} // namespace

void database_server::start_somewhere() {
    for (int tries = 0; tries < 10; ++tries) {
        port_ = free_port();
        write_configuration();
        if (start())
            return;
    }
    throw std::runtime_error{"the database server found no free port in ten tries"};
}

bool database_server::start() {
    std::vector<std::string> all{"sh", "-c", "cd \"$0\" && exec \"$@\" > log 2>&1", room_.path()};
    const auto ours = command();
    all.insert(all.end(), ours.begin(), ours.end());
    process_.emplace(all,
                     cli_tests::start_options{.environment = clocks_.environment(), .input = ""});
    const bool settled =
        cli_tests::comes_true(60s, [this] { return !process_->runs_for(0ms) || answers(); });
    if (settled && process_->runs_for(0ms))
        return true;
    kill();
    if (log().find("Address already in use") != std::string::npos)
        return false;
    throw std::runtime_error{"the database server did not start: " + log()};
}

std::string database_server::address() const { return "127.0.0.1:" + std::to_string(port_); }

std::string database_server::url_of(const std::string& scheme, const std::string& password) const {
    return scheme + "://holdfast" + (password.empty() ? "" : ':' + password) + '@' + address() +
           "/holdfast";
}

bool database_server::runs() const { return process_->runs_for(0ms) && !cli::is_stopped(pid()); }

std::string database_server::log() const {
    return {std::istreambuf_iterator<char>{std::ifstream{room_ / "log"}.rdbuf()}, {}};
}

void database_server::pause() {
    halt(pid()); // first: from now on there are no new children
    const auto children = cli::descendants_of(pid());
    if (children.empty())
        return;
    // If the test is killed now, the kernel kills the server, but its children could not notice
    // that while they are stopped. So they are woken by somebody who ends with our end of his
    // input.
    std::vector<std::string> wake{"sh", "-c", "cat; kill -CONT \"$@\"", "wake"};
    for (const auto& one : children)
        wake.push_back(std::to_string(one.pid));
    waker_.emplace(wake);
    for (const auto& one : children)
        halt(one.pid);
}

void database_server::resume() {
    if (waker_) {
        waker_->close_input();
        static_cast<void>(waker_->exit_code());
        waker_.reset();
    }
    process_->signal(SIGCONT);
}

void database_server::stop() {
    resume();
    process_->signal(orderly_end());
    wait_for_the_end();
}

void database_server::kill() {
    if (!process_)
        return;
    std::vector<cli::process> children;
    if (process_->runs_for(0ms))
        children = cli::descendants_of(pid());
    process_->signal(SIGKILL);
    for (const auto& one : children)
        ::kill(one.pid, SIGKILL);
    wait_for_the_end();
    for (const auto& one : children) // they let go of everything before they are gone
        if (!cli_tests::is_gone_within(one.pid, cli_tests::patience))
            throw std::runtime_error{"a child of the database server did not end"};
    waker_.reset();
    forget_the_dead();
}

void database_server::wait_for_the_end() {
    static_cast<void>(process_->exit_code());
    if (!process_->tree.ends_within(cli_tests::patience))
        throw std::runtime_error{"a child of the database server did not end"};
}

void database_server::restart() {
    kill();
    for (int tries = 0; tries < 10; ++tries)
        if (start())
            return;
    throw std::runtime_error{"somebody else has taken port " + std::to_string(port_)};
}

std::string made_once(const std::string& kind,
                      const std::string& recipe,
                      const std::function<void(const std::string& folder)>& make) {
    std::ostringstream name;
    name << "holdfast-" << kind << "-of-" << ::getuid() << '-' << std::hex
         << std::hash<std::string>{}(recipe);
    const auto place = folder::where() / name.str();
    if (!std::filesystem::exists(place)) {
        const folder fresh;
        make(fresh.path());
        std::error_code failed;
        std::filesystem::rename(fresh / "made", place, failed);
        if (failed && !std::filesystem::exists(place)) // not that somebody else was faster
            throw std::filesystem::filesystem_error{"rename", fresh / "made", place, failed};
    }
    return place.string();
}

std::string call_or_throw(const std::vector<std::string>& command, const std::string& input) {
    const auto how = cli_tests::call(command, {.environment = {}, .input = input});
    if (how.code != 0)
        throw std::runtime_error{command.front() + " … " + command.back() + ": " + how.out +
                                 how.err};
    return how.out + how.err;
}

} // namespace holdfast::servers
