#include "arguments.hpp"
#include "complaint.hpp"
#include "completion.hpp"
#include "durations.hpp"
#include "help.hpp"
#include "man_page.hpp"
#include "manual.hpp"
#include "schema.hpp"
#include "text.hpp"
#include "torture/worker.hpp"

#include <holdfast/primitive.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

namespace holdfast::cli {

namespace {

using words = std::vector<std::string>;

/// As the library has it; checked here too, before a file is made for nothing.
constexpr duration shortest_ttl = std::chrono::milliseconds{50};
constexpr duration longest_ttl = std::chrono::hours{30 * 24};
constexpr int permits_max = 1'000'000;

/// Asks a verb for the words it understands. Nobody can type it: arguments have no zero bytes.
constexpr std::string_view what_do_you_understand{"\0?", 2};

// ------------------------------------------------------------------------ the parts of an App

/// An App of one verb, whose failures come out as one sentence of ours.
class verb_parser {
public:
    explicit verb_parser(std::string name) : name_{std::move(name)} {}

    CLI::App& app() noexcept { return app_; }

    /// The help text if that was asked for.
    std::optional<text_asked_for> parse(words arguments) {
        if (!arguments.empty() && arguments.front() == what_do_you_understand) {
            return text_asked_for{understood()};
        }
        std::reverse(arguments.begin(), arguments.end()); // CLI11 takes them from the back
        try {
            app_.parse(std::move(arguments));
        } catch (const CLI::CallForHelp&) {
            return text_asked_for{help_of(manual::page_of(name_))};
        } catch (const CLI::ExtrasError&) {
            throw usage_error{"not understood: " + command_line(app_.remaining()) + hint()};
        } catch (const CLI::ParseError& problem) {
            throw usage_error{problem.what() + hint()};
        }
        return std::nullopt;
    }

private:
    [[nodiscard]] std::string hint() const { return "; see holdfast " + name_ + " --help"; }

    /// One on a line.
    [[nodiscard]] std::string understood() const {
        std::string names;
        for (const auto* option : app_.get_options()) {
            for (const auto& name : option->get_snames()) {
                names += "-" + name + "\n";
            }
            for (const auto& name : option->get_lnames()) {
                names += "--" + name + "\n";
            }
            names += option->get_positional() ? option->get_name(true) + "\n" : "";
        }
        return names;
    }

