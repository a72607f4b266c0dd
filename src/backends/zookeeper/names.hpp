#pragma once

// Curator's names for things, and the order among them.
//
//   /orders                                            a name of ours, or a Curator path as it is
//     _c_<guid>-lock-0000000017                        a mutex: InterProcessMutex
//     _c_<guid>-__READ__0000000018                     a reader: InterProcessReadWriteLock
//     _c_<guid>-__WRIT__0000000019                     a writer
//   /orders/locks/_c_<guid>-lock-0000000003            permits: InterProcessSemaphoreV2
//   /orders/leases/_c_<guid>-lease-0000000002
//
// The guid is the nonce of our claim: so a node that was made, but whose making was not confirmed,
// is found again.

#include <holdfast/backend.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::zookeeper {

/// What a node in a queue stands for.
enum class role : std::uint8_t { lock, reader, writer, lease };

/// "_c_<guid>-": all nodes of this claim begin so, and no other.
[[nodiscard]] std::string prefix_of(const nonce&);

/// What the node is called before ZooKeeper appends its number.
[[nodiscard]] std::string unnumbered(const nonce&, role);

/// Which claim a node belongs to, if its guid has the usual form.
[[nodiscard]] std::optional<nonce> nonce_in(std::string_view node);

/// Where the nodes of a name are: the name itself if it begins with '/', else one node below the
/// root. The reason, if it can be none.
[[nodiscard]] std::string path_of(std::string_view root, std::string_view name);
[[nodiscard]] const char* what_is_wrong_with_path(std::string_view name) noexcept;

/// The other way round: what a child of the root is called as a name.
[[nodiscard]] std::string name_of_child(std::string_view node);

/// The folders from the first below '/' to the path itself.
[[nodiscard]] std::vector<std::string> folders_to(std::string_view path);

/// One child of a queue, as its name tells.
struct ticket_of {
    role as = role::lock;
    std::string_view number; ///< what it is sorted by, as text: '-2147483648' comes first
};

/// Nothing if it is none that Curator and we would put in the same place.
[[nodiscard]] std::optional<ticket_of> read_ticket(std::string_view node);

/// Who may live together in one queue.
enum class company : std::uint8_t {
    curators, ///< a mutex among mutexes, readers among writers: what Curator can sort
    ours,     ///< all of them: we go by the number alone
};

/// What the children of a queue mean for one of them.
struct standing {
    enum class is : std::uint8_t { first, behind, missing, foreign };
    is how = is::missing;
    std::string other;        ///< behind: whose end is to be waited for; foreign: who is in the way
    std::uint32_t before = 0; ///< how many stand in its way
    bool others_follow = false;
    /// If `other` is deleted, it is first: nobody else is before it, and nobody can come there.
    bool next = false;
};

[[nodiscard]] standing
stand_of(std::string_view mine, const std::vector<std::string>& children, company);

} // namespace holdfast::zookeeper
