#pragma once

// What members of a quorum may keep for one process because their answers never came: a grant that
// nobody knows of. Each of them must be told to take it back, and not be left to the ttl.

#include "models/wire.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <utility>

namespace holdfast::simulation {

class debts {
public:
    void sent(std::size_t member, const models::request&, std::uint64_t disturbances);
    void refused(std::size_t member, const models::request&); ///< not sent: nobody listens there
    void answered(std::size_t member, const models::reply&);

    /// Throws violation I5 if a member was forgotten. Who was stopped meanwhile may have been
    /// overtaken by the ttl.
    void check_all_paid(std::uint64_t disturbances) const;

private:
    struct debt {
        ticket number;
        std::shared_ptr<const claim> what;
        std::uint64_t disturbed_before;
    };
    std::map<std::pair<std::size_t, nonce>, debt> open_;
};

} // namespace holdfast::simulation
