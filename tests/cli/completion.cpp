// Completion in the real shells: what is typed, a tab, and what then stands on the line.

#include "cli/manual.hpp"
#include "tmux.hpp"
#include "workshop.hpp"

#include <filesystem>
#include <ostream>
#include <string>

namespace holdfast::cli_tests {
namespace {

using namespace std::chrono_literals;

struct shell_setup {
    const char* name;
    const char* start; ///< without the user's own settings
    const char* load;
};

std::ostream& operator<<(std::ostream& to, const shell_setup& shell) { return to << shell.name; }

class shell_completion : public workshop, public testing::WithParamInterface<shell_setup> {
protected:
    void SetUp() override {
        const std::string shell = GetParam().name;
        if (tmux::is_missing() || call({"sh", "-c", "command -v " + shell}).code != 0) {
            GTEST_SKIP() << "there is no " << (tmux::is_missing() ? "tmux" : shell) << " here";
        }
        // `holdfast` by its name, beside a command that nobody else has.
        std::filesystem::create_symlink(holdfast_program(), path("holdfast"));
        std::filesystem::create_symlink("/bin/true", path("frobnicate-all"));
        terminal_.emplace(folder(),
                          "HOME=" + folder().string() + " PATH=" + folder().string() + ":$PATH " +
                              GetParam().start,
                          window_size{.columns = 120, .rows = 40});
        enter(std::string{GetParam().load} + "; echo rea''dy");
        ASSERT_TRUE(terminal_->shows("ready"));
    }
    void TearDown() override {
        terminal_.reset();
        workshop::TearDown();
    }

    void enter(const std::string& line) const {
        terminal_->type(line);
        terminal_->press({"Enter"});
    }

    /// Types it, presses tab, and waits until the line has become `expected`. Empties it then.
    void expect(const std::string& typed, const std::string& expected) const {
        terminal_->type(typed);
        terminal_->press({"Tab"});
        EXPECT_TRUE(terminal_->shows(expected)) << terminal_->screen();
        terminal_->press({"C-u"}); // not ^C: it would also throw away what is typed next
        enter("clear");
        EXPECT_TRUE(terminal_->hides(expected));
    }

private:
    std::optional<tmux> terminal_;
};

TEST_P(shell_completion, knows_verbs_options_locks_and_commands) {
    auto holder = start_holding({"orders/42"}, "read x");
    expect("holdfast wat", "holdfast watch");
    expect("holdfast run --on-l", "holdfast run --on-lost");
    expect("holdfast run --on-lost ki", "holdfast run --on-lost kill");
    expect("holdfast show ord", "holdfast show orders/42");
    expect("holdfast run ord", "holdfast run orders/42");
    expect("holdfast run -w 5 ord", "holdfast run -w 5 orders/42");
    expect("holdfast run a -- frobni", "holdfast run a -- frobnicate-all");
    expect("holdfast run -n a frobni", "holdfast run -n a frobnicate-all");
    expect("holdfast doctor sq", "holdfast doctor sqlite:");
    expect("holdfast completion fi", "holdfast completion fish");
}

TEST_P(shell_completion, knows_how_urls_begin) {
    for (const auto& url : cli::manual::urls()) {
        const std::string all{url.beginning};
        expect("holdfast doctor " + all.substr(0, all.size() - 1), "holdfast doctor " + all);
    }
}

TEST_P(shell_completion, knows_the_locks_of_the_engine_that_was_named) {
    const auto url = "sqlite:" + path("other.db");
    auto holder = start_holding({"-u", url, "elsewhere/1"}, "read x");
    expect("holdfast show -u " + url + " else", url + " elsewhere/1");
}

INSTANTIATE_TEST_SUITE_P(
    real,
    shell_completion,
    testing::Values(shell_setup{"bash",
                                "bash --norc --noprofile",
                                "PS1='> '; source <(holdfast completion bash)"},
                    shell_setup{"zsh",
                                "zsh -f",
                                "PS1='> '; autoload -U compinit; compinit -u -D; "
                                "source <(holdfast completion zsh)"},
                    shell_setup{"fish",
                                "fish --no-config",
                                "set -g fish_autosuggestion_enabled 0; "
                                "holdfast completion fish | source"}),
    [](const auto& shell) { return std::string{shell.param.name}; });

} // namespace
} // namespace holdfast::cli_tests
