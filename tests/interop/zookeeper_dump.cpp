#include "interop/zookeeper_dump.hpp"
#include "cli/program.hpp"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <tuple>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

std::string without_guids(const std::string& text) {
    static const std::regex guid{"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"};
    return std::regex_replace(text, guid, "*");
}

/// Those that go with a session as they came; then those that stay, by their names.
bool is_before(const servers::znode& one, const servers::znode& other) {
    const auto rank = [](const servers::znode& node) {
        return std::tuple{node.owner == 0, node.owner == 0 ? 0 : node.created_by, node.path};
    };
    return rank(one) < rank(other);
}

std::vector<servers::znode> in_order(servers::zookeeper_tree& tree, const std::string& parent) {
    std::vector<servers::znode> siblings = tree.nodes_in(parent);
    std::vector<servers::znode> all;
    std::sort(siblings.begin(), siblings.end(), is_before);
    for (const auto& node : siblings) {
        all.push_back(node);
        const auto deeper = in_order(tree, node.path);
        all.insert(all.end(), deeper.begin(), deeper.end());
    }
    return all;
}

} // namespace

std::string session_text(std::int64_t id) {
    std::ostringstream text;
    text << std::hex << id;
    return text.str();
}

std::string dump(servers::zookeeper_tree& tree, const names& called) {
    std::string all;
    for (const auto& node : in_order(tree, "/")) {
        // Those that go with a session have no children, so they stand below their parent.
        all += node.owner == 0 ? node.path
                               : "  " + without_guids(node.name()) + ' ' +
                                     renamed(session_text(node.owner), called);
        if (!node.data.empty())
            all += " = " + renamed(node.data, called);
        all += '\n';
    }
    return all;
}

std::string anonymous(servers::zookeeper_tree& tree) {
    static const std::regex number{"-?[0-9]{10}$"};
    std::map<std::string, std::set<std::string>> numbers; // of the children of each
    std::vector<std::int64_t> sessions;
    const auto nodes = in_order(tree, "/");
    const auto parent_of = [](const servers::znode& node) {
        return node.path.substr(0, node.path.rfind('/'));
    };
    for (const auto& node : nodes) {
        std::smatch found;
        if (std::regex_search(node.path, found, number))
            numbers[parent_of(node)].insert(found.str());
        if (std::find(sessions.begin(), sessions.end(), node.owner) == sessions.end() &&
            node.owner != 0)
            sessions.push_back(node.owner);
    }
    std::string all;
    for (const auto& node : nodes) {
        if (node.owner == 0) {
            all += node.path + '\n';
            continue;
        }
        auto name = without_guids(node.name());
        const auto& siblings = numbers[parent_of(node)];
        if (std::smatch found; std::regex_search(name, found, number)) {
            const auto rank = std::distance(siblings.begin(), siblings.find(found.str()));
            name = found.prefix().str() + '#' + std::to_string(rank);
        }
        const auto session = std::find(sessions.begin(), sessions.end(), node.owner);
        all += "  " + name + " s" + std::to_string(session - sessions.begin()) + '\n';
    }
    return all;
}

std::string
dump_when(const std::string& expected, servers::zookeeper_tree& tree, const names& called) {
    std::string last;
    static_cast<void>(cli_tests::comes_true(10s, [&] {
        last = dump(tree, called);
        return last == expected;
    }));
    return last;
}

} // namespace holdfast::interop
