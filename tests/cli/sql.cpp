// What a person reads, how soon, and with which exit code, when the engine is a database.

#include "on_a_server.hpp"
#include "parsed.hpp"
#include "servers/mariadb.hpp"
#include "servers/postgres.hpp"

#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>

using namespace std::chrono_literals;

namespace holdfast::cli_tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Where the two kinds differ, as far as it matters to these tests.

struct on_postgres {
    using database = servers::postgres_server;
    using options = servers::postgres_options;
    static constexpr const char* scheme = "postgres";
    static constexpr const char* other_scheme = "mysql";

    [[nodiscard]] static options primary() { return {}; }
    [[nodiscard]] static options careful() { return {.settings = {"fsync = on"}}; }
    [[nodiscard]] static options careless() { return {.settings = {"fsync = off"}}; }
    static constexpr const char* fix = "fsync = on";
    static constexpr const char* nobody = "Connection refused";
    static constexpr const char* wants_tls = "no encryption";

    /// May use tables, but not make any.
    static void add_guest(const database& of, const std::string& password) {
        of.sql("CREATE ROLE guest LOGIN PASSWORD '" + password + "'");
    }
};

struct on_mariadb {
    using database = servers::mariadb_server;
    using options = servers::mariadb_options;
    static constexpr const char* scheme = "mysql";
    static constexpr const char* other_scheme = "postgres";

    [[nodiscard]] static options primary() { return {.changes = servers::binary_log::kept}; }
    [[nodiscard]] static options careful() { return {}; }
    [[nodiscard]] static options careless() {
        return {.settings = {"innodb-flush-log-at-trx-commit=2"}};
    }
    static constexpr const char* fix = "innodb_flush_log_at_trx_commit = 1";
    static constexpr const char* nobody = "nobody takes connections";
    static constexpr const char* wants_tls = "wants TLS";

    static void add_guest(const database& of, const std::string& password) {
        of.sql("CREATE USER guest IDENTIFIED BY '" + password +
               "'; GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast.* TO guest");
    }
};

/// A port where connections are taken, and nothing is ever said.
class silent_port {
public:
    silent_port() {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* const address = reinterpret_cast<sockaddr*>(&at);
        socklen_t size = sizeof at;
        if (::bind(door_.number(), address, size) != 0 || ::listen(door_.number(), 100) != 0 ||
            ::getsockname(door_.number(), address, &size) != 0)
            throw std::runtime_error{"no port to be silent on"};
        port_ = ntohs(at.sin_port);
    }
    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

private:
    descriptor door_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    std::uint16_t port_ = 0;
};

template <class Kind> class on_sql : public on_a_server {
protected:
    void SetUp() override { HOLDFAST_NEEDS(Kind::database::missing()); }

    [[nodiscard]] static std::string url_at(const std::string& address,
                                            const std::string& who = "holdfast",
                                            const std::string& database = "holdfast") {
        return std::string{Kind::scheme} + "://" + who + "@" + address + "/" + database;
    }
    [[nodiscard]] static outcome at_once(const std::string& url,
                                         const std::vector<std::string>& how = {}) {
        std::vector<std::string> all{"run", "-n", "-u", url};
        all.insert(all.end(), how.begin(), how.end());
        all.insert(all.end(), {"job", "--", "echo", "held"});
        return holdfast(all);
    }
    [[nodiscard]] static program start_holding(const std::string& url,
                                               const std::vector<std::string>& how) {
        std::vector<std::string> all{"run", "-u", url};
        all.insert(all.end(), how.begin(), how.end());
        all.insert(all.end(), {"job", "--", "sh", "-c", "echo ready; read x"});
        auto holder = start(all);
        EXPECT_EQ(holder.out.line(), "ready") << holder.err.all();
        return holder;
    }
    static void let_go(program& holder) {
        holder.write("\n");
        EXPECT_EQ(holder.exit_code(), 0);
    }
};

using kinds = testing::Types<on_postgres, on_mariadb>;
struct kind_names {
    template <class Kind> static std::string GetName(int /*which*/) { // NOLINT: asked for so
        return Kind::scheme;
    }
};
TYPED_TEST_SUITE(on_sql, kinds, kind_names);

