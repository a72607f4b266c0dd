#include "raw_zookeeper.hpp"
#include "timed.hpp"

#include <array>

namespace bench {
namespace {

constexpr int session_ms = 30'000;
constexpr std::string_view data = "127.0.0.1"; // Curator's: where the client runs
constexpr const char* before_the_name = "_c_0f7c1b52-6d0e-4f0a-9a52-3f1d6a4f0c11-lock-";

void make_parent(zhandle_t* session, const std::string& path) {
    const int rc = zoo_create(
        session, path.c_str(), nullptr, -1, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, nullptr, 0);
    check(rc == ZOK || rc == ZNODEEXISTS, "there is a parent");
}

} // namespace

raw_zookeeper::raw_zookeeper(const std::string& address, std::size_t names) : all_(names) {
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    session_ = zookeeper_init(address.c_str(), on_event, session_ms, nullptr, this, 0);
    check(session_ != nullptr, "there is a handle");
    zoo_set_servers_resolution_delay(session_, -1); // else it asks for addresses in every turn
    connected_.acquire();
    make_parent(session_, "/raw");
    for (std::size_t i = 0; i < names; ++i) {
        all_[i].parent = "/raw/" + std::to_string(i);
        all_[i].name = all_[i].parent + "/" + before_the_name;
        make_parent(session_, all_[i].parent);
    }
}

raw_zookeeper::~raw_zookeeper() { zookeeper_close(session_); }

void raw_zookeeper::on_event(zhandle_t*, int type, int state, const char*, void* self) {
    if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE)
        static_cast<raw_zookeeper*>(self)->connected_.release();
}

void raw_zookeeper::granted(lock& l, int rc, const char* node, const Stat* stat) {
    check(rc == ZOK, "the raw node is made");
    check(stat->czxid > l.last_fence, "the raw fence grows");
    l.last_fence = stat->czxid;
    l.node = node;
}

void raw_zookeeper::listed(lock& l, int rc, const String_vector* children) {
    check(rc == ZOK && children->count == 1 && l.node.ends_with(children->data[0]),
          "nobody else is in the raw queue");
}

// -------------------------------------------------------------------------------- one at a time

void raw_zookeeper::create(lock& l) {
    std::array<char, 256> node{};
    Stat stat{};
    const int rc = zoo_create2(session_,
                               l.name.c_str(),
                               data.data(),
                               static_cast<int>(data.size()),
                               &ZOO_OPEN_ACL_UNSAFE,
                               ZOO_EPHEMERAL | ZOO_SEQUENCE,
                               node.data(),
                               static_cast<int>(node.size()),
                               &stat);
    granted(l, rc, node.data(), &stat);
}

void raw_zookeeper::remove(lock& l) {
    check(zoo_delete(session_, l.node.c_str(), -1) == ZOK, "the raw release is certain");
}

void raw_zookeeper::list(lock& l) {
    String_vector children{};
    const int rc = zoo_get_children(session_, l.parent.c_str(), 0, &children);
    listed(l, rc, &children);
    deallocate_String_vector(&children);
}

sample raw_zookeeper::blocking(std::uint64_t cycles) {
    auto& mine = all_.front();
    return timed(cycles, [&] {
        create(mine);
        remove(mine);
    });
}

sample raw_zookeeper::in_turn(std::uint64_t cycles) {
    auto& mine = all_.front();
    return timed(cycles, [&] {
        create(mine);
        list(mine);
        remove(mine);
    });
}

sample raw_zookeeper::threads(std::uint64_t cycles) {
    return by_threads(all_.size(), cycles, [&](std::size_t who) {
        create(all_[who]);
        remove(all_[who]);
    });
}

// ----------------------------------------------------------------------------------- in flights

/// Cycles whose every step is asked for by the answer to the one before, on the client's thread.
struct raw_zookeeper::flight {
    zhandle_t* session;
    with how;
    std::uint64_t cycles;
    std::atomic<std::uint64_t> begun{0};
    std::vector<float> latencies{};
    std::binary_semaphore over{0};

    void begin(lock& l) {
        if (begun.fetch_add(1) >= cycles)
            return;
        l.on = this;
        l.began = now_ns();
        acquire(session, l, how == with::list ? note : remove);
        if (how == with::list)
            ask_list(session, l, remove_after_list);
    }

    static void acquire(zhandle_t* session, lock& l, string_stat_completion_t then) {
        const int rc = zoo_acreate2(session,
                                    l.name.c_str(),
                                    data.data(),
                                    static_cast<int>(data.size()),
                                    &ZOO_OPEN_ACL_UNSAFE,
                                    ZOO_EPHEMERAL | ZOO_SEQUENCE,
                                    then,
                                    &l);
        check(rc == ZOK, "ZooKeeper can be asked");
    }
    static void ask_list(zhandle_t* session, lock& l, strings_completion_t then) {
        check(zoo_aget_children(session, l.parent.c_str(), 0, then, &l) == ZOK,
              "ZooKeeper can be asked");
    }

    static lock& of(const void* context) { return *static_cast<lock*>(const_cast<void*>(context)); }

    static void note(int rc, const char* node, const Stat* stat, const void* context) {
        granted(of(context), rc, node, stat);
    }
    static void remove(int rc, const char* node, const Stat* stat, const void* context) {
        note(rc, node, stat, context);
        release(of(context));
    }
    static void remove_after_list(int rc, const String_vector* children, const void* context) {
        listed(of(context), rc, children);
        release(of(context));
    }
    static void wake_after_list(int rc, const String_vector* children, const void* context) {
        listed(of(context), rc, children);
        of(context).answered.release();
    }
    static void release(lock& l) {
        check(zoo_adelete(l.on->session, l.node.c_str(), -1, go_on, &l) == ZOK,
              "ZooKeeper can be asked");
    }
    static void gone(int rc, const void*) { check(rc == ZOK, "the raw release is certain"); }
    static void go_on(int rc, const void* context) {
        gone(rc, context);
        auto& l = of(context);
        auto& mine = *l.on;
        mine.latencies.push_back(static_cast<float>(now_ns() - l.began));
        if (mine.latencies.size() == mine.cycles)
            mine.over.release();
        else
            mine.begin(l);
    }
};

sample raw_zookeeper::as_we_ask(std::uint64_t cycles) {
    auto& mine = all_.front();
    return timed(cycles, [&] {
        flight::acquire(session_, mine, flight::note);
        flight::ask_list(session_, mine, flight::wake_after_list);
        mine.answered.acquire();
        remove(mine);
    });
}

sample raw_zookeeper::together(std::uint64_t cycles) {
    auto& mine = all_.front();
    create(mine);
    const auto found = timed(cycles, [&] {
        check(zoo_adelete(session_, mine.node.c_str(), -1, flight::gone, nullptr) == ZOK,
              "ZooKeeper can be asked");
        create(mine);
    });
    remove(mine);
    return found;
}

sample raw_zookeeper::pipelined(std::uint64_t cycles, with how) {
    flight all{session_, how, cycles};
    all.latencies.reserve(cycles);
    const auto begin = now_ns();
    for (auto& one : all_)
        all.begin(one);
    all.over.acquire();
    const auto took = static_cast<double>(now_ns() - begin);
    return sample_of(took / static_cast<double>(cycles), all.latencies);
}

} // namespace bench
