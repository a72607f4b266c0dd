#include "backends/redis/notebook.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace holdfast::redis {
namespace {

constexpr duration written_at_most_every = std::chrono::milliseconds{100};
constexpr std::size_t most_waits = 200; // a note is for humans

[[nodiscard]] std::string one_line(std::string_view text) {
    std::string made{text};
    std::replace_if(
        made.begin(), made.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
    return made;
}

[[nodiscard]] std::string_view cut(std::string_view& from, char at) {
    const auto end = from.find(at);
    const auto part = from.substr(0, end);
    from.remove_prefix(end == std::string_view::npos ? from.size() : end + 1);
    return part;
}

[[nodiscard]] std::int64_t number(std::string_view digits) {
    std::int64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
}

} // namespace

std::string text_of(const note& n) {
    std::string text = one_line(n.who.host) + '\t' + std::to_string(n.who.pid) + '\t' +
                       one_line(n.who.purpose) + '\n';
    for (const auto& w : n.waits)
        text += std::to_string(static_cast<int>(w.mode)) + '\t' + std::to_string(w.since_us) +
                '\t' + w.name + '\n';
    return text;
}

std::optional<note> note_from(std::string_view text) {
    note n;
    auto first = cut(text, '\n');
    n.who.host = cut(first, '\t');
    n.who.pid = number(cut(first, '\t'));
    n.who.purpose = first;
    if (n.who.host.empty())
        return std::nullopt;
    while (!text.empty()) {
        auto row = cut(text, '\n');
        const auto mode_number = number(cut(row, '\t'));
        if (mode_number < 0 || mode_number > 2)
            return std::nullopt;
        const auto since = number(cut(row, '\t'));
        n.waits.push_back({static_cast<mode>(mode_number), since, std::string{row}});
    }
    return n;
}

bool notebook::introduce(const party& who) {
    const std::lock_guard lock{guard_};
    if (known_)
        return false;
    who_ = who;
    known_ = changed_ = true;
    return true;
}

bool notebook::close() {
    const std::lock_guard lock{guard_};
    return std::exchange(known_, false);
}

void notebook::waits(const nonce& whose, mode how, std::string name, std::int64_t since_us) {
    const std::lock_guard lock{guard_};
    changed_ |= waits_.try_emplace(whose, note::wait{how, since_us, std::move(name)}).second;
}

void notebook::waits_no_more(const nonce& whose) {
    const std::lock_guard lock{guard_};
    changed_ |= waits_.erase(whose) > 0;
}

std::string notebook::written(instant now) {
    const std::lock_guard lock{guard_};
    note n{who_, {}};
    for (const auto& [_, w] : waits_)
        if (n.waits.size() < most_waits)
            n.waits.push_back(w);
    changed_ = false;
    written_at_ = now;
    return text_of(n);
}

std::optional<std::string> notebook::due(instant now, bool something_is_held) {
    {
        const std::lock_guard lock{guard_};
        const bool stale =
            (something_is_held || !waits_.empty()) && now >= written_at_ + note_lives / 3;
        if (!known_ || !(stale || (changed_ && now >= written_at_ + written_at_most_every)))
            return std::nullopt;
    }
    return written(now);
}

instant notebook::next(instant now) const {
    const std::lock_guard lock{guard_};
    if (!known_)
        return never;
    if (changed_)
        return std::max(now, written_at_ + written_at_most_every);
    return std::max(now + note_lives / 6, written_at_ + note_lives / 3);
}

} // namespace holdfast::redis
