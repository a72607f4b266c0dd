#include <holdfast/guarantee.hpp>

namespace holdfast {

std::string what_is_missing(const capabilities& able, guarantees wanted) {
    const std::string engine = able.engine;
    if (wanted.has(guarantee::fence) && able.fences == fence_grade::none)
        return engine + " gives no fences";
    if (wanted.has(guarantee::survives_restart)) {
        if (able.assumes(assumption::engine_remembers))
            return engine + " may forget what it granted when it restarts";
        if (able.fences == fence_grade::transient)
            return engine + " begins its fences anew when it restarts";
    }
    if (wanted.has(guarantee::survives_clock_jump) &&
        able.assumes(assumption::engine_clock_never_jumps))
        return "a jump of the clock of " + engine + " can end a lock before its time";
    if (wanted.has(guarantee::fair) && !able.fair)
        return engine + " keeps no order among waiters";
    if (wanted.has(guarantee::survives_death) && able.loses_permits)
        return engine + ", as it was opened, loses the permits of the dead";
    return {};
}

} // namespace holdfast