// ------------------------------------------------------------------------------- all is well

TYPED_TEST(on_sql, a_lock_is_held_seen_and_taken_by_force) {
    const typename TypeParam::database server;
    this->expect_that_a_lock_is_held_seen_and_taken_by_force(server.url());
}

TYPED_TEST(on_sql, readers_share_permits_are_counted_and_who_waits_gets_it) {
    const typename TypeParam::database server;
    const auto url = server.url();
    auto reader = this->start_holding(url, {"-s"});
    EXPECT_EQ(this->at_once(url, {"-s"}).out, "held\n");
    EXPECT_EQ(this->at_once(url, {"-x"}).code, 1);
    auto writer =
        this->start({"run", "-u", url, "-w", "25s", "-x", "job", "--", "echo", "written"});
    EXPECT_TRUE(comes_true(patience, [&] {
        return this->holdfast({"show", "-u", url, "job"}).out.find("waiting") != std::string::npos;
    }));
    EXPECT_EQ(this->at_once(url, {"-s"}).code, 1) << "a writer is not overtaken by readers";
    this->let_go(reader);
    EXPECT_EQ(writer.end().out, "written\n");

    auto first = this->start_holding(url, {"-N", "2"});
    auto second = this->start_holding(url, {"-N", "2"});
    EXPECT_EQ(this->at_once(url, {"-N", "2"}).code, 1);
    EXPECT_THAT(this->holdfast({"show", "-u", url, "job"}).out, HasSubstr("permit"));
    EXPECT_EQ(this->holdfast({"ls", "-u", url, "--names", "j*"}).out, "job\n");
    this->let_go(first);
    EXPECT_EQ(this->at_once(url, {"-N", "2"}).out, "held\n");
    this->let_go(second);
    EXPECT_EQ(this->holdfast({"ls", "-u", url, "--names"}).out, "");
}

TYPED_TEST(on_sql, watch_follows_a_lock_from_hand_to_hand) {
    const typename TypeParam::database server;
    const auto url = server.url();
    const auto expect_event = [](program& watcher, std::string_view what, std::int64_t pid) {
        const auto event = parsed(watcher.out.line().value_or("the end"));
        EXPECT_EQ(event.at("event").as_string(), what);
        EXPECT_EQ(event.at("pid").as_int64(), pid);
    };
    auto holder = this->start_holding(url, {});
    const auto first = guardian_of(holder);
    auto watcher = this->start({"watch", "job", "-u", url, "--json", "--every", "20ms"});
    expect_event(watcher, "held", first);
    auto waiter = this->start({"run", "-u", url, "job", "--", "sh", "-c", "read x"});
    const auto second = guardian_of(waiter);
    expect_event(watcher, "waits", second);
    holder.write("\n");
    expect_event(watcher, "released", first);
    expect_event(watcher, "granted", second);
    waiter.write("\n");
    expect_event(watcher, "released", second);
    watcher.signal(SIGTERM);
    EXPECT_EQ(watcher.exit_code(), 0);
}

TYPED_TEST(on_sql, a_holder_that_is_killed_has_a_successor) {
    const typename TypeParam::database server;
    const auto url = server.url();
    auto holder = this->start_holding(url, {"--ttl", "2s"});
    ::kill(guardian_of(holder), SIGKILL);
    EXPECT_EQ(holder.exit_code(), 70);
    EXPECT_EQ(this->holdfast({"run", "-w", "25s", "-u", url, "job", "--", "echo", "held"}).out,
              "held\n");
}

TYPED_TEST(on_sql, a_waiter_survives_a_restart_of_the_server) {
    typename TypeParam::database server;
    this->expect_that_a_waiter_survives_a_restart(server);
}

