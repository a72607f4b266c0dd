#pragma once

// Do enough replicas have what was written until now? Asked on a connection of its own, because
// WAIT keeps all others of its connection waiting; and asked once for all who want to know at the
// moment.
//
// WAIT counts from the last command of its own connection. So a PING goes before it: whatever the
// server did before that PING, for whomever, is what the replicas must have.

#include "backends/redis/line.hpp"
#include "backends/redis/reply.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::redis {

class acknowledger {
public:
    using on_known = std::function<void(bool enough)>;

    acknowledger(std::shared_ptr<reactor> r,
                 line_settings s,
                 std::uint32_t replicas,
                 duration within)
        : replicas_{replicas}, within_{within} {
        s.silence = std::max<duration>(s.silence, 2 * within);
        line_ = line::make(std::move(r), std::move(s));
        append_command(question_, {"PING"});
        append_command(
            question_,
            {"WAIT",
             std::to_string(replicas_),
             std::to_string(std::chrono::ceil<std::chrono::milliseconds>(within_).count())});
    }

    /// Told by that time, if need be that they have it not.
    void ask(instant answer_by, on_known done) {
        {
            const std::lock_guard lock{guard_};
            waiting_.push_back({answer_by, std::move(done)});
            if (std::exchange(asking_, true))
                return; // they are the next
        }
        ask_for_all();
    }

    void move_to(const endpoint& to) { line_->move_to(to); }
    void close() { line_->close(); }

private:
    struct asker {
        instant answer_by{};
        on_known done;
    };

    // Whoever has least time decides for all who ask together: the others, told no, ask again.
    void ask_for_all() {
        std::vector<asker> whom;
        {
            const std::lock_guard lock{guard_};
            whom = std::exchange(waiting_, {});
            if (whom.empty()) {
                asking_ = false;
                return;
            }
        }
        auto by = boot_clock::now() + 2 * within_;
        for (const auto& one : whom)
            by = std::min(by, one.answer_by);
        line_->ask(
            question_,
            by,
            [this, whom = std::move(whom)](const reply& r, const failure* f) {
                const bool enough = f == nullptr && r.is() == reply::kind::number &&
                                    *r.number() >= static_cast<std::int64_t>(replicas_);
                for (const auto& one : whom)
                    one.done(enough);
                ask_for_all();
            },
            1);
    }

    const std::uint32_t replicas_;
    const duration within_;
    std::string question_;
    std::mutex guard_;
    bool asking_ = false;
    std::vector<asker> waiting_;
    std::shared_ptr<line> line_;
};

} // namespace holdfast::redis
