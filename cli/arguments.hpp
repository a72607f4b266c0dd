#pragma once

// What was typed, as one of the verbs. The only place that knows CLI11.

#include "bench.hpp"
#include "doctor.hpp"
#include "inspecting.hpp"
#include "run.hpp"
#include "top.hpp"
#include "torture.hpp"
#include "watch.hpp"

#include <string>
#include <sys/types.h>
#include <variant>
#include <vector>

namespace holdfast::cli {

struct ls_verb : inspect_options {};
struct show_verb : inspect_options {};
struct release_verb : inspect_options {};

/// A text that was asked for: help, the manual, a completion, the version.
struct text_asked_for {
    std::string text;
};

/// Not for people: what a process does that another `holdfast` has started for its own purpose.
struct offspring_verb {
    int (*work)(pid_t parent);
    pid_t parent;
};

using verb = std::variant<run_options,
                          ls_verb,
                          show_verb,
                          release_verb,
                          watch_options,
                          top_options,
                          doctor_options,
                          torture_options,
                          bench_options,
                          offspring_verb,
                          text_asked_for>;

/// Without the program's own name. Throws usage_error.
[[nodiscard]] verb parse(const std::vector<std::string>& arguments);

/// Whether answers are wanted as JSON; known even if the rest makes no sense.
[[nodiscard]] bool wants_json(const std::vector<std::string>& arguments);

} // namespace holdfast::cli
