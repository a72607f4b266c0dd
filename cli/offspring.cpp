#include "offspring.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace holdfast::cli {

namespace {

[[noreturn]] void fail(const char* what) {
    throw std::system_error{errno, std::generic_category(), what};
}

/// Above all seats, so that seating one never overwrites another.
int moved_up(int descriptor) {
    constexpr int above_all_seats = 16;
    const int moved = ::fcntl(descriptor, F_DUPFD_CLOEXEC, above_all_seats);
    if (moved < 0) {
        fail("cannot start a worker");
    }
    ::close(descriptor);
    return moved;
}

class seating {
public:
    seating() {
        ::posix_spawn_file_actions_init(&actions_);
        for (const int quiet : {STDIN_FILENO, STDOUT_FILENO}) {
            ::posix_spawn_file_actions_addopen(&actions_, quiet, "/dev/null", O_RDWR, 0);
        }
    }
    ~seating() { ::posix_spawn_file_actions_destroy(&actions_); }
    seating(const seating&) = delete;
    seating& operator=(const seating&) = delete;

    void put(int descriptor, int seat) {
        ::posix_spawn_file_actions_adddup2(&actions_, descriptor, seat);
    }
    [[nodiscard]] const posix_spawn_file_actions_t* get() const noexcept { return &actions_; }

private:
    posix_spawn_file_actions_t actions_{};
};

/// Nothing of our signals but a blocked SIGTERM, which may come before it is ready for it; and a
/// group of its own.
class manners {
public:
    manners() {
        ::posix_spawnattr_init(&attributes_);
        sigset_t blocked;
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGTERM);
        ::posix_spawnattr_setsigmask(&attributes_, &blocked);
        ::posix_spawnattr_setpgroup(&attributes_, 0);
        ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    }
    ~manners() { ::posix_spawnattr_destroy(&attributes_); }
    manners(const manners&) = delete;
    manners& operator=(const manners&) = delete;

    [[nodiscard]] const posix_spawnattr_t* get() const noexcept { return &attributes_; }

private:
    posix_spawnattr_t attributes_{};
};

} // namespace

owned_descriptor::~owned_descriptor() {
    if (number_ >= 0) {
        ::close(number_);
    }
}

shared_memory::shared_memory(std::size_t bytes)
    : shared_memory{owned_descriptor{moved_up(::memfd_create("holdfast", MFD_CLOEXEC))}, bytes} {}

shared_memory shared_memory::inherited(int descriptor) {
    struct stat how {};
    if (::fstat(descriptor, &how) != 0) {
        fail("this verb is not for people");
    }
    return {owned_descriptor{descriptor}, static_cast<std::size_t>(how.st_size)};
}

shared_memory::shared_memory(owned_descriptor descriptor, std::size_t bytes)
    : descriptor_{std::move(descriptor)}, bytes_{bytes} {
    if (::ftruncate(descriptor_.number(), static_cast<off_t>(bytes)) != 0) {
        fail("cannot get memory to share");
    }
    void* const mapped =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.number(), 0);
    if (mapped == MAP_FAILED) {
        fail("cannot get memory to share");
    }
    start_ = mapped;
}

shared_memory::~shared_memory() {
    if (start_ != nullptr) {
        ::munmap(start_, bytes_);
    }
}

std::pair<owned_descriptor, owned_descriptor> make_line() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        fail("cannot start a worker");
    }
    return {owned_descriptor{moved_up(ends[0])}, owned_descriptor{moved_up(ends[1])}};
}

pid_t start_offspring(const std::string& verb, const std::vector<int>& seats) {
    seating where;
    for (std::size_t i = 0; i < seats.size(); ++i) {
        where.put(seats[i], first_seat + static_cast<int>(i));
    }
    const manners how;
    std::string program = "holdfast";
    std::string word = verb;
    std::string parent = std::to_string(::getpid());
    const std::array<char*, 4> arguments{program.data(), word.data(), parent.data(), nullptr};
    pid_t pid = -1;
    const int failed =
        ::posix_spawn(&pid, "/proc/self/exe", where.get(), how.get(), arguments.data(), environ);
    if (failed != 0) {
        throw std::system_error{failed, std::generic_category(), "cannot start a worker"};
    }
    return pid;
}

bool tie_to_parent(pid_t parent) noexcept {
    // In this order: a parent that dies in between is noticed by one or the other.
    return ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == parent;
}

} // namespace holdfast::cli
