// Whole conversations with a server that says what it likes, whenever it likes.

#include "backends/redis/backend.hpp"
#include "mutate.hpp"
#include "unit/backends/redis/peer.hpp"

#include <map>

using namespace std::chrono_literals;

namespace holdfast::redis::fuzz {
namespace {

using holdfast::fuzz::for_many_seeds;
using holdfast::fuzz::mutator;

/// Counts answers, and believes nothing that cannot be.
class witness final : public backend_events {
public:
    void attempted(ticket t, attempt_answer a) override {
        if (const auto* yes = std::get_if<grant>(&a)) {
            EXPECT_GT(yes->fence.value(), 0);
            EXPECT_LE(yes->fence.value(), INT64_MAX - static_cast<std::int64_t>(yes->reserved));
        }
        answered(t);
    }
    void withdrawn(ticket t, applied) override { answered(t); }
    void released(ticket t, release_result) override { answered(t); }
    void renewed(ticket t, std::span<const renewal_answer>) override { answered(t); }
    void inspected(ticket t, response<std::vector<lock_info>>) override { answered(t); }
    void examined(ticket t, std::vector<finding>) override { answered(t); }
    void forced(ticket t, response<std::size_t>) override { answered(t); }
    void woken(const nonce&) override {}
    void granted(const nonce&, const grant&) override {}
    void bond_lost(bond_id) override {}
    void grant_lost(const nonce&) override {}
    void wanted(const nonce&) override {}
    void link(link_state, std::string_view) override {}
    void notice(std::string_view) override {}

    [[nodiscard]] std::size_t count() {
        const std::lock_guard lock{guard_};
        return times_.size();
    }

private:
    void answered(ticket t) {
        const std::lock_guard lock{guard_};
        EXPECT_EQ(++times_[t], 1) << "each call is answered once";
    }
    std::mutex guard_;
    std::map<ticket, int> times_;
};

const std::vector<std::string> answers = {
    "+OK\r\n",
    "$-1\r\n",
    "*2\r\n:1\r\n$16\r\n1700000000000001\r\n",
    "*4\r\n:0\r\n:1500\r\n$3\r\nc:7\r\n:3\r\n",
    "*2\r\n:-1\r\n$16\r\n1700000000000001\r\n",
    ":1\r\n",
    "*1\r\n:1\r\n",
    "*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n",
    "*1\r\n$6\r\nmaster\r\n",
    "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nn\r\n",
    "*2\r\n$1\r\n7\r\n*2\r\n$10\r\n{n}:timeout\r\n$17\r\nholdfast_client:x\r\n",
    "-NOSCRIPT No matching script\r\n",
    "-MOVED 1 127.0.0.1:1\r\n",
    "-ASK 1 127.0.0.1:1\r\n",
    "-LOADING x\r\n",
    "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\n0\r\n",
    "$62\r\nrun_id:x\r\nuptime_in_seconds:1\r\nmaxmemory:1\r\naof_enabled:0\r\n\r\n",
    "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:1\r\n"};
const std::vector<std::string> words = {
    "\r\n", "*", "$", ":", "-1", "*0\r\n", "9223372036854775807", ":0\r\n", "x"};

class hostile_server {
public:
    explicit hostile_server(std::uint64_t seed)
        : thread_{[this, seed] {
              mutator m{seed};
              while (!done_)
                  if (peer_.called_within(5ms))
                      serve(m);
          }} {}
    ~hostile_server() {
        done_ = true;
        thread_.join();
    }
    hostile_server(const hostile_server&) = delete;
    hostile_server& operator=(const hostile_server&) = delete;
    [[nodiscard]] int port() const { return peer_.port(); }

private:
    // One connection after another; most get a proper greeting, so that the rest is seen, too.
    void serve(mutator& m) {
        auto who = peer_.accept();
        const auto proper = m.below(60);
        for (std::size_t i = 0; !done_ && i < 80; ++i) {
            if (!who.readable_within(5ms))
                return;
            const auto heard = who.hear();
            if (!heard)
                return;
            if (i < proper)
                who.say(heard->at(0) == "ROLE"      ? answers[8]
                        : heard->at(0) == "TIME"    ? answers[7]
                        : heard->at(0) == "EVALSHA" ? answers[2 + m.below(5)]
                                                    : "+OK\r\n");
            else
                who.say(m.text(answers, words));
        }
    }
    test::peer peer_;
    std::atomic<bool> done_{false};
    std::thread thread_;
};

TEST(fuzz_redis_streams, no_server_keeps_a_caller_waiting_or_fools_it) {
    for_many_seeds(60, [&](mutator& m) {
        const hostile_server server{m.below(1'000'000)};
        options o;
        o.servers = {{"127.0.0.1", server.port()}};
        o.topology = m.below(4) == 0 ? topology::cluster : topology::single;
        o.quarantine = {};
        o.silence = o.connect_timeout = 50ms;
        o.acknowledge = m.below(4) == 0 ? 1 : 0;
        o.acknowledge_within = 20ms;
        witness told;
        redis_backend engine{o};
        engine.start(told);
        std::uint64_t last = 0;
        constexpr std::size_t calls = 40;
        const auto drive = [&] {
            pollfd both[] = {{engine.descriptor(), POLLIN, 0},
                             {engine.background_descriptor(), POLLIN, 0}};
            if (::poll(both, 2, 5) > 0) {
                engine.on_readable();
                engine.on_background();
            }
        };
        for (std::size_t i = 0; i < calls; ++i) {
            const auto now = boot_clock::now();
            const call c{ticket{++last}, now, now + 60ms};
            auto what = std::make_shared<claim>();
            what->name = "n";
            what->ttl = 1s;
            what->nonce.bytes[0] = static_cast<unsigned char>(i);
            switch (m.below(8)) {
            case 0:
                engine.inspect(c, m.below(2) == 0 ? "*" : "n");
                break;
            case 1:
                engine.examine(c);
                break;
            case 2:
                engine.withdraw(c, what);
                break;
            case 3:
                engine.release(c, what, grant{});
                break;
            case 4:
                engine.force_release(c, "n");
                break;
            case 5: {
                const bond_id some[] = {bond_id{1}, bond_id{2}};
                engine.renew(c, some);
                break;
            }
            default:
                engine.attempt(c, what, m.below(2) == 0 ? joining::queue : joining::none);
            }
            drive();
        }
        const auto give_up = boot_clock::now() + 5s;
        while (told.count() < calls && boot_clock::now() < give_up)
            drive();
        EXPECT_EQ(told.count(), calls);
        engine.close(boot_clock::now() + 10ms);
    });
}

} // namespace
} // namespace holdfast::redis::fuzz
