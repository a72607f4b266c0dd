#pragma once

// The least that a program with ZooKeeper's own C client would have to do for our locks: the same
// znodes, on one session.
//
//   blocking     create ──▶ answer   delete ──▶ answer               two round trips
//   as_we_ask    create + list ──▶ both answers   delete ──▶ answer   two: our own requests
//   in_turn      create ──▶ answer   list ──▶ answer   delete ──▶ answer   three: Curator's
//   together     delete + create ──▶ both answers                    one: unlock() does not wait
//   pipelined    many names on their way; who is answered goes on with its next step
//   threads      as blocking, by a thread for each name
//
// Only a list shows whether the lock is ours. So what does not list is no lock, but a limit.

#include "pairs.hpp"

#include <atomic>
#include <cstdint>
#include <semaphore>
#include <string>
#include <vector>
#include <zookeeper/zookeeper.h>

namespace bench {

class raw_zookeeper {
public:
    /// `address`: as zookeeper_init takes it.
    raw_zookeeper(const std::string& address, std::size_t names);
    ~raw_zookeeper();
    raw_zookeeper(const raw_zookeeper&) = delete;
    raw_zookeeper& operator=(const raw_zookeeper&) = delete;

    [[nodiscard]] sample blocking(std::uint64_t cycles);
    [[nodiscard]] sample as_we_ask(std::uint64_t cycles);
    [[nodiscard]] sample in_turn(std::uint64_t cycles);
    [[nodiscard]] sample together(std::uint64_t cycles);
    enum class with : std::uint8_t { no_list, list };
    [[nodiscard]] sample pipelined(std::uint64_t cycles, with);
    [[nodiscard]] sample threads(std::uint64_t cycles);

private:
    struct flight;
    struct lock {
        std::string parent, name; ///< to be created: the server adds a number
        std::string node{};       ///< as it was created
        std::int64_t last_fence = 0;
        flight* on = nullptr;
        std::int64_t began = 0;
        std::binary_semaphore answered{0};
    };

    void create(lock&);
    void remove(lock&);
    void list(lock&);

    static void granted(lock&, int rc, const char* node, const Stat*);
    static void listed(lock&, int rc, const String_vector*);
    static void on_event(zhandle_t*, int type, int state, const char* path, void* self);

    std::binary_semaphore connected_{0};
    zhandle_t* session_;
    std::vector<lock> all_;
};

} // namespace bench
