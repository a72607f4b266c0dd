#include "interop/zookeeper_dump.hpp"
#include "cli/program.hpp"

#include <algorithm>
#include <regex>
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
