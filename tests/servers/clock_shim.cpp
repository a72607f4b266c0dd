// Preloaded into a server, it moves that server's clocks while it runs.
//
//   test ── writes two int64 (ns: wall, monotonic) ──▶ mapped file $HOLDFAST_CLOCK ◀── read at each
//   look at a clock
//
// libfaketime cannot do this for Redis: its allocator and the library wait for each other for ever.
// Each look costs a real system call, so nothing is measured with it.

#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

namespace {

const volatile std::int64_t none[2] = {0, 0};
const volatile std::int64_t* offsets = none;

__attribute__((constructor)) void map_the_offsets() {
    const char* path = std::getenv("HOLDFAST_CLOCK");
    const int file = path != nullptr ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void* mapped = ::mmap(nullptr, sizeof none, PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
    if (mapped != MAP_FAILED)
        offsets = static_cast<const volatile std::int64_t*>(mapped);
}

std::int64_t offset_of(clockid_t clock) {
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
        return offsets[0];
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW:
        return offsets[1];
    default:
        return 0;
    }
}

} // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
    if (::syscall(SYS_clock_gettime, clock, now) != 0)
        return -1;
    constexpr std::int64_t second = 1'000'000'000;
    const auto moved = now->tv_sec * second + now->tv_nsec + offset_of(clock);
    now->tv_sec = moved / second;
    now->tv_nsec = moved % second;
    return 0;
}

int gettimeofday(timeval* __restrict now, void* __restrict) noexcept {
    timespec exact{};
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t* also) noexcept {
    timespec exact{};
    clock_gettime(CLOCK_REALTIME, &exact);
    if (also != nullptr)
        *also = exact.tv_sec;
    return exact.tv_sec;
}
}
