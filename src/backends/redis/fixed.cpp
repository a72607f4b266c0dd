// One server, at one address for ever; and its replicas, if they were named.

#include "backends/redis/directory.hpp"

#include <functional>

namespace holdfast::redis {
namespace {

class fixed_directory final : public directory {
public:
    explicit fixed_directory(const std::shared_ptr<const acquaintance>& with)
        : server_{server::make(
              with, endpoint{with->how.servers.front().host, with->how.servers.front().port})} {
        for (std::size_t i = 1; i < with->how.servers.size(); ++i) {
            const auto& [host, port] = with->how.servers[i];
            replicas_.push_back(line::make(with->background, plain_settings(*with, {host, port})));
        }
    }

    void ask(server::way w,
             std::string_view key,
             std::string_view bytes,
             instant answer_by,
             on_answer done) override {
        server_->ask(w, std::hash<std::string_view>{}(key), bytes, answer_by, std::move(done));
    }
    std::shared_ptr<server> server_of(std::string_view) override { return server_; }
    std::vector<std::shared_ptr<server>> primaries() override { return {server_}; }
    std::vector<std::shared_ptr<line>> replicas() override { return replicas_; }
    void close() override {
        server_->close();
        for (const auto& one : replicas_)
            one->close();
    }

private:
    const std::shared_ptr<server> server_;
    std::vector<std::shared_ptr<line>> replicas_;
};

} // namespace

std::unique_ptr<directory> make_fixed_directory(std::shared_ptr<const acquaintance> with) {
    return std::make_unique<fixed_directory>(with);
}

} // namespace holdfast::redis
