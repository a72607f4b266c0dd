#include "deadline_board.hpp"

#include <cerrno>
#include <new>
#include <sys/mman.h>
#include <system_error>

namespace holdfast::cli {

static_assert(std::atomic<duration::rep>::is_always_lock_free, "it is shared between processes");

deadline_board::deadline_board() : page_{nullptr} {
    void* page =
        ::mmap(nullptr, sizeof *page_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        throw std::system_error{errno, std::generic_category(), "cannot start the guardian"};
    }
    page_ = new (page) std::atomic<duration::rep>{never.time_since_epoch().count()};
}

deadline_board::~deadline_board() { ::munmap(page_, sizeof *page_); }

void deadline_board::write(instant deadline) const noexcept {
    page_->store(deadline.time_since_epoch().count(), std::memory_order_relaxed);
}

bool deadline_board::has_passed() const noexcept {
    return boot_clock::now().time_since_epoch().count() >= page_->load(std::memory_order_relaxed);
}

} // namespace holdfast::cli
