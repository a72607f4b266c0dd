// Leaving: what a claim has on the server is removed, however long that takes.

#include "backends/zookeeper/machine.hpp"
#include "lease/defect.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::zookeeper {
namespace {

using detail::defect;
using detail::has;

} // namespace

void machine::leave(stand& s, std::shared_ptr<goodbye> waits, instant now, actions& out) {
    s.leaving = true;
    s.asked.reset();
    stop(s.limit);
    stop(s.before_own_watch);
    s.watch = {};
    if (waits != nullptr)
        s.waits = std::move(waits);
    clear_away(s, now, out);
}

// As soon as it is known what there is.
void machine::clear_away(stand& s, instant now, actions& out) {
    for (auto* const p : {&s.queue, &s.lease}) {
        if (p->how == place::is::being_made)
            return;
        if (p->how == place::is::in_doubt && !has(defect::zookeeper_leaves_orphans)) {
            if (session_.up)
                seek(s, *p, now, out);
            return;
        }
    }
    const auto waits = s.waits;
    std::vector<std::string> paths;
    for (const auto* const p : {&s.queue, &s.lease})
        if (p->how == place::is::there)
            paths.push_back(p->path());
    const auto whose = s.what->nonce;
    drop(s);
    if (waits != nullptr)
        waits->left = paths.size();
    for (auto& path : paths)
        doom(std::move(path), whose, waits, now, out);
    if (waits != nullptr) {
        if (!waits->is_release)
            static_cast<void>(wait_for_removals(whose, waits));
        if (waits->left == 0)
            settle(*waits, out);
    }
}

/// Those that nobody else waits for. False: there are none.
bool machine::wait_for_removals(const nonce& whose, const std::shared_ptr<goodbye>& waits) {
    for (auto& [_, r] : removals_)
        if (r.whose == whose && (r.tell == nullptr || r.tell->answered)) {
            r.tell = waits;
            ++waits->left;
        }
    return waits->left > 0;
}

void machine::doom(std::string path,
                   const nonce& whose,
                   std::shared_ptr<goodbye> tell,
                   instant now,
                   actions& out) {
    removals_.emplace(++last_removal_, removal{std::move(path), whose, std::move(tell)});
    if (session_.up)
        send_removal(last_removal_, now, out);
}

void machine::send_removal(std::uint64_t id, instant now, actions& out) {
    auto& r = removals_.at(id);
    r.on_its_way = true;
    session_.folders.is_being_removed(r.path);
    send(
        remove{r.path}, {.what = step::removed, .whose = r.whose, .sent = now, .removal = id}, out);
}

void machine::on_removed(std::uint64_t id, const pending& p, const reply& r, actions& out) {
    const auto found = removals_.find(id);
    if (found == removals_.end())
        return;
    auto& gone = found->second;
    session_.folders.is_removed(gone.path, r.how == outcome::ok);
    if (is_unanswered(r.how) && !has(defect::zookeeper_removes_once)) {
        gone.on_its_way = false;
        gone.tried_before = true;
        return;
    }
    if (r.how == outcome::ok)
        confirmed(p.sent);
    else if (!is_gone(r.how))
        out.emplace_back(tell_notice{"a node of ours cannot be removed: " + refusal(r).detail});
    if (const auto tell = gone.tell; tell != nullptr) {
        tell->was_there =
            tell->was_there || r.how == outcome::ok || (is_gone(r.how) && gone.tried_before);
        if (--tell->left == 0)
            settle(*tell, out);
    }
    removals_.erase(found);
}

void machine::settle(goodbye& g, actions& out) {
    if (std::exchange(g.answered, true))
        return;
    stop(g.limit);
    if (g.is_release)
        out.emplace_back(tell_released{
            g.when.ticket, g.was_there ? release_result::released : release_result::lost});
    else
        out.emplace_back(tell_withdrawn{g.when.ticket, applied::no});
}

} // namespace holdfast::zookeeper
