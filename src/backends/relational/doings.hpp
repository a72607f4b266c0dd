#pragma once

// What is being done just now, by name. Whoever needs it done waits for its end.

#include <coroutine>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast::relational {

class doings {
public:
    /// Something more is being done under this name.
    void begin(const std::string& name) {
        const std::lock_guard lock{guard_};
        ++all_[name].count;
    }

    /// The same, unless something is: false.
    [[nodiscard]] bool begin_alone(const std::string& name) {
        const std::lock_guard lock{guard_};
        auto& one = all_[name];
        if (one.count > 0)
            return false;
        one.count = 1;
        return true;
    }

    /// With the last of them, those who wait go on, here and now.
    void end(const std::string& name) {
        std::vector<std::coroutine_handle<>> waiting;
        {
            const std::lock_guard lock{guard_};
            const auto found = all_.find(name);
            if (--found->second.count > 0)
                return;
            waiting = std::move(found->second.waiting);
            all_.erase(found);
        }
        for (const auto each : waiting)
            each.resume();
    }

    /// While it lives, something is being done.
    class under_way {
    public:
        under_way(doings& of, std::string name) : of_{of}, name_{std::move(name)} {
            of_.begin(name_);
        }
        ~under_way() { of_.end(name_); }
        under_way(const under_way&) = delete;
        under_way& operator=(const under_way&) = delete;

    private:
        doings& of_;
        const std::string name_;
    };

    class until_done {
    public:
        until_done(doings& of, std::string name) : of_{of}, name_{std::move(name)} {}
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        [[nodiscard]] bool await_suspend(std::coroutine_handle<> whole) {
            const std::lock_guard lock{of_.guard_};
            const auto found = of_.all_.find(name_);
            if (found == of_.all_.end())
                return false;
            found->second.waiting.push_back(whole);
            return true;
        }
        void await_resume() const noexcept {}

    private:
        doings& of_;
        std::string name_;
    };

private:
    struct doing {
        int count = 0;
        std::vector<std::coroutine_handle<>> waiting{};
    };
    std::mutex guard_;
    std::unordered_map<std::string, doing> all_;
};

} // namespace holdfast::relational
