#include "backends/sqlite/liveness.hpp"
#include "backends/sqlite/errors.hpp"
#include "runtime/assert.hpp"
#include "runtime/fork.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <type_traits>
#include <unistd.h>

namespace holdfast::sqlite {
namespace {

constexpr int lowest_inherited = 200; // out of the way of what shells and programs number by hand

[[nodiscard]] std::string name_of(const std::string& directory, process_id id, const char* kind) {
    std::array<char, 32> hex{};
    std::snprintf(hex.data(), hex.size(), "/%016llx", static_cast<unsigned long long>(id));
    return directory + hex.data() + kind;
}

[[noreturn]] void fail(const std::string& path, int error) {
    throw trouble{error == ENOSPC ? SQLITE_FULL : SQLITE_CANTOPEN,
                  path + ": " + std::strerror(error)};
}

/// Opened for reading and writing, a FIFO waits for nobody and gives nobody SIGPIPE.
[[nodiscard]] descriptor open_both_ends(const std::string& path) noexcept {
    return descriptor{::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)};
}

/// Until it is open, whoever sweeps takes it for a dead one's, and away: then it is made anew.
[[nodiscard]] descriptor make_fifo(const std::string& path, const sharing& who) {
    constexpr int attempts = 100;
    for (int i = 0; i < attempts; ++i) {
        if (::mkfifo(path.c_str(), 0600) != 0)
            fail(path, errno);
        if (auto fifo = open_both_ends(path)) {
            who.give(fifo.get());
            return fifo;
        }
        if (errno != ENOENT)
            break;
    }
    fail(path, errno);
}

/// The end that tells that we live. Only if children are to keep our locks, they inherit it. (Else
/// a fork closes it; should there be no room to note that, a child keeps it until its exec or exit,
/// which only delays the news of our death.)
[[nodiscard]] descriptor kept_by(descriptor fifo, children which) {
    if (which == children::let_go) {
        detail::close_in_child(fifo.get());
        return fifo;
    }
    descriptor high{::fcntl(fifo.get(), F_DUPFD, lowest_inherited)};
    if (!high) // a limit on open files below that number
        high = descriptor{::fcntl(fifo.get(), F_DUPFD, 3)};
    if (!high)
        fail("F_DUPFD", errno);
    return high;
}

[[nodiscard]] bool leads_to(const std::string& path, const descriptor& fifo) noexcept {
    struct stat named {
    }, open{};
    return ::stat(path.c_str(), &named) == 0 && ::fstat(fifo.get(), &open) == 0 &&
           named.st_ino == open.st_ino && named.st_dev == open.st_dev;
}

[[nodiscard]] descriptor open_to_look(const std::string& directory, process_id id) noexcept {
    return descriptor{::open(name_of(directory, id, ".live").c_str(),
                             O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)};
}

/// A writing end exists: EAGAIN. None exists: end of file, for ever, since ids are never used
/// again.
[[nodiscard]] liveness look_through(const descriptor& fifo) noexcept {
    if (!fifo)
        return liveness::unknown;
    char byte = 0;
    const auto got = ::read(fifo.get(), &byte, 1);
    return got == 0 ? liveness::dead : liveness::alive;
}

} // namespace

descriptor::~descriptor() {
    if (number_ >= 0)
        ::close(number_);
}

// -------------------------------------------------------------------------------------- letters

std::array<char, letter::size> letter::bytes() const noexcept {
    static_assert(std::is_trivially_copyable_v<enclosure> && sizeof(enclosure) == 48,
                  "the same bytes on both sides: they run on one machine");
    std::array<char, size> out{static_cast<char>(what)};
    std::memcpy(out.data() + 1, about.bytes.data(), about.bytes.size());
    std::memcpy(out.data() + 1 + about.bytes.size(), &enclosed, sizeof enclosed);
    return out;
}

