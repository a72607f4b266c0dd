#include "servers/postgres_link.hpp"
#include "cli/program.hpp"

#include <libpq-fe.h>
#include <stdexcept>

namespace holdfast::servers {
namespace {

using namespace std::chrono_literals;

struct clearing {
    void operator()(PGresult* one) const { PQclear(one); }
};
using result = std::unique_ptr<PGresult, clearing>;

/// The next answer; null after the last.
result next_result(PGconn* link, instant give_up_at) {
    while (PQisBusy(link) != 0) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(give_up_at - boot_clock::now());
        pollfd wait{PQsocket(link), POLLIN, 0};
        if (left <= 0ms || ::poll(&wait, 1, static_cast<int>(left.count())) <= 0)
            throw std::runtime_error{"PostgreSQL does not answer"};
        if (PQconsumeInput(link) == 0)
            throw std::runtime_error{PQerrorMessage(link)};
    }
    return result{PQgetResult(link)};
}

std::string rows(const PGresult* one) {
    std::string all;
    for (int row = 0; row < PQntuples(one); ++row) {
        for (int column = 0; column < PQnfields(one); ++column)
            all.append(column == 0 ? "" : "|").append(PQgetvalue(one, row, column));
        all += '\n';
    }
    return all;
}

} // namespace

void postgres_link::closing::operator()(pg_conn* link) const { PQfinish(link); }

postgres_link::postgres_link(const std::string& where) {
    // As if they were said before it, so that it can say otherwise.
    const char* names[] = {"connect_timeout", "dbname", nullptr};
    const auto seconds = std::to_string(cli_tests::patience.count());
    const char* values[] = {seconds.c_str(), where.c_str(), nullptr};
    to_.reset(PQconnectdbParams(names, values, 1));
    if (PQstatus(to_.get()) != CONNECTION_OK)
        throw std::runtime_error{PQerrorMessage(to_.get())};
    PQsetNoticeProcessor(
        to_.get(), [](void*, const char*) {}, nullptr); // not into the test's output
}

std::string postgres_link::ask(const std::string& statements) const {
    const auto give_up_at = boot_clock::now() + cli_tests::patience;
    if (PQsendQuery(to_.get(), statements.c_str()) == 0)
        throw std::runtime_error{PQerrorMessage(to_.get())};
    std::string all, complaint;
    while (const auto one = next_result(to_.get(), give_up_at)) {
        if (PQresultStatus(one.get()) == PGRES_FATAL_ERROR)
            complaint += PQresultErrorMessage(one.get());
        all += rows(one.get());
    }
    if (!complaint.empty())
        throw std::runtime_error{complaint};
    return all.substr(0, all.empty() ? 0 : all.size() - 1);
}

} // namespace holdfast::servers
