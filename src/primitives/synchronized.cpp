#include <holdfast/synchronized.hpp>

#include <string_view>

namespace holdfast::detail {
namespace {

constexpr std::size_t readable = 900; // of the 1024 bytes of a name; templates go on and on

} // namespace

std::string name_of_call(const std::source_location& where) {
    std::string_view file = where.file_name();
    if (const auto slash = file.rfind('/'); slash != std::string_view::npos)
        file.remove_prefix(slash + 1); // the folder is another on each machine that builds
    auto name = std::string{file} + ": " + where.function_name();
    if (name.size() <= readable)
        return name;
    std::uint64_t hash = 14695981039346656037U; // FNV-1a: the same in every build
    for (const auto c : name)
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    return name.substr(0, readable) + "…" + std::to_string(hash);
}

} // namespace holdfast::detail
