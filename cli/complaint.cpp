#include "complaint.hpp"
#include "exit_codes.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <holdfast/error.hpp>

#include <new>
#include <system_error>

namespace holdfast::cli {

namespace {

bool is(const std::error_code& code, errc what) {
    return code == static_cast<std::error_code>(make_error_code(what));
}

int exit_code_for(const std::error_code& code) {
    if (is(code, errc::bad_name) || is(code, errc::bad_option) || is(code, errc::unsupported)) {
        return exit_code::usage;
    }
    // Asked and never answered is, to whoever reads the exit code, an engine that is away.
    if (is(code, errc::backend_unavailable) || is(code, errc::outcome_unknown)) {
        return exit_code::unavailable;
    }
    if (is(code, errc::backend_refused)) {
        return exit_code::refused;
    }
    if (is(code, errc::timed_out)) {
        return exit_code::contended;
    }
    return is(code, errc::lost) ? exit_code::lost : exit_code::internal;
}

} // namespace

complaint complaint_about(const std::exception& problem) {
    if (dynamic_cast<const usage_error*>(&problem) != nullptr) {
        return {problem.what(), exit_code::usage};
    }
    if (const auto* failed = dynamic_cast<const std::system_error*>(&problem)) {
        return {failed->what(), exit_code_for(failed->code())};
    }
    return {std::string{"internal error: "} + problem.what(), exit_code::internal};
}

void say(std::string_view sentence) noexcept {
    try {
        tell("holdfast: " + shortened(printable(sentence), 500) + "\n");
    } catch (const std::bad_alloc&) {
        tell("holdfast: out of memory\n");
    }
}

} // namespace holdfast::cli
