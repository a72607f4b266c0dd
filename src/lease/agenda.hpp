#pragma once

// What has to be looked at, and when. One entry for each thing, ordered by time and then by the
// order of asking, so that a simulation runs the same way twice.

#include <holdfast/clock.hpp>

#include <boost/intrusive/set.hpp>

#include <cstdint>

namespace holdfast::detail {

/// Something with a next time to be looked at.
struct agenda_item : boost::intrusive::set_base_hook<> {
    enum class kind : std::uint8_t { bond, hold_limit, talk, wish, parting };

    explicit agenda_item(kind k) noexcept : what{k} {}
    agenda_item(const agenda_item&) = delete;
    agenda_item& operator=(const agenda_item&) = delete;

    const kind what;
    instant due = never;
    std::uint64_t order = 0;

    friend bool operator<(const agenda_item& a, const agenda_item& b) noexcept {
        return a.due != b.due ? a.due < b.due : a.order < b.order;
    }
};

class agenda {
public:
    /// `when` may be never: then it is not looked at.
    void put(agenda_item& item, instant when) {
        if (item.is_linked() && item.due == when)
            return;
        remove(item);
        item.due = when;
        item.order = ++asked_;
        if (when != never)
            items_.insert(item);
    }
    void remove(agenda_item& item) noexcept {
        if (item.is_linked())
            items_.erase(items_.iterator_to(item));
    }

    void clear() noexcept { items_.clear(); }

    [[nodiscard]] instant next() const noexcept {
        return items_.empty() ? never : items_.begin()->due;
    }

    /// The earliest item that is due by `now`, taken off; null if there is none.
    [[nodiscard]] agenda_item* take_due(instant now) noexcept {
        if (items_.empty() || next() > now)
            return nullptr;
        agenda_item& item = *items_.begin();
        items_.erase(items_.begin());
        return &item;
    }

    /// Calls f(item) for those due by `limit`, earliest first, while it answers true.
    template <class F> void each_until(instant limit, F f) {
        for (auto it = items_.begin(); it != items_.end() && it->due <= limit;)
            if (!f(*it++))
                return;
    }

private:
    boost::intrusive::set<agenda_item> items_;
    std::uint64_t asked_ = 0;
};

} // namespace holdfast::detail
