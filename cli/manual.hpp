#pragma once

// The manual, written once: what each verb is for, what it understands, how it is used.
//
//   manual ──▶ help.cpp              --help
//          ├─▶ completion_*.cpp      holdfast completion bash | zsh | fish
//          └─▶ man_page.cpp          holdfast man
//
// What is really understood is declared in arguments.cpp; a test compares the two name by name.

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli::manual {

/// What a shell may offer where a value stands.
enum class offer { nothing, words, lock, url, command };

/// The value of an option, or an argument that stands alone.
struct value {
    std::string_view name{}; ///< TIME; empty: there is none
    manual::offer offer = manual::offer::nothing;
    std::vector<std::string_view> words{}; ///< for offer::words
    std::string_view text{};               ///< of an argument, where its name does not say it all
};

struct option {
    std::vector<std::string_view> names; ///< -w, --wait
    manual::value value{};
    std::string_view text;
    std::vector<std::string_view> also{}; ///< --timeout: understood too, for people's old habits
};

struct section {
    std::string_view title; ///< may be empty
    std::vector<option> options;
};

struct exit_status {
    std::string_view code; ///< 76, or 128 + N; empty: the meaning says it
    std::string_view meaning;
};

struct example {
    std::string_view line;
    std::string_view what{};
};

struct verb {
    std::string_view name;
    std::string_view synopsis; ///< in the list of verbs: run NAME -- CMD …
    std::string_view summary;  ///< there too, in a few words
    std::string_view about;    ///< the first sentence of its page
    std::vector<std::string_view> usage;
    std::vector<value> arguments{};
    std::vector<section> sections{};
    std::vector<std::string_view> notes{};
    std::vector<exit_status> exits{};
    std::vector<example> examples{};
    bool elsewhere = false; ///< described, but not yet a part of this program: shown nowhere
};

/// One way to name an engine.
struct engine_url {
    std::string_view beginning; ///< redis://, which a shell offers
    std::string_view form;      ///< redis://HOST[:PORT]
    std::string_view text;
};

struct variable {
    std::string_view name;
    std::string_view text;
};

/// In the order in which they are listed.
[[nodiscard]] const std::vector<verb>& all_verbs();

/// Those that this program has.
[[nodiscard]] std::vector<verb> verbs();

/// Throws std::out_of_range: whoever adds a verb writes its page.
[[nodiscard]] const verb& page_of(std::string_view verb);

/// -h, --help: every verb has it, so no page lists it.
[[nodiscard]] const option& help_option();

/// Of one verb, from all its sections, and help at last.
[[nodiscard]] std::vector<option> options_of(const verb&);

/// Of the engines that this program has.
[[nodiscard]] const std::vector<engine_url>& urls();

[[nodiscard]] const std::vector<variable>& environment();

/// Not __DATE__: the same source gives the same page.
inline constexpr std::string_view last_changed = "2026-11-16";

inline constexpr std::string_view what_it_is = "holdfast holds distributed locks.";
inline constexpr std::string_view which_engine =
    "The engine is given by -u URL or $HOLDFAST_URL; without either it is a file of this user, and "
    "nothing needs to be installed or started.";

} // namespace holdfast::cli::manual
