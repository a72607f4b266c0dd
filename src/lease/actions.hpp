#pragma once

// What the core wants done. It decides under the client's mutex and does nothing itself; whoever
// drives it (the client, or a simulation) carries these out afterwards, in order.

#include "lease/hold.hpp"

#include <holdfast/backend.hpp>
#include <holdfast/observer.hpp>

#include <boost/container/small_vector.hpp>

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace holdfast::detail {

struct wish;    // waiting/wish.hpp
struct goodbye; // somebody who waits for the answer to a release

// To the engine.
struct do_attempt {
    holdfast::call call;
    std::shared_ptr<const claim> what;
    joining join;
};
struct do_withdraw {
    holdfast::call call;
    std::shared_ptr<const claim> what;
};
struct do_release {
    holdfast::call call;
    std::shared_ptr<const claim> what;
    grant given;
};
struct do_renew {
    holdfast::call call;
    std::vector<bond_id> bonds;
};
struct do_forget {
    bond_id bond;
};

// To the caller. With neither error nor lease, the answer is "contended".
struct tell_wish {
    wish* to;
    error_code error;
    std::string detail;
    std::shared_ptr<hold> granted;
};
struct tell_goodbye {
    goodbye* to;
    release_result result;
};
struct tell_stop {
    std::shared_ptr<hold> whom;
};
struct tell_wanted {
    std::shared_ptr<hold> whom;
};
struct tell_lost {
    std::shared_ptr<hold> whom;
};
struct tell_observer {
    event::kind what;
    std::shared_ptr<const std::string> name{};
    holdfast::fence fence{};
    std::string detail{};
    duration took{};
    duration handed_over{};
};

using action = std::variant<do_attempt,
                            do_withdraw,
                            do_release,
                            do_renew,
                            do_forget,
                            tell_wish,
                            tell_goodbye,
                            tell_stop,
                            tell_wanted,
                            tell_lost,
                            tell_observer>;
using actions = boost::container::small_vector<action, 4>; // most decisions fit without the heap

/// Tells an observer, if there is one: what is to be told is put together only then.
class notes {
public:
    explicit notes(bool somebody_listens) noexcept : listening_{somebody_listens} {}
    template <class Describe> void put(actions& out, Describe describe) const {
        if (listening())
            out.emplace_back(describe());
    }
    [[nodiscard]] bool listening() const noexcept {
#ifdef HOLDFAST_NO_OBSERVERS // for the benchmark that shows what listening to nobody costs
        return false;
#else
        return listening_;
#endif
    }

private:
    bool listening_;
};

} // namespace holdfast::detail
