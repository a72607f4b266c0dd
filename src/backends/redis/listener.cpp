#include "backends/redis/listener.hpp"
#include "backends/redis/errors.hpp"
#include "backends/redis/names.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace holdfast::redis {
namespace {

constexpr duration kept_warm = std::chrono::seconds{10};
constexpr std::size_t most_kept_warm = 1000;
constexpr unsigned plain = 1, sharded = 2;      // ways to announce
constexpr unsigned slots_of_a_cluster = 16'384; // from 0 on, so this one does not exist

} // namespace

listener::listener(std::shared_ptr<reactor> r,
                   line_settings s,
                   announcing how,
                   std::function<void(const nonce&)> wake,
                   std::function<void(const std::string&)> released,
                   std::function<void(const std::string&)> forced,
                   alive_while owner)
    : ways_{how == announcing::both       ? plain | sharded
            : how == announcing::spublish ? sharded
                                          : plain},
      wake_{std::move(wake)}, released_{std::move(released)}, forced_{std::move(forced)} {
    s.stays_open = true;
    const auto lives = [owner = std::move(owner)] { // for as long as the answer is kept
        return owner ? owner() : std::shared_ptr<const void>{std::make_shared<bool>(true)};
    };
    s.opened = [this, lives] {
        if (const auto here = lives())
            opened();
    };
    s.broken = [this, lives, told = std::move(s.broken)](const failure& why) {
        if (const auto here = lives())
            broken();
        if (told)
            told(why);
    };
    s.heard = [this, lives](const reply& what) {
        if (const auto here = lives())
            heard(what);
    };
    line_ = line::make(std::move(r), std::move(s));
}

void listener::append(std::string& out,
                      const char* verb,
                      const std::string& name,
                      unsigned ways) const {
    if ((ways & plain) != 0)
        append_command(out, {verb, name});
    if ((ways & sharded) != 0)
        append_command(out, {std::string{"S"} + verb, name});
}

listener::missed listener::listen(const std::string& name, const nonce& who, instant asked) {
    std::string out;
    auto answer = missed::nothing;
    {
        const std::lock_guard lock{guard_};
        const auto [found, fresh] = channels_.try_emplace(name);
        auto& one = found->second;
        one.idle_since = never;
        if (std::find(one.who.begin(), one.who.end(), who) == one.who.end()) {
            one.who.push_back(who);
            if (one.heard_since != never && std::max(one.heard_since, one.last_message) >= asked)
                answer = missed::perhaps;
        }
        if (fresh)
            append(out, "SUBSCRIBE", name, ways_);
        drop_idle(asked, out);
    }
    line_->open_now();
    if (!out.empty())
        line_->say(out); // not open yet: opened() will say it
    return answer;
}

void listener::stop(const std::string& name, const nonce& who, keeping how) {
    std::string out;
    {
        const std::lock_guard lock{guard_};
        const auto found = channels_.find(name);
        if (found == channels_.end())
            return;
        std::erase(found->second.who, who);
        if (!found->second.who.empty() || found->second.idle_since != never)
            return;
        const auto now = boot_clock::now();
        if (how == keeping::none) {
            channels_.erase(found);
            append(out, "UNSUBSCRIBE", name, ways_);
        } else {
            found->second.idle_since = now;
            idle_.push_back(name);
        }
        drop_idle(now, out);
    }
    if (!out.empty())
        line_->say(out);
}

void listener::drop_idle(instant now, std::string& out) {
    while (!idle_.empty()) {
        const auto found = channels_.find(idle_.front());
        if (found != channels_.end() && found->second.idle_since != never) {
            if (found->second.idle_since + kept_warm > now && idle_.size() <= most_kept_warm)
                return;
            append(out, "UNSUBSCRIBE", found->first, ways_);
            channels_.erase(found);
        }
        idle_.pop_front();
    }
}

bool listener::hears_of(const std::string& name) const {
    const std::lock_guard lock{guard_};
    const auto found = channels_.find(name);
    return found != channels_.end() && found->second.heard_since != never;
}

void listener::opened() {
    std::string out;
    append_command(out, {"SUBSCRIBE", force_channel});
    {
        const std::lock_guard lock{guard_};
        for (const auto& [name, _] : channels_)
            append(out, "SUBSCRIBE", name, ways_);
    }
    if (!out.empty())
        line_->say(out);
}

void listener::broken() {
    const std::lock_guard lock{guard_};
    for (auto& [_, one] : channels_) {
        one.confirmed = 0;
        one.heard_since = never;
    }
}

// We said so ourselves, and somebody has come for it meanwhile: what two threads say reaches the
// server in any order. Or the server did, because the slot of the channel has moved.
void listener::unheard(std::string_view name, unsigned way) {
    std::string out;
    {
        const std::lock_guard lock{guard_};
        const auto found = channels_.find(name);
        if (found == channels_.end())
            return;
        found->second.confirmed &= ~way;
        found->second.heard_since = never;
        append(out, "SUBSCRIBE", found->first, way);
    }
    line_->say(out);
}

void listener::heard(const reply& what) {
    if (what.is_error())
        return moved_away(what.text());
    const auto verb = what[0].text();
    const auto way =
        verb.starts_with("ss") || verb.starts_with("sun") || verb == "smessage" ? sharded : plain;
    if (verb == "unsubscribe" || verb == "sunsubscribe")
        return unheard(what[1].text(), way);
    const bool confirmed = verb == "subscribe" || verb == "ssubscribe";
    if (!confirmed && verb != "message" && verb != "smessage")
        return;
    if (what[1].text() == force_channel) // an empty key: whatever was said before, we did not hear
        return forced_(verb == "message" ? std::string{what[2].text()} : std::string{});
    std::vector<nonce> who;
    {
        const std::lock_guard lock{guard_};
        const auto found = channels_.find(what[1].text());
        if (found == channels_.end())
            return;
        auto& one = found->second;
        if (confirmed) {
            one.confirmed |= way;
            if (one.confirmed != ways_)
                return; // the other will be confirmed, too
            one.heard_since = boot_clock::now();
        } else {
            one.last_message = boot_clock::now();
        }
        who = one.who;
    }
    if (!confirmed)
        released_(std::string{what[1].text()});
    for (const auto& one : who)
        wake_(one);
}

// "MOVED 3999 127.0.0.1:6381": somebody wanted to listen to a channel of that slot. Other refusals,
// for want of rights, would be the same if repeated; then asking from time to time must do.
void listener::moved_away(std::string_view error) {
    if (first_word(error) != "MOVED")
        return;
    unsigned slot = slots_of_a_cluster;
    const auto digits = error.substr(std::min<std::size_t>(error.size(), 6));
    std::from_chars(digits.data(), digits.data() + digits.size(), slot);
    drop_and_wake([&](const std::string& name, const channel& one) {
        return one.heard_since == never && slot_of(name) == slot;
    });
}

template <class Which> void listener::drop_and_wake(Which which) {
    std::vector<nonce> who;
    std::string out;
    {
        const std::lock_guard lock{guard_};
        for (auto it = channels_.begin(); it != channels_.end();) {
            if (!which(it->first, it->second)) {
                ++it;
                continue;
            }
            who.insert(who.end(), it->second.who.begin(), it->second.who.end());
            append(out, "UNSUBSCRIBE", it->first, it->second.confirmed);
            it = channels_.erase(it);
        }
    }
    if (!out.empty())
        line_->say(out);
    for (const auto& one : who)
        wake_(one);
}

} // namespace holdfast::redis
