#pragma once

namespace holdfast::simulation {

class world;

/// Lets the faults that the options ask for befall the world, again and again, until it is healed.
void unleash_faults(world&);

} // namespace holdfast::simulation
