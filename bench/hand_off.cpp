// From one process to the next: eight processes want one lock all the time.
//
// The limit is what any lock in a SQLite file must do to change hands: the transaction that lets
// go, one wake-up, the transaction that takes. It is measured as such: eight processes in a ring,
// each sleeping on a FIFO until the one before it writes a byte, so nobody ever meets anybody in
// the file. Ours has no such luck: who has let go comes back at once and queues, in a third
// transaction.

#include "crew.hpp"
#include "raw_sqlite.hpp"
#include "rows.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <fcntl.h>
#include <memory>
#include <optional>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bench {
namespace {

enum order : int { with_holdfast, with_raw, with_flock };

/// One of the eight. Everything is opened in the process that uses it.
class worker {
public:
    worker(const effort& how, std::size_t who, baton& what)
        : who_{who}, baton_{what}, raw_{how.directory + "/ring.db"},
          client_{holdfast::open("sqlite:" + how.directory + "/hand_off.db")}, mutex_{client_,
                                                                                      "orders/42"},
          flock_{::open((how.directory + "/flock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)},
          own_{open_fifo(how, who)}, next_{open_fifo(how, (who + 1) % crew_size)} {}

    void work(int order) {
        switch (order) {
        case with_holdfast:
            return hold();
        case with_raw:
            return go_round();
        case with_flock:
            return flock_it();
        }
    }

private:
    static int open_fifo(const effort& how, std::size_t who) {
        const auto path = how.directory + "/ring." + std::to_string(who);
        ::mkfifo(path.c_str(), 0600);
        return ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    }

    void hold() {
        while (baton_.over.load() == 0) {
            auto lease = mutex_.acquire();
            baton_.enter(who_, lease.fence().value());
            baton_.leave(who_);
            check(lease.release() == holdfast::release_result::released, "the release is certain");
        }
    }

    void go_round() {
        for (bool first = who_ == 0;; first = false) {
            if (!first) {
                pollfd readable{own_, POLLIN, 0};
                ::poll(&readable, 1, -1); // as ours: who waits for more than one thing polls
                char byte = 0;
                check(::read(own_, &byte, 1) == 1, "the ring goes on");
            }
            const auto fence = raw_.acquire("orders/42");
            check(fence != 0, "nobody holds it");
            baton_.enter(who_, fence);
            const bool over = baton_.over.load() != 0;
            const bool all_know = over && baton_.over.fetch_add(1) == crew_size;
            baton_.leave(who_);
            raw_.release("orders/42");
            if (!all_know) // once more round, so that everybody stops
                check(::write(next_, "", 1) == 1, "the ring goes on");
            if (over)
                return;
        }
    }

    void flock_it() {
        while (baton_.over.load() == 0) {
            check(::flock(flock_, LOCK_EX) == 0, "flock locks");
            baton_.enter(who_, 0);
            baton_.leave(who_);
            check(::flock(flock_, LOCK_UN) == 0, "flock unlocks");
        }
    }

    std::size_t who_;
    baton& baton_;
    raw_sqlite raw_;
    holdfast::client client_;
    holdfast::mutex mutex_;
    int flock_, own_, next_;
};

void measure(const effort& how, placed where, findings& out) {
    auto& what = shared<baton>();
    {
        const raw_sqlite made{how.directory + "/ring.db"};
    } // eight at once would fight over making it
    std::optional<worker> me;
    crew all{where, [&](std::size_t who, int order) {
                 if (!me)
                     me.emplace(how, who, what);
                 me->work(order);
             }};
    std::vector<double> again(3);
    const auto round_of = [&](int order) {
        return [&, order](std::uint64_t hand_offs) {
            what.begin(hand_offs);
            what.last_fence = 0;
            const auto took = all.order(order);
            again[static_cast<std::size_t>(order)] = what.again_share();
            return what.result(took);
        };
    };
    const contender contenders[] = {
        {"holdfast on a file", how.cycles(1000), round_of(with_holdfast)},
        {"two raw transactions and a wake-up", how.cycles(1000), round_of(with_raw)},
        {"flock(2)", how.cycles(20), round_of(with_flock)},
    };
    auto standings = compete(contenders, how.rounds);
    const auto slower = compare(standings[0], standings[1], &sample::p50_ns);
    const auto per_hundred = [&](std::size_t i) {
        return std::to_string(static_cast<int>(again[i] * 100 + 0.5)) + " %";
    };
    out.lines.push_back({"hand-off between 8 processes",
                         where,
                         std::move(standings),
                         slower,
                         1.5,
                         "p50",
                         "got again by who had let go, not counted: ours " + per_hundred(0) +
                             ", flock " + per_hundred(2)});
}

} // namespace

void hand_off(const effort& how, findings& out) {
    for (const auto where : places())
        measure(how, where, out);
}

} // namespace bench
