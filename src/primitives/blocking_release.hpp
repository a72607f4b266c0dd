#pragma once

#include "client/client_state.hpp"
#include "runtime/parker.hpp"

namespace holdfast::detail {

/// Somebody who waits on his own thread for the answer to a release.
struct blocking_release final : releaser {
    void told(release_result how) override {
        result = how;
        answered.open();
    }
    release_result result = release_result::unknown;
    parker answered;
};

} // namespace holdfast::detail
