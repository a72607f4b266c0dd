#include "simulation/debts.hpp"
#include "simulation/trace.hpp"

namespace holdfast::simulation {

void debts::sent(std::size_t member, const models::request& r, std::uint64_t disturbances) {
    using enum models::request::verb;
    if (r.what == attempt)
        open_.insert_or_assign({member, r.about->nonce}, debt{r.number, r.about, disturbances});
    else if (r.what == withdraw || r.what == release)
        open_.erase({member, r.about->nonce});
}

// It was asked. Until it could be asked again, what it may have kept had ended by itself.
void debts::refused(std::size_t member, const models::request& r) {
    using enum models::request::verb;
    if (r.what == withdraw || r.what == release)
        open_.erase({member, r.about->nonce});
}

void debts::answered(std::size_t member, const models::reply& r) {
    std::erase_if(open_, [&](const auto& one) {
        return one.first.first == member && one.second.number == r.number;
    });
}

void debts::check_all_paid(std::uint64_t disturbances) const {
    for (const auto& [where, one] : open_) {
        // What was lost keeps its lock delay: nobody may cut it short.
        const bool may_expire = one.what->lock_delay > duration::zero();
        if (!may_expire && one.disturbed_before == disturbances)
            throw violation{"I5 nothing is left behind",
                            "member ",
                            where.first,
                            " may keep ",
                            short_name(where.second),
                            ", and was not asked to give it back"};
    }
}

} // namespace holdfast::simulation
