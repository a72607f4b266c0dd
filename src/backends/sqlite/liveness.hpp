#pragma once

// Who lives, and how to wake them: two FIFOs for each process, in the directory <path>.d.
//
//   <id>.live   its process keeps a writing end open, for as long as it (or a child that keeps its
//               locks) lives; the kernel drops it. A reader sees: EAGAIN alive, end of file dead,
//               and is told of the last moment by EPOLLHUP.
//   <id>.wake   its process keeps the reading end; others write letters into it. A letter is a
//   hint:
//               a FIFO that is full or gone loses it, and asking again at ttl/2 stands behind that.
//
//       ┌ epoll: descriptor() ─────────────────────────┐
//       │ our own .wake · the .live of those we wait for │──▶ readable: on_readable()
//       └────────────────────────────────────────────────┘

#include "backends/sqlite/protocol.hpp"
#include "backends/sqlite/sharing.hpp"

#include <holdfast/backend.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast::sqlite {

/// Closes a descriptor when it goes.
class descriptor {
public:
    descriptor() noexcept = default;
    explicit descriptor(int number) noexcept : number_{number} {}
    descriptor(descriptor&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~descriptor();
    [[nodiscard]] int get() const noexcept { return number_; }
    int release() noexcept { return std::exchange(number_, -1); }
    [[nodiscard]] explicit operator bool() const noexcept { return number_ >= 0; }

private:
    int number_ = -1;
};

/// What one process writes into another's .wake.
struct letter {
    enum class word : char {
        granted = 'g',   ///< your waiting claim `about` is a grant now
        look = 'l',      ///< those before your waiting claim `about` have changed: ask again
        wanted = 'w',    ///< somebody waits for what your grant `about` holds
        taken = 't',     ///< an operator took your grant `about` away
        bond_lost = 'b', ///< your bond was ended; its number is in `about`
    };
    word what{};
    nonce about;

    /// With "granted": all that its receiver needs to know, so that it need not read the file.
    struct enclosure {
        std::int64_t granted_at = 0; ///< 0: nothing is enclosed
        std::int64_t fence = 0;
        std::int64_t bond = 0;
        std::int64_t anchor = 0;
        std::int64_t ttl = 0;
        std::uint32_t reserved = 0;
        std::uint32_t wanted = 0;
    } enclosed{};

    static constexpr std::size_t size = 1 + sizeof(nonce) + sizeof(enclosure);
    [[nodiscard]] std::array<char, size> bytes() const noexcept;
    [[nodiscard]] static letter from(const char* bytes) noexcept;

    [[nodiscard]] static letter about_grant(const grant&, bool wanted, instant granted_at) noexcept;
    [[nodiscard]] grant given() const noexcept;
    [[nodiscard]] instant granted_at() const noexcept {
        return instant{duration{enclosed.granted_at}};
    }

    [[nodiscard]] static letter about_bond(bond_id) noexcept;
    [[nodiscard]] bond_id bond() const noexcept;
};

/// All letters that have come. `torn`: some may be missing, so look at everything.
struct mail {
    std::vector<letter> letters;
    bool torn = false;

    /// Nothing in it that might contradict a grant, be it one that is still on its way.
    [[nodiscard]] bool harmless() const noexcept;
};

/// All processes that have left a trace in the directory, dead or alive, sorted.
[[nodiscard]] std::vector<process_id> traces_in(const std::string& directory);

/// Looks once, without keeping anything open.
[[nodiscard]] liveness look_once(const std::string& directory, process_id) noexcept;

/// Removes what a dead process has left.
void remove_names(const std::string& directory, process_id) noexcept;

enum class children : bool { let_go, keep_locks };

/// The FIFOs of this very client, from its first claim to its end.
class presence {
public:
    /// Makes them. Throws trouble if the directory does not allow it.
    presence(std::string directory, const sharing&, process_id, children);
    presence(const presence&) = delete;
    presence& operator=(const presence&) = delete;
    ~presence(); ///< whoever looks now sees us dead; the names stay unless removed

    [[nodiscard]] process_id id() const noexcept { return id_; }
    [[nodiscard]] int wake() const noexcept { return wake_.get(); }

    /// Whether the names still lead to our FIFOs: somebody may have tidied up before we were known.
    [[nodiscard]] bool still_there() const noexcept;

    [[nodiscard]] mail read();
    void remove_names() const noexcept;

    /// After fork() they are the parent's, and the child has closed .live already.
    void abandon() noexcept;

private:
    std::string directory_;
    process_id id_;
    descriptor live_, wake_;
    std::size_t capacity_ = 0; ///< of .wake, in bytes
};

/// Those whose end we want to hear of, each with how many of our claims wait for it; and those we
/// write to.
class watch_list {
public:
    explicit watch_list(std::string directory);
    watch_list(const watch_list&) = delete;
    watch_list& operator=(const watch_list&) = delete;
    ~watch_list();

    [[nodiscard]] int descriptor() const noexcept { return epoll_.get(); }
    void listen_to(const presence&) noexcept;
    void stop_listening_to(const presence&) noexcept;

    [[nodiscard]] std::vector<process_id> traces() const { return traces_in(directory_); }
    void remove_names(process_id id) const noexcept { sqlite::remove_names(directory_, id); }

    /// Asks the kernel. What was opened for it stays open for the next time.
    [[nodiscard]] liveness look_at(process_id);

    /// Drops a letter into somebody's FIFO, if that is possible without waiting.
    void send(process_id to, const letter&);

    /// As look_at(), for many at a time: keeps nothing open.
    [[nodiscard]] liveness look_once(process_id id) const noexcept {
        return sqlite::look_once(directory_, id);
    }

    void watch(process_id);
    void unwatch(process_id) noexcept;
    void tidy() noexcept;  ///< lets go of those who are of no use any more
    void clear() noexcept; ///< watches nobody any more

    /// Those whose end was reported and who are still watched.
    [[nodiscard]] std::vector<process_id> ended();

    void abandon() noexcept;

private:
    /// Somebody we have to do with. Kept open when no claim waits for it: those who hand a lock
    /// round meet again and again. All are in the epoll, so that a dead one is not kept for long.
    struct watched {
        sqlite::descriptor live, wake;
        std::size_t claims = 0;
        bool in_epoll = false;
        bool dead = false;
    };
    [[nodiscard]] watched& find(process_id);
    void drop(watched&) noexcept;

    std::string directory_;
    sqlite::descriptor epoll_;
    std::unordered_map<process_id, watched> all_;
};

} // namespace holdfast::sqlite
