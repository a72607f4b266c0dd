#include "completion.hpp"
#include "manual.hpp"

namespace holdfast::cli {

namespace {

constexpr std::string_view beginning = R"sh(#compdef holdfast
# Completes the words after holdfast in zsh. Written by `holdfast completion zsh`.

_holdfast_locks() {
    local url=${opt_args[-u]:-${opt_args[--url]}} expl
    local -a names
    names=(${(f)"$(timeout 2 $program ls --names ${url:+-u} ${url:+${(Q)url}} 2>/dev/null)"})
    _wanted locks expl lock compadd -a names
}

_holdfast_urls() {
    if compset -P 'sqlite:'; then
        _files
    else
        compadd -S '' -- @URLS@
    fi
}

# The index of the first word of the command in `holdfast run …`, in REPLY; fails before it.
_holdfast_command_at() {
    local i word name= ended=
    for ((i = 3; i <= CURRENT; ++i)); do
        word=$words[i]
        if [[ -n $ended && -n $name ]]; then
            REPLY=$i
            return 0
        elif [[ -z $ended && $word == -- ]]; then
            ended=yes
        elif [[ -z $ended && " $1 " == *" $word "* ]]; then
            ((++i))
        elif [[ -z $ended && $word == -* ]]; then
            :
        elif [[ -n $name ]]; then
            REPLY=$i
            return 0
        else
            name=$word
        fi
    done
    return 1
}

_holdfast() {
    local program=${~words[1]} verb=$words[2] REPLY
    local curcontext=$curcontext context state line
    local -a verbs
    typeset -A opt_args
    if ((CURRENT == 2)); then
        verbs=(
)sh";

constexpr std::string_view between = R"sh(        )
        _describe -t verbs verb verbs
        return
    fi
    if [[ $verb == run ]] && _holdfast_command_at "$run_valued"; then
        shift $((REPLY - 1)) words
        ((CURRENT -= REPLY - 1))
        _normal
        return
    fi
    shift words
    ((CURRENT--))
    case $verb in
)sh";

constexpr std::string_view end = R"sh(    esac
}

# Sourced from .zshrc it registers itself; found in $fpath it is called for the first time.
if [[ $funcstack[1] == _holdfast ]]; then
    _holdfast "$@"
else
    compdef _holdfast holdfast
fi
)sh";

/// As a description within an _arguments specification.
std::string described(std::string_view text) {
    std::string out;
    for (const char c : text) {
        out +=
            c == '[' || c == ']' || c == ':' || c == '\\' ? std::string{'\\', c} : std::string{c};
    }
    return out;
}

std::string action_for(const manual::value& value) {
    switch (value.offer) {
    case manual::offer::words: {
        std::string words;
        for (const auto& word : value.words) {
            words += (words.empty() ? "" : " ") + std::string{word};
        }
        return "(" + words + ")";
    }
    case manual::offer::lock:
        return "_holdfast_locks";
    case manual::offer::url:
        return "_holdfast_urls";
    case manual::offer::command:
    case manual::offer::nothing:
        break;
    }
    return " ";
}

std::string spec_of(const manual::option& option) {
    std::string all;
    for (const auto& name : option.names) {
        all += (all.empty() ? "" : " ") + std::string{name};
    }
    std::string text;
    for (const auto& name : option.names) {
        std::string spec = "(" + all + ")" + std::string{name};
        if (!option.value.name.empty()) {
            spec += name.starts_with("--") ? "=" : "+";
        }
        spec += "[" + described(option.text) + "]";
        if (!option.value.name.empty()) {
            spec += ":" + std::string{option.value.name} + ":" + action_for(option.value);
        }
        text += " \\\n                " + shell_quoted(spec);
    }
    return text;
}

std::string case_of(const manual::verb& verb) {
    auto text = "        " + std::string{verb.name} + ")\n            _arguments -s -S";
    for (const auto& option : manual::options_of(verb)) {
        text += spec_of(option);
    }
    std::size_t number = 0;
    for (const auto& argument : verb.arguments) {
        ++number;
        if (argument.offer != manual::offer::command) {
            text += " \\\n                " +
                    shell_quoted(std::to_string(number) + ":" + std::string{argument.name} + ":" +
                                 action_for(argument));
        }
    }
    return text + "\n            ;;\n";
}

std::string valued_options_of_run() {
    std::string text;
    for (const auto& option : manual::options_of(manual::page_of("run"))) {
        if (!option.value.name.empty()) {
            for (const auto& names : {option.names, option.also}) {
                for (const auto& name : names) {
                    text += (text.empty() ? "" : " ") + std::string{name};
                }
            }
        }
    }
    return text;
}

} // namespace

std::string completion_for_zsh() {
    auto text = with_urls(beginning);
    for (const auto& verb : manual::verbs()) {
        text += "            " +
                shell_quoted(std::string{verb.name} + ":" + std::string{verb.summary}) + "\n";
    }
    text += between;
    for (const auto& verb : manual::verbs()) {
        text += case_of(verb);
    }
    text += end;
    const std::string_view mark = "\"$run_valued\"";
    return text.replace(text.find(mark), mark.size(), shell_quoted(valued_options_of_run()));
}

} // namespace holdfast::cli
