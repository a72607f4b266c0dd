#pragma once

#include <holdfast/clock.hpp>

#include <thread>

namespace holdfast::detail {

/// Keeps this thread for so long. Only for calls that block anyway, such as open().
inline void pause_for(duration d) { std::this_thread::sleep_for(d); }

} // namespace holdfast::detail
