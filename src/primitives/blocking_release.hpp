#pragma once

#include "client/client_state.hpp"

namespace holdfast::detail {

/// Somebody who waits on his own thread for the answer to a release.
struct blocking_release final : releaser {
    explicit blocking_release(client_state& at) : answered{at.where_to_wait()} {}
    void told(release_result how) override {
        result = how;
        answered.open();
    }
    release_result result = release_result::unknown;
    sleeper answered;
};

} // namespace holdfast::detail
