#pragma once

// What is worth remembering and does no harm when it is forgotten: all of it is, when it grows too
// large.

#include <cstddef>
#include <functional>
#include <unordered_set>

namespace holdfast::relational {

template <class T, class Hash = std::hash<T>> class bounded_set {
public:
    explicit bounded_set(std::size_t most) : most_{most} {}

    [[nodiscard]] bool contains(const T& one) const { return all_.contains(one); }
    void insert(const T& one) {
        if (all_.size() >= most_ && !all_.contains(one))
            all_.clear();
        all_.insert(one);
    }
    bool erase(const T& one) { return all_.erase(one) > 0; }

private:
    const std::size_t most_;
    std::unordered_set<T, Hash> all_;
};

} // namespace holdfast::relational
