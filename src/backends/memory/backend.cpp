// Locks in this process: the reference the other engines are compared with.
//
//   attempt:  expire ─▶ nobody in the way ─▶ grant
//                   └▶ else ─▶ contended, with a place if asked for
//   release, withdraw, expiry:  the next in line get their grants at once, pushed by their inbox
//
// Invariants: holders of one name are compatible; waiters are served in the order of asking; a
// fence is never given twice.

#include "client/engine_entry.hpp"

#include <holdfast/memory.hpp>

#include <algorithm>
#include <deque>
#include <fnmatch.h>
#include <map>
#include <mutex>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace holdfast::memory {
namespace {

constexpr std::uint32_t fences_per_grant = 64; // for the passes inside one client

/// Where a client finds the grants that were made while it waited, and who asks for what it holds.
struct inbox {
    inbox() : ready{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {}
    ~inbox() { ::close(ready); }
    inbox(const inbox&) = delete;
    inbox& operator=(const inbox&) = delete;

    const int ready;
    std::mutex guard;
    std::vector<grant> grants;
    std::vector<nonce> wanted;
    std::vector<nonce> lost;

    template <class T> void drop(std::vector<T>& into, const T& what) {
        {
            const std::lock_guard lock{guard};
            into.push_back(what);
        }
        ::eventfd_write(ready, 1);
    }
};

struct holding {
    std::shared_ptr<const claim> what;
    grant given;
    instant since;
    instant expires;
    std::shared_ptr<inbox> whose;

    [[nodiscard]] instant free_at() const { return expires + what->lock_delay; }
};

struct waiting {
    std::shared_ptr<const claim> what;
    instant since;
    std::shared_ptr<inbox> whose;
};

struct lock {
    std::vector<holding> holders;
    std::deque<waiting> waiters;
};

[[nodiscard]] bool compatible(const claim& wanted, const std::vector<holding>& holders) {
    const auto in_the_way = [&](const holding& h) {
        if (wanted.within && h.what->nonce == *wanted.within)
            return false;
        return wanted.mode != h.what->mode || wanted.mode == mode::exclusive;
    };
    if (std::any_of(holders.begin(), holders.end(), in_the_way))
        return false;
    return wanted.mode != mode::permit || holders.size() < wanted.permits;
}

} // namespace

class store {
public:
    attempt_answer attempt(const call& c,
                           const std::shared_ptr<const claim>& what,
                           joining join,
                           const std::shared_ptr<inbox>& whose) {
        const std::lock_guard guard{guard_};
        auto& l = locks_[what->name];
        expire(l, c.asked);
        if (const auto* mine = find(l, what->nonce))
            return mine->given;
        const auto place = std::find_if(l.waiters.begin(), l.waiters.end(), [&](const waiting& w) {
            return w.what->nonce == what->nonce;
        });
        const bool queued = place != l.waiters.end();
        if (!queued && (l.waiters.empty() || what->within) && compatible(*what, l.holders))
            return give(l, what, whose, c.asked).given;
        if (!queued && join == joining::queue) {
            l.waiters.push_back({what, c.asked, whose});
            for (const auto& h : l.holders)
                h.whose->drop(h.whose->wanted, h.what->nonce);
        }
        return refuse(l, *what, c.asked);
    }

    void remove(const call& c, const claim& what) { // a place, a grant, or nothing
        const std::lock_guard guard{guard_};
        auto& l = locks_[what.name];
        std::erase_if(l.waiters, [&](const waiting& w) { return w.what->nonce == what.nonce; });
        std::erase_if(l.holders, [&](const holding& h) { return h.what->nonce == what.nonce; });
        serve(l, c.asked);
        forget_if_idle(what.name);
    }

    release_result release(const call& c, const claim& what) {
        {
            const std::lock_guard guard{guard_};
            auto& l = locks_[what.name];
            if (find(l, what.nonce) == nullptr)
                return release_result::lost;
        }
        remove(c, what);
        return release_result::released;
    }

    std::vector<renewal_answer> renew(const call& c, std::span<const bond_id> bonds) {
        const std::lock_guard guard{guard_};
        std::vector<renewal_answer> answers;
        for (const auto bond : bonds) {
            auto* h = find(bond);
            if (h == nullptr) {
                answers.push_back({bond, renewed::lost, {}});
                continue;
            }
            h->given.terms.anchor = c.asked;
            h->expires = c.asked + h->what->ttl;
            answers.push_back({bond, renewed::yes, h->given.terms});
        }
        return answers;
    }

