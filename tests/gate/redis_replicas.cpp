// redis+replicas://: a primary, and replicas that were named.

#include "gate/redis_at_fault.hpp"

namespace holdfast::servers {
namespace {

class redis_replicas : public ::testing::Test {
protected:
    void SetUp() override {
        HOLDFAST_NEEDS(redis_server::missing());
        primary.emplace();
        replica.emplace(redis_options{.replica_of = primary->port()});
        ASSERT_TRUE(eventually([&] {
            return replica->ask({"INFO"}).text.find("master_link_status:up") != std::string::npos;
        }));
    }
    /// What a doctor says of a server; "grade sentence".
    [[nodiscard]] static std::string said_of(const client& ours, const std::string& address) {
        std::string said;
        for (const auto& one : ours.examine())
            if (one.what.find(address + " ") != std::string::npos)
                said += std::to_string(static_cast<int>(one.how)) + " " + one.what + "\n";
        return said;
    }
    std::optional<redis_server> primary, replica;
};

TEST_F(redis_replicas, are_looked_at_one_by_one) {
    redis_server stranger;
    redis_server its_replica{{.replica_of = stranger.port()}};
    std::optional<redis_server> gone;
    gone.emplace();
    const auto gone_address = gone->address();
    gone.reset();
    const auto ours = open("redis+replicas://" + primary->address() + "," + replica->address() +
                           "," + stranger.address() + "," + its_replica.address() + "," +
                           gone_address + "?quarantine=0");
    ASSERT_TRUE(eventually([&] {
        return its_replica.ask({"INFO"}).text.find("master_link_status:up") != std::string::npos;
    }));
    const auto expect = [&](const std::string& address, const std::string& words) {
        const auto said = said_of(ours, address);
        EXPECT_NE(said.find(words), std::string::npos) << address << ": " << said;
    };
    expect(replica->address(), "0 " + replica->address() + " is its replica, and in touch");
    expect(stranger.address(), "3 " + stranger.address() + " was named as a replica, but is a");
    expect(its_replica.address(), "is a replica of " + stranger.address() + ", which is not");
    expect(gone_address, "2 The replica " + gone_address + " cannot be reached");
    primary->kill();
    ASSERT_TRUE(eventually([&] {
        return replica->ask({"INFO"}).text.find("master_link_status:down") != std::string::npos;
    }));
    expect(replica->address(), "has lost touch with it");
}

TEST_F(redis_replicas, that_stand_first_are_told_from_the_primary) {
    const auto ours =
        open("redis+replicas://" + replica->address() + "," + primary->address() + "?quarantine=0");
    const auto why = words_of([&] { (void)mutex{ours, "orders"}.try_acquire({.ttl = 30s}); });
    EXPECT_NE(why.find(replica->address() + ": it is a replica of " + primary->address()),
              std::string::npos)
        << why;
}

} // namespace
} // namespace holdfast::servers
