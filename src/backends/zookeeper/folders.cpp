#include "backends/zookeeper/folders.hpp"
#include "backends/zookeeper/names.hpp"
#include "lease/defect.hpp"

#include <charconv>
#include <string_view>

namespace holdfast::zookeeper {
namespace {

using detail::defect;
using detail::has;

constexpr std::size_t most_folders = 10'000;           // then those that nobody uses are forgotten
constexpr std::size_t most_watched_bytes = 256 * 1024; // a server takes no more than 1 MB
constexpr std::uint8_t most_watches_of_one = 16;

[[nodiscard]] std::string folder_of(const std::string& node) {
    return node.substr(0, node.rfind('/'));
}

[[nodiscard]] std::int64_t number_of(std::string_view node) {
    std::int64_t number = -1;
    if (const auto ticket = read_ticket(node.substr(node.rfind('/') + 1)))
        std::from_chars(ticket->number.begin(), ticket->number.end(), number);
    return number;
}

/// Both in one folder.
[[nodiscard]] bool follows(const std::string& node, const std::string& before) {
    const auto number = number_of(before);
    return number >= 0 && number_of(node) == number + 1;
}

} // namespace

bool folders::knows(const std::string& path) const {
    const auto found = all_.find(path);
    return found != all_.end() && found->second.there;
}

void folders::are_there(const std::string& path) {
    if (all_.size() >= most_folders)
        forget_some();
    all_[path].there = true;
}

void folders::may_be_gone(const std::string& path) {
    if (const auto found = all_.find(path); found != all_.end())
        found->second.there = false;
}

// What is forgotten is made again, and that it exists already is no harm.
void folders::forget_some() {
    std::erase_if(all_, [](const auto& one) { return one.second.watches == 0; });
}

bool folders::expects_nobody(const std::string& path) const {
    const auto found = all_.find(path);
    if (found == all_.end())
        return false;
    const auto& f = found->second;
    return f.watch != op_id{} && f.in_a_row && f.how != folder::last_is::there;
}

bool folders::proves_first(const std::string& node) const {
    const auto found = all_.find(folder_of(node));
    if (found == all_.end())
        return false;
    const auto& f = found->second;
    return f.watched && !f.last.empty() && f.how == folder::last_is::removed &&
           (follows(node, f.last) || has(defect::zookeeper_any_number));
}

void folders::is_surprised(const std::string& path) {
    if (const auto found = all_.find(path); found != all_.end())
        lose_the_thread(found->second);
}

bool folders::is_first(const std::string& node) {
    auto& f = all_[folder_of(node)];
    f.in_a_row = follows(node, f.last) && f.how == folder::last_is::removed;
    f.last = node;
    f.how = folder::last_is::there;
    return f.in_a_row && f.watch == op_id{} && f.watches < most_watches_of_one &&
           watched_bytes_ + node.size() < most_watched_bytes;
}

folders::folder* folders::whose_last_is(const std::string& node) {
    const auto found = all_.find(folder_of(node));
    return found != all_.end() && found->second.last == node ? &found->second : nullptr;
}

void folders::is_being_removed(const std::string& node) {
    if (auto* const f = whose_last_is(node))
        f->how = folder::last_is::being_removed;
}

void folders::is_removed(const std::string& node, bool by_us_for_sure) {
    auto* const f = whose_last_is(node);
    if (f != nullptr && by_us_for_sure)
        f->how = folder::last_is::removed;
    else if (f != nullptr)
        lose_the_thread(*f);
}

void folders::asked_to_watch(const std::string& path, op_id op) {
    auto& f = all_[path];
    f.watch = op;
    if (f.watches++ == 0)
        watched_bytes_ += path.size();
    watches_[static_cast<std::uint64_t>(op)] = path;
}

void folders::is_watched(op_id op, bool yes) {
    const auto found = watches_.find(static_cast<std::uint64_t>(op));
    if (found == watches_.end())
        return;
    auto& f = all_[found->second];
    if (f.watch == op) {
        f.watched = yes;
        if (!yes)
            f.watch = {};
    }
    if (!yes) {
        has_one_watch_less(found->second, f);
        watches_.erase(found);
    }
}

void folders::has_one_watch_less(const std::string& path, folder& f) {
    if (--f.watches == 0)
        watched_bytes_ -= path.size();
}

bool folders::noticed(op_id op, seen what) {
    const auto found = watches_.find(static_cast<std::uint64_t>(op));
    if (found == watches_.end())
        return false;
    auto& f = all_[found->second];
    if (what == seen::deleted)
        f.there = false;
    if (f.watch == op && !has(defect::zookeeper_any_folder)) {
        f.watch = {};
        f.watched = false;
        lose_the_thread(f);
    }
    has_one_watch_less(found->second, f);
    watches_.erase(found);
    return true;
}

void folders::lost_sight() {
    for (auto& [_, f] : all_) {
        f.watch = {};
        f.watched = false;
        lose_the_thread(f);
    }
}

void folders::lose_the_thread(folder& f) {
    f.last.clear();
    f.in_a_row = false;
}

} // namespace holdfast::zookeeper
