#include "backends/redis/protocol.hpp"
#include "backends/redis/errors.hpp"

#include <algorithm>
#include <limits>

namespace holdfast::redis {
namespace {

/// Begins a call of a script; keys and arguments follow.
[[nodiscard]] command call_script(
    std::string& out, const script& s, calling how, std::size_t keys, std::size_t arguments) {
    command made{out, 3 + keys + arguments};
    if (how == calling::by_digest)
        made.as_sent(s.called);
    else
        made << "EVAL" << s.text;
    made << static_cast<std::int64_t>(keys);
    return made;
}

/// As long as a place in Redisson's queue outlives a waiter that fell silent. It must be the same
/// when it comes, is served and leaves: those behind it count on it.
[[nodiscard]] std::int64_t patience_ms(const claim& what) {
    return std::clamp<std::int64_t>(milliseconds_of(what.ttl), 1000, 300'000);
}

[[nodiscard]] std::string_view raw(const nonce& n) {
    return {reinterpret_cast<const char*>(n.bytes.data()), n.bytes.size()};
}

/// 32 digits for the plain layout: half of them say which client, for `ls`.
[[nodiscard]] short_text digits_of(std::string_view uuid, const nonce& n) {
    std::string made;
    for (const char c : uuid)
        if (c != '-' && made.size() < 16)
            made.push_back(c);
    for (std::size_t i = 0; i < 8; ++i) {
        made.push_back("0123456789abcdef"[n.bytes[i] >> 4]);
        made.push_back("0123456789abcdef"[n.bytes[i] & 15]);
    }
    return short_text{made};
}

} // namespace

std::int64_t milliseconds_of(duration d) noexcept {
    return std::chrono::ceil<std::chrono::milliseconds>(d).count();
}

protocol::protocol(layout l,
                   std::string prefix,
                   announcing announce,
                   duration fence_retention,
                   std::string uuid,
                   semaphores which)
    : layout_{l}, prefix_{std::move(prefix)}, announce_{announce},
      retention_ms_{milliseconds_of(fence_retention)}, holders_{std::move(uuid)}, semaphores_{
                                                                                      which} {}

structure protocol::of(const claim& what) const noexcept {
    if (layout_ == layout::plain)
        return structure::string;
    if (what.mode == mode::permit)
        return structure::permit;
    if (what.mode == mode::shared)
        return structure::reader;
    if (what.kind == kind::read_write)
        return structure::writer;
    return what.kind == kind::fair ? structure::fair : structure::holder;
}

short_text protocol::holder(const claim& what) const {
    switch (of(what)) {
    case structure::permit:
        return short_text{raw(what.nonce)};
    case structure::string:
        return digits_of(holders_.uuid(), what.nonce);
    default:
        return holders_.of(what.nonce);
    }
}

std::string protocol::channel(const claim& what) const {
    const auto name = key(what.name);
    switch (of(what)) {
    case structure::holder:
        return lock_channel(name);
    case structure::fair:
        return std::string{lock_channel(name)}.append(":").append(holder(what));
    case structure::reader:
    case structure::writer:
        return read_write_channel(name);
    case structure::permit:
        return permits_channel(name);
    case structure::string:
        return plain_channel(name);
    }
    return {};
}

void protocol::attempt(
    std::string& out, const claim& what, joining join, std::int64_t not_after, calling how) const {
    const auto& all = all_scripts();
    const auto name = key(what.name);
    const auto mine = holder(what);
    const auto ttl = milliseconds_of(what.ttl + what.lock_delay);
    const std::int64_t queues = join == joining::queue ? 1 : 0;
    switch (of(what)) {
    case structure::holder:
        call_script(out, all.take, how, 2, 4)
            << name << token_key(name) << mine << ttl << not_after << retention_ms_;
        break;
    case structure::fair:
        call_script(out, all.queue_up, how, 4, 6)
            << name << token_key(name) << queue_key(name) << patience_key(name) << mine << ttl
            << not_after << retention_ms_ << patience_ms(what) << queues;
        break;
    case structure::reader:
        call_script(out, all.read, how, 4, 4)
            << name << token_key(name) << reader_key(name, mine) << writer_waits_key(name) << mine
            << ttl << not_after << (what.within ? holders_.of(*what.within) : short_text{});
        break;
    case structure::writer:
        call_script(out, all.write, how, 3, 5)
            << name << token_key(name) << writer_waits_key(name) << mine << ttl << not_after
            << retention_ms_ << queues;
        break;
    case structure::permit:
        call_script(out,
                    semaphores_ == semaphores::plain ? all.take_plain_permit : all.take_permit,
                    how,
                    2,
                    6)
            << name << permits_out(name) << mine << ttl << not_after
            << static_cast<std::int64_t>(what.permits) << permits_channel(name) << publish();
        break;
    case structure::string:
        call_script(out, all.take_string, how, 1, 3) << name << mine << ttl << not_after;
        break;
    }
}

void protocol::give_back(std::string& out, const claim& what, calling how) const {
    const auto& all = all_scripts();
    const auto name = key(what.name);
    const auto mine = holder(what);
    switch (of(what)) {
    case structure::holder:
        call_script(out, all.give_back, how, 2, 3)
            << name << queue_key(name) << mine << lock_channel(name) << publish();
        break;
    case structure::fair:
        call_script(out, all.give_back_fair, how, 3, 4)
            << name << queue_key(name) << patience_key(name) << mine << lock_channel(name)
            << publish() << patience_ms(what);
        break;
    case structure::reader: {
        const std::string readers = behind(name, ""); // "{name}:"
        call_script(out, all.give_back_read, how, 2, 4)
            << name << reader_key(name, mine) << mine << read_write_channel(name) << publish()
            << std::string_view{readers}.substr(0, readers.size() - 1);
        break;
    }
    case structure::writer:
        call_script(out, all.give_back_write, how, 2, 3)
            << name << writer_waits_key(name) << mine << read_write_channel(name) << publish();
        break;
    case structure::permit:
        call_script(out, all.give_back_permit, how, 2, 3)
            << name << permits_out(name) << mine << permits_channel(name) << publish();
        break;
    case structure::string:
        call_script(out, all.give_back_string, how, 1, 3)
            << name << mine << plain_channel(name) << publish();
        break;
    }
}

void protocol::prolong(std::string& out,
                       std::span<const claim* const> all_of_them,
                       calling how) const {
    const auto& all = all_scripts();
    const auto& first = *all_of_them.front();
    const auto name = key(first.name);
    const auto ttl = milliseconds_of(first.ttl + first.lock_delay);
    switch (of(first)) {
    case structure::holder:
    case structure::fair: {
        auto made = call_script(out, all.prolong, how, all_of_them.size(), 1 + all_of_them.size());
        for (const auto* one : all_of_them)
            made << key(one->name);
        made << ttl;
        for (const auto* one : all_of_them)
            made << holder(*one);
        break;
    }
    case structure::reader:
        call_script(out, all.prolong_read, how, 2, 2)
            << name << reader_key(name, holder(first)) << ttl << holder(first);
        break;
    case structure::writer:
        call_script(out, all.prolong_write, how, 1, 2) << name << ttl << holder(first);
        break;
    case structure::permit:
        call_script(out, all.prolong_permit, how, 1, 2)
            << permits_out(name) << ttl << holder(first);
        break;
    case structure::string:
        call_script(out, all.prolong_string, how, 1, 2) << name << ttl << holder(first);
        break;
    }
}

void protocol::raise_fence(std::string& out, const claim& what, fence least, calling how) const {
    const auto name = key(what.name);
    auto field = holder(what);
    if (of(what) == structure::writer)
        field.append(":write");
    call_script(out, all_scripts().raise, how, 2, 2)
        << name << token_key(name) << field << least.value();
}

void protocol::take_by_force(std::string& out, std::string_view lock, calling how) const {
    const auto name = key(lock);
    call_script(out, all_scripts().take_by_force, how, 4, 6)
        << name << queue_key(name) << patience_key(name) << permits_out(name) << lock_channel(name)
        << read_write_channel(name) << permits_channel(name) << publish()
        << (layout_ == layout::plain ? std::string{plain_channel(name)} : std::string{})
        << force_channel;
}

void protocol::look(std::string& out, std::string_view lock, calling how) const {
    const auto name = key(lock);
    call_script(out, all_scripts().look, how, 4, 0)
        << name << token_key(name) << queue_key(name) << permits_out(name);
}

void protocol::look_for(std::string& out, const claim& what) const {
    const std::string name{std::string_view{key(what.name)}};
    const std::string mine{std::string_view{holder(what)}};
    switch (of(what)) {
    case structure::holder:
    case structure::fair:
    case structure::reader:
        return append_command(out, {"HEXISTS", name, mine});
    case structure::writer:
        return append_command(out, {"HEXISTS", name, mine + ":write"});
    case structure::permit:
        return append_command(out, {"ZSCORE", std::string{permits_out(name)}, mine});
    case structure::string:
        return append_command(out, {"GETRANGE", name, "0", std::to_string(mine.size())});
    }
}

// A key that holds something else now is no lock of ours.
std::optional<bool> protocol::still_ours(const reply& r, const claim& what) const {
    if (r.is_error())
        return first_word(r.text()) == "WRONGTYPE" ? std::optional{false} : std::nullopt;
    switch (of(what)) {
    case structure::permit: // its limit, or nothing
        return r.is() == reply::kind::nothing ? std::optional{false}
               : r.is() == reply::kind::text  ? std::optional{true}
                                              : std::nullopt;
    case structure::string:
        return r.is() == reply::kind::text
                   ? std::optional{r.text() == std::string{std::string_view{holder(what)}} + "."}
                   : std::nullopt;
    default:
        return r.is() == reply::kind::number ? std::optional{r.number() == 1} : std::nullopt;
    }
}

protocol::verdict protocol::attempted(const reply& r, const claim& what) const {
    verdict made;
    if (r.is_error()) {
        made.why = failure_of(r.text());
        return made;
    }
    const auto answer = r[0].number();
    const auto value = r[1].number();
    if (!answer || !value || *answer < -1 || *answer > 1) {
        made.why = not_understood();
        return made;
    }
    if (*answer == -1) {
        made.is = verdict::kind::too_late;
        made.server_us = *value;
    } else if (*answer == 1) {
        const bool fenced = what.mode != mode::permit;
        if (*value < 0 || (what.mode == mode::exclusive && *value == 0) ||
            *value > std::numeric_limits<std::int64_t>::max() - fences_per_grant) {
            made.why = not_understood();
            return made;
        }
        made.is = verdict::kind::granted;
        if (fenced && *value > 0)
            made.fence = holdfast::fence{*value};
        if (what.mode == mode::exclusive && of(what) != structure::string)
            made.reserved = fences_per_grant - 1;
    } else {
        made.is = verdict::kind::contended;
        if (*value >= 0)
            made.no.retry_after =
                std::chrono::milliseconds{std::min<std::int64_t>(*value, 86'400'000)};
        if (const auto holder_text = r[2].text(); !holder_text.empty())
            made.no.holder = party{{}, 0, std::string{holder_text.substr(0, 256)}};
        if (const auto place = r[3].number(); place && *place > 0)
            made.no.place = static_cast<std::uint32_t>(std::min<std::int64_t>(*place, 1'000'000));
    }
    return made;
}

std::int64_t protocol::given_back(const reply& r) {
    if (r.is() != reply::kind::number)
        return -1;
    return std::max<std::int64_t>(*r.number(), -1);
}

} // namespace holdfast::redis
