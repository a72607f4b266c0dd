#pragma once

// What the suite asks of an engine, and which promises it is asked for.
//
//   memory.cpp, sqlite.cpp, …   how a place is made and reached: all that is said per engine
//   every other file            promises of the public face, on each engine that makes them
//
// A suite names what it needs. An engine without it is not asked, and not_asked.cpp says so aloud.

#include <holdfast/backend.hpp>
#include <holdfast/client.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace holdfast::conformance {

/// Where locks live: a store, a file, a database. Fresh for each test, gone after it.
class place {
public:
    place() = default;
    place(const place&) = delete;
    place& operator=(const place&) = delete;
    virtual ~place() = default;

    /// One more way to it, as if from another program.
    [[nodiscard]] virtual std::unique_ptr<backend> connect() = 0;

    /// What another process opens; only where locks reach beyond this one.
    [[nodiscard]] virtual std::string url() const { return {}; }

    /// From now on nobody can use the engine; until recover(). Only where it can_fail.
    virtual void fail() {}
    virtual void recover() {}

    [[nodiscard]] client open(client_options options = {}) {
        return url().empty() ? client{connect(), std::move(options)}
                             : holdfast::open(url(), std::move(options));
    }
};

struct engine_under_test {
    /// Written down here a second time: an engine that forgets what it can do fails a test, instead
    /// of quietly not being asked any more.
    capabilities promises;
    const char* called = nullptr; ///< if it is one of several forms of the engine
    bool can_fail = false;
    bool embedded = false; ///< it can leave its locks to the children of a holder
    std::unique_ptr<place> (*make_place)() = nullptr;

    [[nodiscard]] const char* name() const { return called != nullptr ? called : promises.engine; }
};

/// Whether HOLDFAST_FORM names it. Forms whose servers are slow to start are run by a program of
/// their own for all their tests, see CMakeLists.txt.
[[nodiscard]] bool is_asked_for(const char* form);

/// Adds an engine to the suite; its file does this once, before main.
bool add(const engine_under_test&);
[[nodiscard]] const std::vector<engine_under_test>& engines();

/// What a suite cannot do without.
struct need {
    const char* sentence;
    bool (*met_by)(const engine_under_test&);
};

inline constexpr need nothing{"nothing", [](const engine_under_test&) { return true; }};
inline constexpr need other_processes{
    "locks that reach other processes",
    [](const engine_under_test& e) { return e.promises.reach != reach::process; }};
inline constexpr need fences{
    "fences", [](const engine_under_test& e) { return e.promises.fences != fence_grade::none; }};
inline constexpr need fences_per_pass{
    "a larger fence with each pass inside one client",
    [](const engine_under_test& e) { return e.promises.fence_per_pass; }};
inline constexpr need shared_locks{"shared locks",
                                   [](const engine_under_test& e) { return e.promises.shared; }};
inline constexpr need permits{"permits",
                              [](const engine_under_test& e) { return e.promises.permits; }};
inline constexpr need fair_order{"an order among waiters",
                                 [](const engine_under_test& e) { return e.promises.fair; }};
inline constexpr need lock_delay{"lock delay",
                                 [](const engine_under_test& e) { return e.promises.lock_delay; }};
inline constexpr need ends_by_time{"locks that end with their ttl, whatever became of their holder",
                                   [](const engine_under_test& e) {
                                       return !e.promises.keeps_while_stopped &&
                                              e.promises.ttl != ttl_scope::session;
                                   }};
inline constexpr need stopped_processes_lose{
    "locks that a process that stands still loses", [](const engine_under_test& e) {
        return !e.promises.keeps_while_stopped && e.promises.reach != reach::process;
    }};
inline constexpr need sight_of_death{
    "dead holders noticed at once", [](const engine_under_test& e) {
        return e.promises.notices_death && e.promises.reach != reach::process;
    }};
inline constexpr need pushed_wakes{
    "waiters of other processes that are woken, and need not ask", [](const engine_under_test& e) {
        return e.promises.wake != wake_by::polling && e.promises.reach != reach::process;
    }};
inline constexpr need embedding{"an embedded engine",
                                [](const engine_under_test& e) { return e.embedded; }};
inline constexpr need failing{"an engine that can be made to fail",
                              [](const engine_under_test& e) { return e.can_fail; }};

/// Two needs at once are a suite of their own, so that a sentence can say what is missing.
inline constexpr need shared_locks_with_fences{
    "shared locks with fences",
    [](const engine_under_test& e) { return shared_locks.met_by(e) && fences.met_by(e); }};
inline constexpr need shared_locks_of_other_processes{
    "shared locks that reach other processes",
    [](const engine_under_test& e) { return shared_locks.met_by(e) && other_processes.met_by(e); }};
inline constexpr need permits_of_other_processes{
    "permits that reach other processes",
    [](const engine_under_test& e) { return permits.met_by(e) && other_processes.met_by(e); }};
inline constexpr need fair_order_of_other_processes{
    "an order among waiters in several processes",
    [](const engine_under_test& e) { return fair_order.met_by(e) && other_processes.met_by(e); }};
inline constexpr need fences_of_other_processes{
    "fences that reach other processes",
    [](const engine_under_test& e) { return fences.met_by(e) && other_processes.met_by(e); }};
inline constexpr need lock_delay_of_other_processes{
    "lock delay that reaches other processes",
    [](const engine_under_test& e) { return lock_delay.met_by(e) && other_processes.met_by(e); }};

bool list_suite(const char* suite, const need&);
[[nodiscard]] std::vector<engine_under_test> engines_with(const need&);

/// A test that has a fresh place to itself.
class on_engine : public ::testing::TestWithParam<engine_under_test> {
protected:
    [[nodiscard]] place& here() { return *place_; }
    [[nodiscard]] client open(client_options options = {}) {
        return place_->open(std::move(options));
    }
    [[nodiscard]] const capabilities& promises() const { return GetParam().promises; }

private:
    const std::unique_ptr<place> place_ = GetParam().make_place();
};

inline void PrintTo(const engine_under_test& e, std::ostream* out) { *out << e.name(); }

} // namespace holdfast::conformance

/// One suite, on every engine that has what it needs: on/SUITE.sentence/ENGINE.
#define HOLDFAST_SUITE(suite, what_it_needs)                                                       \
    class suite : public on_engine {};                                                             \
    [[maybe_unused]] const bool suite##_is_listed = list_suite(#suite, what_it_needs);             \
    GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite);                                          \
    INSTANTIATE_TEST_SUITE_P(on,                                                                   \
                             suite,                                                                \
                             ::testing::ValuesIn(engines_with(what_it_needs)),                     \
                             [](const auto& engine) { return std::string{engine.param.name()}; })