    raised raise_fence(const call& c, const claim& what, fence least) {
        const std::lock_guard guard{guard_};
        auto& l = locks_[what.name];
        expire(l, c.asked);
        for (auto& h : l.holders)
            if (h.what->nonce == what.nonce) {
                h.given.fence = std::max(h.given.fence, least);
                fences_ = std::max(fences_, h.given.fence.value() + h.given.reserved);
                return raised::yes;
            }
        forget_if_idle(what.name);
        return raised::lost;
    }

    std::vector<lock_info> inspect(const call& c, const std::string& pattern) {
        const std::lock_guard guard{guard_};
        std::vector<lock_info> found;
        for (const auto& [name, l] : locks_) {
            if (::fnmatch(pattern.c_str(), name.c_str(), 0) != 0)
                continue;
            lock_info info{name, {}, {}};
            for (const auto& h : l.holders)
                info.holders.push_back({*h.what->by,
                                        h.what->mode,
                                        h.given.fence,
                                        c.asked - h.since,
                                        std::max(h.expires - c.asked, duration::zero()),
                                        {}});
            for (const auto& w : l.waiters)
                info.waiters.push_back({*w.what->by, w.what->mode, c.asked - w.since});
            if (!info.holders.empty() || !info.waiters.empty())
                found.push_back(std::move(info));
        }
        return found;
    }

    std::size_t force_release(const call& c, const std::string& name) {
        const std::lock_guard guard{guard_};
        auto& l = locks_[name];
        const auto count = l.holders.size();
        for (const auto& h : l.holders)
            h.whose->drop(h.whose->lost, h.what->nonce);
        l.holders.clear();
        serve(l, c.asked);
        forget_if_idle(name);
        return count;
    }

    void leave(const std::shared_ptr<inbox>& whose, instant now) {
        const std::lock_guard guard{guard_};
        for (auto it = locks_.begin(); it != locks_.end();) {
            auto& [name, l] = *it++;
            std::erase_if(l.waiters, [&](const waiting& w) { return w.whose == whose; });
            // What was not released before is kept back for its lock delay, as after a death.
            for (auto& h : l.holders)
                if (h.whose == whose)
                    h.expires = std::min(h.expires, now);
            std::erase_if(l.holders,
                          [&](const holding& h) { return h.whose == whose && h.free_at() <= now; });
            serve(l, now);
            forget_if_idle(std::string{name});
        }
    }

private:
    static const holding* find(const lock& l, const nonce& n) {
        const auto it = std::find_if(l.holders.begin(), l.holders.end(), [&](const holding& h) {
            return h.what->nonce == n;
        });
        return it == l.holders.end() ? nullptr : &*it;
    }

    holding* find(bond_id bond) {
        const auto name = bonds_.find(bond);
        if (name == bonds_.end())
            return nullptr;
        for (auto& h : locks_[name->second].holders)
            if (h.given.terms.bond == bond)
                return &h;
        bonds_.erase(name);
        return nullptr;
    }

    const holding& give(lock& l,
                        const std::shared_ptr<const claim>& what,
                        const std::shared_ptr<inbox>& whose,
                        instant now) {
        grant g{what->nonce, {}, 0, {bond_id{++bonds_made_}, now, what->ttl, {}}, now};
        if (what->mode == mode::exclusive) {
            g.fence = fence{++fences_};
            g.reserved = fences_per_grant;
            fences_ += fences_per_grant;
        } else if (const auto* write = what->within ? find(l, *what->within) : nullptr) {
            g.fence = write->given.fence; // with a larger one he would shut himself out
        } else if (what->mode == mode::shared && fences_ > 0) {
            g.fence = fence{fences_}; // not below any writer before, below every writer after
        }
        bonds_.emplace(g.terms.bond, what->name);
        return l.holders.emplace_back(holding{what, g, now, now + what->ttl, whose});
    }

    contended refuse(const lock& l, const claim& what, instant now) const {
        contended no;
        for (const auto& h : l.holders) {
            no.retry_after =
                std::min(no.retry_after, std::max(h.free_at() - now, duration::zero()));
            no.holder = *h.what->by;
        }
        for (const auto& w : l.waiters) {
            if (w.what->nonce == what.nonce)
                break;
            ++no.place;
        }
        return no;
    }

    void expire(lock& l, instant now) {
        if (std::erase_if(l.holders, [&](const holding& h) {
                if (h.free_at() <= now)
                    bonds_.erase(h.given.terms.bond);
                return h.free_at() <= now;
            }) > 0)
            serve(l, now);
    }

