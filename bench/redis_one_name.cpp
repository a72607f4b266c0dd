// One name that all want all the time: between two processes, and inside one.

#include "one_name.hpp"
#include "redis_world.hpp"

namespace bench {

void redis_one_name(redis_world& world, const effort& how, findings& out) {
    const auto two = two_of(world.redisson.get(),
                            world.second_redisson.get(),
                            how.cycles(100),
                            {.mean = 1 / 2.0, .p50 = {}, .p99 = 0.5, .grants = 1 / 3.0});
    const one_of_them one{world.redisson.get(), how.cycles(250), 1 / 10.0};
    for (const auto where : places())
        between_processes(world, how, out, where, work_of_two, "shared", two);
    for (const auto where : places())
        in_one_process(world, how, out, where, work_of_one, how.cycles(5000), one);
}

} // namespace bench