    std::string name_;
    CLI::App app_;
};

void add_url(CLI::App& app, std::string& url) { app.add_option("-u,--url", url); }

CLI::Option* add_json(CLI::App& app) { return app.add_flag("--json"); }

format format_of(const CLI::Option* json) {
    return json->count() > 0 ? format::json : format::text;
}

// ---------------------------------------------------------------------------- holdfast run

struct typed_run {
    run_options options;
    std::string shell_string;
    std::string wait;
    std::string ttl = "30s";
    std::string on_lost = "term";
    std::string retry;
    std::string require;
};

/// Whether `word` is an option of ours whose value is the next word: --ttl, -w, -sw; not --ttl=5.
bool takes_next_word(const CLI::App& app, const std::string& word) {
    const auto wants_value = [&](const std::string& name) {
        const auto* option = app.get_option_no_throw(name);
        return option != nullptr && option->get_items_expected_min() > 0;
    };
    if (word.starts_with("--")) {
        return wants_value(word);
    }
    for (std::size_t i = 1; i < word.size(); ++i) {
        if (wants_value(std::string{"-"} + word[i])) {
            return i + 1 == word.size();
        }
    }
    return false;
}

struct split_words {
    words ours;
    words command;
};

/// Options may stand before and after NAME; the command begins at the next word that is no option,
/// or after "--". From there on nothing is ours.
split_words split(const CLI::App& app, const words& all) {
    split_words parts;
    bool name_seen = false;
    std::size_t at = 0;
    const auto take = [&](std::size_t count) {
        for (; count > 0 && at < all.size(); --count) {
            parts.ours.push_back(all[at++]);
        }
    };
    for (; at < all.size() && all[at] != "--";) {
        const bool is_option = all[at].size() > 1 && all[at].starts_with('-');
        if (!is_option && name_seen) {
            break;
        }
        name_seen = name_seen || !is_option;
        take(is_option && takes_next_word(app, all[at]) ? 2 : 1);
    }
    if (!name_seen) {
        take(2); // "--", and a NAME that may look like an option
    }
    if (at < all.size() && all[at] == "--") {
        ++at;
    }
    parts.command.assign(all.begin() + static_cast<std::ptrdiff_t>(at), all.end());
    return parts;
}

void add_run_options(CLI::App& app, typed_run& typed) {
    auto& options = typed.options;
    app.add_option("NAME", options.name)->required();

    auto* once = app.add_flag("-n,--nonblock");
    app.add_option("-w,--wait,--timeout", typed.wait)->excludes(once);
    app.add_option("-E,--conflict-exit-code", options.contended_code)->check(CLI::Range(0, 255));
    auto* fair = app.add_flag("--fair", options.fair);
    app.add_flag("--spin", options.spin)->excludes(fair);
    app.add_option("--retry", typed.retry);
    app.add_option("--and", options.and_names)->allow_extra_args(false);
    app.add_option("--require", typed.require);

    auto* writer = app.add_flag("-x,-e,--exclusive");
    auto* readers = app.add_flag("-s,--shared")->excludes(writer);
    app.add_option("-N,--permits", options.permits)
        ->check(CLI::Range(1, permits_max))
        ->excludes(writer)
        ->excludes(readers);

    app.add_option("--ttl", typed.ttl);
    app.add_option("--on-lost", typed.on_lost)->check(CLI::IsMember({"term", "kill", "ignore"}));
    app.add_option("-c,--command", typed.shell_string);
    add_url(app, options.url);
}

sharing sharing_of(const CLI::App& app) {
    if (app.count("-N") > 0) {
        return sharing::permits;
    }
    if (app.count("-s") > 0) {
        return sharing::readers;
    }
    return app.count("-x") > 0 ? sharing::writer : sharing::nobody;
}

on_lost on_lost_of(const typed_run& typed) {
    return typed.on_lost == "kill"     ? on_lost::kill
           : typed.on_lost == "ignore" ? on_lost::ignore
                                       : on_lost::term;
}

std::optional<duration> wait_of(const CLI::App& app, const typed_run& typed) {
    if (app.count("-n") > 0) {
        return duration::zero();
    }
    return app.count("-w") > 0 ? std::optional{parse_duration(typed.wait, "--wait")} : std::nullopt;
}

words command_of(const CLI::App& app, const typed_run& typed, words command) {
    const bool as_string = app.count("-c") > 0;
    if (as_string && !command.empty()) {
        throw usage_error{"-c already is the command; '" +
                          shortened(printable(command.front()), 40) + "' is one too many"};
    }
    if (!as_string && command.empty()) {
        throw usage_error{"no command given: holdfast run NAME -- CMD …"};
    }
    return as_string ? words{"/bin/sh", "-c", typed.shell_string} : command;
}

guarantees required_by(std::string_view list) {
    constexpr std::array known{std::pair{std::string_view{"fence"}, guarantee::fence},
                               std::pair{std::string_view{"restart"}, guarantee::survives_restart},
                               std::pair{std::string_view{"clock"}, guarantee::survives_clock_jump},
                               std::pair{std::string_view{"fair"}, guarantee::fair},
                               std::pair{std::string_view{"death"}, guarantee::survives_death}};
    guarantees wanted;
    while (!list.empty()) {
        const auto word = list.substr(0, list.find(','));
        list.remove_prefix(std::min(list.size(), word.size() + 1));
        const auto found = std::find_if(
            known.begin(), known.end(), [&](const auto& each) { return each.first == word; });
        if (found == known.end()) {
            throw usage_error{"--require '" + shortened(printable(word), 40) +
                              "' is none of fence, restart, clock, fair, death"};
        }
        wanted = wanted | found->second;
    }
    return wanted;
}

duration ttl_of(const typed_run& typed) {
    const auto ttl = parse_duration(typed.ttl, "--ttl");
    if (ttl < shortest_ttl || ttl > longest_ttl) {
        throw usage_error{"--ttl '" + typed.ttl + "' is not between " + human(shortest_ttl) +
                          " and " + human(longest_ttl)};
    }
    return ttl;
}

verb parse_run(const words& arguments) {
    verb_parser parser{"run"};
    auto& app = parser.app();
    typed_run typed;
    add_run_options(app, typed);
    auto parts = split(app, arguments);
    if (auto help = parser.parse(parts.ours)) {
        return *help;
    }
    auto& options = typed.options;
    options.sharing = sharing_of(app);
    options.on_lost = on_lost_of(typed);
    options.wait = wait_of(app, typed);
    options.ttl = ttl_of(typed);
    options.command = command_of(app, typed, std::move(parts.command));
    options.require = required_by(typed.require);
    if (!typed.retry.empty()) {
        options.retry = retry_policy::named(typed.retry);
    }
    return options;
}

// ------------------------------------------------------------------- the verbs that only look

verb parse_ls(const words& arguments) {
    verb_parser parser{"ls"};
    ls_verb options;
    parser.app().add_option("PATTERN", options.pattern);
    add_url(parser.app(), options.url);
    auto* json = add_json(parser.app());
    parser.app().add_flag("--names", options.names_only)->excludes(json);
    if (auto help = parser.parse(arguments)) {
        return *help;
    }
    options.format = format_of(json);
    return options;
}

verb parse_show(const words& arguments) {
    verb_parser parser{"show"};
    show_verb options;
    parser.app().add_option("NAME", options.name)->required();
    add_url(parser.app(), options.url);
    const auto* json = add_json(parser.app());
    if (auto help = parser.parse(arguments)) {
        return *help;
    }
    options.format = format_of(json);
    return options;
}

/// Less would be a busy loop.
constexpr duration shortest_interval = std::chrono::milliseconds{10};

duration interval_of(const std::string& typed) {
    const auto interval = parse_duration(typed, "--every");
    if (interval < shortest_interval) {
        throw usage_error{"--every '" + typed + "' is less than " + human(shortest_interval)};
    }
    return interval;
}

verb parse_watch(const words& arguments) {
    verb_parser parser{"watch"};
    watch_options options;
    parser.app().add_option("PATTERN", options.pattern)->required();
    std::string every = "200ms";
    parser.app().add_option("--every", every);
    std::string time;
    const auto* limited = parser.app().add_option("--for", time);
    add_url(parser.app(), options.url);
    const auto* json = add_json(parser.app());
    if (auto help = parser.parse(arguments)) {
        return *help;
    }
    check_name(options.pattern);
    options.every = interval_of(every);
    options.time =
        limited->count() > 0 ? std::optional{parse_duration(time, "--for")} : std::nullopt;
    options.format = format_of(json);
    return options;
}

verb parse_top(const words& arguments) {
    verb_parser parser{"top"};
    top_options options;
    parser.app().add_option("PATTERN", options.pattern);
    std::string every = "1s";
    parser.app().add_option("--every", every);
    std::string key = "name";
    const std::map<std::string, order> keys{{"name", order::name},
                                            {"waiters", order::waiters},
                                            {"held", order::held},
                                            {"rate", order::rate}};
    parser.app().add_option("--sort", key)->check(CLI::IsMember(keys));
    parser.app().add_flag("--once", options.once);
    add_url(parser.app(), options.url);
    if (auto help = parser.parse(arguments)) {
        return *help;
    }
    options.every = interval_of(every);
    options.order = keys.at(key);
    return options;
}

verb parse_release(const words& arguments) {
    verb_parser parser{"release"};
    release_verb options;
    parser.app().add_option("NAME", options.name)->required();
    const auto* force = parser.app().add_flag("--force");
    const auto* ask = parser.app().add_flag("--ask");
    add_url(parser.app(), options.url);
    const auto* json = add_json(parser.app());
    if (auto help = parser.parse(arguments)) {
        return *help;
    }
    if (force->count() > 0 && ask->count() > 0) {
        throw usage_error{"--ask leaves it to the holder, --force does not: give one of them"};
    }
    if (force->count() + ask->count() == 0) {
        throw usage_error{"release takes the lock from a holder that may still be at work; if you "
                          "are sure, add --force"};
    }
    options.ask = ask->count() > 0;
    options.format = format_of(json);
    return options;
}

verb parse_doctor(const words& arguments) {
    verb_parser parser{"doctor"};
    doctor_options options;
    auto* url = parser.app().add_option("URL", options.url);
    std::string same;
    add_url(parser.app(), same);
    parser.app().get_option("-u")->excludes(url);
    const auto* json = add_json(parser.app());
    if (auto help = parser.parse(arguments)) {
        return *help;
    }
    options.url = options.url.empty() ? same : options.url;
    options.format = format_of(json);
    return options;
}

// ------------------------------------------------------------------- the verbs that try it out

/// A URL, as a word or behind -u.
class url_option {
public:
    explicit url_option(CLI::App& app) {
        auto* word = app.add_option("URL", word_);
        app.add_option("-u,--url", option_)->excludes(word);
    }
    [[nodiscard]] const std::string& value() const { return word_.empty() ? option_ : word_; }

private:
    std::string word_;
    std::string option_;
};

constexpr int longest_seconds = 24 * 3600;
constexpr int most_workers = 64;

duration ttl_of(const std::string& typed) {
    typed_run same;
    same.ttl = typed;
    return ttl_of(same);
}

verb parse_torture(const words& arguments) {
    verb_parser parser{"torture"};
    auto& app = parser.app();
    torture_options options;
    const url_option url{app};
    int seconds = 30;
    std::string ttl = "1s";
    app.add_option("--seconds", seconds)->check(CLI::Range(1, longest_seconds));
    app.add_option("--workers", options.workers)->check(CLI::Range(1, most_workers));
    app.add_option("--ttl", ttl);
    app.add_option("--seed", options.seed);
    const auto* json = add_json(app);
    if (auto help = parser.parse(arguments)) {
        return *help;
    }
    options.url = url.value();
    options.length = std::chrono::seconds{seconds};
    options.ttl = ttl_of(ttl);
    options.format = format_of(json);
    return options;
}

verb parse_bench(const words& arguments) {
    verb_parser parser{"bench"};
    auto& app = parser.app();
    bench_options options;
    const url_option url{app};
    int seconds = 2;
    app.add_option("--seconds", seconds)->check(CLI::Range(1, longest_seconds));
    app.add_option("--threads", options.threads)->check(CLI::Range(1, most_workers));
    app.add_option("--processes", options.processes)->check(CLI::Range(1, most_workers));
    const auto* json = add_json(app);
    if (auto help = parser.parse(arguments)) {
        return *help;
    }
    options.url = url.value();
    options.length = std::chrono::seconds{seconds};
    options.format = format_of(json);
    return options;
}

/// `holdfast torture-worker PID`, as start_offspring() writes it.
verb parse_offspring(int (*work)(pid_t), const words& arguments) {
    pid_t parent = 0;
    CLI::App app;
    app.add_option("PID", parent)->required();
    auto reversed = arguments;
    std::reverse(reversed.begin(), reversed.end());
    try {
        app.parse(std::move(reversed));
    } catch (const CLI::ParseError&) {
        throw usage_error{"this verb is not for people"};
    }
    return offspring_verb{.work = work, .parent = parent};
}

verb parse_schema(const words& arguments) {
    verb_parser parser{"schema"};
    const url_option url{parser.app()};
    if (auto help = parser.parse(arguments)) {
        return *help;
    }
    return text_asked_for{schema_for(url.value())};
}

// ----------------------------------------------------------------------------- about ourselves

verb parse_completion(const words& arguments) {
    verb_parser parser{"completion"};
    std::string shell;
    parser.app()
        .add_option("SHELL", shell)
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
    if (auto help = parser.parse(arguments)) {
        return *help;
    }
    return text_asked_for{completion_for(shell)};
}

verb parse_man(const words& arguments) {
    verb_parser parser{"man"};
    if (auto help = parser.parse(arguments)) {
        return *help;
    }
    return text_asked_for{man_page()};
}

using parse_verb = verb (*)(const words&);

/// Those for people: each has its page in the manual.
const std::map<std::string_view, parse_verb>& parsers() {
    static const std::map<std::string_view, parse_verb> all{{"run", parse_run},
                                                            {"ls", parse_ls},
                                                            {"show", parse_show},
                                                            {"watch", parse_watch},
                                                            {"top", parse_top},
                                                            {"release", parse_release},
                                                            {"doctor", parse_doctor},
                                                            {"torture", parse_torture},
                                                            {"bench", parse_bench},
                                                            {"schema", parse_schema},
                                                            {"completion", parse_completion},
                                                            {"man", parse_man}};
    return all;
}

/// "run -n", "run --nonblock", …: not for people, but for the test that compares it with the
/// manual.
constexpr std::string_view words_verb = "words-understood";

std::string words_understood() {
    std::string all;
    for (const auto& [name, parse_it] : parsers()) {
        const auto answer = parse_it({std::string{what_do_you_understand}});
        std::istringstream its_words{std::get<text_asked_for>(answer).text};
        for (std::string word; std::getline(its_words, word);) {
            all += std::string{name} + " " + word + "\n";
        }
    }
    return all;
}

} // namespace

verb parse(const std::vector<std::string>& arguments) {
    if (arguments.empty()) {
        throw usage_error{"nothing to do; see holdfast --help"};
    }
    const auto& first = arguments.front();
    if (first == "help" && arguments.size() > 1) { // help run: the same as run --help
        return parse({arguments[1], "--help"});
    }
    if (first == "--help" || first == "-h" || first == "help") {
        return text_asked_for{general_help()};
    }
    if (first == "--version" || first == "-V") {
        return text_asked_for{"holdfast " HOLDFAST_VERSION "\n"};
    }
    if (first == words_verb) {
        return text_asked_for{words_understood()};
    }
    if (first == ordeal::worker_verb || first == bench_worker_verb) {
        const auto work = first == bench_worker_verb ? bench_worker : ordeal::work;
        return parse_offspring(work, {arguments.begin() + 1, arguments.end()});
    }
    const auto found = parsers().find(first);
    if (found == parsers().end()) {
        throw usage_error{"there is no verb '" + shortened(printable(first), 40) +
                          "'; see holdfast --help"};
    }
    return found->second({arguments.begin() + 1, arguments.end()});
}

bool wants_json(const std::vector<std::string>& arguments) {
    return !arguments.empty() && arguments.front() != "run" &&
           std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
}

} // namespace holdfast::cli
