#include "backends/redis/transport.hpp"
#include "servers/certificates.hpp"
#include "servers/redis.hpp"

#include <gtest/gtest.h>

#include <array>
#include <poll.h>

namespace holdfast::redis::test {
namespace {

/// Goes on connecting until it is open or has failed.
[[nodiscard]] io connected(transport& t, std::string& problem) {
    for (int i = 0; i < 1000; ++i) {
        bool writing = true;
        const auto how = t.advance(writing, problem);
        if (how != io::would_block)
            return how;
        pollfd one{t.descriptor(), static_cast<short>(writing ? POLLOUT : POLLIN), 0};
        ::poll(&one, 1, 5000);
    }
    return io::would_block;
}

class redis_transport : public testing::Test {
protected:
    void SetUp() override { HOLDFAST_NEEDS(servers::redis_server::missing()); }
    [[nodiscard]] static socket_address address_of(const servers::redis_server& s) {
        std::string problem;
        return addresses_of({"127.0.0.1", s.port()}, problem).at(0);
    }
    [[nodiscard]] static tls_options trusting() {
        return {.ca_file = servers::our_certificates().authority};
    }
};

// A signal for that would kill the program that uses us.
TEST_F(redis_transport, writing_to_a_server_that_is_gone_is_an_answer_and_no_signal) {
    for (const auto over : {servers::encryption::none, servers::encryption::tls}) {
        servers::redis_server server{{.over = over}};
        std::string problem;
        transport t{address_of(server),
                    over == servers::encryption::tls ? make_tls_context(trusting()) : nullptr,
                    "127.0.0.1",
                    problem};
        ASSERT_EQ(connected(t, problem), io::done) << problem;
        std::size_t sent = 0;
        ASSERT_EQ(t.write("PING\r\n", sent), io::done);
        EXPECT_EQ(sent, 6U);
        server.kill();
        auto how = io::done;
        for (int i = 0; i < 1000 && how == io::done; ++i)
            how = t.write("PING\r\n", sent);
        EXPECT_EQ(how, io::closed);
    }
}

TEST_F(redis_transport, carries_bytes_both_ways_under_tls) {
    const servers::redis_server server{{.over = servers::encryption::tls}};
    std::string problem;
    transport t{address_of(server), make_tls_context(trusting()), "127.0.0.1", problem};
    ASSERT_EQ(connected(t, problem), io::done) << problem;
    std::size_t sent = 0, got = 0;
    ASSERT_EQ(t.write("PING\r\n", sent), io::done);
    std::array<char, 100> bytes{};
    auto how = t.read(bytes, got);
    for (int i = 0; i < 1000 && how == io::would_block; ++i) {
        pollfd one{t.descriptor(), POLLIN, 0};
        ::poll(&one, 1, 5000);
        how = t.read(bytes, got);
    }
    EXPECT_EQ(how, io::done);
    EXPECT_EQ((std::string_view{bytes.data(), got}), "+PONG\r\n");
}

TEST_F(redis_transport, believes_nobody_whom_it_has_no_reason_to_trust) {
    const servers::redis_server server{{.over = servers::encryption::tls}};
    std::string problem;
    transport stranger{
        address_of(server),
        make_tls_context({.ca_file = servers::our_certificates().stranger_authority}),
        "127.0.0.1",
        problem};
    EXPECT_EQ(connected(stranger, problem), io::closed);
    EXPECT_NE(problem.find("TLS: "), std::string::npos) << problem;
    problem.clear();
    transport elsewhere{address_of(server), make_tls_context(trusting()), "redis.example", problem};
    EXPECT_EQ(connected(elsewhere, problem), io::closed);
    EXPECT_NE(problem.find("mismatch"), std::string::npos) << problem;
    transport careless{
        address_of(server), make_tls_context({.verify = false}), "redis.example", problem};
    EXPECT_EQ(connected(careless, problem), io::done);
}

} // namespace
} // namespace holdfast::redis::test
