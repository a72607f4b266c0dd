#include "waiting/ascent.hpp"
#include "lease/validity.hpp"

#include <algorithm>

namespace holdfast::detail {

ascent::ascent(std::size_t locks, duration wait, instant now) noexcept
    : locks_{locks}, asks_once_{wait <= duration::zero()}, give_up_{later(now, wait)} {}

duration ascent::wait_left(instant now) const noexcept {
    if (asks_once_)
        return duration::zero();
    return give_up_ == never ? forever : std::max(give_up_ - now, duration::zero());
}

ascent::step ascent::granted(bool all_held, instant now) noexcept {
    if (!all_held) {
        next_ = 0;
        return asks_once_ || now >= give_up_ ? step::give_up : step::start_over;
    }
    return ++next_ == locks_ ? step::done : step::ask;
}

} // namespace holdfast::detail
