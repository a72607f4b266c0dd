#include "offspring.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

/// What the child needs between fork and exec, where it may hardly do anything.
struct birth {
    pid_t parent;
    char* const* arguments;
    const std::vector<int>& seats;
    int report; ///< closed by a successful exec
};

/// Tied to us before it can do, or suffer, anything: a process that is stopped as soon as it is
/// there dies with us all the same. It gets nothing of our signals but a blocked SIGTERM, which may
/// come before it is ready for it.
[[noreturn]] void come_to_life(const birth& how) noexcept {
    if (tie_to_parent(how.parent)) {
        ::setpgid(0, 0);
        sigset_t blocked;
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGTERM);
        ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
        const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
        ::dup2(nothing, STDIN_FILENO);
        ::dup2(nothing, STDOUT_FILENO);
        for (std::size_t i = 0; i < how.seats.size(); ++i) {
            ::dup2(how.seats[i], first_seat + static_cast<int>(i));
        }
        ::execve("/proc/self/exe", how.arguments, environ);
    }
    const int why = errno;
    [[maybe_unused]] const auto told = ::write(how.report, &why, sizeof why);
    ::_exit(1);
}

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
    std::string program = "holdfast";
    std::string word = verb;
    const pid_t self = ::getpid();
    std::string parent = std::to_string(self);
    const std::array<char*, 4> arguments{program.data(), word.data(), parent.data(), nullptr};
    auto [heard, told] = make_line();
    const pid_t pid = ::fork();
    if (pid < 0) {
        fail("cannot start a worker");
    }
    if (pid == 0) {
        come_to_life({self, arguments.data(), seats, told.number()});
    }
    told = {};
    int why = 0;
    ssize_t got = -1;
    do {
        got = ::read(heard.number(), &why, sizeof why);
    } while (got < 0 && errno == EINTR);
    if (got > 0) {
        ::waitpid(pid, nullptr, 0);
        throw std::system_error{why, std::generic_category(), "cannot start a worker"};
    }
    return pid;
}

bool tie_to_parent(pid_t parent) noexcept {
    // In this order: a parent that dies in between is noticed by one or the other.
    return ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == parent;
}

} // namespace holdfast::cli
