#include "models/session_queue.hpp"
#include "lease/defect.hpp"
#include "models/admits.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::models {

// ------------------------------------------------------------------------------------- the server

void session_queue_server::receive(const request& r) {
    if (r.what == request::verb::close_session)
        return end(r.session);
    reply answer{.what = reply::kind::expired};
    if (touch(r))
        answer = execute(r);
    answer.number = r.number;
    room_.send(r.from, std::move(answer));
}

bool session_queue_server::touch(const request& r) {
    const auto [found, is_new] = sessions_.try_emplace(r.session);
    session& s = found->second;
    if (!s.alive)
        return false;
    s.touched = room_.now();
    if (is_new) {
        s.of = r.from;
        s.early = room_.luck().between(duration::zero(), session_queue_client::margin(ttl_));
        watch(r.session);
    }
    return true;
}

// One timer a session: it looks when the last touch was, and waits for the rest.
void session_queue_server::watch(session_id id) {
    const auto& s = sessions_.at(id);
    const auto left = s.touched + ttl_ - s.early - room_.now();
    if (left <= duration::zero())
        return end(id);
    room_.call_after(left, [this, id] {
        if (sessions_.at(id).alive)
            watch(id);
    });
}

void session_queue_server::end(session_id id) {
    auto& s = sessions_[id];
    if (!std::exchange(s.alive, false))
        return;
    for (auto& [name, q] : queues_) {
        for (const auto& n : q.nodes) {
            if (n.owner != id)
                continue;
            if (n.granted)
                q.taken_over = true;
            else if (&n != &q.nodes.back())
                room_.saw(sighting::predecessor_in_queue_died);
        }
        std::erase_if(q.nodes, [&](const node& n) { return n.owner == id; });
        promote(q, nullptr);
    }
    room_.send(s.of, push{push::kind::session_gone, {}, {}, id});
}

reply session_queue_server::execute(const request& r) {
    if (r.what == request::verb::renew) // a ping: for this session only
        return {.what = reply::kind::renewed, .still_held = std::vector<bool>(r.all.size(), true)};
    auto& q = queues_[r.about->name];
    return r.what == request::verb::attempt ? attempt(q, r) : remove(q, r);
}

reply session_queue_server::attempt(queue& q, const request& r) {
    const auto& whose = r.about->nonce;
    node* ours = find(q, whose);
    if (ours != nullptr && ours->owner != r.session) { // of an earlier session: about to vanish
        q.nodes.erase(q.nodes.begin() + (ours - q.nodes.data()));
        ours = nullptr;
    }
    if (ours == nullptr)
        q.nodes.push_back({r.about, r.from, r.session, next_fence(*r.about), false});
    promote(q, &whose);
    ours = find(q, whose);
    if (ours->granted)
        return {.what = reply::kind::granted, .fence = ours->fence};
    const auto place = static_cast<std::uint32_t>(ours - q.nodes.data());
    if (r.join == joining::none)
        q.nodes.erase(q.nodes.begin() + place);
    for (const auto& n : q.nodes)
        if (n.granted)
            room_.send(n.from, push{push::kind::wanted, n.by->nonce, {}, {}});
    return {.what = reply::kind::contended, .place = place};
}

reply session_queue_server::remove(queue& q, const request& r) {
    const bool withdrawn = r.what == request::verb::withdraw;
    const auto gone = std::erase_if(q.nodes, [&](const node& n) {
        if (!n.granted && !withdrawn) // a release gives back what is held, not a place
            return false;
        return n.by->nonce == r.about->nonce ||
               (!withdrawn && detail::has(detail::defect::release_without_nonce));
    });
    promote(q, nullptr);
    if (withdrawn)
        return {.what = reply::kind::withdrawn};
    return {.what = gone > 0 ? reply::kind::released : reply::kind::lost};
}

// Grants whatever may be granted now, and tells those who do not hear it as the answer to a
// request.
void session_queue_server::promote(queue& q, const nonce* asking) {
    for (auto& n : q.nodes) {
        if (n.granted || !admitted(q, n))
            continue;
        n.granted = true;
        if (n.by->mode == mode::exclusive) {
            if (std::exchange(q.taken_over, false) && detail::has(detail::defect::fence_not_raised))
                n.fence = fence{q.last_granted};
            q.last_granted = n.fence.value();
        }
        room_.granted(*n.by, n.from, n.fence, 0);
        if (asking == nullptr || n.by->nonce != *asking)
            room_.send(n.from, push{push::kind::granted, n.by->nonce, n.fence, n.owner});
    }
}

