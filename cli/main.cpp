// The program `holdfast`: what was typed becomes a verb, the verb an exit code, a failure one
// sentence.

#include "arguments.hpp"
#include "complaint.hpp"
#include "exit_codes.hpp"
#include "json.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <variant>
#include <vector>

namespace holdfast::cli {

namespace {

struct carry_out {
    int operator()(const run_options& options) const { run(options); }
    int operator()(const ls_verb& options) const { return ls(options); }
    int operator()(const show_verb& options) const { return show(options); }
    int operator()(const release_verb& options) const { return release(options); }
    int operator()(const watch_options& options) const { return watch(options); }
    int operator()(const top_options& options) const { return top(options); }
    int operator()(const doctor_options& options) const { return doctor(options); }
    int operator()(const torture_options& options) const { return torture(options); }
    int operator()(const bench_options& options) const { return bench(options); }
    int operator()(const offspring_verb& ours) const { return ours.work(ours.parent); }
    int operator()(const text_asked_for& asked) const {
        print(asked.text);
        return exit_code::success;
    }
};

/// Programs read stdout: what asked for JSON gets JSON, also when it goes wrong.
void tell_in_json(const complaint& problem) {
    json out;
    out.begin_object()
        .member("error", std::string_view{problem.sentence})
        .member("exit_code", problem.exit_code)
        .end_object();
    print(out.text() + "\n");
}

int complain(const complaint& problem, bool also_in_json) noexcept {
    say(problem.sentence);
    try {
        if (also_in_json) {
            tell_in_json(problem);
        }
    } catch (const std::exception&) {
        return problem.exit_code; // stdout is closed; the sentence and the code are out
    }
    return problem.exit_code;
}

int hold_fast(const std::vector<std::string>& arguments) {
    try {
        return std::visit(carry_out{}, parse(arguments));
    } catch (const std::exception& problem) {
        return complain(complaint_about(problem), wants_json(arguments));
    }
}

} // namespace
} // namespace holdfast::cli

int main(int count, char** arguments) {
    holdfast::cli::seat_standard_descriptors();
    const std::vector<std::string> copied{arguments + (count > 0 ? 1 : 0), arguments + count};
    std::for_each(arguments, arguments + count, holdfast::cli::hide_password);
    return holdfast::cli::hold_fast(copied);
}
