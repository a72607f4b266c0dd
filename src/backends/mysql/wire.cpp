#include "backends/mysql/wire.hpp"
#include "backends/mysql/dialect.hpp"
#include "backends/mysql/errors.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <mysql.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

namespace holdfast::mysql {
namespace {

using relational::answer;
using relational::progress;
using relational::query;
using relational::statement;
using relational::table;
using relational::trouble;

[[nodiscard]] table read(MYSQL_RES* from) {
    const auto columns = mysql_num_fields(from);
    table made{columns};
    while (MYSQL_ROW row = mysql_fetch_row(from)) { // all rows are here already
        const unsigned long* const sizes = mysql_fetch_lengths(from);
        for (unsigned i = 0; i < columns; ++i)
            made.add(row[i] == nullptr ? std::nullopt
                                       : std::optional{std::string{row[i], sizes[i]}});
    }
    return made;
}

/// The library runs on a stack of its own, and comes back whenever it would have to wait: with what
/// it waits for, or 0 when it is through.
class libmariadb_wire final : public relational::wire {
public:
    libmariadb_wire(const sql::options& how,
                    const detail::endpoint& where,
                    const std::string& number)
        : prefix_{how.table} {
        mysql_init(&connection_);
        mysql_options(&connection_, MYSQL_OPT_NONBLOCK, nullptr);
        mysql_options(&connection_, MYSQL_SET_CHARSET_NAME, "utf8mb4");
        const my_bool no = 0, yes = 1;
        mysql_options(&connection_, MYSQL_OPT_RECONNECT, &no);
        if (how.tls.wanted) {
            const auto path = [](const std::string& s) { return s.empty() ? nullptr : s.c_str(); };
            const char* const trusted = how.tls.ca_file.empty()
                                            ? "/etc/ssl/certs/ca-certificates.crt"
                                            : how.tls.ca_file.c_str();
            mysql_ssl_set(&connection_,
                          path(how.tls.key_file),
                          path(how.tls.certificate_file),
                          how.tls.verify ? trusted : nullptr,
                          nullptr,
                          nullptr);
            mysql_options(&connection_, MYSQL_OPT_SSL_ENFORCE, &yes);
            mysql_options(
                &connection_, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, how.tls.verify ? &yes : &no);
        }
        const bool local = where.port == 0;
        const auto& host = how.tls.wanted && how.tls.verify ? where.host : number; // as certified
        host_ = host;
        socket_ = local ? where.host : std::string{};
        user_ = how.user;
        password_ = how.password;
        database_ = how.database;
        port_ = static_cast<unsigned>(where.port);
        wait_ = mysql_real_connect_start(&connected_,
                                         &connection_,
                                         local ? nullptr : host_.c_str(),
                                         user_.c_str(),
                                         password_.c_str(),
                                         database_.c_str(),
                                         port_,
                                         local ? socket_.c_str() : nullptr,
                                         CLIENT_MULTI_STATEMENTS);
        begun_ = true;
    }
    ~libmariadb_wire() override {
        // In the middle of something, it must not wait for anybody to say goodbye.
        if (wait_ != 0 && descriptor() >= 0)
            ::shutdown(descriptor(), SHUT_RDWR);
        mysql_close(&connection_);
    }

    int descriptor() const noexcept override {
        return static_cast<int>(mysql_get_socket(&connection_));
    }
    std::int64_t session() const noexcept override {
        return static_cast<std::int64_t>(mysql_thread_id(&connection_));
    }
    std::optional<trouble> failed() const override { return trouble_; }

    progress advance() override {
        if (!std::exchange(begun_, false) && wait_ != 0 && is_ready())
            wait_ = mysql_real_connect_cont(&connected_, &connection_, ready_);
        if (descriptor() >= 0) // the library does not: another program would keep the session alive
            ::fcntl(descriptor(), F_SETFD, FD_CLOEXEC);
        if (wait_ != 0)
            return to_wait_for();
        if (connected_ == nullptr) {
            fail();
            trouble_->why.applied = applied::no;
        } else {
            be_quick();
        }
        return progress::done;
    }

    progress send(const statement& s) override {
        trouble_.reset();
        rows_.reset();
        asked_ = s.what;
        text_ = text_of(s, frame_of(s.what));
        to_skip_ = std::exchange(in_transaction_, false) ? 1 : 0;
        if (to_skip_ > 0)
            text_.insert(0, "ROLLBACK; ");
        at_ = step::asking;
        int failed = 0;
        wait_ = mysql_real_query_start(&failed, &connection_, text_.data(), text_.size());
        return go_on(failed);
    }

