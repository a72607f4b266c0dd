#include "zookeeper_world.hpp"

#include <fstream>
#include <sstream>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace bench {
namespace {

/// What a server says to one of its four-letter words. Nothing while it does not listen, and now
/// and then nothing for ever while it starts.
[[nodiscard]] std::string say(std::uint16_t port, std::string_view four_letters) {
    const int s = connect_to(port);
    if (s < 0)
        return {};
    const timeval patience{1, 0};
    ::setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::string out;
    if (::send(s, four_letters.data(), four_letters.size(), MSG_NOSIGNAL) == 4) {
        char bytes[512];
        for (ssize_t got = 0; (got = ::recv(s, bytes, sizeof bytes, 0)) > 0;)
            out.append(bytes, static_cast<std::size_t>(got));
    }
    ::close(s);
    return out;
}

/// The rest of the line that begins so.
[[nodiscard]] std::string after(const std::string& text, std::string_view key) {
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(key))
            return line.substr(key.size());
    return {};
}

[[nodiscard]] std::string mode(std::uint16_t port) { return after(say(port, "srvr"), "Mode: "); }

} // namespace

zookeeper_servers::zookeeper_servers(std::size_t how_many) {
    std::string members;
    for (std::size_t i = 0; i < how_many; ++i) {
        ports_.push_back(free_port());
        if (how_many > 1)
            members += "server." + std::to_string(i + 1) +
                       "=127.0.0.1:" + std::to_string(free_port()) + ":" +
                       std::to_string(free_port()) + "\n";
    }
    for (std::size_t i = 0; i < how_many; ++i) {
        const auto number = std::to_string(i + 1);
        const auto folder = files_.inside(number);
        std::ofstream{folder + "/myid"} << number << '\n';
        std::ofstream{folder + "/zoo.cfg"} << "tickTime=2000\ninitLimit=10\nsyncLimit=5\n"
                                           << "dataDir=" << folder << "\nclientPort=" << ports_[i]
                                           << "\nclientPortAddress=127.0.0.1\nmaxClientCnxns=0\n"
                                           << "admin.enableServer=false\n"
                                           << "4lw.commands.whitelist=srvr\n"
                                           << members;
        running_.push_back(std::make_unique<program>(
            std::vector<std::string>{"java",
                                     "-Xms256m",
                                     "-Xmx256m",
                                     "-XX:+UseSerialGC",
                                     "-Dzookeeper.jmx.log4j.disable=true",
                                     "-cp",
                                     "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-nop.jar",
                                     "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                                     folder + "/zoo.cfg"}));
    }
    const auto serves = [](std::uint16_t port) { return !mode(port).empty(); };
    for (std::size_t i = 0; i < how_many; ++i)
        running_[i]->wait_until([&] { return serves(ports_[i]); }, "ZooKeeper starts");
    for (const auto port : ports_)
        if (how_many == 1 || mode(port) == "follower")
            port_ = port;
    check(port_ != 0, "somebody follows");
}

std::string zookeeper_servers::version() const {
    auto said = after(say(port_, "srvr"), "Zookeeper version: ");
    return said.substr(0, said.find('-'));
}

double zookeeper_servers::requests() const {
    double sum = 0;
    for (const auto port : ports_)
        sum += std::stod("0" + after(say(port, "srvr"), "Received: "));
    looked_ += static_cast<double>(ports_.size());
    return sum - looked_;
}

zookeeper_world::zookeeper_world(std::size_t how_many, bool in_a_hurry) : servers{how_many} {
    for (const auto& one : servers.running())
        serves(*one);
    counts_requests([this] { return servers.requests(); });
    curator = invite("curator", servers.address());
    if (how_many == 1)
        second_curator = invite("curator", servers.address(), 1);
    kazoo = invite("kazoo", servers.address());
    warm_up(in_a_hurry,
            {curator.get(), second_curator.get()},
            {"alone 300", "apart 64 1280", "one 16 200"});
}

std::string zookeeper_world::work(const std::string& what) const {
    const auto count = servers.running().size();
    return count == 1 ? what : what + ", " + std::to_string(count) + " servers";
}

} // namespace bench
