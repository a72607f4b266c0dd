#include "world.hpp"

#include <cstdio>

namespace bench {

void world::join(std::vector<rival>& all,
                 peer* who,
                 std::string command,
                 std::uint64_t cycles,
                 std::optional<double> at_most) {
    if (who == nullptr)
        return;
    auto run = [who, command = std::move(command)](std::uint64_t n) {
        return who->ask(command + " " + std::to_string(n));
    };
    all.push_back({{who->name(), cycles, std::move(run)}, at_most});
}

std::unique_ptr<peer>
world::invite(const char* name, const std::string& address, std::size_t which) {
    auto who = peer::start(name, address);
    if (who)
        peers_.push_back({who->pid(), which});
    return who;
}

void world::warm_up(bool in_a_hurry,
                    std::initializer_list<peer*> peers,
                    std::initializer_list<const char*> works) {
    if (in_a_hurry)
        std::fprintf(stderr, "bench: a quick run warms Java up for ten seconds only\n");
    for (auto* who : peers) {
        const auto until = now_ns() + (in_a_hurry ? 10 : 20) * std::int64_t{1'000'000'000};
        while (who != nullptr && now_ns() < until)
            for (const char* const work : works)
                static_cast<void>(who->ask(work));
    }
}

void world::place(placed where) const {
    bench::place(where);
    for (const int pid : servers_)
        place_process(pid, where, 1);
    for (const auto& one : peers_)
        place_process(one.pid, where, one.which);
}

std::vector<standing> world::compete(const effort& how, const std::vector<contender>& all) const {
    return bench::compete(all, how.rounds, servers_, requests_);
}

std::vector<standing> world::contest(const effort& how,
                                     findings& out,
                                     const std::string& work,
                                     placed where,
                                     const std::vector<rival>& rivals) const {
    std::vector<contender> all;
    for (const auto& one : rivals)
        all.push_back(one.who);
    auto found = compete(how, all);
    for (std::size_t i = 1; i < found.size(); ++i)
        out.lines.push_back({work,
                             where,
                             found,
                             compare(found[0], found[i]),
                             rivals[i].at_most,
                             "mean",
                             {},
                             false,
                             i});
    return found;
}

} // namespace bench
