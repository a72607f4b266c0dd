#include "backends/redis/names.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
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

std::size_t composed::size() const noexcept {
    std::size_t sum = 0;
    for (const auto part : parts_)
        sum += part.size();
    return sum;
}

void composed::append_to(std::string& out) const {
    for (const auto part : parts_)
        out.append(part);
}

composed::operator std::string() const {
    std::string made;
    made.reserve(size());
    append_to(made);
    return made;
}

composed before(std::string_view prefix, std::string_view name) {
    if (has_brace(name))
        return composed{{prefix, ":", name}};
    return composed{{prefix, ":{", name, "}"}};
}

composed behind(std::string_view name, std::string_view suffix, std::string_view more) {
    if (has_brace(name))
        return composed{{name, ":", suffix, more}};
    return composed{{"{", name, "}:", suffix, more}};
}

void short_text::append(std::string_view more) {
    const auto fits = std::min(more.size(), bytes_.size() - size_);
    HOLDFAST_ASSERT(fits == more.size(), "it is short");
    std::memcpy(bytes_.data() + size_, more.data(), fits);
    size_ += fits;
}

short_text holder_names::of(const nonce& n) const {
    std::uint64_t number = 0;
    std::memcpy(&number, n.bytes.data(), sizeof number);
    number &= ~(std::uint64_t{1} << 63); // a Java long that is not negative
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    short_text made{uuid_};
    made.append(":");
    made.append({digits, static_cast<std::size_t>(end - digits)});
    return made;
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
    return slot_of(name) == slot_of(std::string{before("x", name)}) &&
           slot_of(name) == slot_of(std::string{behind(name, "x")});
}

} // namespace holdfast::redis
