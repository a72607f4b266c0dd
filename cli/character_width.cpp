#include "character_width.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace holdfast::cli {

namespace {

struct code_points {
    char32_t first;
    char32_t last;
};

/// What terminals draw two columns wide: East Asian scripts and pictures.
constexpr std::array wide{
    code_points{0x1100, 0x115F},   code_points{0x231A, 0x231B},   code_points{0x23E9, 0x23EC},
    code_points{0x25FD, 0x25FE},   code_points{0x2614, 0x2615},   code_points{0x2648, 0x2653},
    code_points{0x26AA, 0x26AB},   code_points{0x26BD, 0x26BE},   code_points{0x2705, 0x2705},
    code_points{0x2728, 0x2728},   code_points{0x274C, 0x274C},   code_points{0x2753, 0x2757},
    code_points{0x2795, 0x2797},   code_points{0x2B1B, 0x2B1C},   code_points{0x2B50, 0x2B50},
    code_points{0x2E80, 0x303E},   code_points{0x3041, 0x33FF},   code_points{0x3400, 0x4DBF},
    code_points{0x4E00, 0x9FFF},   code_points{0xA000, 0xA4CF},   code_points{0xA960, 0xA97F},
    code_points{0xAC00, 0xD7A3},   code_points{0xF900, 0xFAFF},   code_points{0xFE30, 0xFE6F},
    code_points{0xFF01, 0xFF60},   code_points{0xFFE0, 0xFFE6},   code_points{0x16FE0, 0x18AFF},
    code_points{0x1B000, 0x1B2FF}, code_points{0x1F004, 0x1F004}, code_points{0x1F0CF, 0x1F0CF},
    code_points{0x1F18E, 0x1F18E}, code_points{0x1F191, 0x1F19A}, code_points{0x1F200, 0x1F320},
    code_points{0x1F32D, 0x1F335}, code_points{0x1F337, 0x1F37C}, code_points{0x1F37E, 0x1F393},
    code_points{0x1F3A0, 0x1F3CA}, code_points{0x1F3CF, 0x1F3D3}, code_points{0x1F3E0, 0x1F3F0},
    code_points{0x1F3F4, 0x1F3F4}, code_points{0x1F3F8, 0x1F43E}, code_points{0x1F440, 0x1F440},
    code_points{0x1F442, 0x1F4FC}, code_points{0x1F4FF, 0x1F53D}, code_points{0x1F54B, 0x1F567},
    code_points{0x1F57A, 0x1F57A}, code_points{0x1F595, 0x1F596}, code_points{0x1F5A4, 0x1F5A4},
    code_points{0x1F5FB, 0x1F64F}, code_points{0x1F680, 0x1F6C5}, code_points{0x1F6CC, 0x1F6CC},
    code_points{0x1F6D0, 0x1F6D2}, code_points{0x1F6D5, 0x1F6D7}, code_points{0x1F6EB, 0x1F6EC},
    code_points{0x1F6F4, 0x1F6FC}, code_points{0x1F7E0, 0x1F7EB}, code_points{0x1F90C, 0x1F9FF},
    code_points{0x1FA70, 0x1FAFF}, code_points{0x20000, 0x3FFFD}};

/// What is drawn upon its neighbour, or not at all.
constexpr std::array without_width{
    code_points{0x0300, 0x036F},  code_points{0x0483, 0x0489}, code_points{0x0591, 0x05BD},
    code_points{0x0610, 0x061A},  code_points{0x064B, 0x065F}, code_points{0x093C, 0x093C},
    code_points{0x094D, 0x094D},  code_points{0x0E31, 0x0E31}, code_points{0x0E34, 0x0E3A},
    code_points{0x0E47, 0x0E4E},  code_points{0x1AB0, 0x1AFF}, code_points{0x1DC0, 0x1DFF},
    code_points{0x200B, 0x200F},  code_points{0x202A, 0x202E}, code_points{0x2060, 0x206F},
    code_points{0x20D0, 0x20FF},  code_points{0x302A, 0x302D}, code_points{0x3099, 0x309A},
    code_points{0xFE00, 0xFE0F},  code_points{0xFE20, 0xFE2F}, code_points{0xFEFF, 0xFEFF},
    code_points{0xE0100, 0xE01EF}};

template <std::size_t Size>
bool is_among(const std::array<code_points, Size>& sorted, char32_t code) noexcept {
    const auto next = std::upper_bound(
        sorted.begin(), sorted.end(), code, [](char32_t wanted, const code_points& range) {
            return wanted < range.first;
        });
    return next != sorted.begin() && code <= std::prev(next)->last;
}

} // namespace

std::size_t width_of_character(char32_t code) noexcept {
    return is_among(without_width, code) ? 0 : is_among(wide, code) ? 2 : 1;
}

} // namespace holdfast::cli
