#include <holdfast/spdlog.hpp>

#include <gtest/gtest.h>

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>
#include <sstream>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

TEST(spdlog_adapter, says_what_happened_at_a_level_that_fits) {
    std::ostringstream lines;
    const auto logger = std::make_shared<spdlog::logger>(
        "locks", std::make_shared<spdlog::sinks::ostream_sink_mt>(lines));
    logger->set_pattern("%l %v");
    logger->set_level(spdlog::level::debug);
    const auto told = log_to(logger);
    told->on({event::kind::granted, "orders/42", fence{7}, {}, 1500us, {}, {}});
    told->on({event::kind::lost, "orders/42", fence{7}, {}, 2s, {}, {}});
    told->on({event::kind::in_doubt, {}, {}, {}, 10s, {}, {}});
    told->on({event::kind::notice, {}, {}, {}, {}, {}, "the file {was} moved"});
    told->on({event::kind::renewed, {}, {}, {}, 20s, {}, {}}); // below its level
    logger->flush();
    EXPECT_EQ(lines.str(),
              "debug granted orders/42 fence=7 waited=1500us\n"
              "error lost orders/42 fence=7 held=2000000us\n"
              "warning in_doubt left=10000000us\n"
              "warning notice: the file {was} moved\n");
}

} // namespace
} // namespace holdfast