// The grade is not asked for: the doctor finds a busy machine slow.
TYPED_TEST(on_sql, the_doctor_says_what_to_change) {
    const typename TypeParam::database good{TypeParam::careful()};
    const auto well = this->holdfast({"doctor", good.url()});
    EXPECT_THAT(well.out, AllOf(HasSubstr("good"), Not(HasSubstr(TypeParam::fix)))) << well.err;

    const typename TypeParam::database bad{TypeParam::careless()};
    const auto ill = this->holdfast({"doctor", bad.url()});
    EXPECT_EQ(ill.code, 1) << ill.err;
    EXPECT_THAT(ill.out, AllOf(HasSubstr("warning"), HasSubstr(TypeParam::fix)));
}

// ------------------------------------------------------------------------------- rights

TYPED_TEST(on_sql, who_may_not_come_in_is_told_so_without_a_password) {
    typename TypeParam::options o;
    o.password = "hunter1";
    const typename TypeParam::database server{o};
    EXPECT_EQ(this->run_on(server.url()).out, "held\n");
    const auto wrong = this->url_at(server.address(), "holdfast:hunter2");
    this->expect_sentence(this->run_on(wrong), 77, "refused user or password");
    this->expect_sentence(this->holdfast({"doctor", wrong}), 77, "refused user or password");
    this->expect_looking_says(wrong, 77, "refused user or password");
    this->expect_sentence(
        this->run_on(this->url_at(server.address(), "holdfast:hunter1", "nowhere")), 77, "nowhere");
    this->expect_sentence(this->at_once(this->url_at(server.address())), 77, "password");
    for (const auto& how : {this->run_on(wrong),
                            this->holdfast({"doctor", wrong}),
                            this->holdfast({"ls", "-u", wrong})})
        EXPECT_THAT(how.err + how.out, Not(HasSubstr("hunter")));

    auto holder = this->start_holding(server.url(), {});
    for (const auto pid : {holder.pid(), guardian_of(holder)})
        EXPECT_THAT(call({"ps", "-ww", "-o", "args=", "-p", std::to_string(pid)}).out,
                    AllOf(HasSubstr("job"), Not(HasSubstr("hunter"))));
    for (const auto& looks : {this->holdfast({"ls", "-u", server.url()}),
                              this->holdfast({"show", "job", "-u", server.url()}),
                              this->holdfast({"doctor", server.url()})})
        EXPECT_THAT(looks.out + looks.err, Not(HasSubstr("hunter")));
    this->let_go(holder);
}

TYPED_TEST(on_sql, tables_may_be_made_by_somebody_else) {
    typename TypeParam::options o;
    o.password = "hunter1";
    const typename TypeParam::database server{o};
    TypeParam::add_guest(server, "hunter2");
    const auto guest = this->url_at(server.address(), "guest:hunter2");
    this->expect_sentence(this->run_on(guest), 77, "holdfast schema");
    this->expect_looking_says(guest, 77, "holdfast schema");
    this->expect_sentence(this->run_on(guest + "?make_tables=no"), 77, "holdfast schema");

    const auto text = this->holdfast({"schema", guest});
    EXPECT_EQ(text.code, 0) << text.err;
    EXPECT_THAT(text.out, Not(HasSubstr("hunter")));
    server.sql(text.out);
    this->expect_that_a_lock_is_held_seen_and_taken_by_force(guest);
    server.sql(text.out); // again does no harm
    for (const char* const mode : {"lease", "row", "session"}) {
        const auto how = this->run_on(guest + "?mode=" + mode);
        EXPECT_EQ(how.out, "held\n") << mode << ": " << how.err;
    }
    EXPECT_EQ(this->run_on(server.url()).code,
              TypeParam::scheme == std::string{"postgres"} ? 77 : 0)
        << "tables belong to those who may use them";

    const auto others = guest + "?table=others";
    this->expect_sentence(this->run_on(others), 77, "others_");
    server.sql(
        this->holdfast({"schema"}, {.environment = {"HOLDFAST_URL=" + others}, .input = {}}).out);
    EXPECT_EQ(this->run_on(others).out, "held\n");
}

