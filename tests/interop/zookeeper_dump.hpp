#pragma once

// What is in ZooKeeper, as text that a test can compare.
//
//   /orders
//     _c_*-lock-0000000003 c1 = ADDRESS        * is a guid in its canonical form; names given by
//     the
//                                              test stand for sessions and data
//   /orders/leases                             a node without an owner stays when its maker goes

#include "interop/dump.hpp"
#include "servers/zookeeper_tree.hpp"

#include <string>

namespace holdfast::interop {

/// A session as it is called in a dump unless it has a name.
[[nodiscard]] std::string session_text(std::int64_t id);

[[nodiscard]] std::string dump(servers::zookeeper_tree&, const names& = {});

/// Waits until it looks so, for peers that clean up behind their answers; then tells how it looks.
[[nodiscard]] std::string
dump_when(const std::string& expected, servers::zookeeper_tree&, const names& = {});

/// As dump, but of data nothing, and of numbers and sessions only which came first.
///
///   /orders
///     _c_*-lock-#0 s0
[[nodiscard]] std::string anonymous(servers::zookeeper_tree&);

} // namespace holdfast::interop