    void serve(lock& l, instant now) {
        while (!l.waiters.empty() && compatible(*l.waiters.front().what, l.holders)) {
            const auto next = l.waiters.front();
            l.waiters.pop_front();
            next.whose->drop(next.whose->grants, give(l, next.what, next.whose, now).given);
        }
    }

    void forget_if_idle(const std::string& name) {
        const auto it = locks_.find(name);
        if (it != locks_.end() && it->second.holders.empty() && it->second.waiters.empty())
            locks_.erase(it);
    }

    std::mutex guard_;
    std::map<std::string, lock> locks_;
    std::map<bond_id, std::string> bonds_;
    std::uint64_t bonds_made_ = 0;
    std::int64_t fences_ = 0;
};

namespace {

constexpr capabilities what_memory_can{
    .engine = "memory",
    .reach = reach::process,
    .shared = true,
    .permits = true,
    .fair = true,
    .lock_delay = true,
    .fence_per_pass = true,
    .raises_fences = true,
    .fences = fence_grade::transient,
    .ttl = ttl_scope::grant,
    .wake = wake_by::grant,
};

class memory_backend final : public backend {
public:
    explicit memory_backend(std::shared_ptr<store> on) : store_{std::move(on)} {}
    ~memory_backend() override { store_->leave(inbox_, boot_clock::now()); }

    const capabilities& able() const noexcept override { return what_memory_can; }
    void start(backend_events& events) override { events_ = &events; }

    void attempt(const call& c, const std::shared_ptr<const claim>& what, joining join) override {
        events_->attempted(c.ticket, store_->attempt(c, what, join, inbox_));
    }
    void withdraw(const call& c, const std::shared_ptr<const claim>& what) override {
        store_->remove(c, *what);
        events_->withdrawn(c.ticket, applied::no);
    }
    void release(const call& c, const std::shared_ptr<const claim>& what, const grant&) override {
        events_->released(c.ticket, store_->release(c, *what));
    }
    void renew(const call& c, std::span<const bond_id> bonds) override {
        events_->renewed(c.ticket, store_->renew(c, bonds));
    }
    void forget(bond_id) override {} // a bond is one grant: it ends by itself
    void inspect(const call& c, const std::string& pattern) override {
        events_->inspected(c.ticket, store_->inspect(c, pattern));
    }
    void raise_fence(const call& c, const std::shared_ptr<const claim>& what, fence f) override {
        events_->fence_raised(c.ticket, store_->raise_fence(c, *what, f));
    }
    void force_release(const call& c, const std::string& name) override {
        events_->forced(c.ticket, store_->force_release(c, name));
    }
    void close(instant) override { store_->leave(inbox_, boot_clock::now()); }

    int descriptor() const noexcept override { return inbox_->ready; }
    void on_readable() override {
        std::vector<grant> grants;
        std::vector<nonce> wanted;
        std::vector<nonce> lost;
        {
            const std::lock_guard guard{inbox_->guard};
            eventfd_t count = 0;
            ::eventfd_read(inbox_->ready, &count);
            grants.swap(inbox_->grants);
            wanted.swap(inbox_->wanted);
            lost.swap(inbox_->lost);
        }
        for (const auto& n : lost)
            events_->grant_lost(n);
        for (const auto& n : wanted)
            events_->wanted(n);
        for (const auto& g : grants)
            events_->granted(g.nonce, g);
    }

    void examine(const call& c) override {
        events_->examined(c.ticket,
                          {{finding::grade::notice,
                            "Locks live in this process only and end with it.",
                            "Use sqlite: for all processes of this machine."}});
    }

private:
    std::shared_ptr<store> store_;
    std::shared_ptr<inbox> inbox_ = std::make_shared<inbox>();
    backend_events* events_ = nullptr;
};

std::unique_ptr<backend> open_url(const detail::engine_url& url) {
    if (!url.rest.empty())
        throw_error(errc::bad_option, "memory: takes nothing after the colon");
    return make();
}

} // namespace

std::shared_ptr<store> make_store() { return std::make_shared<store>(); }

std::unique_ptr<backend> make(std::shared_ptr<store> on) {
    return std::make_unique<memory_backend>(on ? std::move(on) : make_store());
}

} // namespace holdfast::memory

extern "C" {
extern const holdfast::detail::engine_entry holdfast_engine_memory;
const holdfast::detail::engine_entry holdfast_engine_memory = &holdfast::memory::open_url;
}