TYPED_TEST(on_sql, a_replica_alone_grants_nothing) {
    const typename TypeParam::database primary{TypeParam::primary()};
    auto o = TypeParam::primary();
    o.replica_of = &primary;
    const typename TypeParam::database replica{o};
    EXPECT_EQ(this->run_on(primary.url()).out, "held\n");
    this->expect_sentence(this->run_on(replica.url()), 69, "replica");
    this->expect_sentence(this->holdfast({"doctor", replica.url()}), 69, "replica");
    EXPECT_EQ(this->run_on(this->url_at(replica.address() + "," + primary.address())).out,
              "held\n");
}

// ------------------------------------------------------------------------------- nobody there

TYPED_TEST(on_sql, a_server_that_is_not_there_is_named) {
    std::string url;
    {
        const typename TypeParam::database server;
        url = server.url();
    }
    this->expect_sentence(this->run_on(url), 69, TypeParam::nobody);
    this->expect_sentence(this->at_once(url), 69, TypeParam::nobody);
    this->expect_sentence(this->holdfast({"doctor", url}), 69, TypeParam::nobody);
    this->expect_looking_says(url, 69, TypeParam::nobody);
}

TYPED_TEST(on_sql, a_host_that_is_not_there_is_named) {
    const auto url = this->url_at("nowhere.invalid");
    this->expect_sentence(this->run_on(url), 69, "nowhere.invalid");
    this->expect_looking_says(url, 69, "nowhere.invalid");
}

// Nobody here waits longer than `patience`, and so not as long as some of these URLs would let him.
TYPED_TEST(on_sql, a_server_that_stands_still_keeps_nobody_longer_than_he_wants_to_wait) {
    typename TypeParam::database server;
    server.pause();
    this->expect_sentence(this->run_on(server.url() + "?connect_timeout=10m"), 69, "answer");
    this->expect_sentence(this->at_once(server.url() + "?connect_timeout=500ms"), 69, "answer");
    this->expect_sentence(this->holdfast({"doctor", server.url()}), 69, "answer");
    this->expect_looking_says(server.url() + "?connect_timeout=500ms", 69, "answer");
    server.resume();
    EXPECT_EQ(this->run_on(server.url()).out, "held\n");
}

TYPED_TEST(on_sql, who_says_nothing_or_something_else_is_no_server) {
    const silent_port silent;
    const auto url = this->url_at(silent.address()) + "?connect_timeout=500ms";
    this->expect_sentence(this->at_once(url), 69, silent.address());
    this->expect_sentence(this->run_on(url), 69, silent.address());
    this->expect_looking_says(url, 69, silent.address());

    const typename TypeParam::database server;
    const auto mistaken = std::string{TypeParam::other_scheme} + "://me:hunter2@" +
                          server.address() + "/holdfast?connect_timeout=500ms";
    const auto how = this->at_once(mistaken);
    this->expect_sentence(how, 69, server.address());
    EXPECT_THAT(how.err, Not(HasSubstr("hunter2")));
}

TYPED_TEST(on_sql, a_server_under_tls_is_not_talked_to_in_the_clear_nor_without_trust) {
    typename TypeParam::options o;
    o.over = servers::encryption::tls;
    const typename TypeParam::database server{o};
    this->expect_sentence(this->run_on(server.url()), 77, TypeParam::wants_tls);
    this->expect_sentence(this->run_on(server.url() + "?tls=yes"), 77, "certificate");
    EXPECT_EQ(this->run_on(server.url() + "?tls=yes&verify=no").out, "held\n");
}

TYPED_TEST(on_sql, a_bad_url_is_64_and_shows_no_password) {
    for (const char* const rest : {"://h",
                                   ":h/d",
                                   "://:hunter2",
                                   "://h:x/d",
                                   "://u:hunter2@h/d?nonsense=1",
                                   "://u:a?hunter2@h/d",
                                   "://u:hunter2@h/d?steal=never",
                                   "://u:hunter2@h/d?ca=/file"}) {
        const auto url = TypeParam::scheme + std::string{rest};
        for (const auto& how : {this->run_on(url), this->holdfast({"schema", url})}) {
            this->expect_sentence(how, 64, TypeParam::scheme + std::string{": "});
            EXPECT_THAT(how.err, Not(HasSubstr("hunter2"))) << url;
        }
    }
}

} // namespace
} // namespace holdfast::cli_tests
