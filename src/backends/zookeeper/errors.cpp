#include "backends/zookeeper/errors.hpp"

#define THREADED
#include <zookeeper/zookeeper.h>

namespace holdfast::zookeeper {
namespace {

struct meaning {
    int code;
    outcome how;
};

// Lost: it may have been done, or is to be asked again. What the server refuses, it has not done.
constexpr meaning table[] = {
    {ZOK, outcome::ok},
    {ZNONODE, outcome::no_node},
    {ZNODEEXISTS, outcome::exists},
    {ZNOAUTH, outcome::no_rights},
    {ZBADARGUMENTS, outcome::refused},
    {ZUNIMPLEMENTED, outcome::refused},
    {ZINVALIDSTATE, outcome::over},
    {ZSESSIONEXPIRED, outcome::over},
    {ZAUTHFAILED, outcome::over},
    {ZCLOSING, outcome::lost},
    {ZSESSIONMOVED, outcome::lost},
    {ZTHROTTLEDOP, outcome::lost},
    {ZNOTREADONLY, outcome::lost}, // said by a server that nobody follows: another may do it
};

} // namespace

outcome outcome_of(int code) noexcept {
    for (const auto& one : table)
        if (one.code == code)
            return one.how;
    return code < ZAPIERROR ? outcome::refused : outcome::lost;
}

} // namespace holdfast::zookeeper
