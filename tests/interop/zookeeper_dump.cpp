#include "interop/zookeeper_dump.hpp"
#include "cli/program.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <tuple>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// In its canonical form: small letters, and dashes where they belong.
bool is_guid(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : !is_digit(text[i]) && (text[i] < 'a' || text[i] > 'f'))
            return false;
    }
    return text.size() == 36;
}

std::string without_guids(std::string text) {
    for (std::size_t i = 0; i < text.size(); ++i)
        if (is_guid(std::string_view{text}.substr(i, 36)))
            text.replace(i, 36, "*");
    return text;
}

/// What ZooKeeper has appended; empty if it has not.
std::string number_of(const std::string& name) {
    constexpr std::size_t width = 10;
    const auto number = name.substr(name.size() - std::min(name.size(), width));
    return number.size() == width && std::all_of(number.begin(), number.end(), is_digit) ? number
                                                                                         : "";
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
    std::map<std::string, std::set<std::string>> numbers; // of the children of each
    std::vector<std::int64_t> sessions;
    const auto nodes = in_order(tree, "/");
    const auto parent_of = [](const servers::znode& node) {
        return node.path.substr(0, node.path.rfind('/'));
    };
    for (const auto& node : nodes) {
        if (const auto number = number_of(node.name()); !number.empty())
            numbers[parent_of(node)].insert(number);
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
        if (const auto number = number_of(name); !number.empty()) {
            const auto& siblings = numbers[parent_of(node)];
            const auto rank = std::distance(siblings.begin(), siblings.find(number));
            name.replace(name.size() - number.size(), number.size(), '#' + std::to_string(rank));
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
