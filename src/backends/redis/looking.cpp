#include "backends/redis/looking.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace holdfast::redis {
namespace {

// A server may say any number; a duration holds three hundred years.
constexpr std::int64_t longest_ms = std::int64_t{36'525} * 86'400'000;

[[nodiscard]] duration microseconds_between(std::int64_t from, std::int64_t to) {
    return std::chrono::microseconds{from > 0 && to > from ? std::min(to - from, longest_ms * 1000)
                                                           : 0};
}

[[nodiscard]] const note* note_of(std::string_view holder, const notes_by_client& notes) {
    const auto found = notes.find(holder.substr(0, holder.find(':')));
    return found == notes.end() ? nullptr : &found->second;
}

/// The plain layout names a client by the first digits of its uuid.
[[nodiscard]] party who_has(std::string_view value, const notes_by_client& notes) {
    for (const auto& [uuid, n] : notes) {
        std::string digits;
        for (const char c : uuid)
            if (c != '-' && digits.size() < 16)
                digits.push_back(c);
        if (digits.size() == 16 && value.starts_with(digits))
            return n.who;
    }
    return {{}, 0, std::string{value.substr(0, 64)}};
}

[[nodiscard]] party who_is(std::string_view holder, const notes_by_client& notes) {
    if (const auto* known = note_of(holder, notes))
        return known->who;
    return {{}, 0, std::string{holder.substr(0, 256)}}; // Java, most likely
}

/// Those in the queue in its order, then everybody else by time.
[[nodiscard]] std::vector<waiter_info> waiters_of(const std::string& name,
                                                  const reply& queue,
                                                  std::int64_t now_us,
                                                  const notes_by_client& notes) {
    struct known {
        std::string_view client;
        const note* of;
        const note::wait* wait;
    };
    std::vector<known> waits;
    for (const auto& [client, n] : notes)
        for (const auto& w : n.waits)
            if (w.name == name)
                waits.push_back({client, &n, &w});
    std::stable_sort(waits.begin(), waits.end(), [](const known& a, const known& b) {
        return a.wait->since_us < b.wait->since_us;
    });
    std::vector<waiter_info> found;
    const auto add = [&](const known& k) {
        found.push_back({k.of->who, k.wait->mode, microseconds_between(k.wait->since_us, now_us)});
    };
    for (std::size_t i = 0; i < queue.size(); ++i) {
        const auto holder = queue[i].text();
        const auto client = holder.substr(0, holder.find(':'));
        const auto mine = std::find_if(
            waits.begin(), waits.end(), [&](const known& k) { return k.client == client; });
        if (mine == waits.end()) {
            found.push_back({who_is(holder, notes), mode::exclusive, {}});
        } else {
            add(*mine);
            waits.erase(mine);
        }
    }
    std::for_each(waits.begin(), waits.end(), add);
    return found;
}

} // namespace

bool looks_like_a_holder(std::string_view field) noexcept {
    if (field.ends_with(":write"))
        field.remove_suffix(6);
    if (field.size() < 38 || field[36] != ':')
        return false;
    const auto uuid = field.substr(0, 36);
    auto digits = field.substr(37);
    if (digits.front() == '-')
        digits.remove_prefix(1);
    const auto is = [](auto test) {
        return [test](char c) { return test(static_cast<unsigned char>(c)) != 0; };
    };
    return std::all_of(
               uuid.begin(), uuid.end(), [&](char c) { return c == '-' || is(::isxdigit)(c); }) &&
           !digits.empty() && std::all_of(digits.begin(), digits.end(), is(::isdigit));
}

// {type, remaining ms, fields, token, queue, permits out with limits, server's clock, the string}
std::optional<lock_info>
lock_from(const std::string& name, const reply& r, const notes_by_client& notes, layout shape) {
    lock_info lock{name, {}, {}};
    const auto type = r[0].text();
    const auto now_us = r[6].number().value_or(0);
    const auto remaining = [](std::int64_t ms) {
        return ms < 0
                   ? std::nullopt
                   : std::optional<duration>{std::chrono::milliseconds{std::min(ms, longest_ms)}};
    };
    const auto ttl = remaining(r[1].number().value_or(-1));
    if (type == "hash" && shape == layout::redisson) {
        const auto fields = r[2];
        const auto token = r[3].number().value_or(0);
        for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
            auto holder = fields[i].text();
            if (holder == "mode")
                continue;
            if (!looks_like_a_holder(holder))
                return std::nullopt; // somebody's data
            const bool writes = holder.ends_with(":write");
            const bool reads = r[7].text() == "rw" && !writes;
            const bool ours = note_of(holder, notes) != nullptr && token % fences_per_grant == 0;
            holder_info info{
                who_is(holder, notes), reads ? mode::shared : mode::exclusive, {}, {}, ttl, {}};
            if (ours && token > 0) {
                info.fence = fence{token - fences_per_grant + 1};
                if (!reads)
                    info.held_for = microseconds_between(token - fences_per_grant + 1, now_us);
            }
            lock.holders.push_back(std::move(info));
        }
    } else if (type == "string" && shape == layout::plain) {
        const auto value = r[7].text();
        holder_info info{who_has(value, notes), mode::exclusive, {}, {}, ttl, {}};
        if (const auto dot = value.find('.'); dot == 32) {
            std::int64_t since = 0;
            std::from_chars(value.data() + 33, value.data() + value.size(), since);
            if (since > 0)
                info.fence = fence{since};
            info.held_for = microseconds_between(since, now_us);
        }
        lock.holders.push_back(std::move(info));
    }
    // The number of those that are free is beside them, under the very name.
    const auto permits = type == "string" && shape == layout::redisson ? r[5] : reply{};
    for (std::size_t i = 0; i + 1 < permits.size(); i += 2) {
        std::int64_t limit_ms = 0;
        const auto score = permits[i + 1].text();
        std::from_chars(score.data(), score.data() + score.size(), limit_ms);
        lock.holders.push_back(
            {{{}, 0, "a permit"},
             mode::permit,
             {},
             {},
             remaining(limit_ms > now_us / 1000 && now_us >= 0 ? limit_ms - now_us / 1000 : 0),
             {}});
    }
    lock.waiters = waiters_of(name, r[4], now_us, notes);
    if (lock.holders.empty() && lock.waiters.empty())
        return std::nullopt;
    return lock;
}

