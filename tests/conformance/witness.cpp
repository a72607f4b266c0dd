#include "conformance/witness.hpp"

#include <algorithm>
#include <fcntl.h>
#include <stdexcept>
#include <sys/mman.h>
#include <unistd.h>

namespace holdfast::conformance {
namespace {

[[nodiscard]] std::int64_t count(instant i) { return i.time_since_epoch().count(); }

} // namespace

witness::witness(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ::ftruncate(fd, sizeof(page)) != 0) // zeros are empty entries
        throw std::runtime_error{"no witness file at " + path};
    void* const mapped = ::mmap(nullptr, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (mapped == MAP_FAILED)
        throw std::runtime_error{"the witness file cannot be mapped"};
    page_ = static_cast<page*>(mapped);
}

witness::~witness() { ::munmap(page_, sizeof(page)); }

// Each instant is taken before the question that it stands for: "held at t" means at t or later.
void witness::testify(const lease& held, int questions) {
    const auto at = boot_clock::now();
    if (!held.held())
        return;
    const auto index = page_->used.fetch_add(1);
    if (index >= capacity)
        throw std::runtime_error{"the witness file is full"};
    auto& e = page_->entries[index];
    e.fence = held.fence().value();
    e.last_held = count(at);
    e.entered = count(at);
    for (int i = 0; i < questions; ++i) {
        const auto now = boot_clock::now();
        if (!held.held())
            return;
        e.last_held = count(now);
    }
    e.left = count(boot_clock::now());
}

witness::verdict witness::judge() const {
    struct span {
        std::int64_t entered, last_held, fence;
    };
    verdict v;
    std::vector<span> spans;
    for (std::size_t i = 0; i < std::min(page_->used.load(), capacity); ++i) {
        const auto& e = page_->entries[i];
        if (e.entered == 0) // killed while it took its pen
            continue;
        spans.push_back({e.entered, e.last_held, e.fence});
        v.cut_short += e.left == 0 ? 1U : 0U;
    }
    std::sort(spans.begin(), spans.end(), [](const span& a, const span& b) {
        return a.entered < b.entered;
    });
    v.holds = spans.size();
    for (std::size_t i = 1; i < spans.size(); ++i) {
        v.overlaps += spans[i].entered < spans[i - 1].last_held ? 1U : 0U;
        v.regressions += spans[i].fence <= spans[i - 1].fence ? 1U : 0U;
    }
    return v;
}

} // namespace holdfast::conformance
