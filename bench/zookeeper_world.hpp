#pragma once

// Who takes part when ZooKeeper is measured: real servers of our own, and the locks of others.

#include "scratch.hpp"
#include "world.hpp"

namespace bench {

/// One server, or an ensemble; data on the disk, and every write forced to it, as it comes.
class zookeeper_servers {
public:
    explicit zookeeper_servers(std::size_t how_many);

    /// Where everybody connects: the only one, or a follower, which most of an ensemble are. Told
    /// all of them, each would pick one at random, and who gets the leader saves a hop.
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
    [[nodiscard]] std::string url() const { return "zookeeper://" + address(); }

    [[nodiscard]] const std::vector<std::unique_ptr<program>>& running() const noexcept {
        return running_;
    }
    [[nodiscard]] std::string version() const;
    /// Asked by all clients so far, of all servers.
    [[nodiscard]] double requests() const;

private:
    scratch files_;
    std::vector<std::uint16_t> ports_;
    std::vector<std::unique_ptr<program>> running_;
    std::uint16_t port_ = 0;
    mutable double looked_ = 0; // to ask a server how often it was asked, is to ask it
};

class zookeeper_world : public world {
public:
    zookeeper_world(std::size_t how_many_servers, bool in_a_hurry);

    zookeeper_servers servers;
    std::unique_ptr<peer> curator, second_curator, kazoo;

    /// Names the row, and how many servers there are unless it is one.
    [[nodiscard]] std::string work(const std::string& what) const;
};

void zookeeper_alone(zookeeper_world&, const effort&, findings&);
void zookeeper_apart(zookeeper_world&, const effort&, findings&);
void zookeeper_one_name(zookeeper_world&, const effort&, findings&);
void zookeeper_trips(zookeeper_world&, const effort&, findings&);

} // namespace bench
