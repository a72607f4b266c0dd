#include "simulation/seed.hpp"
#include "simulation/actor.hpp"
#include "simulation/climber.hpp"
#include "simulation/world.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace holdfast::simulation {
namespace {

constexpr std::size_t lines_told = 80;

volatile std::sig_atomic_t handler_installed = 0;
std::uint64_t current_seed = 0;

// An assertion of the core ends the program: at least say which world it was.
void say_which_seed(int) {
    char text[96];
    const int length = std::snprintf(text,
                                     sizeof text,
                                     "seed %llu; replay with HOLDFAST_SEED=%llu\n",
                                     static_cast<unsigned long long>(current_seed),
                                     static_cast<unsigned long long>(current_seed));
    std::fwrite(text, 1, static_cast<std::size_t>(length), stderr);
    std::signal(SIGABRT, SIG_DFL);
}

void people_everywhere(process& p) {
    for (unsigned i = 0; i < p.around().o.actors; ++i)
        p.house(std::make_unique<actor>(p, owner_id{i + 1}));
    for (unsigned i = 0; i < p.around().o.climbers; ++i)
        p.house(std::make_unique<climber>(p));
}

[[nodiscard]] std::string tail(const trace& story, std::size_t most) {
    std::string text;
    const auto& lines = story.lines();
    for (std::size_t i = lines.size() > most ? lines.size() - most : 0; i < lines.size(); ++i)
        text += "    " + lines[i] + "\n";
    return text;
}

[[nodiscard]] outcome live(const options& o, bool with_lines, std::size_t most) {
    if (!handler_installed) {
        handler_installed = 1;
        std::signal(SIGABRT, say_which_seed);
    }
    current_seed = o.seed;
    models::chance luck{models::chance::mix(o.seed + 2)};
    random_fate fate{o, luck};
    world w{o, fate, people_everywhere, with_lines};
    outcome result;
    try {
        w.run();
    } catch (const violation& v) {
        result.invariant = v.invariant();
        result.story = v.what();
    }
    result.events = w.events();
    result.hash = w.story.hash();
    result.lived = w.time();
    result.seen = w.seen;
    if (with_lines)
        result.story = tail(w.story, most) + "  " + result.story + "\n";
    return result;
}

} // namespace

outcome live(const options& o) { return live(o, false, 0); }

outcome live_and_tell(const options& o) {
    auto result = live(o, false, 0);
    if (result.invariant.empty())
        return result;
    auto told = live(o, true, lines_told);
    std::ostringstream text;
    text << o << told.story << "  replay with HOLDFAST_SEED=" << o.seed << '\n';
    told.story = text.str();
    return told;
}

std::string whole_story(const options& o) {
    std::ostringstream text;
    text << o << live(o, true, 20'000).story;
    return text.str();
}

std::uint64_t number_from_environment(const char* name, std::uint64_t without) {
    const char* const text = std::getenv(name); // NOLINT(concurrency-mt-unsafe)
    return text == nullptr || *text == '\0' ? without : std::strtoull(text, nullptr, 10);
}

} // namespace holdfast::simulation
