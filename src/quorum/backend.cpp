// quorum:[strong,]URL,URL,URL: the engine in the real world, with a clock and descriptors.
//
//   descriptor() ──────────── epoll ─┬─ member 1's ─▶ its on_readable()
//                                    └─ member 2's …
//   background_descriptor() ─ epoll ─┬─ member 1's ─▶ its on_background()
//                                    └─ timerfd on the boot clock ─▶ on_time()

#include "client/engine_entry.hpp"
#include "quorum/engine.hpp"
#include "quorum/url.hpp"
#include "runtime/assert.hpp"

#include <holdfast/quorum.hpp>

#include <array>
#include <cstring>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <utility>

namespace holdfast::quorum {
namespace {

struct with_chance { // made before the engine, which wants it
    detail::kernel_random chance;
};

/// Descriptors of members, watched as one.
class descriptors {
public:
    descriptors() : all_{::epoll_create1(EPOLL_CLOEXEC)} {
        HOLDFAST_ASSERT(all_ >= 0, "the kernel gave no descriptors");
    }
    ~descriptors() { ::close(all_); }
    descriptors(const descriptors&) = delete;
    descriptors& operator=(const descriptors&) = delete;

    void add(int fd, std::size_t number) {
        epoll_event readable{};
        readable.events = EPOLLIN;
        readable.data.u64 = number;
        HOLDFAST_ASSERT(::epoll_ctl(all_, EPOLL_CTL_ADD, fd, &readable) == 0,
                        "a member's descriptor can be watched");
    }
    template <class F> void each_readable(F f) {
        std::array<epoll_event, 16> ready{}; // the rest, if any, is still readable
        const int count = ::epoll_wait(all_, ready.data(), static_cast<int>(ready.size()), 0);
        for (int i = 0; i < count; ++i)
            f(static_cast<std::size_t>(ready[static_cast<std::size_t>(i)].data.u64));
    }
    [[nodiscard]] int descriptor() const noexcept { return all_; }

private:
    const int all_;
};

class real_engine final : with_chance, public engine {
public:
    real_engine(std::vector<std::unique_ptr<backend>> members, std::size_t needed)
        : engine{std::move(members), needed, chance}, timer_{::timerfd_create(CLOCK_BOOTTIME,
                                                                              TFD_CLOEXEC |
                                                                                  TFD_NONBLOCK)} {
        HOLDFAST_ASSERT(timer_ >= 0, "the kernel gave no timer on the boot clock");
        for (member m = 0; m < size(); ++m) {
            if (const int fd = at(m).descriptor(); fd >= 0)
                pushed_.add(fd, m);
            if (const int fd = at(m).background_descriptor(); fd >= 0)
                background_.add(fd, m);
        }
        background_.add(timer_, size());
    }
    ~real_engine() override { ::close(timer_); }

    [[nodiscard]] int descriptor() const noexcept override { return pushed_.descriptor(); }
    void on_readable() override {
        pushed_.each_readable([this](member m) { at(m).on_readable(); });
    }

    [[nodiscard]] int background_descriptor() const noexcept override {
        return background_.descriptor();
    }
    void on_background() override {
        background_.each_readable([this](member m) {
            if (m < size())
                return at(m).on_background();
            std::uint64_t times = 0;
            if (::read(timer_, &times, sizeof times) > 0)
                on_time();
        });
    }

private:
    [[nodiscard]] instant now() const override { return boot_clock::now(); }

    void wake_at(instant when) override {
        const auto since = when.time_since_epoch();
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
        itimerspec at{};
        at.it_value.tv_sec = seconds.count();
        at.it_value.tv_nsec = std::max<duration::rep>((since - seconds).count(), 1); // 0 disarms
        ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);
    }

    const int timer_;
    descriptors pushed_;
    descriptors background_;
};

void check(const std::vector<std::unique_ptr<backend>>& members) {
    check_count(members.size());
    const std::string_view kind = members.front()->able().engine;
    for (const auto& m : members) {
        if (m->able().engine != kind)
            throw_error(errc::bad_option,
                        "the members of a quorum are of one kind, but these are " +
                            std::string{kind} + " and " + m->able().engine);
        if (kind == "quorum")
            throw_error(errc::bad_option, "a quorum cannot be a member of a quorum");
        if (m->able().ttl == ttl_scope::session)
            throw_error(errc::bad_option,
                        std::string{kind} + " is a quorum by itself: name its servers in one URL");
    }
}

std::unique_ptr<backend> open_url(const detail::engine_url& url) {
    const auto parts = read_url(url.rest);
    std::vector<std::unique_ptr<backend>> members;
    for (const auto one : parts.members)
        members.push_back(detail::make_engine(one, url.children_keep_locks));
    return make(std::move(members), parts.strong ? size::strong : size::majority);
}

} // namespace

std::unique_ptr<backend> make(std::vector<std::unique_ptr<backend>> members, size how) {
    check(members);
    const auto needed = needed_of(members.size(), how == size::strong ? 2 : 0);
    return std::make_unique<real_engine>(std::move(members), needed);
}

} // namespace holdfast::quorum

extern "C" {
extern const holdfast::detail::engine_entry holdfast_engine_quorum;
const holdfast::detail::engine_entry holdfast_engine_quorum = &holdfast::quorum::open_url;
}