// Beside all that are granted, and behind all that came before. A reader under its own write does
// not queue: those before it wait for that write.
bool session_queue_server::admitted(const queue& q, const node& asks) {
    std::vector<node> others;
    bool before = true;
    for (const auto& n : q.nodes) {
        if (&n == &asks)
            before = false;
        else if (n.granted || (before && !asks.by->within))
            others.push_back(n);
    }
    return admits(others, *asks.by);
}

fence session_queue_server::next_fence(const claim& asks) {
    ++last_number_;
    return asks.mode == mode::permit ? fence{} : fence{last_number_};
}

session_queue_server::node* session_queue_server::find(queue& q, const nonce& whose) {
    for (auto& n : q.nodes)
        if (n.by->nonce == whose)
            return &n;
    return nullptr;
}

void session_queue_server::take_away(const std::string& name) {
    auto& q = queues_[name];
    for (const auto& n : q.nodes)
        if (n.granted)
            room_.send(n.from, push{push::kind::taken, n.by->nonce, {}, {}});
    std::erase_if(q.nodes, [](const node& n) { return n.granted; });
    promote(q, nullptr);
}

bool session_queue_server::backs(const claim& by) {
    const node* const n = find(queues_[by.name], by.nonce);
    return n != nullptr && n->granted;
}

// An older one, whose end was not heard of here, takes its nodes along when its time is over.
session_id session_queue_server::newest_session_of(process_id whose) const {
    session_id newest{};
    duration touched{};
    for (const auto& [id, s] : sessions_)
        if (s.of == whose && s.alive && s.touched >= touched) {
            newest = id;
            touched = s.touched;
        }
    return newest;
}

std::size_t session_queue_server::remembers(std::optional<process_id> whose) {
    std::size_t count = 0;
    for (const auto& [name, q] : queues_)
        for (const auto& n : q.nodes)
            count += !whose || (n.from == *whose && n.owner == newest_session_of(*whose));
    return count;
}

// ------------------------------------------------------------------------------------- the client

const capabilities& session_queue_client::able() const noexcept {
    static constexpr capabilities what{
        .engine = "session_queue",
        .reach = reach::network,
        .shared = true,
        .permits = true,
        .fair = true,
        .fences = fence_grade::consensus,
        .ttl = ttl_scope::session,
        .wake = wake_by::grant,
    };
    return what;
}

session_id session_queue_client::next_session() {
    return session_id{(static_cast<std::uint64_t>(me_) << 32) | ++made_};
}

bond_terms session_queue_client::terms(bond_id bond, instant anchor, const claim*) const {
    return {bond, anchor, ttl_, margin(ttl_)};
}

void session_queue_client::answered(const asked& a, const reply& r) {
    if (a.what.session != current_.id)
        return;
    if (r.what == reply::kind::expired)
        session_over();
    else
        current_.anchor = std::max(current_.anchor, a.when.asked);
}

void session_queue_client::session_over() {
    former_ = std::exchange(current_, {next_session(), {}});
    events_->bond_lost(former_.id);
}

void session_queue_client::receive(const push& p) {
    if (p.what == push::kind::granted) {
        const auto& by = p.session == current_.id ? current_ : former_;
        events_->granted(p.whose, grant{p.whose, p.fence, 0, terms(p.session, by.anchor, nullptr)});
    } else if (p.what == push::kind::session_gone) {
        if (p.session == current_.id)
            session_over();
    } else {
        client_side::receive(p);
    }
}

void session_queue_client::renew(const call& c, std::span<const bond_id> bonds) {
    if (bonds.size() == 1 && bonds.front() == current_.id)
        return client_side::renew(c, bonds);
    std::vector<renewal_answer> answers; // a session that is over
    for (const auto bond : bonds)
        answers.push_back({.bond = bond, .outcome = renewed::lost, .terms = {}});
    events_->renewed(c.ticket, answers);
}

void session_queue_client::forget(bond_id bond) {
    if (bond != current_.id)
        return;
    request goodbye{.what = request::verb::close_session, .from = me_, .session = bond};
    former_ = std::exchange(current_, {next_session(), {}});
    around_.send(std::move(goodbye));
}

} // namespace holdfast::models
