#include "completion.hpp"
#include "manual.hpp"

namespace holdfast::cli {

namespace {

constexpr std::string_view beginning =
    R"sh(# Completes the words after holdfast in fish. Written by `holdfast completion fish`.

function __holdfast_locks
    set -l words (commandline -opc)
    set -l url
    for i in (seq 2 (count $words))
        switch $words[$i]
            case -u --url
                set url $words[(math $i + 1)]
            case '--url=*'
                set url (string replace -- --url= '' $words[$i])
        end
    end
    if set -q url[1]
        timeout 2 $words[1] ls --names -u $url 2>/dev/null
    else
        timeout 2 $words[1] ls --names 2>/dev/null
    end
end

function __holdfast_urls
    printf '%s\n' @URLS@
    for file in (__fish_complete_path (string replace -- sqlite: '' (commandline -ct)))
        printf 'sqlite:%s\n' $file
    end
end

# How many plain words stand after the verb; in the command of `run`: "command", and where it begins.
function __holdfast_scan
    set -l words (commandline -opc)
    set -l plain 0
    set -l ended no
    set -l i 3
    while test $i -le (count $words)
        set -l word $words[$i]
        if test $ended = no -a "$word" = --
            set ended yes
        else if test $ended = no; and contains -- "$word" @VALUED@
            set i (math $i + 1)
        else if test $ended = no; and string match -q -- '-*' "$word"
        else
            set plain (math $plain + 1)
        end
        if test "$words[2]" = run
            if test $plain -ge 1 -a $ended = yes
                echo command (math $i + 1)
                return
            else if test $plain -eq 2
                echo command $i
                return
            end
        end
        set i (math $i + 1)
    end
    if test "$words[2]" = run -a $plain -eq 1; and not string match -q -- '-*' (commandline -ct)
        echo command (math (count $words) + 1)
    else
        echo $plain
    end
end

function __holdfast_no_verb
    test (count (commandline -opc)) -eq 1
end

# After this verb, and not in a command.
function __holdfast_in
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test "$words[2]" = $argv[1]; or return 1
    not string match -q -- 'command *' (__holdfast_scan)
end

# After this verb, where so many plain words stand already.
function __holdfast_at
    __holdfast_in $argv[1]; and test (__holdfast_scan) = $argv[2]
end

function __holdfast_in_command
    set -l words (commandline -opc)
    test (count $words) -gt 2; and test "$words[2]" = run; or return 1
    string match -q -- 'command *' (__holdfast_scan)
end

function __holdfast_command
    set -l words (commandline -opc)
    set -l at (string replace 'command ' '' (__holdfast_scan))
    set -l line
    if test $at -le (count $words)
        set line (string escape -- $words[$at..-1])
    end
    complete -C (string join ' ' -- $line (commandline -ct))
end

complete -c holdfast -f
complete -c holdfast -n __holdfast_in_command -a '(__holdfast_command)'
complete -c holdfast -n __holdfast_no_verb -l help -d 'what there is'
complete -c holdfast -n __holdfast_no_verb -l version -d 'what you have'
)sh";

std::string action_for(const manual::value& value) {
    switch (value.offer) {
    case manual::offer::words: {
        std::string words;
        for (const auto& word : value.words) {
            words += (words.empty() ? "" : " ") + std::string{word};
        }
        return " -a " + shell_quoted(words);
    }
    case manual::offer::lock:
        return " -a '(__holdfast_locks)'";
    case manual::offer::url:
        return " -a '(__holdfast_urls)'";
    case manual::offer::command:
    case manual::offer::nothing:
        break;
    }
    return "";
}

std::string line_of(const manual::verb& verb, const manual::option& option) {
    auto line = "complete -c holdfast -n '__holdfast_in " + std::string{verb.name} + "'";
    for (const auto& name : option.names) {
        line += name.starts_with("--") ? " -l " + std::string{name.substr(2)}
                                       : " -s " + std::string{name.substr(1)};
    }
    line += option.value.name.empty() ? "" : " -x" + action_for(option.value);
    return line + " -d " + shell_quoted(option.text) + "\n";
}

std::string lines_of(const manual::verb& verb) {
    auto text = "\ncomplete -c holdfast -n __holdfast_no_verb -a " + std::string{verb.name} +
                " -d " + shell_quoted(verb.summary) + "\n";
    for (const auto& option : manual::options_of(verb)) {
        text += line_of(verb, option);
    }
    for (std::size_t i = 0; i < verb.arguments.size(); ++i) {
        if (const auto action = action_for(verb.arguments[i]); !action.empty()) {
            text += "complete -c holdfast -n '__holdfast_at " + std::string{verb.name} + " " +
                    std::to_string(i) + "'" + action + "\n";
        }
    }
    return text;
}

/// Of all verbs together: no name takes a value in one and none in another.
std::string valued_options() {
    std::string text;
    for (const auto& verb : manual::verbs()) {
        for (const auto& option : manual::options_of(verb)) {
            for (const auto& name : option.names) {
                text += option.value.name.empty() ? "" : " " + std::string{name};
            }
        }
    }
    return text.substr(1);
}

} // namespace

std::string completion_for_fish() {
    auto text = with_urls(beginning);
    const std::string_view mark = "@VALUED@";
    text.replace(text.find(mark), mark.size(), valued_options());
    for (const auto& verb : manual::verbs()) {
        text += lines_of(verb);
    }
    return text;
}

} // namespace holdfast::cli