letter letter::from(const char* bytes) noexcept {
    letter l{static_cast<word>(bytes[0]), {}, {}};
    std::memcpy(l.about.bytes.data(), bytes + 1, l.about.bytes.size());
    std::memcpy(&l.enclosed, bytes + 1 + l.about.bytes.size(), sizeof l.enclosed);
    return l;
}

letter letter::about_grant(const grant& g, bool wanted, instant at) noexcept {
    return {word::granted,
            g.nonce,
            {.granted_at = at.time_since_epoch().count(),
             .fence = g.fence.value(),
             .bond = static_cast<std::int64_t>(g.terms.bond),
             .anchor = g.terms.anchor.time_since_epoch().count(),
             .ttl = g.terms.ttl.count(),
             .reserved = g.reserved,
             .wanted = wanted ? 1U : 0U}};
}

grant letter::given() const noexcept {
    return {about,
            fence{enclosed.fence},
            enclosed.reserved,
            {.bond = static_cast<bond_id>(enclosed.bond),
             .anchor = instant{duration{enclosed.anchor}},
             .ttl = duration{enclosed.ttl},
             .margin = {}}};
}

letter letter::about_bond(bond_id id) noexcept {
    letter l{word::bond_lost, {}, {}};
    std::memcpy(l.about.bytes.data(), &id, sizeof id);
    return l;
}

bond_id letter::bond() const noexcept {
    bond_id id{};
    std::memcpy(&id, about.bytes.data(), sizeof id);
    return id;
}

bool mail::harmless() const noexcept {
    return !torn && std::none_of(letters.begin(), letters.end(), [](const letter& l) {
        return l.what == letter::word::taken || l.what == letter::word::bond_lost;
    });
}

// ------------------------------------------------------------------------------------- presence

presence::presence(std::string directory, const sharing& who, process_id id, children which)
    : directory_{std::move(directory)}, id_{id} {
    try {
        live_ = kept_by(make_fifo(name_of(directory_, id_, ".live"), who), which);
        wake_ = make_fifo(name_of(directory_, id_, ".wake"), who);
        capacity_ = static_cast<std::size_t>(std::max(::fcntl(wake_.get(), F_GETPIPE_SZ), 0));
    } catch (...) {
        remove_names();
        throw;
    }
}

presence::~presence() {
    if (live_)
        detail::forget_in_child(live_.get());
}

bool presence::still_there() const noexcept {
    return leads_to(name_of(directory_, id_, ".live"), live_) &&
           leads_to(name_of(directory_, id_, ".wake"), wake_);
}

mail presence::read() {
    mail come;
    std::array<char, letter::size * 64> buffer; // NOLINT(*-member-init): read(2) does
    std::size_t whole = 0;
    for (;;) {
        const auto got = ::read(wake_.get(), buffer.data(), buffer.size());
        if (got <= 0)
            break;
        const auto size = static_cast<std::size_t>(got);
        whole += size;
        for (std::size_t at = 0; at + letter::size <= size; at += letter::size) {
            come.torn =
                come.torn || std::string_view{"glwtb"}.find(buffer[at]) == std::string_view::npos;
            come.letters.push_back(letter::from(&buffer[at]));
        }
        come.torn = come.torn || size % letter::size != 0;
        if (size < buffer.size())
            break; // that was all: a pipe gives what it has
    }
    // Letters do not fill pages exactly, so a pipe is full some time before its
    // capacity.
    come.torn = come.torn || whole + capacity_ / 8 >= capacity_;
    return come;
}

void presence::remove_names() const noexcept { sqlite::remove_names(directory_, id_); }

void presence::abandon() noexcept {
    live_.release();
    wake_.release();
}

// ----------------------------------------------------------------------------------- watch_list

watch_list::watch_list(std::string directory)
    : directory_{std::move(directory)}, epoll_{::epoll_create1(EPOLL_CLOEXEC)} {
    if (!epoll_)
        fail("epoll_create1", errno);
}

watch_list::~watch_list() { clear(); }

void watch_list::clear() noexcept {
    for (auto& [id, one] : all_)
        drop(one);
    all_.clear();
}

