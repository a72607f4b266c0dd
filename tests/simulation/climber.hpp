#pragma once

// Somebody who takes several locks together, as multi_lock does: in the order of their names, all
// or none. It works at nothing; what matters is that it never stops anybody for ever.

#include "simulation/process.hpp"
#include "waiting/ascent.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace holdfast::simulation {

class climber final : public application {
public:
    explicit climber(process& home);
    ~climber() override;

    void told_stop(const std::shared_ptr<detail::hold>&) override {}
    void told_lost(const std::shared_ptr<detail::hold>&) override {}
    [[nodiscard]] bool at_rest() const override { return !question_ && held_.empty(); }
    void finish() override { finishing_ = true; }

private:
    struct question;

    void think();
    void begin();
    void ask();
    void answered(std::shared_ptr<detail::hold>);
    void give_back();

    process& home_;
    world& world_;
    std::vector<detail::request> wanted_;
    std::optional<detail::ascent> way_;
    std::vector<std::shared_ptr<detail::hold>> held_;
    std::unique_ptr<question> question_;
    bool finishing_ = false;
};

} // namespace holdfast::simulation
