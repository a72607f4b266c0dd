#include "redis_world.hpp"
#include "raw_redis.hpp"

#include <sstream>
#include <unistd.h>

namespace bench {

redis_process::redis_process()
    : port_{free_port()}, program_{{"redis-server",
                                    "--bind",
                                    "127.0.0.1",
                                    "--port",
                                    std::to_string(port_),
                                    "--save",
                                    "",
                                    "--appendonly",
                                    "no"}} {
    const auto answers = [this] {
        const int s = connect_to(port_);
        return s >= 0 && ::close(s) == 0;
    };
    program_.wait_until(answers, "redis-server starts");
}

redis_world::redis_world(bool in_a_hurry) {
    serves(server.running());
    redisson = invite("redisson", server.address());
    second_redisson = invite("redisson", server.address(), 1);
    rueidislock = invite("rueidislock", server.address());
    redsync = invite("redsync", server.address());
    redis_py = invite("redis-py", server.address());
    warm_up(in_a_hurry,
            {redisson.get(), second_redisson.get()},
            {"alone 2000", "apart 64 4000", "flying 100 4000", "one 16 1000"});
}

std::string redis_world::versions() const {
    redis_wire wire{server.port()};
    std::istringstream lines{wire.ask({"INFO", "server"})};
    constexpr std::string_view key = "redis_version:";
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(key))
            return "Redis " + line.substr(key.size(), line.size() - key.size() - 1) +
                   " without persistence, over loopback";
    return "Redis";
}

} // namespace bench
