#pragma once

// Somebody who locks, works and unlocks, over and over, in all the ways the library offers.
//
//   thinking ──▶ asking ──▶ holding: raise, read, write, raise, read, write … ──▶ leaving ──▶
//   thinking
//                  │            └── sometimes asks again for what it holds
//                  └── contended, timed out, cancelled ──▶ thinking

#include "simulation/process.hpp"
#include "simulation/vault.hpp"

#include <memory>
#include <vector>

namespace holdfast::simulation {

class actor final : public application {
public:
    actor(process& home, owner_id me);
    ~actor() override;

    void told_stop(const std::shared_ptr<detail::hold>&) override;
    void told_lost(const std::shared_ptr<detail::hold>&) override;
    [[nodiscard]] bool at_rest() const override;
    void finish() override { finishing_ = true; }

private:
    struct question;
    struct farewell;
    enum class purpose : std::uint8_t { main, again };

    void think();
    void ask_for_something();
    void ask(detail::request, purpose);
    void ask_again();
    void answered(question&, error_code, std::shared_ptr<detail::hold>);
    void begin_to_hold(const std::shared_ptr<detail::hold>&);
    [[nodiscard]] detail::request draw_request();
    [[nodiscard]] duration draw_hold();

    void work();
    void raised(vault::answer);
    void written(vault::answer);
    template <class Effect, class Then> void affect(Effect, Then);

    void leave_when_done();
    void give_back(const std::shared_ptr<detail::hold>&);
    void think_again_if_free();

    process& home_;
    world& world_;
    const owner_id me_;
    detail::request asked_;
    std::shared_ptr<detail::hold> held_;              // what it asked for first
    std::vector<std::shared_ptr<detail::hold>> more_; // what it asked for while holding that
    std::vector<std::unique_ptr<question>> questions_;
    std::vector<std::unique_ptr<farewell>> farewells_;
    std::uint64_t turn_ = 0; // so that what belonged to an earlier one is not taken for this one's
    bool waits_for_vault_ = false;
    bool wants_to_leave_ = false;
    bool stubborn_ = false;
    bool thinking_ = false;
    bool finishing_ = false;
};

} // namespace holdfast::simulation
