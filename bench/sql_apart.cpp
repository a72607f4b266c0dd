// Many at once, each with a name of its own: how well a few connections are kept busy.

#include "apart.hpp"
#include "sql_world.hpp"

#include <mutex>

namespace bench {
namespace {

/// By many threads that share connections, and by one thread for each connection, whose names come
/// in turn: the most that these connections can do.
class raw_apart {
public:
    explicit raw_apart(const sql_world& world)
        : shared_{world.connect(world.server->as_many())}, own_{world.connect(
                                                               world.server->as_many())} {
        for (std::size_t i = 0; i < raw_names; ++i)
            all_.push_back({raw_name(i), 0});
    }

    [[nodiscard]] sample by_many(std::uint64_t cycles) {
        return by_threads(threads_apart, cycles, [this](std::size_t who) {
            auto& mine = all_[who];
            const auto fence = shared_.with([&](raw_sql& on) { return on.take(mine.name); });
            check(fence > mine.last_fence, "the raw fence grows");
            mine.last_fence = fence;
            check(shared_.with([&](raw_sql& on) { return on.release(mine.name); }),
                  "the raw release is certain");
        });
    }

    [[nodiscard]] sample one_for_each(std::uint64_t cycles) {
        std::vector<std::size_t> turn(own_.size());
        return by_threads(own_.size(), cycles, [&](std::size_t who) {
            const auto share = raw_names / own_.size();
            auto& mine = all_[who * share + turn[who]++ % share];
            raw_cycle(*own_[who], mine.name, mine.last_fence);
        });
    }

private:
    struct lock {
        std::string name;
        std::int64_t last_fence;
    };
    raw_connections shared_;
    std::vector<std::unique_ptr<raw_sql>> own_;
    std::vector<lock> all_;
};

[[nodiscard]] std::vector<rival> field(const sql_world& world,
                                       std::function<sample(std::uint64_t)> ours,
                                       raw_apart& raw,
                                       std::uint64_t cycles) {
    const auto many = std::to_string(world.server->as_many());
    return {{{"holdfast", cycles, std::move(ours)}, {}},
            {{"raw, 64 threads on " + many + " connections",
              cycles,
              [&raw](std::uint64_t n) { return raw.by_many(n); }},
             1 / 0.8},
            {{"raw, " + many + " threads with a connection each",
              cycles,
              [&raw](std::uint64_t n) { return raw.one_for_each(n); }},
             {}}};
}

void with_threads(sql_world& world, const effort& how, placed where, findings& out) {
    const auto cycles = how.cycles(1280) / threads_apart * threads_apart;
    plots all{how.url, threads_apart};
    raw_apart raw{world};
    const auto cycle = [&](std::size_t who) { cycle_of(all.locks[who], all.last_fence[who])(); };
    const auto hold = [&](std::size_t who) { const std::scoped_lock held{all.locks[who]}; };

    world.contest(
        how,
        out,
        world.work("64 threads, a name each"),
        where,
        field(
            world, [&](auto n) { return by_threads(threads_apart, n, cycle); }, raw, cycles));
    world.contest(
        how,
        out,
        world.work("64 threads, lock + unlock, which does not wait"),
        where,
        field(
            world, [&](auto n) { return by_threads(threads_apart, n, hold); }, raw, cycles));
}

void with_coroutines(sql_world& world, const effort& how, placed where, findings& out) {
    const auto cycles = how.cycles(2000) / threads_apart * threads_apart;
    plots all{how.url, coroutines_apart};
    raw_apart raw{world};
    world.contest(how,
                  out,
                  world.work("1,000 coroutines, a name each"),
                  where,
                  field(
                      world, [&](auto n) { return by_coroutines(all, n); }, raw, cycles));
}

} // namespace

void sql_apart(sql_world& world, const effort& how, findings& out) {
    for (const auto where : places()) {
        world.place(where);
        with_threads(world, how, where, out);
        with_coroutines(world, how, where, out);
    }
}

} // namespace bench
