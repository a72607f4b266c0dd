#include <holdfast/spdlog.hpp>

#include <chrono>
#include <spdlog/logger.h>
#include <string>
#include <utility>

namespace holdfast {
namespace {

[[nodiscard]] spdlog::level::level_enum level_of(event::kind what) noexcept {
    switch (what) {
    case event::kind::lost:
        return spdlog::level::err;
    case event::kind::in_doubt:
    case event::kind::unknown:
    case event::kind::renewed_late:
    case event::kind::notice:
        return spdlog::level::warn;
    case event::kind::link:
        return spdlog::level::info;
    case event::kind::waiting:
    case event::kind::granted:
    case event::kind::passed:
    case event::kind::released:
    case event::kind::withdrawn:
        return spdlog::level::debug;
    case event::kind::renewed:
        return spdlog::level::trace;
    }
    return spdlog::level::info;
}

/// What `took` means for this event; empty if nothing.
[[nodiscard]] const char* word_for_time(event::kind what) noexcept {
    switch (what) {
    case event::kind::granted:
    case event::kind::passed:
        return "waited";
    case event::kind::released:
    case event::kind::lost:
        return "held";
    case event::kind::renewed:
    case event::kind::renewed_late:
    case event::kind::in_doubt:
        return "left";
    default:
        return "";
    }
}

[[nodiscard]] std::string sentence_about(const event& e) {
    std::string line{name_of(e.what)};
    if (!e.name.empty())
        line.append(" ").append(e.name);
    if (e.fence.value() != 0)
        line.append(" fence=").append(std::to_string(e.fence.value()));
    if (const std::string word = word_for_time(e.what); !word.empty()) {
        const auto us = std::chrono::duration_cast<std::chrono::microseconds>(e.took).count();
        line.append(" ").append(word).append("=").append(std::to_string(us)).append("us");
    }
    if (!e.detail.empty())
        line.append(": ").append(e.detail);
    return line;
}

class logging final : public observer {
public:
    explicit logging(std::shared_ptr<spdlog::logger> to) : to_{std::move(to)} {}
    void on(const event& what) override {
        const auto level = level_of(what.what);
        if (to_->should_log(level))
            to_->log(level, sentence_about(what));
    }

private:
    const std::shared_ptr<spdlog::logger> to_;
};

} // namespace

std::shared_ptr<observer> log_to(std::shared_ptr<spdlog::logger> to) {
    return std::make_shared<logging>(std::move(to));
}

} // namespace holdfast
