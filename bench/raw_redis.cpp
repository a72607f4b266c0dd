#include "raw_redis.hpp"
#include "backends/redis/protocol.hpp"
#include "programs.hpp"
#include "timed.hpp"

#include <array>
#include <atomic>
#include <charconv>
#include <deque>
#include <functional>
#include <mutex>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sstream>
#include <sys/socket.h>
#include <unistd.h>

namespace bench {

using holdfast::redis::reply;
using holdfast::redis::reply_reader;

redis_wire::redis_wire(std::uint16_t port) : socket_{connect_to(port)} {
    check(socket_ >= 0, "Redis can be reached");
    const int yes = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

redis_wire::~redis_wire() { ::close(socket_); }

void redis_wire::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        check(sent > 0, "Redis listens");
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

bool redis_wire::next_if_here(reply& out) {
    const auto found = replies_.next(out);
    check(found != reply_reader::found::nonsense, "Redis speaks its own language");
    return found == reply_reader::found::reply;
}

reply redis_wire::next() {
    reply out;
    while (!next_if_here(out)) {
        std::array<char, 16 * 1024> bytes;
        const auto got = ::recv(socket_, bytes.data(), bytes.size(), 0);
        check(got > 0 && replies_.feed({bytes.data(), static_cast<std::size_t>(got)}),
              "Redis answers");
    }
    return out;
}

std::string redis_wire::ask(std::initializer_list<std::string_view> words) {
    std::string bytes;
    holdfast::redis::append_command(bytes, words);
    send(bytes);
    const auto answer = next();
    check(!answer.is_error(), "Redis does as it is told");
    const auto number = answer.number();
    return number ? std::to_string(*number) : std::string{answer.text()};
}

// Who holds need not be told apart: each name has one holder, always the same.
raw_redis::raw_redis(std::uint16_t port, std::size_t names) : wire_{port}, all_(names) {
    using namespace holdfast;
    const redis::protocol says{redis::layout::redisson,
                               "",
                               redis::announcing::publish,
                               std::chrono::hours{24 * 30},
                               "0f7c1b52-6d0e-4f0a-9a52-3f1d6a4f0c11"};
    constexpr std::int64_t in_the_year_2100 = 4'102'444'800'000'000;
    for (std::size_t i = 0; i < names; ++i) {
        claim what;
        what.name = "raw/" + std::to_string(i);
        what.ttl = std::chrono::seconds{30};
        what.nonce.bytes[0] = static_cast<std::uint8_t>(i);
        const auto how = redis::calling::by_digest;
        says.attempt(all_[i].acquire, what, joining::queue, in_the_year_2100, how);
        says.give_back(all_[i].release, what, how);
    }
    for (const auto* one : {&redis::all_scripts().take, &redis::all_scripts().give_back})
        check(wire_.ask({"SCRIPT", "LOAD", one->text}) == one->sha, "the digests agree");
}

void raw_redis::granted(lock& l, const reply& r) const {
    check(r.size() == 2 && r[0].number() == 1, "nobody holds it");
    const auto fence = r[1].number().value_or(0);
    check(fence > l.last_fence, "the raw fence grows");
    l.last_fence = fence;
    l.held = true;
}

void raw_redis::gone(lock& l, const reply& r) const {
    check(r.number().value_or(0) >= 1, "the raw release is certain");
    l.held = false;
}

sample raw_redis::blocking(std::uint64_t cycles) {
    auto& mine = all_.front();
    return timed(cycles, [&] {
        wire_.send(mine.acquire);
        granted(mine, wire_.next());
        wire_.send(mine.release);
        gone(mine, wire_.next());
    });
}

sample raw_redis::together(std::uint64_t cycles) {
    auto& mine = all_.front();
    const auto both = mine.release + mine.acquire;
    wire_.send(mine.acquire);
    granted(mine, wire_.next());
    const auto found = timed(cycles, [&] {
        wire_.send(both);
        gone(mine, wire_.next());
        granted(mine, wire_.next());
    });
    wire_.send(mine.release);
    gone(mine, wire_.next());
    return found;
}

sample raw_redis::pipelined(std::uint64_t cycles) {
    std::vector<float> latencies;
    latencies.reserve(cycles);
    std::deque<lock*> unanswered;
    std::string out;
    std::uint64_t begun = 0;
    const auto begin = now_ns();
    const auto step = [&](lock& l) {
        const auto now = now_ns();
        if (!l.held && l.began != 0)
            latencies.push_back(static_cast<float>(now - std::exchange(l.began, 0)));
        if (!l.held && begun++ >= cycles)
            return;
        if (!l.held)
            l.began = now;
        out += l.held ? l.release : l.acquire;
        unanswered.push_back(&l);
    };
    for (auto& one : all_)
        step(one);
    while (!unanswered.empty()) {
        wire_.send(out);
        out.clear();
        auto answer = wire_.next();
        do {
            auto& whose = *unanswered.front();
            unanswered.pop_front();
            whose.held ? gone(whose, answer) : granted(whose, answer);
            step(whose);
        } while (wire_.next_if_here(answer));
    }
    check(latencies.size() == cycles, "all cycles were done");
    const auto took = static_cast<double>(now_ns() - begin);
    return sample_of(took / static_cast<double>(cycles), latencies);
}

/// One connection for many threads: whoever waits and finds nobody reading, reads for all.
class raw_redis::shared_wire {
public:
    explicit shared_wire(redis_wire& wire) : wire_{wire} {}

    template <class Answered> void ask(std::string_view bytes, Answered answered) {
        slot mine;
        mine.answered = [&](const reply& r) { answered(r); };
        std::unique_lock lock{guard_};
        out_.append(bytes);
        unanswered_.push_back(&mine);
        if (reading_) {
            lock.unlock();
            mine.state.wait(waits);
            if (mine.state == done)
                return;
            lock.lock();
        }
        reading_ = true;
        read_until_done(mine, lock);
        reading_ = false;
        if (unanswered_.empty())
            return;
        reading_ = true; // the last is the one that would otherwise sleep longest
        unanswered_.back()->state = leads;
        unanswered_.back()->state.notify_one();
    }

private:
    enum : int { waits, leads, done };
    struct slot {
        std::function<void(const reply&)> answered;
        std::atomic<int> state{waits};
    };

    void read_until_done(slot& mine, std::unique_lock<std::mutex>& lock) {
        while (mine.state != done) {
            auto out = std::exchange(out_, {});
            lock.unlock();
            wire_.send(out);
            auto answer = wire_.next();
            lock.lock();
            do {
                auto& whose = *unanswered_.front();
                unanswered_.pop_front();
                whose.answered(answer);
                auto& state = whose.state;
                state = done; // and it may be gone
                if (&whose != &mine)
                    state.notify_one();
            } while (wire_.next_if_here(answer));
        }
    }

    redis_wire& wire_;
    std::mutex guard_;
    std::string out_;
    std::deque<slot*> unanswered_;
    bool reading_ = false;
};

sample raw_redis::threads(std::uint64_t cycles) {
    shared_wire wire{wire_};
    return by_threads(all_.size(), cycles, [&](std::size_t who) {
        auto& mine = all_[who];
        wire.ask(mine.acquire, [&](const reply& r) { granted(mine, r); });
        wire.ask(mine.release, [&](const reply& r) { gone(mine, r); });
    });
}

std::map<std::string, std::int64_t> commands_done(redis_wire& wire) {
    std::map<std::string, std::int64_t> out;
    std::istringstream lines{wire.ask({"INFO", "commandstats"})};
    constexpr std::string_view before = "cmdstat_", between = ":calls=";
    for (std::string line; std::getline(lines, line);)
        if (const auto at = line.find(between); line.starts_with(before) && at != line.npos)
            out[line.substr(before.size(), at - before.size())] =
                std::stoll(line.substr(at + between.size()));
    return out;
}

} // namespace bench
