#include "servers/clocks.hpp"
#include "cli/program.hpp"

#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <unistd.h>

namespace holdfast::servers {

clocks::clocks(server_clock kind, const folder& room)
    : kind_{kind}, offsets_{room / "clock"}, shim_{room / "clock_shim.so"} {
    if (kind_ == server_clock::real)
        return;
    std::ofstream{offsets_} << std::string(2 * sizeof(std::int64_t), '\0');
    // A copy: a server with a user of its own may not see into the folder where we were built.
    std::filesystem::copy_file(HOLDFAST_CLOCK_SHIM, shim_);
}

std::vector<std::string> clocks::environment() const {
    if (kind_ == server_clock::real)
        return {};
    return {"LD_PRELOAD=" + shim_, "HOLDFAST_CLOCK=" + offsets_};
}

void clocks::shift(std::size_t which, std::chrono::milliseconds ahead) const {
    if (kind_ == server_clock::real)
        throw std::logic_error{"this server's clock is the real one"};
    // One write of eight aligned bytes: the server never sees half an offset.
    const std::int64_t offset = std::chrono::nanoseconds{ahead}.count();
    const cli_tests::descriptor file{::open(offsets_.c_str(), O_WRONLY | O_CLOEXEC)};
    if (::pwrite(
            file.number(), &offset, sizeof offset, static_cast<off_t>(which * sizeof offset)) !=
        static_cast<ssize_t>(sizeof offset))
        throw std::runtime_error{"the clock file cannot be written"};
}

} // namespace holdfast::servers