    progress proceed(bool, bool) override {
        if (!is_ready())
            return to_wait_for();
        int failed = 0;
        switch (at_) {
        case step::asking:
            wait_ = mysql_real_query_cont(&failed, &connection_, ready_);
            break;
        case step::reading:
            wait_ = mysql_store_result_cont(&result_, &connection_, ready_);
            break;
        case step::moving_on:
            wait_ = mysql_next_result_cont(&failed, &connection_, ready_);
            break;
        }
        return go_on(failed);
    }

    answer take() override {
        if (trouble_) {
            in_transaction_ = true; // perhaps: the rest of what was sent together was not done
            return *std::exchange(trouble_, {});
        }
        return rows_ ? std::move(*rows_) : answer_without_rows(asked_, changed_, inserted_);
    }

    // The server says nothing by itself but that it ends. That there was something to read may be
    // old news: another thread has read it since.
    bool listen(std::vector<relational::whisper>&) override {
        char next = 0;
        const auto there = ::recv(descriptor(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
        return there < 0 && (errno == EAGAIN || errno == EINTR);
    }

private:
    enum class step : std::uint8_t { asking, reading, moving_on };

    [[nodiscard]] const std::string& frame_of(query which) {
        auto& known = frames_[static_cast<std::size_t>(which)];
        if (known.empty() && which != query::none)
            known = mysql::frame_of(which, prefix_);
        return known;
    }

    /// From one step to the next, until one has to wait.
    progress go_on(int failed) {
        for (;;) {
            if (wait_ != 0)
                return to_wait_for();
            if (at_ == step::reading) {
                if (result_ != nullptr) {
                    rows_ = read(result_);
                    mysql_free_result(std::exchange(result_, nullptr));
                } else if (mysql_errno(&connection_) != 0) {
                    return fail();
                } else if (to_skip_-- == 0) { // of several statements the first tells
                    changed_ = mysql_affected_rows(&connection_);
                    inserted_ = mysql_insert_id(&connection_);
                }
                if (mysql_more_results(&connection_) == 0)
                    return progress::done;
                at_ = step::moving_on;
                wait_ = mysql_next_result_start(&failed, &connection_);
                continue;
            }
            if (failed != 0)
                return fail();
            at_ = step::reading;
            wait_ = mysql_store_result_start(&result_, &connection_);
        }
    }

    // Several threads may have been told of the same bytes, and the first of us has read them. The
    // library must not find nothing: where it left off it may have noted where *that* thread's
    // errno is.
    bool is_ready() {
        pollfd one{descriptor(), 0, 0};
        one.events = static_cast<short>(((wait_ & MYSQL_WAIT_READ) != 0 ? POLLIN : 0) |
                                        ((wait_ & MYSQL_WAIT_WRITE) != 0 ? POLLOUT : 0));
        if (::poll(&one, 1, 0) <= 0)
            return false;
        const bool broken = (one.revents & (POLLERR | POLLHUP)) != 0;
        ready_ = ((one.revents & POLLIN) != 0 ? MYSQL_WAIT_READ : 0) |
                 ((one.revents & POLLOUT) != 0 ? MYSQL_WAIT_WRITE : 0) | (broken ? wait_ : 0);
        return (ready_ & wait_) != 0;
    }

    progress to_wait_for() const {
        return (wait_ & MYSQL_WAIT_WRITE) != 0 ? progress::wants_to_write : progress::wants_to_read;
    }

    progress fail() {
        trouble_ = trouble_of(mysql_errno(&connection_), mysql_error(&connection_));
        return progress::done;
    }

    // Not a library's default: a server that is gone is noticed, a small packet does not wait.
    void be_quick() {
        const int yes = 1;
        const unsigned at_most_ms = 10'000;
        ::setsockopt(descriptor(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        ::setsockopt(descriptor(), SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
        ::setsockopt(descriptor(), IPPROTO_TCP, TCP_USER_TIMEOUT, &at_most_ms, sizeof at_most_ms);
    }

    const std::string prefix_;
    mutable MYSQL connection_{};
    MYSQL* connected_ = nullptr;
    std::string host_, socket_, user_, password_, database_; // the library looks at them later
    unsigned port_ = 0;
    bool begun_ = false;
    int wait_ = 0;
    int ready_ = MYSQL_WAIT_READ | MYSQL_WAIT_WRITE;
    step at_ = step::asking;
    query asked_ = query::none;
    std::array<std::string, relational::query_count + 1> frames_; // of what was said before
    std::string text_;
    MYSQL_RES* result_ = nullptr;
    std::optional<table> rows_;
    std::uint64_t changed_ = 0, inserted_ = 0;
    bool in_transaction_ = false;
    int to_skip_ = 0; // results, until the one that counts
    std::optional<trouble> trouble_;
};

} // namespace

std::unique_ptr<relational::wire>
connect(const sql::options& how, const detail::endpoint& where, const std::string& number) {
    return std::make_unique<libmariadb_wire>(how, where, number);
}

} // namespace holdfast::mysql
