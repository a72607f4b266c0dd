#include "completion.hpp"
#include "manual.hpp"

namespace holdfast::cli {

std::string completion_for(std::string_view shell) {
    return shell == "bash"  ? completion_for_bash()
           : shell == "zsh" ? completion_for_zsh()
                            : completion_for_fish();
}

std::string shell_quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        out += c == '\'' ? std::string{"'\\''"} : std::string{c};
    }
    return out + "'";
}

std::string with_urls(std::string_view text) {
    std::string beginnings;
    for (const auto& url : manual::urls()) {
        beginnings += (beginnings.empty() ? "" : " ") + std::string{url.beginning};
    }
    constexpr std::string_view mark = "@URLS@";
    return std::string{text}.replace(text.find(mark), mark.size(), beginnings);
}

} // namespace holdfast::cli
