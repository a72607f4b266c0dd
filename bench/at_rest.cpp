#include "at_rest.hpp"
#include "crew.hpp"
#include "pairs.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {

footprint footprint::now() {
    long whole = 0, resident = 0;
    std::ifstream{"/proc/self/statm"} >> whole >> resident;
    const auto heap = ::mallinfo2();
    timespec cpu{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    return {static_cast<double>(heap.uordblks + heap.hblkhd),
            static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)),
            static_cast<double>(cpu.tv_sec) * 1e9 + static_cast<double>(cpu.tv_nsec)};
}

void in_a_child(const std::function<void(double*)>& body, double* figures, std::size_t count) {
    auto* const theirs = static_cast<double*>(shared_memory(count * sizeof(double)));
    const int pid = ::fork();
    check(pid >= 0, "the kernel gives processes");
    if (pid == 0) {
        place(placed::anywhere);
        ::malloc_trim(0); // what the parent has freed would hide what the child takes
        body(theirs);
        std::_Exit(0); // a hundred thousand releases are not what is measured
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    check(status == 0, "the child has not failed");
    std::memcpy(figures, theirs, count * sizeof(double));
}

} // namespace bench
