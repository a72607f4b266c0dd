#include "backends/zookeeper/errors.hpp"

#define THREADED
#include <zookeeper/zookeeper.h>

namespace holdfast::zookeeper {
namespace {

struct meaning {
    int code;
    outcome how;
};

// Lost: it may have been done. What is not listed was refused by the server, which did nothing.
constexpr meaning table[] = {
    {ZOK, outcome::ok},
    {ZNONODE, outcome::no_node},
    {ZNODEEXISTS, outcome::exists},
    {ZNOAUTH, outcome::no_rights},
    {ZCONNECTIONLOSS, outcome::lost},
    {ZOPERATIONTIMEOUT, outcome::lost},
    {ZSESSIONMOVED, outcome::lost},
    {ZCLOSING, outcome::lost},
    {ZMARSHALLINGERROR, outcome::lost},
    {ZRUNTIMEINCONSISTENCY, outcome::lost},
    {ZSYSTEMERROR, outcome::lost},
    {ZSESSIONEXPIRED, outcome::over},
    {ZINVALIDSTATE, outcome::over},
    {ZAUTHFAILED, outcome::over},
};

} // namespace

outcome outcome_of(int code) noexcept {
    for (const auto& one : table)
        if (one.code == code)
            return one.how;
    return outcome::refused;
}

} // namespace holdfast::zookeeper
