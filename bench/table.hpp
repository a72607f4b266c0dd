#pragma once

// The program around the rows of one engine: which of them, how thoroughly, and where to write it.

#include "page.hpp"
#include "rows.hpp"

#include <functional>
#include <span>
#include <string>

namespace bench {

struct row {
    std::string name;
    std::function<void(effort, findings&)> measure;
};

/// ENGINE [quick] [ROW…]: all rows, or those whose name contains one of the words. A full run
/// writes $HOLDFAST_DOCS/ENGINE.md and ENGINE.svg, if that is set; a quick one, or one of some rows
/// only, prints and writes nothing.
class table {
public:
    table(int argc, char** argv);

    [[nodiscard]] const effort& how() const noexcept { return how_; }
    [[nodiscard]] bool quick() const noexcept { return quick_; }

    /// Each row has a directory of its own, gone afterwards.
    void measure(std::span<const row>);
    void publish(const subject&) const;

private:
    [[nodiscard]] bool wanted(const std::string& name) const;

    std::vector<std::string> words_;
    bool quick_ = false;
    effort how_;
    std::string load_;
    findings found_;
};

} // namespace bench
