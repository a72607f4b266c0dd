#pragma once

namespace holdfast {

/// Said by a test that saw two holders at once, a count that is not exact, a fence that went back,
/// a stale write accepted, or a deliberate defect pass. Load is no excuse for that: `./dev test`
/// takes no second look at a test in whose output it finds these words.
inline constexpr const char* promise_broken = "PROMISE BROKEN ";

} // namespace holdfast
