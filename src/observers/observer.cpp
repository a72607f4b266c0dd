#include <holdfast/observer.hpp>

#include <utility>

namespace holdfast {
namespace {

class several final : public observer {
public:
    explicit several(std::vector<std::shared_ptr<observer>> all) : all_{std::move(all)} {}
    void on(const event& what) override {
        for (const auto& each : all_)
            if (each)
                each->on(what);
    }

private:
    const std::vector<std::shared_ptr<observer>> all_;
};

} // namespace

std::string_view name_of(event::kind what) noexcept {
    switch (what) {
    case event::kind::waiting:
        return "waiting";
    case event::kind::granted:
        return "granted";
    case event::kind::passed:
        return "passed";
    case event::kind::released:
        return "released";
    case event::kind::renewed:
        return "renewed";
    case event::kind::renewed_late:
        return "renewed_late";
    case event::kind::in_doubt:
        return "in_doubt";
    case event::kind::lost:
        return "lost";
    case event::kind::unknown:
        return "unknown";
    case event::kind::withdrawn:
        return "withdrawn";
    case event::kind::link:
        return "link";
    case event::kind::notice:
        return "notice";
    }
    return "?";
}

std::shared_ptr<observer> all_of(std::vector<std::shared_ptr<observer>> all) {
    return std::make_shared<several>(std::move(all));
}

} // namespace holdfast
