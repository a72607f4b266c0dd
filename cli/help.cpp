#include "help.hpp"
#include "text.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::cli {

namespace {

constexpr std::size_t page_width = 90;
constexpr std::size_t text_column = 25; // where the words about an option begin

/// A label, and beside it a text whose further lines begin below its first.
std::string entry(std::string label, std::size_t column, std::string_view text) {
    const auto width = columns_of(label);
    if (width + 2 > column && width > 0) {
        label += "\n" + std::string(column, ' ');
    } else {
        label.append(column - width, ' ');
    }
    bool first = true;
    for (const auto& line : wrapped(text, page_width - column)) {
        label += (first ? "" : std::string(column, ' ')) + line + "\n";
        first = false;
    }
    return label;
}

std::string paragraph(std::string_view text) { return entry("", 0, text); }

std::string label_of(const manual::option& option) {
    std::string label = option.names.front().starts_with("--") ? "      " : "  ";
    for (const auto& name : option.names) {
        label += (name == option.names.front() ? "" : ", ") + std::string{name};
    }
    return option.value.name.empty() ? label : label + " " + std::string{option.value.name};
}

std::string usage_of(const manual::verb& page) {
    std::string text;
    for (const auto& way : page.usage) {
        text += text.empty() ? "Usage: " : "       ";
        text += "holdfast " + std::string{page.name} + (way.empty() ? "" : " ") + std::string{way} +
                "\n";
    }
    return text;
}

std::string arguments_of(const manual::verb& page) {
    std::string text;
    for (const auto& argument : page.arguments) {
        if (!argument.text.empty()) {
            text += entry("  " + std::string{argument.name}, text_column, argument.text);
        }
    }
    return text;
}

/// Paragraphs, each set apart from the one before by an empty line.
class leaf {
public:
    explicit leaf(std::string text) : text_{std::move(text)} {}
    void add(const std::string& part) { text_ += part.empty() ? "" : "\n" + part; }
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
    std::string text_;
};

void add_options(leaf& page, const manual::verb& verb) {
    auto before = arguments_of(verb);
    for (const auto& section : verb.sections) {
        auto text = section.title.empty() ? "" : std::string{section.title} + ":\n";
        text += std::exchange(before, {});
        for (const auto& option : section.options) {
            text += entry(label_of(option), text_column, option.text);
        }
        page.add(text);
    }
    page.add(before);
}

std::string exits_of(const manual::verb& page) {
    std::string text;
    for (const auto& [code, meaning] : page.exits) {
        text += text.empty() ? "Exit status: " : "; ";
        text += std::string{code} + (code.empty() ? "" : " ") + std::string{meaning};
    }
    return text.empty() ? text : paragraph(text + ".");
}

std::string examples_of(const manual::verb& page) {
    std::size_t longest = 0;
    for (const auto& [line, what] : page.examples) {
        longest = std::max(longest, columns_of(line));
    }
    std::string text = page.examples.size() > 1 ? "Examples:\n" : "Example:\n";
    for (const auto& [line, what] : page.examples) {
        const auto shown = "  " + std::string{line};
        text += what.empty() ? shown + "\n" : entry(shown, longest + 5, what);
    }
    return text;
}

std::string engines() {
    std::string text = "Engines:\n";
    for (const auto& url : manual::urls()) {
        text += entry("  " + std::string{url.form}, text_column, url.text);
    }
    return text;
}

} // namespace

std::string general_help() {
    leaf page{paragraph(manual::what_it_is)};
    page.add("Usage: holdfast VERB [OPTIONS] …\n");
    std::string list;
    for (const auto& verb : manual::verbs()) {
        list += entry("  " + std::string{verb.synopsis}, text_column, verb.summary);
    }
    page.add(list);
    page.add(
        paragraph("Each verb explains itself with --help. " + std::string{manual::which_engine}));
    page.add(engines());
    page.add("Example:\n  holdfast run nightly-backup -- ./backup.sh\n");
    return page.text();
}

std::string help_of(const manual::verb& verb) {
    leaf page{paragraph(verb.about)};
    page.add(usage_of(verb));
    add_options(page, verb);
    for (const auto& note : verb.notes) {
        page.add(paragraph(note));
    }
    page.add(exits_of(verb));
    page.add(examples_of(verb));
    return page.text();
}

} // namespace holdfast::cli