// -------------------------------------------------------------------------------------- findings

std::vector<finding>
findings_of(const std::string& where, const server_state& s, const options& how) {
    using grade = finding::grade;
    std::vector<finding> all;
    const auto say = [&](grade g, std::string what, std::string fix = {}) {
        all.push_back({g, std::move(what), std::move(fix)});
    };
    const auto& f = s.facts;
    if (!f.known) {
        say(grade::warning,
            where + " answers, but does not say what it is (INFO is not allowed).",
            "Allow the user +info, +config|get, +role and +time.");
        return all;
    }
    say(grade::good, where + " is Redis " + f.version + ".");

    if (f.may_evict())
        say(how.allow_eviction ? grade::warning : grade::danger,
            "When its memory is full it drops keys, locks among them (" + f.eviction + ").",
            "CONFIG SET maxmemory-policy noeviction");
    else if (f.eviction != "noeviction" && !f.eviction.empty())
        say(grade::notice,
            "Should it ever get a memory limit, it would drop locks (" + f.eviction + ").",
            "CONFIG SET maxmemory-policy noeviction");
    else
        say(grade::good, "It drops no locks when its memory is full.");

    if (f.append_only && s.append_fsync == "always")
        say(grade::good, "A restart forgets nothing.");
    else if (f.append_only)
        say(grade::notice,
            "A crash may forget the last second of locks; clients then wait " +
                std::to_string(std::chrono::ceil<std::chrono::seconds>(how.quarantine).count()) +
                " s before they take any.",
            "CONFIG SET appendfsync always");
    else
        say(how.quarantine > duration::zero() ? grade::warning : grade::danger,
            how.quarantine > duration::zero()
                ? "A restart forgets all locks; clients then wait " +
                      std::to_string(
                          std::chrono::ceil<std::chrono::seconds>(how.quarantine).count()) +
                      " s before they take any."
                : "A restart forgets all locks, and quarantine is off: two may hold one lock.",
            "CONFIG SET appendonly yes, and appendfsync always");

    if (static_cast<int>(how.acknowledge) > f.replicas)
        say(grade::danger,
            "It has fewer replicas than must acknowledge (" + std::to_string(f.replicas) + " of " +
                std::to_string(how.acknowledge) + "): no lock can be taken.",
            "Start them, or open it with a smaller acknowledge.");
    if (f.replicas > 0 && how.acknowledge == 0)
        say(grade::warning,
            "It has " + std::to_string(f.replicas) + (f.replicas == 1 ? " replica" : " replicas") +
                ", and a fail-over may promote one that does not know a lock yet.",
            "Open it with acknowledge=" + std::to_string(f.replicas) +
                ", and set min-replicas-to-write " + std::to_string(f.replicas));
    else if (f.replicas > 0 && static_cast<int>(how.acknowledge) < f.replicas)
        say(grade::notice,
            "One of its replicas may be promoted that has not acknowledged a lock.",
            "Open it with acknowledge=" + std::to_string(f.replicas));
    if (how.acknowledge > 0 && s.min_replicas >= 0 &&
        s.min_replicas < static_cast<std::int64_t>(how.acknowledge))
        say(grade::notice,
            "Cut off from its replicas, it goes on granting until it notices.",
            "CONFIG SET min-replicas-to-write " + std::to_string(how.acknowledge));
    if (f.replicas == 0 && how.topology == topology::single)
        say(grade::notice,
            "It is the only one: while it is away, no lock can be taken.",
            "Use replicas with Sentinel, or quorum: over several servers.");
    if (how.semaphores == semaphores::plain)
        say(grade::warning,
            "Its semaphores are Redisson's plain ones: the permits of Java's dead are lost, and "
            "those of our dead come back only when one of us asks for one.",
            "Use getPermitExpirableSemaphore in Java, and leave out semaphore=plain.");
    say(grade::notice,
        "Exclusion rests on its wall clock: one that jumps ahead ends leases early.",
        "Let the clock be slewed, not stepped, and check the fence where it matters.");
    if (s.clock_difference && (*s.clock_difference > std::chrono::seconds{5} ||
                               *s.clock_difference < -std::chrono::seconds{5}))
        say(grade::notice,
            "Its clock differs from ours by " +
                std::to_string(
                    std::chrono::duration_cast<std::chrono::seconds>(*s.clock_difference).count()) +
                " s. Leases do not depend on that; fair waiters in Java do.",
            "Set the clocks.");
    std::stable_sort(all.begin(), all.end(), [](const finding& a, const finding& b) {
        return static_cast<int>(a.how) > static_cast<int>(b.how);
    });
    return all;
}

finding
finding_of_replica(const std::string& where, const server_facts& its, const server_facts& primary) {
    using grade = finding::grade;
    if (!its.known)
        return {grade::warning,
                where + " answers, but does not say what it is (INFO is not allowed).",
                "Allow the user +info."};
    if (its.role == "master")
        return {grade::danger,
                where + " was named as a replica, but is a primary of its own.",
                "Write the primary first, or let it follow: REPLICAOF host port"};
    if (primary.known && its.replication_id != primary.replication_id)
        return {grade::danger,
                where + " is a replica of " + its.follows + ", which is not the primary named.",
                "Write the primary first, or let it follow the right one."};
    if (!its.is_linked)
        return {grade::warning,
                where + " is a replica of " + its.follows + ", and has lost touch with it.",
                "Look at the network between them."};
    return {grade::good, where + " is its replica, and in touch with it.", {}};
}

} // namespace holdfast::redis
