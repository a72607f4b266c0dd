#pragma once

#include "inspecting.hpp"

#include <string>

namespace holdfast::cli {

struct doctor_options {
    std::string url; ///< empty: the default
    cli::format format = format::text;
};

/// `holdfast doctor [URL]`. Returns 0 if there is neither a warning nor a danger.
[[nodiscard]] int doctor(const doctor_options&);

} // namespace holdfast::cli
