#include "promise.hpp"
#include "world.hpp"

#include <array>
#include <atomic>
#include <thread>

namespace holdfast::sqlite::test {
namespace {

/// Remembers the answer to each ticket; the rest is only counted.
class by_ticket final : public backend_events {
public:
    static constexpr std::size_t most = 8;

    void attempted(ticket t, attempt_answer a) override {
        answers[static_cast<std::size_t>(t)] = std::move(a);
    }
    void withdrawn(ticket, applied) override {}
    void released(ticket t, release_result r) override {
        releases[static_cast<std::size_t>(t)] = r;
    }
    void renewed(ticket, std::span<const renewal_answer>) override {}
    void inspected(ticket, response<std::vector<lock_info>>) override {}
    void examined(ticket, std::vector<finding>) override {}
    void forced(ticket, response<std::size_t>) override {}
    void woken(const nonce&) override { ++events; }
    void granted(const nonce&, const grant&) override { ++events; }
    void bond_lost(bond_id) override { ++lost; }
    void grant_lost(const nonce&) override { ++lost; }
    void wanted(const nonce&) override { ++events; }
    void link(link_state, std::string_view) override {}
    void notice(std::string_view) override {}

    std::array<attempt_answer, most> answers; // each slot belongs to one thread
    std::array<release_result, most> releases{};
    std::atomic<int> events{0}, lost{0};
};

TEST(sqlite_threads, share_one_client_without_harm) {
    const temporary_directory directory;
    const auto engine = make({.path = directory.file()});
    by_ticket said;
    engine->start(said);
    std::atomic<int> inside{0}, overlaps{0}, entered{0};

    const auto work = [&](std::size_t me) {
        const auto id = static_cast<ticket>(me);
        for (int i = 0; i < 300; ++i) {
            const auto at = boot_clock::now();
            const auto mine = claim_for({.name = "common"});
            engine->attempt({id, at, at + soon}, mine, joining::none);
            if (const auto* given = std::get_if<grant>(&said.answers[me])) {
                overlaps += inside++ != 0 ? 1 : 0;
                ++entered;
                --inside;
                engine->release({id, at, at + soon}, mine, *given);
                overlaps += said.releases[me] != release_result::released ? 1 : 0;
            }
            if (me == 0)
                engine->inspect({id, at, at + soon}, "*");
            if (me == 1)
                engine->on_readable();
            if (me == 2)
                engine->forget(bond_id{1'000'000});
        }
    };
    std::vector<std::thread> all;
    for (std::size_t i = 0; i < 4; ++i)
        all.emplace_back(work, i);
    for (auto& each : all)
        each.join();
    EXPECT_EQ(overlaps, 0) << promise_broken;
    EXPECT_GT(entered, 0);
    EXPECT_EQ(said.lost, 0);
    engine->close(boot_clock::now() + soon);
    EXPECT_EQ(look(directory.file(), "SELECT count(*) FROM holder"), 0);
}

TEST(sqlite_threads, events_are_told_with_nothing_locked) {
    // An event that asks the backend something at once would hang if a lock were held.
    class asks_back final : public backend_events {
    public:
        void attempted(ticket, attempt_answer) override {}
        void withdrawn(ticket, applied) override {}
        void released(ticket, release_result) override {}
        void renewed(ticket, std::span<const renewal_answer>) override {}
        void inspected(ticket, response<std::vector<lock_info>> r) override {
            seen = r.has_value();
        }
        void examined(ticket, std::vector<finding>) override {}
        void forced(ticket, response<std::size_t>) override {}
        void woken(const nonce&) override {}
        void granted(const nonce&, const grant&) override {
            const auto at = boot_clock::now();
            engine->inspect({{}, at, at + soon}, "*");
        }
        void bond_lost(bond_id) override {}
        void grant_lost(const nonce&) override {}
        void wanted(const nonce&) override {}
        void link(link_state, std::string_view) override {}
        void notice(std::string_view) override {}
        backend* engine = nullptr;
        bool seen = false;
    } said;
    const temporary_directory directory;
    const auto engine = make({.path = directory.file()});
    said.engine = engine.get();
    engine->start(said);
    peer other{directory.file()};
    const auto first = claim_for({});
    const auto held = other.take(first);
    const auto at = boot_clock::now();
    engine->attempt({{}, at, at + soon}, claim_for({}), joining::queue);
    other.release(first, held);
    engine->on_readable();
    EXPECT_TRUE(said.seen);
    engine->close(boot_clock::now() + soon);
}

} // namespace
} // namespace holdfast::sqlite::test
