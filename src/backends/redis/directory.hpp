#pragma once

// Which server has a name now. One answer for ever (a single server), one that changes (behind
// sentinels), or one for each of 16,384 slots (a cluster).

#include "backends/redis/server.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace holdfast::redis {

class directory {
public:
    directory() = default;
    directory(const directory&) = delete;
    directory& operator=(const directory&) = delete;
    virtual ~directory() = default;

    /// Asks whoever has the key. Follows redirections; nothing else is ever sent twice.
    virtual void ask(server::way,
                     std::string_view key,
                     std::string_view bytes,
                     instant answer_by,
                     on_answer) = 0;

    /// Who has the key, as far as we know; null if we do not.
    [[nodiscard]] virtual std::shared_ptr<server> server_of(std::string_view key) = 0;

    /// All primaries that we know of.
    [[nodiscard]] virtual std::vector<std::shared_ptr<server>> primaries() = 0;

    /// Lines to servers that were named as replicas; nothing but looking at them is done there.
    [[nodiscard]] virtual std::vector<std::shared_ptr<line>> replicas() { return {}; }

    /// Whether one script may touch several names.
    [[nodiscard]] virtual bool one_place_for_all() const noexcept { return true; }

    /// A connection to that server broke, or could not be made: it may be none of ours any more.
    virtual void troubled(const endpoint&, const failure&) {}

    virtual void close() = 0;
};

[[nodiscard]] std::unique_ptr<directory> make_fixed_directory(std::shared_ptr<const acquaintance>);
[[nodiscard]] std::unique_ptr<directory>
    make_sentinel_directory(std::shared_ptr<const acquaintance>);
[[nodiscard]] std::unique_ptr<directory>
    make_cluster_directory(std::shared_ptr<const acquaintance>);

} // namespace holdfast::redis
