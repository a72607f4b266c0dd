// Opens clients of databases, which connects to nobody yet, and prints the tables that these need.

#include <holdfast/client.hpp>
#include <holdfast/mysql.hpp>
#include <holdfast/postgres.hpp>

#include <cstdio>
#include <exception>
#include <string>

int main() try {
    const std::string ours = "postgres://127.0.0.1:1/shop?table=ours";
    const std::string theirs = "mysql://127.0.0.1:1/shop?table=theirs";
    const auto first = holdfast::open(ours), second = holdfast::open(theirs);
    std::puts(holdfast::postgres::schema(holdfast::postgres::options_of(ours)).c_str());
    std::puts(holdfast::mysql::schema(holdfast::mysql::options_of(theirs)).c_str());
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 2;
}
