// After the same steps in Java and in C++ the server contains the same.
//
// Apart from what only we write: the fence of each lock, who we are, that we know the server, and
// that a writer waits.
// And apart from who holds, how often, and Redisson's notes about its own unlocking.

#include "interop/both.hpp"
#include "interop/look_alike.hpp"

namespace holdfast::interop {
namespace {

class both_look_alike : public with_both {
protected:
    /// The dump, without what may differ.
    [[nodiscard]] std::string looks() const {
        return anonymous(dump(*server),
                         {"redisson_lock_token:",
                          "holdfast_canary",
                          "holdfast_client:",
                          "holdfast_writer_waits:",
                          "redisson_unlock_latch:"});
    }

    void compare(const steps& all) {
        likeness{{[this] { return looks(); }, [this] { server->ask({"FLUSHALL"}); }}}.expect(
            *java, *ours, all);
    }
};

INSTANTIATE_TEST_SUITE_P(real,
                         both_look_alike,
                         ::testing::ValuesIn(redisson_versions_to_test()),
                         version_as_name);

TEST_P(both_look_alike, plain) {
    compare({"lock c1 h1 plain orders 28000",
             "unlock c1 h1 plain orders",
             "lock c1 h1 plain orders", // 30 s, renewed
             "(waits) lock c2 h1 plain orders 58000",
             "unlock c1 h1 plain orders",
             "unlock c2 h1 plain orders"});
}

TEST_P(both_look_alike, names_with_braces) {
    compare({"lock c1 h1 plain a{b}c 28000",
             "lock c1 h1 read x{y}z 28000",
             "lock c1 h1 fair {t} 28000",
             "unlock c1 h1 plain a{b}c",
             "unlock c1 h1 read x{y}z",
             "unlock c1 h1 fair {t}"});
}

TEST_P(both_look_alike, fenced) {
    compare({"lock c1 h1 fenced orders", "unlock c1 h1 fenced orders"});
}

TEST_P(both_look_alike, fair) {
    compare({"lock c1 h1 fair orders 28000",
             "(waits) trylock c2 h1 fair orders 28000 28000",
             "(waits) trylock c2 h2 fair orders 28000 28000",
             "unlock c1 h1 fair orders",
             "unlock c2 h1 fair orders",
             "unlock c2 h2 fair orders"});
}

TEST_P(both_look_alike, reading_and_writing) {
    compare({"lock c1 h1 read orders 28000",
             "lock c2 h1 read orders 58000",
             "unlock c1 h1 read orders",
             "unlock c2 h1 read orders",
             "lock c2 h1 read orders 58000",
             "lock c1 h1 read orders 28000",
             "unlock c2 h1 read orders", // the longest goes: the others' time counts
             "unlock c1 h1 read orders",
             "lock c1 h1 write orders 28000",
             "unlock c1 h1 write orders",
             "lock c1 h1 write orders",
             "unlock c1 h1 write orders"});
}

TEST_P(both_look_alike, while_somebody_waits_to_read_or_write) {
    compare({"lock c1 h1 read orders 28000",
             "(waits) lock c2 h1 write orders 58000",
             "unlock c1 h1 read orders",
             "(waits) lock c1 h1 read orders 28000",
             "unlock c2 h1 write orders",
             "unlock c1 h1 read orders",
             "lock c1 h1 write orders", // 30 s, renewed
             "(waits) lock c2 h1 write orders 58000",
             "unlock c1 h1 write orders",
             "unlock c2 h1 write orders",
             "lock c1 h1 read orders 28000",
             "lock c1 h2 read orders 58000",
             "(waits) trylock c2 h1 write orders 600 58000", // in vain
             "unlock c1 h2 read orders",
             "unlock c1 h1 read orders"});
}

TEST_P(both_look_alike, permits) {
    compare({"permit c1 h1 set tickets 1",
             "permit c1 h1 acquire tickets 28000",
             "permit c1 h1 release tickets PERMIT"});
}

TEST_P(both_look_alike, several_as_one) {
    compare({"lock c1 h1 multi a,b,c 28000", "unlock c1 h1 multi a,b,c"});
}

} // namespace
} // namespace holdfast::interop