void watch_list::listen_to(const presence& own) noexcept {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = 0; // no process has this number
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, own.wake(), &event);
}

void watch_list::stop_listening_to(const presence& own) noexcept {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, own.wake(), nullptr);
}

watch_list::watched& watch_list::find(process_id id) {
    auto& one = all_[id];
    if (!one.live)
        one.live = open_to_look(directory_, id);
    if (one.live && !one.in_epoll) {
        epoll_event event{}; // EPOLLHUP comes unasked
        event.data.u64 = static_cast<std::uint64_t>(id);
        one.in_epoll = ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, one.live.get(), &event) == 0;
    }
    return one;
}

liveness watch_list::look_at(process_id id) {
    auto& one = find(id);
    const auto life = look_through(one.live);
    one.dead = life == liveness::dead;
    return life;
}

void watch_list::watch(process_id id) { ++find(id).claims; }

void watch_list::unwatch(process_id id) noexcept {
    const auto found = all_.find(id);
    if (found == all_.end())
        return;
    HOLDFAST_ASSERT(found->second.claims > 0, "who stops watching has been watching");
    --found->second.claims;
}

void watch_list::send(process_id to, const letter& what) {
    auto& one = find(to);
    if (!one.wake)
        one.wake = open_both_ends(name_of(directory_, to, ".wake"));
    if (!one.wake)
        return; // it has just gone
    const auto bytes = what.bytes();
    // Shorter than PIPE_BUF: all or nothing. Nothing means full: its reader will look at
    // everything.
    if (::write(one.wake.get(), bytes.data(), bytes.size()) < 0)
        return;
}

// A dead one must not stay in the epoll, which would be readable for ever.
void watch_list::tidy() noexcept {
    constexpr std::size_t kept_open = 32;
    const auto of_use = [&](const watched& one) {
        return one.claims > 0 || (one.live && !one.dead && all_.size() <= kept_open);
    };
    for (auto it = all_.begin(); it != all_.end();) {
        if (of_use(it->second)) {
            ++it;
        } else {
            drop(it->second);
            it = all_.erase(it);
        }
    }
}

// Taken out by name: after a fork the child's copy would keep the entry alive beyond close().
void watch_list::drop(watched& one) noexcept {
    if (one.in_epoll)
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, one.live.get(), nullptr);
}

std::vector<process_id> watch_list::ended() {
    std::vector<process_id> who;
    std::array<epoll_event, 64> events{};
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) {
        const auto& event = events[static_cast<std::size_t>(i)];
        const auto found = all_.find(static_cast<process_id>(event.data.u64));
        if (found == all_.end()) // our own .wake
            continue;
        found->second.dead = true;
        if (found->second.claims > 0)
            who.push_back(found->first);
    }
    return who;
}

void watch_list::abandon() noexcept {
    for (auto& [id, one] : all_) {
        one.live.release();
        one.wake.release();
        one.in_epoll = false;
    }
    epoll_.release();
}

// ---------------------------------------------------------------------------------------- names

// .live goes last: as long as a trace is left, .live says whether it is a dead one.
void remove_names(const std::string& directory, process_id id) noexcept {
    ::unlink(name_of(directory, id, ".wake").c_str());
    ::unlink(name_of(directory, id, ".live").c_str());
}

std::vector<process_id> traces_in(const std::string& directory) {
    std::vector<process_id> found;
    DIR* const open = ::opendir(directory.c_str());
    if (open == nullptr)
        return found;
    while (const dirent* entry = ::readdir(open)) {
        const std::string_view name{entry->d_name};
        unsigned long long id = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id, 16);
        const std::string_view kind{end, static_cast<std::size_t>(name.data() + name.size() - end)};
        if (error == std::errc{} && (kind == ".live" || kind == ".wake"))
            found.push_back(static_cast<process_id>(id));
    }
    ::closedir(open);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

liveness look_once(const std::string& directory, process_id id) noexcept {
    return look_through(open_to_look(directory, id));
}

} // namespace holdfast::sqlite
