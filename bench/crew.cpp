#include "crew.hpp"

#include <cstdlib>
#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {

void baton::enter(std::size_t who, std::int64_t fence, bool timed) {
    const auto now = now_ns();
    auto& mine = of[who];
    ++counter;
    ++mine.entries;
    if (fence != 0) {
        check(fence > last_fence, "the fence grows");
        last_fence = fence;
    }
    if (last != who && left_at != 0) {
        ++mine.hand_offs;
        if (timed && mine.kept < tally::room)
            mine.latencies[mine.kept++] = static_cast<float>(now - left_at);
        if (++hand_offs == enough)
            over.store(1);
    }
}

void baton::leave(std::size_t who) {
    last = who;
    left_at = now_ns();
}

void baton::begin(std::uint64_t wanted) {
    counter = hand_offs = 0;
    left_at = 0;
    enough = wanted;
    over.store(0);
    for (auto& one : of)
        one.entries = one.hand_offs = one.kept = 0;
}

sample baton::result(std::int64_t took) const {
    std::uint64_t entries = 0, handed = 0;
    std::vector<float> latencies;
    for (const auto& one : of) {
        entries += one.entries;
        handed += one.hand_offs;
        latencies.insert(latencies.end(), one.latencies, one.latencies + one.kept);
    }
    check(entries == counter, "the counter under the lock is exact");
    check(handed == hand_offs && handed >= enough, "all hand-offs were counted");
    return sample_of(static_cast<double>(took) / static_cast<double>(handed), latencies);
}

double baton::again_share() const {
    return counter == 0 ? 0 : 1 - static_cast<double>(hand_offs) / static_cast<double>(counter);
}

constexpr char go_home = 127; // no order

crew::crew(placed where, std::function<void(std::size_t, int)> work, std::size_t size) {
    for (std::size_t who = 0; who < size; ++who) {
        int to[2], from[2];
        check(::pipe(to) == 0 && ::pipe(from) == 0, "the kernel gives pipes");
        const int pid = ::fork();
        check(pid >= 0, "the kernel gives processes");
        if (pid == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::close(to[1]); // else nobody would ever see its end
            for (const auto& earlier : all_)
                ::close(earlier.to);
            place(where, who);
            char what = 0;
            while (::read(to[0], &what, 1) == 1 && what != go_home) {
                work(who, what);
                check(::write(from[1], &what, 1) == 1, "a worker answers");
            }
            std::_Exit(0);
        }
        ::close(to[0]);
        ::close(from[1]);
        all_.push_back({pid, to[1], from[0]});
    }
}

crew::~crew() {
    for (const auto& one : all_) {
        check(::write(one.to, &go_home, 1) == 1,
              "a worker listens"); // a later crew has this pipe, too
        ::close(one.to);
        ::close(one.from);
        ::waitpid(one.pid, nullptr, 0);
    }
}

std::int64_t crew::order(int what) {
    const auto begin = now_ns();
    for (const auto& one : all_) {
        const auto byte = static_cast<char>(what);
        check(::write(one.to, &byte, 1) == 1, "a worker listens");
    }
    std::vector<pollfd> answers;
    for (const auto& one : all_)
        answers.push_back({one.from, POLLIN, 0});
    for (auto left = all_.size(); left > 0;) { // not in turn: one that fails ends all of it
        ::poll(answers.data(), answers.size(), -1);
        for (auto& from : answers) {
            char byte = 0;
            if (from.revents == 0)
                continue;
            check(::read(from.fd, &byte, 1) == 1, "a worker has not failed");
            from.fd = -1;
            --left;
        }
    }
    return now_ns() - begin;
}

void* shared_memory(std::size_t size, std::string* name) {
    const int file = ::memfd_create("baton", MFD_CLOEXEC); // open until we end: it is its name
    check(file >= 0 && ::ftruncate(file, static_cast<off_t>(size)) == 0, "the kernel gives memory");
    void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    check(at != MAP_FAILED, "the kernel gives memory");
    if (name != nullptr)
        *name = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file);
    return at;
}

void futex_wait(std::atomic<int>& word, int seen) noexcept {
    ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<int>& word) noexcept {
    ::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

} // namespace bench
