#include "backends/redis/names.hpp"

#include <array>
#include <charconv>
#include <cstring>

namespace holdfast::redis {
namespace {

[[nodiscard]] bool has_brace(std::string_view name) noexcept {
    return name.find('{') != std::string_view::npos;
}

/// CRC-16/XMODEM, which the cluster specification asks for.
constexpr std::array<std::uint16_t, 256> crc_table = [] {
    std::array<std::uint16_t, 256> table{};
    for (unsigned byte = 0; byte < 256; ++byte) {
        unsigned crc = byte << 8;
        for (int bit = 0; bit < 8; ++bit)
            crc = (crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1;
        table[byte] = static_cast<std::uint16_t>(crc);
    }
    return table;
}();

} // namespace

std::string before(std::string_view prefix, std::string_view name) {
    std::string made;
    made.reserve(prefix.size() + name.size() + 3);
    made.append(prefix).append(1, ':');
    if (has_brace(name))
        return made.append(name);
    return made.append(1, '{').append(name).append(1, '}');
}

std::string behind(std::string_view name, std::string_view suffix) {
    std::string made;
    made.reserve(suffix.size() + name.size() + 3);
    if (has_brace(name))
        made.append(name);
    else
        made.append(1, '{').append(name).append(1, '}');
    return made.append(1, ':').append(suffix);
}

std::string reader_key(std::string_view name, std::string_view holder) {
    return behind(name, holder).append(":rwlock_timeout:1");
}

std::string holder_names::of(const nonce& n) const {
    std::uint64_t number = 0;
    std::memcpy(&number, n.bytes.data(), sizeof number);
    number &= ~(std::uint64_t{1} << 63); // a Java long that is not negative
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    std::string made;
    made.reserve(uuid_.size() + 1 + sizeof digits);
    return made.append(uuid_).append(1, ':').append(digits, end);
}

std::string uuid_from(const nonce& random) {
    auto bytes = random.bytes;
    bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);
    bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
    std::string made;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            made.push_back('-');
        made.push_back("0123456789abcdef"[bytes[i] >> 4]);
        made.push_back("0123456789abcdef"[bytes[i] & 15]);
    }
    return made;
}

std::uint16_t slot_of(std::string_view key) noexcept {
    if (const auto open = key.find('{'); open != std::string_view::npos)
        if (const auto close = key.find('}', open + 1);
            close != std::string_view::npos && close > open + 1)
            key = key.substr(open + 1, close - open - 1);
    std::uint16_t crc = 0;
    for (const char c : key)
        crc = static_cast<std::uint16_t>(crc << 8) ^
              crc_table[((crc >> 8) ^ static_cast<unsigned char>(c)) & 0xff];
    return crc & 0x3fff;
}

bool keeps_to_one_slot(std::string_view name) noexcept {
    return slot_of(name) == slot_of(before("x", name)) &&
           slot_of(name) == slot_of(behind(name, "x"));
}

} // namespace holdfast::redis
