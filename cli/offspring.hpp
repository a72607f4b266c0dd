#pragma once

// Processes that are copies of this program, started for a hidden verb and tied to us: they die
// with us, even of kill -9, and what they share with us is memory without a name in any folder.

#include <cstddef>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace holdfast::cli {

/// A descriptor that is closed with its owner.
class owned_descriptor {
public:
    owned_descriptor() noexcept = default;
    explicit owned_descriptor(int number) noexcept : number_{number} {}
    owned_descriptor(owned_descriptor&& other) noexcept
        : number_{std::exchange(other.number_, -1)} {}
    owned_descriptor& operator=(owned_descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~owned_descriptor();

    [[nodiscard]] int number() const noexcept { return number_; }

private:
    int number_ = -1;
};

/// Memory that several processes map: zeros at first, taken from the machine only where it is
/// touched. It outlives whoever wrote into it, and nothing is left of it when the last one is gone.
class shared_memory {
public:
    /// New memory. Throws std::system_error.
    explicit shared_memory(std::size_t bytes);

    /// What the process that started us has put into this seat.
    [[nodiscard]] static shared_memory inherited(int descriptor);

    shared_memory(shared_memory&& other) noexcept
        : descriptor_{std::move(other.descriptor_)}, bytes_{std::exchange(other.bytes_, 0)},
          start_{std::exchange(other.start_, nullptr)} {}
    shared_memory& operator=(shared_memory&&) = delete;
    ~shared_memory();

    [[nodiscard]] int descriptor() const noexcept { return descriptor_.number(); }
    [[nodiscard]] void* start() const noexcept { return start_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

private:
    shared_memory(owned_descriptor, std::size_t bytes);

    owned_descriptor descriptor_;
    std::size_t bytes_;
    void* start_ = nullptr;
};

/// Two ends of a line of messages. Throws std::system_error.
[[nodiscard]] std::pair<owned_descriptor, owned_descriptor> make_line();

/// Where the first of the descriptors that were handed on is found; the others follow.
inline constexpr int first_seat = 3;

/// Starts `holdfast VERB OUR_PID` in a process group of its own: a ^C is for us alone. Of our
/// descriptors it gets stderr and `seats`. Throws std::system_error.
[[nodiscard]] pid_t start_offspring(const std::string& verb, const std::vector<int>& seats);

/// Called first by such a process: from now on it dies with its parent; false if that is gone.
[[nodiscard]] bool tie_to_parent(pid_t parent) noexcept;

} // namespace holdfast::cli
