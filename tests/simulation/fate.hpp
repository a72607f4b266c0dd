#pragma once

// What becomes of a message, and of a thread that should run: decided by chance in most runs, by an
// exhaustive search in the small ones.

#include "models/chance.hpp"
#include "simulation/options.hpp"

#include <optional>

namespace holdfast::simulation {

struct journey {
    duration delay{};
    bool lost = false;
    std::optional<duration> again{}; // arrives a second time
};

class fate {
public:
    [[nodiscard]] virtual journey of_request() = 0;
    [[nodiscard]] virtual journey of_answer() = 0; // replies, and what the server pushes
    [[nodiscard]] virtual duration of_effect() = 0;
    [[nodiscard]] virtual duration of_timer() = 0; // how late it fires
    [[nodiscard]] virtual bool refuses() = 0;
    [[nodiscard]] virtual duration between_deciding_and_doing() = 0;

    /// From now on all is well.
    virtual void heal() = 0;

protected:
    ~fate() = default;
};

class random_fate final : public fate {
public:
    random_fate(const options& o, models::chance& luck) : o_{o}, luck_{luck} {}

    journey of_request() override;
    journey of_answer() override;
    duration of_effect() override;
    duration of_timer() override;
    bool refuses() override { return !healed_ && luck_.permille(o_.refused_permille); }
    duration between_deciding_and_doing() override;
    void heal() override { healed_ = true; }

private:
    [[nodiscard]] duration usual();
    [[nodiscard]] journey travel();

    const options& o_;
    models::chance& luck_;
    bool healed_ = false;
};

} // namespace holdfast::simulation
