// What an operator asks of Redis: who holds and waits, and whether the server can be trusted.

#include "backends/redis/backend.hpp"
#include "backends/redis/errors.hpp"
#include "backends/redis/looking.hpp"
#include "runtime/wall_clock.hpp"

#include <algorithm>
#include <fnmatch.h>
#include <set>
#include <utility>

namespace holdfast::redis {
namespace {

constexpr const char* scanned_at_a_time = "1000";
constexpr std::size_t most_names = 100'000; // of one answer

[[nodiscard]] bool is_pattern(std::string_view text) {
    return text.find_first_of("*?[\\") != std::string_view::npos;
}

} // namespace

// ---------------------------------------------------------------------------------- inspecting

/// One inspection: first the names and the notes, by walking over the keys of all primaries; then a
/// look at each name. Kept alive by the request that is on its way.
struct redis_backend::inspection : std::enable_shared_from_this<inspection> {
    inspection(redis_backend& b, const call& c, std::string p)
        : engine{b}, asked{c}, pattern{std::move(p)} {}

    void begin() {
        servers = engine.directory_->primaries();
        if (servers.empty() && !std::exchange(sought, true))
            return engine.when_servers_are_known(asked,
                                                 [self = shared_from_this()](const failure* f) {
                                                     f == nullptr ? self->begin() : self->fail(*f);
                                                 });
        if (servers.empty())
            return fail({errc::backend_unavailable, applied::no, "no primary is known"});
        const auto prefix = engine.protocol_.prefix();
        if (!is_pattern(pattern))
            names.insert(pattern);
        else if (engine.protocol_.shares_with_java())
            walks = {
                {prefix + pattern, "hash", &inspection::found_name},
                {"{" + prefix + pattern + "}" + end_of_permits(),
                 "zset",
                 &inspection::found_permits},
                {prefix + pattern + end_of_permits(), "zset", &inspection::found_tagged_permits}};
        else
            walks = {{prefix + pattern, "string", &inspection::found_name}};
        walks.push_back({std::string{note_prefix} + "*", "string", &inspection::found_note});
        walk_on("0");
    }

    // ---- walking over keys

    struct walk {
        std::string match;
        const char* type;
        void (inspection::*found)(std::string_view key);
    };

    void walk_on(const std::string& cursor) {
        if (at_walk == walks.size())
            return read_notes();
        std::string bytes;
        append_command(bytes,
                       {"SCAN",
                        cursor,
                        "MATCH",
                        walks[at_walk].match,
                        "COUNT",
                        scanned_at_a_time,
                        "TYPE",
                        walks[at_walk].type});
        servers[at_server]->ask(
            server::way::hot,
            0,
            bytes,
            asked.answer_by,
            [self = shared_from_this()](const reply& r, const failure* f) { self->walked(r, f); });
    }

    void walked(const reply& r, const failure* f) {
        if (f != nullptr || r.is_error() || r.size() != 2)
            return fail(f != nullptr ? *f : r.is_error() ? failure_of(r.text()) : not_understood());
        for (std::size_t i = 0; i < r[1].size(); ++i)
            (this->*walks[at_walk].found)(r[1][i].text());
        const std::string cursor{r[0].text()};
        if (cursor != "0" && names.size() < most_names)
            return walk_on(cursor);
        if (++at_server == servers.size()) {
            at_server = 0;
            ++at_walk;
        }
        walk_on("0");
    }

    void found_name(std::string_view key) {
        const auto& prefix = engine.protocol_.prefix();
        if (key.starts_with(prefix) && !key.starts_with(note_prefix))
            names.emplace(key.substr(prefix.size()));
    }
    [[nodiscard]] std::string end_of_permits() const {
        return ":" + std::string{permits_suffix(engine.protocol_.which_semaphores())};
    }
    // What a server finds may be anything, whatever it was asked for.
    void found_permits(std::string_view key) {
        constexpr std::string_view open = "{";
        const auto close = "}" + end_of_permits();
        if (key.size() > open.size() + close.size() && key.starts_with(open) &&
            key.ends_with(close))
            if (const auto name = key.substr(open.size(), key.size() - open.size() - close.size());
                name.find('{') == name.npos)
                found_name(name);
    }
    // A name with a {tag} is not wrapped. {a}:timeout may be that of a or of {a}: whose it is, a
    // look at both tells.
    void found_tagged_permits(std::string_view key) {
        const auto end = end_of_permits();
        if (key.ends_with(end) && key.find('{') != key.npos)
            found_name(key.substr(0, key.size() - end.size()));
    }
    void found_note(std::string_view key) {
        if (key.starts_with(note_prefix))
            clients.emplace(key.substr(note_prefix.size()));
    }

