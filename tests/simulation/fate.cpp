#include "simulation/fate.hpp"

namespace holdfast::simulation {

using namespace std::chrono_literals;

duration random_fate::usual() { return luck_.between(o_.delay_least, o_.delay_most); }

journey random_fate::travel() {
    journey j{.delay = usual()};
    if (healed_)
        return j;
    j.lost = luck_.permille(o_.lost_permille);
    if (luck_.permille(o_.slow_permille))
        j.delay = luck_.between(o_.delay_most, std::max(o_.delay_most, o_.ttl / 8));
    if (luck_.permille(o_.doubled_permille))
        j.again = j.delay + luck_.between(0us, luck_.permille(300) ? o_.ttl * 2 : o_.delay_most);
    return j;
}

journey random_fate::of_request() {
    auto j = travel();
    if (!healed_ && luck_.permille(o_.late_permille))
        j.delay = luck_.between(o_.ttl / 10, o_.ttl * 3 / 2);
    return j;
}

journey random_fate::of_answer() {
    auto j = travel();
    j.again.reset(); // who has heard it once drops it the second time
    if (!healed_ && luck_.permille(o_.late_permille))
        j.delay = luck_.between(o_.ttl / 10, o_.ttl);
    return j;
}

duration random_fate::of_effect() {
    if (!healed_ && luck_.permille(o_.slow_effect_permille))
        return luck_.between(o_.ttl / 10, o_.ttl * 2);
    return luck_.between(20us, 300us);
}

duration random_fate::of_timer() { return luck_.between(0us, luck_.permille(20) ? 2ms : 100us); }

duration random_fate::between_deciding_and_doing() {
    return !healed_ && luck_.permille(o_.descheduled_permille) ? luck_.between(10us, 5ms) : 0us;
}

} // namespace holdfast::simulation
