#include "man_page.hpp"
#include "manual.hpp"
#include "text.hpp"

#include <string_view>

namespace holdfast::cli {

namespace {

// ----------------------------------------------------------------------------- words into roff

/// What is not ASCII goes out by its number, so that no roff has to guess an encoding.
std::string by_number(std::string_view character) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    auto code = code_point_of(character);
    std::string hex;
    for (; code != 0 || hex.size() < 4; code >>= 4U) {
        hex.insert(hex.begin(), digits[code & 15U]);
    }
    return "\\[u" + hex + "]";
}

/// Hyphens that people copy must stay hyphens, and a line must not begin like a request.
std::string roff(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const auto length = utf8_length(text, at);
        const auto character = text.substr(at, length);
        out += length > 1          ? by_number(character)
               : character == "\\" ? "\\e"
               : character == "-"  ? "\\-"
               : character == "'"  ? "\\(aq"
               : character == "\"" ? "\\(dq"
               : character == "`"  ? "\\(ga"
               : character == "^"  ? "\\(ha"
               : character == "~"  ? "\\(ti"
                                   : std::string{character};
        at += length;
    }
    return out.starts_with('.') ? "\\&" + out : out;
}

/// With its newline.
std::string prose(std::string_view text) {
    std::string out;
    for (const auto& line : wrapped(text, 70)) {
        out += roff(line) + "\n";
    }
    return out;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

// ------------------------------------------------------------------------------ parts of a page

std::string tagged(const std::string& tag, std::string_view text) {
    return ".TP\n" + tag + "\n" + prose(text);
}

std::string names_of(const manual::option& option) {
    auto names = option.names;
    names.insert(names.end(), option.also.begin(), option.also.end());
    std::string text;
    for (const auto& name : names) {
        text += (text.empty() ? "" : ", ") + bold(name);
    }
    return option.value.name.empty() ? text : text + " " + italic(option.value.name);
}

std::string synopsis_of(const manual::verb& verb) {
    std::string text;
    for (const auto& way : verb.usage) {
        text += ".br\n" + bold("holdfast " + std::string{verb.name}) + (way.empty() ? "" : " ") +
                roff(way) + "\n";
    }
    return text;
}

std::string options_of_page(const manual::verb& verb) {
    std::string text;
    for (const auto& argument : verb.arguments) {
        text += argument.text.empty() ? "" : tagged(italic(argument.name), argument.text);
    }
    for (const auto& section : verb.sections) {
        text += section.title.empty() ? "" : ".PP\n" + roff(section.title) + ":\n";
        for (const auto& option : section.options) {
            text += tagged(names_of(option), option.text);
        }
    }
    return text;
}

std::string examples_of(const manual::verb& verb) {
    std::string text = ".PP\n" + std::string{verb.examples.size() > 1 ? "Examples" : "Example"} +
                       ":\n.PP\n.nf\n.RS 4\n";
    for (const auto& [line, what] : verb.examples) {
        text += what.empty() ? "" : roff("# " + std::string{what}) + "\n";
        text += roff(line) + "\n";
    }
    return text + ".RE\n.fi\n";
}

std::string page_of_verb(const manual::verb& verb) {
    auto text = ".SS " + roff("holdfast " + std::string{verb.name}) + "\n";
    text += prose(verb.about);
    text += ".PP\n" + synopsis_of(verb).substr(std::string_view{".br\n"}.size());
    text += options_of_page(verb);
    for (const auto& note : verb.notes) {
        text += ".PP\n" + prose(note);
    }
    return text + examples_of(verb);
}

std::string exits() {
    std::string text = "Of\n" + bold("holdfast run") + ":\n";
    for (const auto& [code, meaning] : manual::page_of("run").exits) {
        text += tagged(code.empty() ? italic("code") : roff(code), meaning);
    }
    return text + ".PP\n" +
           prose(
               "The others end with 0, with 1 where their pages say so, and with 64, 69, 70 and 77 "
               "as above.");
}

std::string engines() {
    std::string text = prose("A URL names the engine:");
    for (const auto& url : manual::urls()) {
        text += tagged(bold(url.form), url.text);
    }
    return text;
}

std::string environment() {
    std::string text;
    for (const auto& [name, meaning] : manual::environment()) {
        text += tagged(bold(name), meaning);
    }
    return text;
}

} // namespace

std::string man_page() {
    std::string text = ".\\\" Written by `holdfast man`.\n";
    text += ".TH HOLDFAST 1 " + std::string{manual::last_changed} +
            " \"holdfast " HOLDFAST_VERSION "\" \"User Commands\"\n";
    text += ".SH NAME\nholdfast \\- hold distributed locks\n";
    text += ".SH SYNOPSIS\n";
    std::string ways;
    for (const auto& verb : manual::verbs()) {
        ways += synopsis_of(verb);
    }
    text += ways.substr(std::string_view{".br\n"}.size());
    text +=
        ".SH DESCRIPTION\n" + prose(manual::which_engine) + ".PP\n" +
        prose("A TIME is a number with ms, s, m, h or d; a bare number is seconds. A name is 1 "
              "to 1024 bytes of UTF-8 without control characters; a PATTERN is a glob.") +
        ".PP\n" +
        prose("Every verb has --help; holdfast --version says what you have. --json answers are "
              "one JSON object on one line.") +
        ".SH VERBS\n";
    for (const auto& verb : manual::verbs()) {
        text += page_of_verb(verb);
    }
    text += ".SH ENGINES\n" + engines();
    text += ".SH EXIT STATUS\n" + exits();
    text += ".SH ENVIRONMENT\n" + environment();
    text += ".SH FILES\n" + tagged(italic("$XDG_STATE_HOME/holdfast/locks.db"),
                                   "the locks of this user, where no engine is named; without "
                                   "XDG_STATE_HOME it is below ~/.local/state");
    text += ".SH SEE ALSO\n.BR flock (1)\n";
    return text;
}

} // namespace holdfast::cli
