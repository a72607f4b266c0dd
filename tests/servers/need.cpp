#include "servers/need.hpp"
#include "cli/program.hpp"

namespace holdfast::servers {

lack missing_programs(const std::vector<std::string>& names) {
    for (const auto& name : names)
        if (cli_tests::call({"sh", "-c", "command -v \"$0\" > /dev/null", name}).code != 0)
            return "there is no " + name + " here";
    return std::nullopt;
}

} // namespace holdfast::servers
