#include "backends/zookeeper/outbox.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace holdfast::zookeeper {
namespace {

[[nodiscard]] std::string_view path_of(const operation& op) {
    return std::visit(
        [](const auto& what) -> std::string_view {
            if constexpr (requires { what.path; })
                return what.path;
            else
                return {};
        },
        op.what);
}

[[nodiscard]] std::string_view folder_of(std::string_view path) {
    return path.substr(0, path.rfind('/'));
}

[[nodiscard]] bool makes(const operation& op) { return std::holds_alternative<create>(op.what); }

/// All of it is done or nothing: so none that is likely to be refused.
[[nodiscard]] bool may_go_together(const operation& op) {
    const auto* const made = std::get_if<create>(&op.what);
    return made != nullptr ? made->alone : std::holds_alternative<remove>(op.what);
}

} // namespace

bool outbox::changes_something(const operation& op) noexcept {
    return makes(op) || std::holds_alternative<remove>(op.what) ||
           std::holds_alternative<write>(op.what);
}

bool outbox::must_wait(const operation& op) const noexcept {
    if (std::holds_alternative<beat>(op.what))
        return false;
    return !waiting_.empty() || (may_go_together(op) && on_their_way_ >= enough_on_their_way);
}

bool outbox::may_go() const noexcept {
    return !waiting_.empty() && on_their_way_ < enough_on_their_way;
}

void outbox::answered() noexcept {
    HOLDFAST_ASSERT(on_their_way_ > 0, "what is answered was sent");
    --on_their_way_;
}

void outbox::put(const operation& op) { waiting_.push_back(op); }

outbox::departure outbox::next() {
    departure found;
    std::vector<std::string_view> behind, made_in; // folders; the views are into what stays put
    const auto contains = [](const auto& all, std::string_view one) {
        return std::find(all.begin(), all.end(), one) != all.end();
    };
    std::size_t taken = 0;
    std::vector<std::size_t> together, then;
    for (; taken < waiting_.size(); ++taken) {
        const auto& op = waiting_[taken];
        const auto path = path_of(op), folder = folder_of(path);
        if (!may_go_together(op)) {
            behind.push_back(path);
            behind.push_back(folder);
            then.push_back(taken);
            continue;
        }
        // Two that were made at once would have the same fence.
        if (together.size() == most_together || contains(behind, folder) ||
            (makes(op) && contains(made_in, folder)))
            break;
        if (makes(op))
            made_in.push_back(folder);
        together.push_back(taken);
    }
    for (const auto i : together)
        found.together.push_back(std::move(waiting_[i]));
    for (const auto i : then)
        found.then.push_back(std::move(waiting_[i]));
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(taken));
    return found;
}

} // namespace holdfast::zookeeper
