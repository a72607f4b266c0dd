// PgBouncer between us and a real PostgreSQL server, in each of its modes. It gives statements to
// whichever connection is free: it is noticed and refused, and who else uses it is not disturbed.

#include "gate/sql_at_fault.hpp"
#include "servers/ports.hpp"
#include "servers/postgres.hpp"
#include "servers/postgres_link.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace holdfast::servers {
namespace {

using conformance::code;

/// With one connection to the server, which all its clients share.
class pgbouncer {
public:
    [[nodiscard]] static lack missing() {
        // Not in everybody's PATH.
        return missing_programs({"/usr/sbin/pgbouncer", "setpriv"});
    }

    pgbouncer(const postgres_server& server, const std::string& mode) {
        for (int tries = 0; tries < 10; ++tries) {
            port_ = free_port();
            if (start(server, mode))
                return;
        }
        throw std::runtime_error{"PgBouncer found no free port in ten tries"};
    }
    ~pgbouncer() { end(); }
    pgbouncer(const pgbouncer&) = delete;
    pgbouncer& operator=(const pgbouncer&) = delete;

    [[nodiscard]] std::string url() const {
        return "postgres://holdfast@127.0.0.1:" + std::to_string(port_) + "/holdfast";
    }

private:
    [[nodiscard]] bool start(const postgres_server& server, const std::string& mode) {
        std::ofstream{room_ / "pgbouncer.ini"} << "[databases]\n"
                                               << "holdfast = host=127.0.0.1 port=" << server.port()
                                               << " user=holdfast\n"
                                               << "[pgbouncer]\n"
                                               << "listen_addr = 127.0.0.1\n"
                                               << "listen_port = " << port_ << '\n'
                                               << "unix_socket_dir =\n"
                                               << "auth_type = any\n"
                                               << "pool_mode = " << mode << '\n'
                                               << "default_pool_size = 1\n"
                                               << "log_connections = 0\n"
                                               << "log_disconnections = 0\n";
        std::filesystem::permissions(room_.path(), std::filesystem::perms{0755});
        std::vector<std::string> command{
            "setpriv", "--pdeathsig", "KILL", "/usr/sbin/pgbouncer", room_ / "pgbouncer.ini"};
        if (::geteuid() == 0) // it refuses to run as root, and the kernel forgets who changes user
            command = {"setpriv",
                       "--reuid",
                       "nobody",
                       "--clear-groups",
                       "--pdeathsig",
                       "KILL",
                       "/usr/sbin/pgbouncer",
                       room_ / "pgbouncer.ini"};
        process_.emplace(command, cli_tests::start_options{.environment = {}, .input = ""});
        const bool settled = eventually([this] { return !process_->runs_for(0ms) || answers(); });
        if (settled && process_->runs_for(0ms))
            return true;
        end();
        const auto said = process_->err.all();
        if (said.find("Address already in use") != std::string::npos)
            return false;
        throw std::runtime_error{"PgBouncer did not start: " + said};
    }
    [[nodiscard]] bool answers() const {
        try {
            return postgres_link{url()}.ask("SELECT 1") == "1";
        } catch (const std::runtime_error&) {
            return false; // it is still starting
        }
    }
    void end() {
        process_->signal(SIGKILL);
        static_cast<void>(process_->exit_code());
    }

    folder room_;
    std::uint16_t port_ = 0;
    std::optional<cli_tests::program> process_;
};

class sql_pooler : public ::testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        HOLDFAST_NEEDS(postgres_server::missing());
        HOLDFAST_NEEDS(pgbouncer::missing());
        server.emplace();
        pooler.emplace(*server, GetParam());
    }

    std::optional<postgres_server> server;
    std::optional<pgbouncer> pooler;
};
INSTANTIATE_TEST_SUITE_P(on,
                         sql_pooler,
                         ::testing::Values("session", "transaction", "statement"),
                         [](const auto& one) { return std::string{one.param}; });

TEST_P(sql_pooler, is_refused_in_one_sentence) {
    for (const std::string how : {"lease", "session", "row"}) {
        const auto ours = open(pooler->url() + "?mode=" + how);
        try {
            (void)mutex{ours, "orders"}.acquire({.wait = patience});
            ADD_FAILURE() << "it was not noticed";
        } catch (const std::system_error& e) {
            const std::string said = e.what();
            EXPECT_EQ(e.code(), code(errc::backend_refused)) << said;
            EXPECT_NE(said.find("a connection pooler answers there"), std::string::npos) << said;
            EXPECT_NE(said.find("give the address of the server itself"), std::string::npos);
            EXPECT_EQ(said.find('\n'), std::string::npos) << said;
        }
    }
    EXPECT_EQ(server->sql("SELECT count(*) FROM pg_class WHERE relname LIKE 'holdfast%'"), "0");
}

TEST_P(sql_pooler, its_other_clients_do_not_notice_us) {
    const auto settings = [&] {
        const postgres_link other{pooler->url()};
        std::string all;
        for (const std::string name : {"lock_timeout",
                                       "statement_timeout",
                                       "default_transaction_isolation",
                                       "default_transaction_read_only",
                                       "idle_in_transaction_session_timeout"})
            all += other.ask("SHOW " + name) + ' ';
        return all;
    };
    const auto before = settings();
    const auto ours = open(pooler->url());
    EXPECT_THROW((void)(mutex{ours, "orders"}.try_acquire()), std::system_error);
    EXPECT_EQ(settings(), before);
}

} // namespace
} // namespace holdfast::servers
