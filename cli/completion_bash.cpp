#include "completion.hpp"
#include "manual.hpp"

namespace holdfast::cli {

namespace {

constexpr std::string_view beginning =
    R"sh(# Completes the words after holdfast in bash. Written by `holdfast completion bash`.

# All of these see the locals of _holdfast: program, words, cur, url.
_holdfast_words() {
    local word
    for word; do
        [[ $word == "$cur"* ]] && COMPREPLY+=("$word")
    done
}

_holdfast_locks() {
    local name
    while IFS= read -r name; do
        [[ $name == "$cur"* ]] && COMPREPLY+=("$(printf %q "$name")")
    done < <(timeout 2 "$program" ls --names ${url:+-u "$url"} 2>/dev/null)
}

_holdfast_urls() {
    compopt -o nospace 2>/dev/null
    if [[ $cur == sqlite:* ]]; then
        local file
        while IFS= read -r file; do
            COMPREPLY+=("sqlite:$file")
        done < <(compgen -f -- "${cur#sqlite:}")
    else
        _holdfast_words @URLS@
    fi
}

# The command of `run`, which begins at words[$1].
_holdfast_command() {
    if declare -F _command_offset >/dev/null; then
        COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1))
        _command_offset "$1"
    elif ((${#words[@]} - 1 == $1)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    fi
}

)sh";

constexpr std::string_view middle = R"sh(
_holdfast() {
    local program=${COMP_WORDS[0]/#\~/$HOME} line=${COMP_LINE:0:COMP_POINT}
    local words=() cur verb url= options= valued= option= plain=0 ended= command= i word
    COMPREPLY=()
    # shellcheck disable=SC2162  # a backslash before a blank keeps a word together
    read -a words <<<"$line" # COMP_WORDS is split at ':' and '=' too, which we do not want
    [[ $line == *[[:space:]] ]] && words+=("")
    cur=${words[${#words[@]} - 1]}
    verb=${words[1]}
    if ((${#words[@]} == 2)); then
)sh";

constexpr std::string_view scanning = R"sh(        return
    fi
    _holdfast_options
    for ((i = 2; i < ${#words[@]} - 1; ++i)); do
        word=${words[i]}
        if [[ -z $ended && $valued == *" $word "* ]]; then
            ((++i == ${#words[@]} - 1)) && option=$word
            [[ $word == -u || $word == --url ]] && url=${words[i]}
        elif [[ -z $ended && $word == -- ]]; then
            ended=yes
        elif [[ -n $ended || $word != -* ]]; then
            ((++plain))
        elif [[ $word == --url=* ]]; then
            url=${word#--url=}
        fi
        if [[ $verb == run && $plain -ge 1 && -n $ended ]]; then
            command=$((i + 1))
            break
        elif [[ $verb == run && $plain -eq 2 ]]; then
            command=$i
            break
        fi
    done
    if [[ $verb == run && -z $command && -z $option && $plain -eq 1 && $cur != -* ]]; then
        command=$((${#words[@]} - 1))
    fi
    if [[ -n $command ]]; then
        _holdfast_command "$command"
        return
    fi
    if [[ -z $option && -z $ended && $cur == --*=* ]]; then
        local before=${cur%%=*}=
        cur=${cur#*=} option=${before%=}
        _holdfast_value
        COMPREPLY=("${COMPREPLY[@]/#/$before}")
        cur=$before$cur
    elif [[ -z $option && -z $ended && $cur == -* ]]; then
        _holdfast_words $options
    else
        _holdfast_value
    fi
    # What stands before the last ':' or '=' is on the line already.
    [[ $cur == *[:=]* ]] && COMPREPLY=("${COMPREPLY[@]#"${cur%"${cur##*[:=]}"}"}")
    return 0
}

complete -F _holdfast holdfast
)sh";

std::string joined(const std::vector<std::string_view>& words) {
    std::string text;
    for (const auto& word : words) {
        text += (text.empty() ? "" : " ") + std::string{word};
    }
    return text;
}

std::string action_for(const manual::value& value) {
    switch (value.offer) {
    case manual::offer::words:
        return "_holdfast_words " + joined(value.words);
    case manual::offer::lock:
        return "_holdfast_locks";
    case manual::offer::url:
        return "_holdfast_urls";
    case manual::offer::command: // _holdfast itself sees to that
    case manual::offer::nothing:
        break;
    }
    return "";
}

/// What each verb understands, and which of it wants a value.
std::string options_function() {
    std::string text = "_holdfast_options() {\n    case $verb in\n";
    for (const auto& verb : manual::verbs()) {
        std::string all;
        std::string valued = " ";
        for (const auto& option : manual::options_of(verb)) {
            all += (all.empty() ? "" : " ") + joined(option.names);
            if (!option.value.name.empty()) {
                valued += joined(option.names) + " ";
                valued += option.also.empty() ? "" : joined(option.also) + " ";
            }
        }
        text += "        " + std::string{verb.name} + ") options=" + shell_quoted(all) +
                " valued=" + shell_quoted(valued) + " ;;\n";
    }
    return text + "    esac\n}\n";
}

std::string one_case(const std::string& labels, const manual::value& value) {
    const auto action = action_for(value);
    return action.empty() ? "" : "        " + labels + ") " + action + " ;;\n";
}

/// What may stand as the value of $option, or as the plain word number $plain.
std::string value_function() {
    std::string text = "\n_holdfast_value() {\n    case \"$verb ${option:-$plain}\" in\n";
    for (const auto& verb : manual::verbs()) {
        const auto label = [&](std::string_view what) {
            return "'" + std::string{verb.name} + " " + std::string{what} + "'";
        };
        for (const auto& option : manual::options_of(verb)) {
            std::string labels;
            for (const auto& name : option.names) {
                labels += (labels.empty() ? "" : " | ") + label(name);
            }
            text += one_case(labels, option.value);
        }
        for (std::size_t i = 0; i < verb.arguments.size(); ++i) {
            text += one_case(label(std::to_string(i)), verb.arguments[i]);
        }
    }
    return text + "    esac\n}\n";
}

} // namespace

std::string completion_for_bash() {
    std::string names;
    for (const auto& verb : manual::verbs()) {
        names += std::string{verb.name} + " ";
    }
    return with_urls(beginning) + options_function() + value_function() + std::string{middle} +
           "        _holdfast_words " + names + "help --help --version\n" + std::string{scanning};
}

} // namespace holdfast::cli
