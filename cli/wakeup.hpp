#pragma once

namespace holdfast::cli {

/// A flag that poll() can wait for: raised by any thread, lowered by the one that waits.
class wakeup {
public:
    wakeup();
    wakeup(const wakeup&) = delete;
    wakeup& operator=(const wakeup&) = delete;
    ~wakeup();

    void raise() const noexcept;

    /// Whether it was up.
    [[nodiscard]] bool lower() const noexcept;

    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

private:
    int descriptor_;
};

} // namespace holdfast::cli
