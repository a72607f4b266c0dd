// One name that all want all the time: between two processes, and inside one.

#include "one_name.hpp"
#include "zookeeper_world.hpp"

namespace bench {

void zookeeper_one_name(zookeeper_world& world, const effort& how, findings& out) {
    const auto two = two_of(world.curator.get(),
                            world.second_curator.get(),
                            how.cycles(100),
                            {.mean = {}, .p50 = 0.6, .p99 = {}, .grants = {}});
    const one_of_them one{world.curator.get(), how.cycles(150), 1 / 10.0};
    for (const auto where : places()) {
        // Workers end without a word, and their sessions later: never wait for those of before.
        const auto name = std::string{"shared, "} + name_of(where);
        between_processes(world, how, out, where, work_of_two, name, two);
    }
    for (const auto where : places())
        in_one_process(world, how, out, where, work_of_one, how.cycles(2000), one);
}

} // namespace bench
