#include "interop/peer.hpp"

#include <holdfast/clock.hpp>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

const std::string redisson_peer = HOLDFAST_INTEROP "/redisson/peer";
const std::string curator_peer = HOLDFAST_INTEROP "/curator/peer";
const std::string redis_py_peer = HOLDFAST_INTEROP "/redis_py/peer.py";
const std::string python = "/usr/bin/python3"; // Debian's own, which has Debian's modules

/// It ends at once, well if it could do its work.
servers::lack missing(const std::vector<std::string>& command) {
    const auto how = cli_tests::call(command);
    if (how.code == 0)
        return std::nullopt;
    return how.err.empty() ? command.front() + " does not run" : how.err;
}

std::vector<std::string> dying_with_us(std::vector<std::string> command) {
    command.insert(command.begin(), {"setpriv", "--pdeathsig", "KILL"});
    return command;
}

} // namespace

bool takes_its_time() {
    return std::getenv("HOLDFAST_EVERYWHERE") != nullptr; // NOLINT(concurrency-mt-unsafe)
}

std::vector<std::string> redisson_versions_to_test() {
    if (takes_its_time())
        return {newest_redisson, older_redisson};
    return {newest_redisson};
}

std::vector<std::string> curator_versions_to_test() {
    if (takes_its_time())
        return {newest_curator, older_curator};
    return {newest_curator};
}

servers::lack peer::redisson_missing(const std::string& version) {
    return missing({redisson_peer, "check", version});
}

servers::lack peer::curator_missing(const std::string& version) {
    return missing({curator_peer, "check", version});
}

servers::lack peer::redis_py_missing() { return missing({python, redis_py_peer}); }

peer peer::redisson(const std::string& version) { return peer{{redisson_peer, "run", version}}; }

peer peer::curator(const std::string& version) { return peer{{curator_peer, "run", version}}; }

peer peer::redis_py() { return peer{{python, redis_py_peer}}; }

peer peer::ours() { return peer{{HOLDFAST_OURS}}; }

peer::peer(const std::vector<std::string>& command) : process_{dying_with_us(command)} {}

peer::ticket peer::send(const std::string& command) {
    process_.write(std::to_string(++last_) + command + '\n');
    return ticket{last_};
}

bool peer::has_answered(ticket which, std::chrono::milliseconds within) {
    const auto number = static_cast<std::uint64_t>(which);
    const auto give_up_at = boot_clock::now() + within;
    while (!answers_.contains(number)) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(give_up_at - boot_clock::now());
        if (!process_.out.has_line_within(std::max(left, 0ms)))
            return false;
        const auto line = process_.out.line();
        if (!line)
            throw std::runtime_error{"the peer has ended: " + process_.err.all()};
        const auto space = line->find(' ');
        answers_.emplace(std::stoull(line->substr(0, space)), line->substr(space + 1));
    }
    return true;
}

std::string peer::end(ticket which, std::chrono::milliseconds within) {
    if (!has_answered(which, within))
        throw std::runtime_error{"the peer did not answer"};
    const auto answer = answers_.extract(static_cast<std::uint64_t>(which)).mapped();
    if (!answer.starts_with("ok"))
        throw std::runtime_error{answer};
    return answer.size() > 3 ? answer.substr(3) : "";
}

void peer::kill() {
    process_.signal(SIGKILL);
    static_cast<void>(process_.exit_code());
}

void peer::pause() {
    process_.signal(SIGSTOP);
    static_cast<void>(cli_tests::reaches_state(process_.pid(), 'T'));
}

void peer::resume() { process_.signal(SIGCONT); }

} // namespace holdfast::interop
