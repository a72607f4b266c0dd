// What an operator sees: who holds what, and whether this server can be trusted with it.

#include "backends/redis/backend.hpp"
#include "backends/redis/errors.hpp"

namespace holdfast::redis {

void redis_backend::inspect(const call& c, const std::string&) {
    events_->inspected(c.ticket, std::vector<lock_info>{});
}

void redis_backend::examine(const call& c) { events_->examined(c.ticket, {}); }

} // namespace holdfast::redis
