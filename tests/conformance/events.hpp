#pragma once

// How the tests wait: for events, never for time. Whatever must happen has `patience` to do so.

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/observer.hpp>

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <poll.h>
#include <string>
#include <vector>

namespace holdfast::conformance {

using namespace std::chrono_literals;

/// Far longer than anything takes, also under a sanitizer on a busy machine.
inline constexpr auto patience = 60s;

/// A wait that is to end with nothing, and leaves the engine time to say so: whose wait ends before
/// the first answer comes is not told that it is held by somebody else.
inline constexpr auto a_while = 500ms;

/// Something that is expected to happen, perhaps on another thread.
class happening {
public:
    void happen() {
        const std::lock_guard guard{guard_};
        ++times_;
        changed_.notify_all();
    }
    [[nodiscard]] bool awaited(int times = 1) {
        std::unique_lock lock{guard_};
        return changed_.wait_for(lock, patience, [&] { return times_ >= times; });
    }
    [[nodiscard]] int times() const {
        const std::lock_guard guard{guard_};
        return times_;
    }

private:
    mutable std::mutex guard_;
    std::condition_variable changed_;
    int times_ = 0;
};

/// An observer that remembers everything.
class chronicle : public observer {
public:
    struct entry {
        event::kind what;
        std::string name;
        holdfast::fence fence;
    };

    void on(const event& e) override {
        const std::lock_guard guard{guard_};
        entries_.push_back({e.what, std::string{e.name}, e.fence});
        changed_.notify_all();
    }

    /// Waits until it happened to this name, so many times in all.
    [[nodiscard]] bool saw(event::kind what, const std::string& name, int times = 1) {
        std::unique_lock lock{guard_};
        return changed_.wait_for(lock, patience, [&] { return count(what, name) >= times; });
    }

    /// Those of one name, in order, so far.
    [[nodiscard]] std::vector<entry> of(const std::string& name) const {
        const std::lock_guard guard{guard_};
        std::vector<entry> chosen;
        for (const auto& e : entries_)
            if (e.name == name)
                chosen.push_back(e);
        return chosen;
    }

    [[nodiscard]] int times(event::kind what, const std::string& name) const {
        const std::lock_guard guard{guard_};
        return count(what, name);
    }

private:
    [[nodiscard]] int count(event::kind what, const std::string& name) const {
        int found = 0;
        for (const auto& e : entries_)
            found += e.what == what && e.name == name ? 1 : 0;
        return found;
    }

    mutable std::mutex guard_;
    std::condition_variable changed_;
    std::vector<entry> entries_;
};

/// For facts that nobody announces, such as what an engine's list shows.
template <class Fact> [[nodiscard]] bool eventually(Fact fact) {
    const auto give_up = boot_clock::now() + patience;
    while (!fact()) {
        if (boot_clock::now() > give_up)
            return false;
        ::poll(nullptr, 0, 5);
    }
    return true;
}

/// What a thread of its own came to; a failed test instead of a hang if it never does.
template <class T> [[nodiscard]] T outcome(std::future<T>& future) {
    if (future.wait_for(patience) != std::future_status::ready)
        throw std::runtime_error{"it never ended"};
    return future.get();
}

template <class T> [[nodiscard]] error_code error_in(std::future<T>& future) {
    if (future.wait_for(patience) != std::future_status::ready)
        throw std::runtime_error{"it never ended"};
    try {
        (void)future.get();
    } catch (const boost::system::system_error& e) {
        return e.code();
    }
    return {};
}

template <class Body> [[nodiscard]] auto in_a_thread(Body&& body) {
    return std::async(std::launch::async, std::forward<Body>(body));
}

/// The code that a call throws; no error if it throws nothing.
template <class Call> [[nodiscard]] std::error_code error_of(Call&& call) {
    try {
        call();
    } catch (const std::system_error& e) {
        EXPECT_STRNE(e.what(), "") << "an error says in one sentence what is wrong";
        EXPECT_EQ(std::string{e.what()}.find('\n'), std::string::npos) << e.what();
        return e.code();
    }
    return {};
}

[[nodiscard]] inline std::error_code code(errc e) { return make_error_code(e); }
[[nodiscard]] inline std::error_code deadlock() {
    return std::make_error_code(std::errc::resource_deadlock_would_occur);
}

} // namespace holdfast::conformance
