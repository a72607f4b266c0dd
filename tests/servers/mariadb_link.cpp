#include "servers/mariadb_link.hpp"
#include "cli/program.hpp"

#include <mysql.h>
#include <stdexcept>

namespace holdfast::servers {
namespace {

struct freeing {
    void operator()(MYSQL_RES* one) const { mysql_free_result(one); }
};
using result = std::unique_ptr<MYSQL_RES, freeing>;

std::string rows(MYSQL_RES* one) {
    std::string all;
    while (auto* const row = mysql_fetch_row(one)) {
        const auto* lengths = mysql_fetch_lengths(one);
        for (unsigned column = 0; column < mysql_num_fields(one); ++column) {
            all += column == 0 ? "" : "|";
            if (row[column] != nullptr)
                all.append(row[column], lengths[column]);
        }
        all += '\n';
    }
    return all;
}

const char* unless_empty(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

void ask_for_tls(MYSQL* link, const mariadb_address& where) {
    const my_bool yes = 1;
    mysql_options(link, MYSQL_OPT_SSL_CA, where.authority.c_str());
    mysql_options(link, MYSQL_OPT_SSL_CERT, unless_empty(where.certificate));
    mysql_options(link, MYSQL_OPT_SSL_KEY, unless_empty(where.certificate_key));
    mysql_options(link, MYSQL_OPT_SSL_ENFORCE, &yes);
    mysql_options(link, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);
}

} // namespace

void mariadb_link::closing::operator()(st_mysql* link) const { mysql_close(link); }

mariadb_link::mariadb_link(const mariadb_address& where) : to_{mysql_init(nullptr)} {
    const unsigned seconds = cli_tests::patience.count();
    mysql_options(to_.get(), MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
    mysql_options(to_.get(), MYSQL_OPT_READ_TIMEOUT, &seconds);
    if (!where.authority.empty())
        ask_for_tls(to_.get(), where);
    if (mysql_real_connect(to_.get(),
                           where.unix_socket.empty() ? "127.0.0.1" : nullptr,
                           where.user.c_str(),
                           where.password.c_str(),
                           unless_empty(where.database),
                           where.port,
                           unless_empty(where.unix_socket),
                           CLIENT_MULTI_STATEMENTS) == nullptr)
        throw std::runtime_error{mysql_error(to_.get())};
}

std::string mariadb_link::ask(const std::string& statements) const {
    const auto check = [this](bool good) {
        if (!good)
            throw std::runtime_error{mysql_error(to_.get())};
    };
    check(mysql_real_query(to_.get(), statements.data(), statements.size()) == 0);
    std::string all;
    int more = 0;
    for (; more == 0; more = mysql_next_result(to_.get())) {
        const result one{mysql_store_result(to_.get())};
        check(one != nullptr || mysql_field_count(to_.get()) == 0);
        if (one)
            all += rows(one.get());
    }
    check(more == -1);
    return all.substr(0, all.empty() ? 0 : all.size() - 1);
}

std::string mariadb_link::ask_for(const std::string& column, const std::string& statement) const {
    if (mysql_real_query(to_.get(), statement.data(), statement.size()) != 0)
        throw std::runtime_error{mysql_error(to_.get())};
    const result one{mysql_store_result(to_.get())};
    auto* const row = one ? mysql_fetch_row(one.get()) : nullptr;
    for (unsigned at = 0; row != nullptr && at < mysql_num_fields(one.get()); ++at)
        if (column == mysql_fetch_field_direct(one.get(), at)->name)
            return row[at] != nullptr ? row[at] : "";
    throw std::runtime_error{"no " + column + " in the answer to " + statement};
}

} // namespace holdfast::servers
