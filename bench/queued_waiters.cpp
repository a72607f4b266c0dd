// Ten thousand asynchronous waiters for what somebody else holds: what they cost until it is free.

#include "at_rest.hpp"
#include "rows.hpp"

#include <holdfast/async.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <thread>

namespace bench {
namespace {

enum class names : std::uint8_t { one, each_its_own };

void measure(const effort& how, names which, findings& out) {
    const auto count = how.size < 1 ? std::size_t{2'000} : std::size_t{10'000};
    const auto name_of = [&](std::size_t i) {
        return which == names::one ? std::string{"orders"} : "orders/" + std::to_string(i);
    };
    const auto url = "sqlite:" + how.directory +
                     (which == names::one ? "/queued_for_one.db" : "/queued_for_many.db");
    enum : std::size_t { heap, resident, cpu, queueing, figures };
    double found[figures] = {};
    in_a_child(
        [&](double* mine) {
            const auto other = holdfast::open(url);
            std::vector<holdfast::lease> held;
            for (std::size_t i = 0; i < (which == names::one ? 1 : count); ++i)
                held.push_back(holdfast::mutex{other, name_of(i)}.acquire());
            const auto client = holdfast::open(url);
            boost::asio::io_context context;
            std::size_t served = 0;
            const auto before = footprint::now();
            const auto begin = now_ns();
            for (std::size_t i = 0; i < count; ++i)
                holdfast::mutex{client, name_of(i)}.async_acquire(
                    {},
                    boost::asio::bind_executor(
                        context, [&](holdfast::error_code, const holdfast::lease&) { ++served; }));
            for (auto waiting = std::size_t{0}; waiting < (which == names::one ? 1 : count);) {
                std::this_thread::sleep_for(std::chrono::milliseconds{20});
                waiting = 0;
                for (const auto& one : client.inspect())
                    waiting += one.waiters.size();
            }
            const auto full = footprint::now();
            const auto n = static_cast<double>(count);
            mine[queueing] = static_cast<double>(now_ns() - begin) / n;
            mine[heap] = (full.heap - before.heap) / n;
            mine[resident] = (full.resident - before.resident) / n;
            const auto from = footprint::now();
            const auto since = now_ns();
            std::this_thread::sleep_for(std::chrono::seconds{how.idle_seconds});
            const auto to = footprint::now();
            mine[cpu] = (to.cpu_ns - from.cpu_ns) / static_cast<double>(now_ns() - since) * 100;
            context.poll();
            check(served == 0, "nobody is served while it is held");
        },
        found,
        figures);
    const auto work = (count == 10'000 ? "10,000" : "2,000") +
                      std::string{" queued async waiters, "} +
                      (which == names::one ? "one name" : "a name each");
    const auto limit = [&](double at_most) {
        return which == names::one ? std::optional{at_most} : std::nullopt;
    };
    out.figures.push_back({work,
                           "CPU",
                           found[cpu],
                           "% of a core",
                           limit(0.05),
                           "over " + std::to_string(how.idle_seconds) + " s; 0.0 % is the target"});
    out.figures.push_back(
        {work, "memory, each", found[heap], "bytes", limit(1024), "given out by malloc"});
    out.figures.push_back(
        {work, "memory, each", found[resident], "bytes", limit(1024), "resident"});
    out.figures.push_back(
        {work, "queueing, each", found[queueing] / 1000, "µs", std::nullopt, "for scale"});
}

} // namespace

void queued_waiters(const effort& how, findings& out) {
    measure(how, names::one, out);
    measure(how, names::each_its_own, out);
}

} // namespace bench
