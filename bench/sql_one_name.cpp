// One name that all want all the time: between two processes, and inside one.

#include "one_name.hpp"
#include "sql_world.hpp"
#include "timed.hpp"

namespace bench {
namespace {

/// ShedLock knows no waiting: who finds the name taken asks again a little later.
class shed_worker {
public:
    shed_worker(const sql_server* server, std::size_t who, baton& what) : who_{who}, baton_{what} {
        for (std::size_t i = 0; i < sharing_threads; ++i)
            mine_.push_back(
                server->connect("shed " + std::to_string(who) + "/" + std::to_string(i)));
    }

    void work() {
        std::vector<float> unused;
        together(sharing_threads, unused, [this](std::size_t thread, std::vector<float>&) {
            auto& on = *mine_[thread];
            while (baton_.over.load() == 0) {
                if (!on.shed_take()) {
                    std::this_thread::sleep_for(std::chrono::milliseconds{10});
                    continue;
                }
                baton_.enter(who_, 0);
                baton_.leave(who_);
                check(on.shed_release(), "the release is certain");
            }
        });
    }

private:
    std::size_t who_;
    baton& baton_;
    std::vector<std::unique_ptr<raw_sql>> mine_;
};

void measure(sql_world& world, const effort& how, placed where, findings& out) {
    auto them = two_of(world.python.get(), world.second_python.get(), how.cycles(100), {});
    const sql_server* const server = world.server.get();
    them.push_back({"as ShedLock, in C++", 10, two_processes<shed_worker>(where, server), {}});
    const auto raw = world.server->connect("raw");
    const auto once = [&] { raw->commit(); };
    const auto name = std::string{"shared, "} + name_of(where);
    one_to_the_other(world,
                     how,
                     out,
                     where,
                     world.work("a hand-off between 2 processes"),
                     name,
                     {{"one statement, committed, after a pause",
                       how.cycles(100),
                       [&](auto n) { return timed_after(held_for_a_moment, n, once); }},
                      world.server->hand_off_trips()});
    const rival trip{
        {"one statement, committed", how.cycles(200), [&](auto n) { return timed(n, once); }}, {}};
    between_processes(world, how, out, where, world.work(work_of_two), name, them, trip);
}

} // namespace

void sql_one_name(sql_world& world, const effort& how, findings& out) {
    for (const auto where : places())
        measure(world, how, where, out);
    for (const auto where : places())
        in_one_process(world,
                       how,
                       out,
                       where,
                       world.work(work_of_one),
                       how.cycles(2000),
                       {world.python.get(), how.cycles(150), {}});
}

} // namespace bench
