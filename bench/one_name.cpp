#include "one_name.hpp"
#include "crew.hpp"
#include "timed.hpp"

namespace bench {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t threads_of_one = 64;

/// Not all engines give a lease that is handed on inside a process a fence of its own.
[[nodiscard]] bool passes_keep_fence(const holdfast::client& client) {
    return !client.capabilities().fence_per_pass;
}

/// The rounds of one contender, counted in hand-offs, and beside that in grants of any kind.
struct twofold {
    baton& what;
    std::vector<sample> by_grant{};

    template <class Round> sample run(std::uint64_t hand_offs, Round round) {
        what.begin(hand_offs);
        what.last_fence = 0;
        const auto begin = now_ns();
        round();
        const auto took = now_ns() - begin;
        const auto found = what.result(took);
        const auto grant = static_cast<double>(took) / static_cast<double>(what.counter);
        by_grant.push_back({grant, grant, grant});
        return found;
    }
    /// Of the timed rounds: the first was to warm up, the last to count.
    [[nodiscard]] standing by_grants(std::string name) const {
        return standing_of(std::move(name), {by_grant.begin() + 1, by_grant.end() - 1});
    }
};

/// The counter is protected by nothing but the lock.
sample inside_one(const holdfast::client& client, holdfast::mutex& lock, std::uint64_t cycles) {
    std::uint64_t counter = 0;
    std::int64_t last = 0;
    std::vector<float> latencies;
    const auto took = together(threads_of_one, latencies, [&](std::size_t, auto& notes) {
        for (bool over = false; !over;) {
            const auto begin = now_ns();
            auto lease = lock.acquire();
            const auto fence = lease.fence().value();
            check(fence > last || (fence == last && passes_keep_fence(client)), "the fence grows");
            last = fence;
            over = ++counter >= cycles;
            check(lease.release() == holdfast::release_result::released, "the release is certain");
            notes.push_back(static_cast<float>(now_ns() - begin));
        }
    });
    check(latencies.size() == counter, "the counter under the lock is exact");
    return sample_of(static_cast<double>(took) / static_cast<double>(counter), latencies);
}

} // namespace

std::vector<sharing>
two_of(peer* first, peer* second, std::uint64_t hand_offs, decltype(sharing::at_most) at_most) {
    if (first == nullptr || second == nullptr)
        return {};
    const auto join = [first, second](baton&, const std::string& file) {
        return [first, second, file] {
            const auto threads = std::to_string(sharing_threads);
            first->tell("share " + file + " 0 " + threads);
            second->tell("share " + file + " 1 " + threads);
            static_cast<void>(first->answer());
            static_cast<void>(second->answer());
        };
    };
    return {{first->name(), hand_offs, join, at_most}};
}

sharing_worker::sharing_worker(const std::string& url,
                               const std::string& name,
                               std::size_t threads,
                               std::chrono::microseconds hold,
                               std::size_t who,
                               baton& what)
    : threads_{threads}, who_{who}, hold_{hold}, baton_{what}, client_{holdfast::open(url)},
      mutex_{client_, name} {}

void sharing_worker::work() {
    std::vector<float> unused;
    together(threads_, unused, [this](std::size_t, std::vector<float>&) {
        while (baton_.over.load() == 0) {
            auto lease = mutex_.acquire();
            const auto fence = lease.fence().value();
            const bool kept =
                baton_.last == who_ && fence == baton_.last_fence && passes_keep_fence(client_);
            baton_.enter(who_, kept ? 0 : fence);
            if (hold_ > 0us)
                std::this_thread::sleep_for(hold_);
            baton_.leave(who_);
            check(lease.release() == holdfast::release_result::released, "the release is certain");
        }
    });
}

void one_to_the_other(const world& here,
                      const effort& how,
                      findings& out,
                      placed where,
                      const std::string& work,
                      const std::string& name,
                      const rival& unit) {
    here.place(where);
    std::string file;
    auto& what = shared<baton>(&file);
    constexpr std::size_t one_thread = 1;
    twofold round{what};
    const auto begin = two_processes<sharing_worker>(
        where, how.url, name, one_thread, std::chrono::microseconds{held_for_a_moment})(what, file);
    const auto found = here.compete(
        how,
        {{"holdfast", how.cycles(100), [&](std::uint64_t n) { return round.run(n, begin); }},
         unit.who});
    out.lines.push_back({work,
                         where,
                         found,
                         compare(found[0], found[1], &sample::p50_ns),
                         unit.at_most,
                         "p50",
                         {}});
}

void between_processes(const world& here,
                       const effort& how,
                       findings& out,
                       placed where,
                       const std::string& work,
                       const std::string& name,
                       const std::vector<sharing>& them,
                       const std::optional<rival>& unit) {
    here.place(where);
    std::string file;
    auto& what = shared<baton>(&file);
    std::vector<sharing> all = {
        {"holdfast",
         how.cycles(200),
         two_processes<sharing_worker>(where, how.url, name, sharing_threads, 0us),
         {}}};
    all.insert(all.end(), them.begin(), them.end());

    std::vector<twofold> rounds(all.size(), twofold{what});
    std::vector<contender> contenders;
    for (std::size_t i = 0; i < all.size(); ++i)
        contenders.push_back({all[i].name + ", from process to process",
                              all[i].hand_offs,
                              [&rounds, i, round = all[i].join(what, file)](std::uint64_t n) {
                                  return rounds[i].run(n, round);
                              }});
    if (unit)
        contenders.push_back(unit->who);
    const auto found = here.compete(how, contenders);

    const auto add = [&](std::size_t rival,
                         double sample::*of,
                         const char* measure,
                         const std::optional<double>& at_most) {
        if (at_most)
            out.lines.push_back({work,
                                 where,
                                 found,
                                 compare(found[0], found[rival], of),
                                 at_most,
                                 measure,
                                 {},
                                 false,
                                 rival});
    };
    for (std::size_t i = 1; i < all.size(); ++i) {
        add(i, &sample::mean_ns, "mean", all[i].at_most.mean);
        add(i, &sample::p50_ns, "p50", all[i].at_most.p50);
        add(i, &sample::p99_ns, "p99", all[i].at_most.p99);
    }
    if (unit)
        out.lines.push_back({work,
                             where,
                             found,
                             compare(found[0], found.back(), &sample::p50_ns),
                             unit->at_most,
                             "p50",
                             {},
                             false,
                             found.size() - 1});
    std::vector<standing> grants;
    for (std::size_t i = 0; i < all.size(); ++i)
        grants.push_back(rounds[i].by_grants(all[i].name + ", all grants"));
    for (std::size_t i = 1; i < all.size(); ++i)
        out.lines.push_back({work + ", all grants",
                             where,
                             grants,
                             compare(grants[0], grants[i]),
                             all[i].at_most.grants,
                             "mean",
                             {},
                             false,
                             i});
}

void in_one_process(const world& here,
                    const effort& how,
                    findings& out,
                    placed where,
                    const std::string& work,
                    std::uint64_t cycles,
                    const one_of_them& them) {
    here.place(where);
    const auto client = holdfast::open(how.url);
    holdfast::mutex lock{client, "one"};
    std::vector<rival> rivals = {
        {{"holdfast", cycles, [&](std::uint64_t n) { return inside_one(client, lock, n); }}, {}}};
    world::join(rivals, them.who, "one 64", them.cycles, them.at_most);
    here.contest(how, out, work, where, rivals);
}

} // namespace bench
