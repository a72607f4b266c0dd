#include "backends/relational/front.hpp"

#include <algorithm>

namespace holdfast::relational {
namespace {

constexpr duration long_enough = std::chrono::seconds{10};

using outcome = std::variant<bool, trouble>;

/// Whether a statement gave a row with a 1 in it.
[[nodiscard]] outcome row_in(const answer& got) {
    if (const auto* wrong = std::get_if<trouble>(&got))
        return *wrong;
    const auto& row = std::get<table>(got);
    return !row.empty() && row.number(0, 0) == 1;
}

class session_front final : public front {
public:
    explicit session_front(front_settings how) : how_{std::move(how)} {
        auto lines = how_.lines;
        lines.most = 1;
        lines.not_for_children = true;
        lines.ended = [this] { all_lost(); };
        line_ = std::make_shared<pool>(how_.hot, how_.kind, std::move(lines));
    }

    part_of<outcome> win(std::shared_ptr<const claim> what, instant by) override {
        const auto before = endings();
        statement tries{
            .text = how_.kind->front_text(front_query::try_session, what->name, what->mode)};
        asking asked{*line_, std::move(tries), what->name, by};
        const auto got = co_await asked;
        auto won = row_in(got);
        const std::lock_guard lock{guard_};
        if (const auto* yes = std::get_if<bool>(&won); yes != nullptr && *yes) {
            if (endings_ != before)
                co_return false; // ended meanwhile, and with it what was won
            won_.emplace(what->nonce, what);
        }
        co_return won;
    }

    bool has(const nonce& n) override {
        const std::lock_guard lock{guard_};
        return won_.contains(n);
    }

    part_of<bool> give_up(nonce n) override {
        std::shared_ptr<const claim> what;
        {
            const std::lock_guard lock{guard_};
            const auto found = won_.find(n);
            if (found == won_.end())
                co_return false;
            what = std::move(found->second);
            won_.erase(found);
        }
        statement ends{.text =
                           how_.kind->front_text(front_query::end_session, what->name, what->mode)};
        asking asked{*line_, std::move(ends), what->name, boot_clock::now() + long_enough};
        const auto got = co_await asked;
        co_return std::holds_alternative<table>(got);
    }

    void close() override { line_->close(); }

private:
    [[nodiscard]] std::uint64_t endings() {
        const std::lock_guard lock{guard_};
        return endings_;
    }

    void all_lost() {
        std::map<nonce, std::shared_ptr<const claim>> lost;
        {
            const std::lock_guard lock{guard_};
            ++endings_;
            lost.swap(won_);
        }
        for (const auto& [_, what] : lost)
            how_.lost(what);
    }

    const front_settings how_;
    std::shared_ptr<pool> line_;
    std::mutex guard_;
    std::uint64_t endings_ = 0; // of the connection
    std::map<nonce, std::shared_ptr<const claim>> won_;
};

class row_front final : public front {
public:
    explicit row_front(front_settings how) : how_{std::move(how)} {}

    part_of<outcome> win(std::shared_ptr<const claim> what, instant by) override {
        const auto on = take_line();
        if (!on)
            co_return false;
        for (const bool row_was_made : {false, true}) {
            statement tries{
                .text = how_.kind->front_text(front_query::try_row, what->name, what->mode)};
            asking asked{*on->line, std::move(tries), {}, by};
            const auto got = co_await asked;
            const auto won = row_in(got);
            const auto* yes = std::get_if<bool>(&won);
            {
                const std::lock_guard lock{guard_};
                if (yes != nullptr && *yes && !on->ended) {
                    on->held_for = what;
                    co_return true;
                }
            }
            if (yes == nullptr || row_was_made) {
                auto going = let_go(on);
                static_cast<void>(co_await going);
                co_return won;
            }
            // Somebody has it, or there is no such row yet: that looks the same.
            statement makes{
                .text = how_.kind->front_text(front_query::make_row, what->name, what->mode)};
            asking made{*on->line, std::move(makes), {}, by};
            const auto there = co_await made;
            if (const auto* wrong = std::get_if<trouble>(&there)) {
                auto going = let_go(on);
                static_cast<void>(co_await going);
                co_return *wrong;
            }
        }
        co_return false;
    }

    bool has(const nonce& n) override {
        const std::lock_guard lock{guard_};
        return find(n) != nullptr;
    }

    part_of<bool> give_up(nonce n) override {
        std::shared_ptr<place> found;
        {
            const std::lock_guard lock{guard_};
            found = find(n);
            if (found)
                found->held_for.reset();
        }
        if (!found)
            co_return false;
        auto going = let_go(found);
        co_return co_await going;
    }

    void close() override {
        std::vector<std::shared_ptr<place>> all;
        {
            const std::lock_guard lock{guard_};
            all.swap(places_);
        }
        for (const auto& one : all)
            one->line->close();
    }

private:
    /// One connection, and what it holds.
    struct place {
        std::shared_ptr<pool> line;
        std::shared_ptr<const claim> held_for;
        bool in_use = false;
        bool ended = false; ///< since it was taken
    };

    [[nodiscard]] std::shared_ptr<place> find(const nonce& n) {
        for (const auto& one : places_)
            if (one->held_for && one->held_for->nonce == n)
                return one;
        return nullptr;
    }

    [[nodiscard]] std::shared_ptr<place> take_line() {
        const std::lock_guard lock{guard_};
        for (const auto& one : places_)
            if (!one->in_use) {
                one->in_use = true;
                one->ended = false;
                return one;
            }
        if (places_.size() >= how_.most)
            return nullptr;
        auto made = std::make_shared<place>();
        made->in_use = true;
        auto lines = how_.lines;
        lines.most = 1;
        lines.not_for_children = true;
        lines.ended = [this, which = std::weak_ptr{made}] { has_ended(which.lock()); };
        made->line = std::make_shared<pool>(how_.hot, how_.kind, std::move(lines));
        places_.push_back(made);
        return made;
    }

    /// Its transaction ends before anything else is said on it.
    part_of<bool> let_go(std::shared_ptr<place> which) {
        statement ends{.text = "ROLLBACK"};
        asking asked{*which->line, std::move(ends), {}, boot_clock::now() + long_enough};
        const auto got = co_await asked;
        const std::lock_guard lock{guard_};
        which->in_use = false;
        co_return std::holds_alternative<table>(got);
    }

    void has_ended(const std::shared_ptr<place>& which) {
        if (!which)
            return;
        std::shared_ptr<const claim> lost;
        {
            const std::lock_guard lock{guard_};
            which->ended = true;
            lost = std::exchange(which->held_for, nullptr);
            if (lost)
                which->in_use = false;
        }
        if (lost)
            how_.lost(lost);
    }

    const front_settings how_;
    std::mutex guard_;
    std::vector<std::shared_ptr<place>> places_;
};

} // namespace

std::unique_ptr<front> make_front(sql::locking how, front_settings settings) {
    if (how == sql::locking::session)
        return std::make_unique<session_front>(std::move(settings));
    return std::make_unique<row_front>(std::move(settings));
}

} // namespace holdfast::relational