    // ---- reading notes, then locks

    void read_notes() {
        pending = clients.size() + 1;
        for (const auto& client : clients) {
            const auto key = std::string{note_prefix} + client;
            std::string bytes;
            append_command(bytes, {"GET", key});
            engine.directory_->ask(
                server::way::hot,
                key,
                bytes,
                asked.answer_by,
                [self = shared_from_this(), client](const reply& r, const failure* f) {
                    if (f == nullptr)
                        if (auto known = note_from(r.text())) {
                            self->look_only_at_our_names(*known);
                            const std::lock_guard lock{self->guard};
                            self->notes.emplace(client, std::move(*known));
                        }
                    self->one_done(&inspection::look_at_locks);
                });
        }
        one_done(&inspection::look_at_locks);
    }

    /// Clients with another prefix wait for other locks, even if they call them the same.
    void look_only_at_our_names(note& n) const {
        const auto& prefix = engine.protocol_.prefix();
        std::erase_if(n.waits, [&](const note::wait& w) { return !w.name.starts_with(prefix); });
        for (auto& w : n.waits)
            w.name.erase(0, prefix.size());
    }

    void look_at_locks() {
        // Who waits for a lock that nobody holds is still to be seen.
        for (const auto& [_, n] : notes)
            for (const auto& w : n.waits)
                if (!is_pattern(pattern) ? w.name == pattern : matches(w.name))
                    names.insert(w.name);
        pending = names.size() + 1;
        for (const auto& name : names) {
            engine.run(
                server::way::hot,
                name,
                asked.answer_by,
                [this](std::string& out, const std::string& n, calling how) {
                    engine.protocol_.look(out, n, how);
                },
                [self = shared_from_this(), name](const reply& r, const failure* f) {
                    if (f == nullptr && !r.is_error())
                        if (auto lock_found =
                                lock_from(name, r, self->notes, self->engine.how_.layout)) {
                            const std::lock_guard lock{self->guard};
                            self->locks.push_back(std::move(*lock_found));
                        }
                    if (f != nullptr) {
                        const std::lock_guard lock{self->guard};
                        self->trouble = *f;
                    } else if (r.is_error()) {
                        const std::lock_guard lock{self->guard};
                        self->refused = failure_of(r.text());
                    }
                    self->one_done(&inspection::finish);
                });
        }
        one_done(&inspection::finish);
    }

    void finish() {
        if (trouble)
            return fail(*trouble);
        if (locks.empty() && refused) // not for those that somebody else may see
            return fail(*refused);
        std::sort(locks.begin(), locks.end(), [](const lock_info& a, const lock_info& b) {
            return a.name < b.name;
        });
        engine.events_->inspected(asked.ticket, std::move(locks));
    }

    [[nodiscard]] bool matches(const std::string& name) const {
        return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
    }

    void one_done(void (inspection::*next)()) {
        {
            const std::lock_guard lock{guard};
            if (--pending > 0)
                return;
        }
        (this->*next)();
    }

    void fail(failure why) { engine.events_->inspected(asked.ticket, std::move(why)); }

    redis_backend& engine;
    const call asked;
    const std::string pattern;
    std::vector<std::shared_ptr<server>> servers;
    std::vector<walk> walks;
    std::size_t at_walk = 0, at_server = 0;
    bool sought = false;
    std::set<std::string> names, clients;
    std::mutex guard;
    std::size_t pending = 0;
    notes_by_client notes;
    std::vector<lock_info> locks;
    std::optional<failure> trouble, refused;
};

/// Behind sentinels and in a cluster nobody is known before something was asked for.
void redis_backend::when_servers_are_known(const call& c,
                                           std::function<void(const failure*)> then) {
    std::string bytes;
    append_command(bytes, {"PING"});
    directory_->ask(server::way::hot,
                    "",
                    bytes,
                    c.answer_by,
                    [then = std::move(then)](const reply&, const failure* f) { then(f); });
}

void redis_backend::inspect(const call& c, const std::string& pattern) {
    std::make_shared<inspection>(*this, c, pattern)->begin();
}

// ----------------------------------------------------------------------------------- examining

/// One examination: the same few questions to every primary, answered when the last one is.
struct redis_backend::examination {
    call asked;
    backend_events* to = nullptr;
    options how;
    std::mutex guard;
    std::size_t pending = 0;
    std::vector<std::shared_ptr<server>> servers; // they live until they have answered
    std::map<std::string, server_state> states;
    std::map<std::string, server_facts> replicas;
    std::vector<finding> findings;

