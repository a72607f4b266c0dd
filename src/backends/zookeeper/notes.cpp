#include "backends/zookeeper/notes.hpp"
#include "backends/zookeeper/machine.hpp"
#include "runtime/wall_clock.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string>

namespace holdfast::zookeeper {
namespace {

constexpr std::size_t longest = 300;

[[nodiscard]] std::string printable(std::string_view text) {
    std::string made{text.substr(0, longest)};
    std::replace_if(
        made.begin(), made.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; }, ' ');
    return made;
}

} // namespace

party party_in(std::string_view data) {
    party who;
    const auto first = data.find('\t');
    const auto second = first == data.npos ? data.npos : data.find('\t', first + 1);
    if (second == data.npos) { // somebody else's; or what it said was written over
        who.host = data == please_release ? "unknown" : printable(data);
        return who;
    }
    const auto digits = data.substr(first + 1, second - first - 1);
    who.host = printable(data.substr(0, first));
    std::from_chars(digits.data(), digits.data() + digits.size(), who.pid);
    who.purpose = printable(data.substr(second + 1));
    return who;
}

duration age_of(std::int64_t ms_since_1970) {
    const std::chrono::milliseconds then{ms_since_1970};
    return std::max<duration>(detail::wall_clock_now() - then, duration::zero());
}

} // namespace holdfast::zookeeper
