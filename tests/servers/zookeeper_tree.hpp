#pragma once

// What is stored in ZooKeeper, seen and changed by the test itself over a session of its own.
//
// Calls wait until they are answered: connections that break are made again for a minute. Nothing
// is thread-safe.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct _zhandle;

namespace holdfast::servers {

struct znode {
    std::string path; ///< from the root on
    std::string data;
    std::int64_t created_by = 0; ///< czxid: the transaction
    std::int64_t owner = 0;      ///< the session it goes with; 0: it stays
    std::int32_t version = 0;    ///< of the data
    std::int32_t children = 0;

    [[nodiscard]] std::string name() const { return path.substr(path.rfind('/') + 1); }
};

enum class znode_kind { persistent, ephemeral, sequential, ephemeral_sequential, container };

/// What lets somebody else into a session.
struct zookeeper_session {
    std::int64_t id = 0;
    std::string password; ///< 16 bytes
};

class zookeeper_tree {
public:
    explicit zookeeper_tree(std::string addresses); ///< host:port,…

    [[nodiscard]] std::optional<znode> at(const std::string& path);
    [[nodiscard]] bool has(const std::string& path) { return at(path).has_value(); }

    /// Names, in order; none if it is not there, and without what ZooKeeper keeps for itself.
    [[nodiscard]] std::vector<std::string> children(const std::string& path);

    /// These themselves.
    [[nodiscard]] std::vector<znode> nodes_in(const std::string& path);

    /// Everything below it, parents before children, those in the order of their names.
    [[nodiscard]] std::vector<znode> below(const std::string& path);

    /// Its path; of a sequential one, with the number. Its parent must be there.
    std::string create(const std::string& path,
                       const std::string& data = {},
                       znode_kind = znode_kind::persistent);
    void write(const std::string& path, const std::string& data);
    bool remove(const std::string& path); ///< false: it was not there
    void clear();                         ///< everything but what ZooKeeper keeps for itself

    [[nodiscard]] zookeeper_session session();

private:
    struct closing {
        void operator()(_zhandle*) const;
    };
    template <class Call> int done(Call&&);

    std::string addresses_;
    std::unique_ptr<_zhandle, closing> handle_;
};

/// As if it had been silent for too long: what it owns is gone when this returns. The server does
/// not answer its client any more, which finds out after two thirds of its time-out.
void expire(const std::string& addresses, const zookeeper_session&);

} // namespace holdfast::servers