    void one_done() {
        {
            const std::lock_guard lock{guard};
            if (--pending > 0)
                return;
        }
        for (const auto& [where, state] : states)
            for (auto& one : findings_of(where, state, how))
                findings.push_back(std::move(one));
        const auto primary = states.empty() ? server_facts{} : states.begin()->second.facts;
        for (const auto& [where, facts] : replicas)
            findings.push_back(finding_of_replica(where, facts, primary));
        std::stable_sort(findings.begin(), findings.end(), [](const finding& a, const finding& b) {
            return static_cast<int>(a.how) > static_cast<int>(b.how);
        });
        to->examined(asked.ticket, std::move(findings));
    }
};

void redis_backend::examine(const call& c) {
    if (!directory_->primaries().empty())
        return examine_all(c);
    when_servers_are_known(c, [this, c](const failure* f) {
        if (f == nullptr)
            return examine_all(c);
        events_->examined(c.ticket,
                          {{finding::grade::danger,
                            "It cannot be used: " + f->detail + ".",
                            "Start it, or correct the URL."}});
    });
}

void redis_backend::examine_all(const call& c) {
    auto all = std::make_shared<examination>();
    all->asked = c;
    all->to = events_;
    all->how = how_;
    all->servers = directory_->primaries();
    const auto replicas = directory_->replicas();
    all->pending = all->servers.size() + replicas.size() + 1;
    struct question {
        std::initializer_list<std::string_view> words;
        void (*learn)(server_state&, const reply&);
    };
    static const question questions[] = {
        {{"CONFIG", "GET", "appendfsync"},
         [](server_state& s, const reply& r) { s.append_fsync = r[1].text(); }},
        {{"CONFIG", "GET", "min-replicas-to-write"},
         [](server_state& s, const reply& r) { s.min_replicas = r[1].number().value_or(-1); }},
        {{"TIME"},
         [](server_state& s, const reply& r) {
             if (const auto seconds = r[0].number())
                 s.clock_difference = std::chrono::seconds{*seconds} - detail::wall_clock_seconds();
         }},
        {{"INFO"}, [](server_state& s, const reply& r) { learn_from_info(s.facts, r.text()); }},
    };
    for (const auto& one : replicas) {
        std::string bytes;
        append_command(bytes, {"INFO"});
        const auto where = one->where().text();
        one->ask(bytes, c.answer_by, [all, where](const reply& r, const failure* f) {
            {
                const std::lock_guard lock{all->guard};
                if (f == nullptr)
                    learn_from_info(all->replicas[where], r.text());
                else
                    all->findings.push_back(
                        {finding::grade::warning,
                         "The replica " + where + " cannot be reached: " + f->detail + ".",
                         "Start it, or correct the URL."});
            }
            all->one_done();
        });
    }
    for (const auto& one : all->servers) {
        const auto where = one->where().text();
        for (const auto& q : questions) {
            std::string bytes;
            append_command(bytes, q.words);
            const bool last = &q == std::end(questions) - 1;
            one->ask(server::way::hot,
                     0,
                     bytes,
                     c.answer_by,
                     [all, where, &q, last](const reply& r, const failure* f) {
                         {
                             const std::lock_guard lock{all->guard};
                             if (f == nullptr)
                                 q.learn(all->states[where], r);
                             else if (last)
                                 all->findings.push_back({finding::grade::danger,
                                                          "It cannot be used: " + f->detail + ".",
                                                          "Start it, or correct the URL."});
                         }
                         if (last)
                             all->one_done();
                     });
        }
    }
    all->one_done();
}

} // namespace holdfast::redis
