#include "simulation/network.hpp"
#include "backends/zookeeper/names.hpp"
#include "simulation/world.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace holdfast::simulation {
namespace {

[[nodiscard]] const char* verb_name(models::request::verb v) {
    static constexpr const char* names[] = {
        "attempt", "withdraw", "release", "renew", "close session", "raise", ""};
    return names[static_cast<std::size_t>(v)];
}

[[nodiscard]] const char* name_of(models::reply::kind k) {
    static constexpr const char* names[] = {"granted",
                                            "contended",
                                            "failed",
                                            "expired",
                                            "withdrawn",
                                            "released",
                                            "lost",
                                            "renewed",
                                            "raised",
                                            "not raised",
                                            ""};
    return names[static_cast<std::size_t>(k)];
}

[[nodiscard]] const char* name_of(models::push::kind k) {
    static constexpr const char* names[] = {
        "woken", "granted", "wanted", "taken", "session gone", "broken"};
    return names[static_cast<std::size_t>(k)];
}

[[nodiscard]] std::string about(const models::request& r) {
    if (r.says)
        return told(*r.says);
    std::string text = joined(verb_name(r.what), " #", static_cast<std::uint64_t>(r.number));
    if (r.about)
        text += joined(" ", r.about->name, " ", short_name(r.about->nonce));
    for (const auto& c : r.all)
        text += joined(" ", c ? short_name(c->nonce) : "?");
    return text;
}

[[nodiscard]] std::string about(const std::variant<models::reply, models::push>& m) {
    if (const auto* r = std::get_if<models::reply>(&m); r != nullptr && r->says)
        return told(*r->says);
    else if (r != nullptr)
        return joined(name_of(r->what), " #", static_cast<std::uint64_t>(r->number));
    const auto& p = std::get<models::push>(m);
    return joined("push ", name_of(p.what), " ", short_name(p.whose));
}

/// Whose claim a request is about, if it asks for something.
[[nodiscard]] std::optional<nonce> asks_for(const models::request& r) {
    if (r.what == models::request::verb::attempt)
        return r.about->nonce;
    if (!r.says || !std::holds_alternative<zookeeper::operation>(*r.says))
        return std::nullopt;
    const auto* const m =
        std::get_if<zookeeper::create>(&std::get<zookeeper::operation>(*r.says).what);
    return m == nullptr ? std::nullopt
                        : zookeeper::nonce_in(m->path.substr(m->path.rfind('/') + 1));
}

} // namespace

void network::up(models::request r) {
    auto& l = lines_[r.from];
    auto j = world_.fates.of_request();
    const bool in_order = how_ == models::transport::connection;
    if (l.cut_up || (in_order && l.broken))
        j.lost = true;
    if (world_.story.with_lines())
        world_.say(r.from, " ~> ", about(r), j.lost ? "  (lost)" : "");
    if (j.lost)
        return break_off(r.from);
    auto when = std::max(world_.time() + j.delay, stalled_until_);
    if (in_order)
        when = l.last_up = std::max(when, l.last_up);
    const auto connection = l.connection;
    if (j.again && how_ == models::transport::datagrams)
        world_.at(std::max(world_.time() + *j.again, stalled_until_),
                  the_world,
                  lane::network,
                  [this, r, connection] { arrive(r, connection); });
    world_.at(when, the_world, lane::network, [this, r = std::move(r), connection] {
        arrive(r, connection);
    });
}

void network::arrive(const models::request& r, std::uint32_t connection) {
    auto& l = lines_[r.from];
    if (how_ == models::transport::connection) {
        if (connection < l.known_connection) // the session has moved on to a newer one
            return;
        l.known_connection = connection;
    }
    if (world_.story.with_lines())
        world_.say("server ", server_, " <- ", r.from, " ", about(r));
    if (world_.time() < away_until_)
        return;
    if (const auto whose = asks_for(r))
        if (auto* const p = world_.find(r.from); p != nullptr && p->has_left(*whose))
            world_.seen(models::sighting::late_request_landed_after_cleanup);
    world_.engine(server_).receive(r);
}

void network::down(process_id to, std::variant<models::reply, models::push> m) {
    auto& l = lines_[to];
    const auto j = world_.fates.of_answer();
    const bool in_order = how_ == models::transport::connection;
    const bool old = in_order && l.known_connection != l.connection;
    if (j.lost || l.cut_down || old || (in_order && l.broken)) {
        if (!old)
            break_off(to);
        return lost(to, m);
    }
    auto when = world_.time() + j.delay;
    if (in_order)
        when = l.last_down = std::max(when, l.last_down);
    if (world_.story.with_lines())
        world_.say("server ", server_, " ~> ", to, " ", about(m));
    world_.at(when, to, lane::network, [this, to, connection = l.connection, m = std::move(m)] {
        if (how_ == models::transport::connection && lines_[to].connection != connection)
            return lost(to, m);
        if (world_.story.with_lines())
            world_.say(to, " <- ", about(m));
        std::visit([&](const auto& what) { world_.find(to)->engine_says(server_, what); }, m);
    });
}

// A ZooKeeper client is often told at once, by a reset; if not, silence will tell it.
void network::break_off(process_id who) {
    auto& l = lines_[who];
    if (std::exchange(l.broken, true) || world_.o.engine != engine::zookeeper || l.cut_up ||
        l.cut_down || !world_.chances.permille(700))
        return;
    const auto when = std::max(world_.time() + world_.o.delay_most, l.last_down);
    world_.at(when, who, lane::network, [this, who, connection = l.connection] {
        if (lines_[who].connection == connection)
            world_.find(who)->engine_says(server_,
                                          models::push{.what = models::push::kind::broken});
    });
}

void network::lost(process_id to, const std::variant<models::reply, models::push>& m) {
    if (world_.story.with_lines())
        world_.say("server ", server_, " ~> ", to, " ", about(m), "  (lost)");
    const auto* const p = std::get_if<models::push>(&m);
    if (p == nullptr ||
        (p->what != models::push::kind::woken && p->what != models::push::kind::granted))
        return;
    if (auto* const whose = world_.find(to))
        whose->hint_lost(p->whose);
}

void network::reconnect(process_id who) {
    auto& l = lines_[who];
    ++l.connection;
    l.broken = false;
    l.last_up = l.last_down = {};
}

void network::cut(process_id who, bool upwards, bool downwards) {
    auto& l = lines_[who];
    l.cut_up = upwards;
    l.cut_down = downwards;
}

void network::join(process_id who) { cut(who, false, false); }

void network::join_all() {
    for (auto& [who, l] : lines_)
        l.cut_up = l.cut_down = false;
}

} // namespace holdfast::simulation
