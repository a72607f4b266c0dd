#pragma once

// Texts that are almost right: a grammar's words, cut, doubled, swapped and garbled. The same seed
// makes the same texts, and a failure prints its own.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::fuzz {

class mutator {
public:
    explicit mutator(std::uint64_t seed) : chance_{seed} {}

    [[nodiscard]] std::size_t below(std::size_t limit) {
        return limit == 0 ? 0 : static_cast<std::size_t>(chance_() % limit);
    }
    [[nodiscard]] const std::string& one_of(const std::vector<std::string>& all) {
        return all[below(all.size())];
    }

    /// One of the seeds, changed a few times.
    [[nodiscard]] std::string text(const std::vector<std::string>& seeds,
                                   const std::vector<std::string>& words) {
        auto made = one_of(seeds);
        for (auto times = below(6); times > 0; --times)
            change(made, seeds, words);
        if (made.size() > 4096)
            made.resize(4096);
        return made;
    }

private:
    void change(std::string& text,
                const std::vector<std::string>& seeds,
                const std::vector<std::string>& words) {
        const auto at = below(text.size() + 1);
        const auto length = below(std::min<std::size_t>(text.size() - at + 1, 16));
        switch (below(7)) {
        case 0: // a byte becomes another
            if (at < text.size())
                text[at] = static_cast<char>(chance_());
            break;
        case 1:
            text.erase(at, length);
            break;
        case 2:
            text.insert(at, text.substr(at, length));
            break;
        case 3:
            text.insert(at, one_of(words));
            break;
        case 4:
            text.replace(at, length, one_of(words));
            break;
        case 5:
            text.resize(at);
            break;
        case 6: { // the end of another one
            const auto& other = one_of(seeds);
            text.resize(at);
            text += other.substr(below(other.size() + 1));
            break;
        }
        }
    }
    std::mt19937_64 chance_;
};

[[nodiscard]] inline std::uint64_t number_from(const char* name, std::uint64_t usual) {
    const char* const said = std::getenv(name); // NOLINT(concurrency-mt-unsafe): nobody changes it
    return said != nullptr ? std::strtoull(said, nullptr, 10) : usual;
}

/// Many rounds, each from a seed of its own.
inline void for_many_seeds(std::uint64_t rounds, const std::function<void(mutator&)>& round) {
    const auto only = number_from("HOLDFAST_SEED", 0);
    const auto factor = number_from("HOLDFAST_FUZZ", 1);
    const auto first = only != 0 ? only : number_from("HOLDFAST_FIRST", 1);
    for (auto seed = first; seed < first + (only != 0 ? 1 : rounds * factor); ++seed) {
        SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
        mutator m{seed};
        round(m);
        if (testing::Test::HasFailure())
            return;
    }
}

} // namespace holdfast::fuzz
