#include "backends/redis/server.hpp"
#include "backends/redis/errors.hpp"
#include "backends/redis/scripts.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <unistd.h>
#include <utility>

namespace holdfast::redis {
namespace {

[[nodiscard]] std::int64_t microseconds(instant t) noexcept {
    return std::chrono::duration_cast<std::chrono::microseconds>(t.time_since_epoch()).count();
}

[[nodiscard]] std::int64_t number_in(std::string_view digits) noexcept {
    std::int64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
}

constexpr const char* canary_key = "holdfast_canary";
constexpr duration clocks_drift = std::chrono::milliseconds{100};

[[nodiscard]] std::string seconds_text(duration d) {
    return std::to_string(std::chrono::ceil<std::chrono::seconds>(d).count()) + " s";
}

} // namespace

void learn_from_info(server_facts& facts, std::string_view info) {
    while (!info.empty()) {
        const auto end = std::min(info.find('\n'), info.size());
        auto row = info.substr(0, end);
        info.remove_prefix(std::min(end + 1, info.size()));
        if (!row.empty() && row.back() == '\r')
            row.remove_suffix(1);
        const auto colon = row.find(':');
        if (colon == std::string_view::npos)
            continue;
        const auto name = row.substr(0, colon);
        const auto value = row.substr(colon + 1);
        if (name == "redis_version")
            facts.version = value;
        else if (name == "run_id")
            facts.run_id = value;
        else if (name == "uptime_in_seconds")
            facts.uptime_s = number_in(value);
        else if (name == "maxmemory_policy")
            facts.eviction = value;
        else if (name == "maxmemory")
            facts.memory_limit = number_in(value);
        else if (name == "aof_enabled")
            facts.append_only = value == "1";
        else if (name == "connected_slaves")
            facts.replicas = static_cast<int>(number_in(value));
        else if (name == "role")
            facts.role = value;
        else if (name == "master_replid")
            facts.replication_id = value;
        else if (name == "master_host")
            facts.follows = std::string{value} + facts.follows;
        else if (name == "master_port")
            facts.follows += ":" + std::string{value};
        else if (name == "master_link_status")
            facts.is_linked = value == "up";
    }
    facts.known = !facts.run_id.empty();
}

line_settings plain_settings(const acquaintance& with, const endpoint& where) {
    line_settings s;
    s.where = where;
    s.tls = with.tls;
    s.connect_timeout = with.how.connect_timeout;
    s.silence = with.how.silence;
    s.greet = [user = with.how.user,
               password = with.how.password](std::string& out) -> std::size_t {
        if (password.empty())
            return 0;
        if (user.empty())
            append_command(out, {"AUTH", password});
        else
            append_command(out, {"AUTH", user, password});
        return 1;
    };
    s.greeted = [](std::size_t, const reply& r) -> std::optional<failure> {
        if (!r.is_error())
            return std::nullopt;
        auto why = failure_of(r.text());
        if (why.code == errc::backend_refused)
            why.detail = "the server refused user or password";
        why.applied = applied::no;
        return why;
    };
    return s;
}

// ------------------------------------------------------------------------------------- meeting

/// The commands of a greeting, in order; which of them are said depends on the settings.
struct server::meeting {
    enum class word : std::uint8_t { auth, select, name, script, info, fsync, clock, canary, role };
    bool thorough = false;
    std::vector<word> said;
    instant asked{};
    server_facts facts;
    std::string canary;
};

line_settings server::settings(bool thorough) {
    line_settings s;
    s.where = where_;
    s.tls = with_->tls;
    s.connect_timeout = with_->how.connect_timeout;
    s.silence = with_->how.silence;
    auto now = std::make_shared<meeting>();
    now->thorough = thorough;
    s.greet = [self = weak_from_this(), now](std::string& out) -> std::size_t {
        const auto here = self.lock();
        return here ? here->greet(out, *now) : 0;
    };
    s.greeted = [self = weak_from_this(), now](std::size_t i,
                                               const reply& r) -> std::optional<failure> {
        const auto here = self.lock();
        return here ? here->greeted(*now, i, r)
                    : failure{errc::backend_unavailable, applied::no, "it was forgotten"};
    };
    return s;
}

std::size_t server::greet(std::string& out, meeting& m) {
    using word = meeting::word;
    const auto& how = with_->how;
    m.said.clear();
    m.facts = {};
    m.asked = boot_clock::now();
    const auto say = [&](word w, std::initializer_list<std::string_view> words) {
        m.said.push_back(w);
        append_command(out, words);
    };
    if (!how.user.empty())
        say(word::auth, {"AUTH", how.user, how.password});
    else if (!how.password.empty())
        say(word::auth, {"AUTH", how.password});
    if (how.db != 0)
        say(word::select, {"SELECT", std::to_string(how.db)});
    say(word::name, {"CLIENT", "SETNAME", "holdfast-" + std::to_string(::getpid())});
    if (m.thorough) {
        // A script that the server does not know is sent again in full, and may be overtaken
        // meanwhile. So it knows them all before it is asked for anything.
        for (const auto* one : scripts_to_load())
            say(word::script, {"SCRIPT", "LOAD", one->text});
        say(word::info, {"INFO"});
        say(word::fsync, {"CONFIG", "GET", "appendfsync"});
        say(word::clock, {"TIME"});
        if (!with_->in_cluster) // there each server has other keys
            say(word::canary, {"GET", canary_key});
        say(word::role, {"ROLE"});
    }
    return m.said.size();
}

// {slave, host, port, …}
std::string server::replica_text(const reply& role) const {
    auto text = where().text() + ": it is a replica";
    if (!role[1].text().empty() && role[2].number())
        text += " of " +
                endpoint{std::string{role[1].text()}, static_cast<int>(*role[2].number())}.text();
    if (with_->how.topology == topology::replicas)
        text += "; the primary is the first of redis+replicas://";
    return text;
}

std::optional<failure> server::greeted(meeting& m, std::size_t i, const reply& r) {
    using word = meeting::word;
    const auto problem = [&](std::string_view error) {
        auto why = failure_of(error);
        why.applied = applied::no;
        return why;
    };
    switch (m.said.at(i)) {
    case word::auth:
    case word::select:
        if (!r.is_error())
            break;
        if (m.said[i] == word::auth && first_word(r.text()) == "ERR" &&
            failure_of(r.text()).code == errc::backend_refused)
            return failure{
                errc::backend_refused, applied::no, "the server refused user or password"};
        if (m.said[i] == word::select)
            return failure{errc::backend_refused,
                           applied::no,
                           "there is no database " + std::to_string(with_->how.db)};
        return problem(r.text());
    case word::script: // who may not load them asks for each in full
        break;
    case word::name:
        // Not every proxy knows it, and not everybody may; all else would come back with the next.
        if (r.is_error() && first_word(r.text()) != "NOPERM" &&
            (first_word(r.text()) != "ERR" ||
             failure_of(r.text()).code == errc::backend_unavailable))
            return problem(r.text());
        break;
    case word::info:
        if (r.is_error() && first_word(r.text()) == "LOADING")
            return problem(r.text());
        learn_from_info(m.facts, r.text());
        break;
    case word::fsync:
        m.facts.syncs_always = r[1].text() == "always";
        break;
    case word::clock: {
        const auto s = r[0].number();
        const auto us = r[1].number();
        if (s && us)
            clock_is(*s * 1'000'000 + *us, m.asked);
        break;
    }
    case word::canary:
        if (r.is_error() && first_word(r.text()) == "LOADING") // it has not forgotten, not yet
            return problem(r.text());
        m.canary = r.is_error() ? std::string{} : std::string{r.text()};
        break;
    case word::role:
        if (r.size() > 0)
            m.facts.role = r[0].text();
        if (with_->wants_primary && m.facts.role == "slave")
            return failure{errc::backend_unavailable, applied::no, replica_text(r)};
        met(m.facts, m.canary);
        break;
    }
    return std::nullopt;
}

// We met it, for the first time or again. What it knows less than before decides.
void server::met(const server_facts& now_known, const std::string& canary) {
    const auto now = boot_clock::now();
    std::string words;
    {
        const std::lock_guard lock{guard_};
        const bool another = now_known.run_id != facts_.run_id;
        const duration up = std::chrono::seconds{std::max<std::int64_t>(now_known.uptime_s, 0)};
        if (now_known.known && another && now_known.may_forget()) {
            forgot_at_ = std::max(forgot_at_.value_or(instant::min()), now - up);
            if (up < quarantine())
                words = where_.text() + " started " + seconds_text(up) +
                        " ago and may have forgotten locks; it grants none for another " +
                        seconds_text(quarantine() - up);
        }
        facts_ = now_known;
    }
    if (!words.empty())
        with_->notice(words);
    canary_is(canary);
}

void server::canary_is(const std::string& now_there) {
    bool forgot = false;
    {
        const std::lock_guard lock{guard_};
        looked_around_at_ = boot_clock::now();
        forgot = !canary_.empty() && canary_ != now_there;
        canary_ = now_there;
        if (forgot)
            forgot_at_ = looked_around_at_;
    }
    if (forgot) {
        with_->notice(where().text() + " has forgotten what it knew; it grants no locks for " +
                      seconds_text(quarantine()));
        with_->forced({}); // what we hold here may be gone
    }
    if (now_there.empty() && !with_->in_cluster)
        leave_canary();
}

// Only the first value stays; whoever leaves one looks at it when he meets the server again.
void server::leave_canary() {
    detail::kernel_random chance;
    std::string bytes;
    append_command(bytes, {"SET", canary_key, std::to_string(chance.next()), "NX"});
    append_command(bytes, {"GET", canary_key});
    hot_.front()->ask(
        bytes,
        boot_clock::now() + with_->how.silence,
        [self = weak_from_this()](const reply& r, const failure* f) {
            if (const auto here = self.lock();
                here && f == nullptr && r.is() == reply::kind::text) {
                const std::lock_guard lock{here->guard_};
                here->canary_ = r.text();
            }
        },
        1);
}

void server::look_around(instant now) {
    bool for_canary = false;
    {
        const std::lock_guard lock{guard_};
        if (now < looked_around_at_ + looks_around_every)
            return;
        looked_around_at_ = now;
        for_canary = !with_->in_cluster && !canary_.empty();
    }
    const auto ask = [&](std::initializer_list<std::string_view> words,
                         void (*learn)(server&, const reply&, instant asked)) {
        std::string bytes;
        append_command(bytes, words);
        renewals_->ask(bytes,
                       now + with_->how.silence,
                       [self = weak_from_this(), learn, now](const reply& r, const failure* f) {
                           if (const auto here = self.lock(); here && f == nullptr && !r.is_error())
                               learn(*here, r, now);
                       });
    };
    if (for_canary)
        ask({"GET", canary_key},
            [](server& here, const reply& r, instant) { here.canary_is(std::string{r.text()}); });
    ask({"TIME"}, [](server& here, const reply& r, instant asked) {
        const auto s = r[0].number(), us = r[1].number();
        if (s && us)
            here.clock_was(*s * 1'000'000 + *us, asked);
    });
}

// At least as long as any lease that we know can be.
duration server::quarantine() const {
    const auto least = with_->how.quarantine;
    return least == duration::zero() ? least : std::max(least, duration{*with_->longest_ttl});
}

void server::acknowledged(way w, instant answer_by, acknowledger::on_known done) {
    acknowledger* by = nullptr;
    {
        const std::lock_guard lock{guard_};
        auto& which = w == way::hot ? hot_acknowledger_ : renewals_acknowledger_;
        if (!which)
            which = std::make_unique<acknowledger>(w == way::hot ? with_->hot : with_->background,
                                                   plain_settings(*with_, where_),
                                                   with_->how.acknowledge,
                                                   with_->how.acknowledge_within);
        by = which.get();
    }
    by->ask(answer_by, std::move(done));
}

std::optional<failure> server::grants_nothing(instant now) const {
    const std::lock_guard lock{guard_};
    if (facts_.may_evict() && !with_->how.allow_eviction)
        return failure{
            errc::backend_refused,
            applied::no,
            where_.text() + " may drop locks when its memory is full (maxmemory-policy " +
                facts_.eviction + "); set it to noeviction, or allow it with eviction=allow"};
    const auto lasts = quarantine();
    if (forgot_at_ && lasts > duration::zero() && now < *forgot_at_ + lasts)
        return failure{errc::backend_unavailable,
                       applied::no,
                       where_.text() +
                           " was restarted and may have forgotten locks; it grants none "
                           "for another " +
                           seconds_text(*forgot_at_ + lasts - now)};
    return std::nullopt;
}

// ---------------------------------------------------------------------------------------- clock

void server::clock_is(std::int64_t us, instant asked) {
    clock_ahead_us_.store(us - microseconds(asked), std::memory_order_relaxed);
    clock_error_us_.store(microseconds(boot_clock::now()) - microseconds(asked),
                          std::memory_order_relaxed);
}

// An answer that took long tells little, unless the clock has been set meanwhile.
void server::clock_was(std::int64_t us, instant asked) {
    const auto took = microseconds(boot_clock::now()) - microseconds(asked);
    const auto drift = std::chrono::duration_cast<std::chrono::microseconds>(clocks_drift).count();
    const auto known = clock_ahead_us_.load(std::memory_order_relaxed);
    const auto off = std::abs(us - microseconds(asked) - known);
    if (known == 0 || took < drift || off > took + drift)
        clock_is(us, asked);
}

// It was read somewhere between asking and hearing, and has gone on at a pace of its own since.
duration server::clock_error() const {
    return clocks_drift +
           std::chrono::microseconds{clock_error_us_.load(std::memory_order_relaxed)};
}

std::int64_t server::clock_at(instant when) const {
    const auto ahead = clock_ahead_us_.load(std::memory_order_relaxed);
    return ahead == 0 ? 0 : microseconds(when) + ahead;
}

// ---------------------------------------------------------------------------------------- lines

std::shared_ptr<server> server::make(std::shared_ptr<const acquaintance> with, endpoint where) {
    auto made = std::make_shared<server>(std::move(with), std::move(where), by_make{});
    made->make_lines();
    return made;
}

server::server(std::shared_ptr<const acquaintance> with, endpoint where, by_make)
    : with_{std::move(with)}, where_{std::move(where)} {}

// A server that was forgotten ends while somebody may be telling it of its lines.
void server::make_lines() {
    for (std::uint32_t i = 0; i < with_->how.connections; ++i) {
        auto s = settings(true);
        s.opened = [self = weak_from_this()] {
            if (const auto here = self.lock())
                here->line_opened();
        };
        s.broken = [self = weak_from_this()](const failure& why) {
            if (const auto here = self.lock())
                here->line_broken(why);
        };
        hot_.push_back(line::make(with_->hot, std::move(s)));
    }
    auto s = settings(true);
    s.broken = troubles();
    renewals_ = line::make(with_->background, std::move(s));
}

server::~server() { close(); }

void server::ask(way w,
                 std::size_t spread,
                 std::string_view bytes,
                 instant answer_by,
                 on_answer done,
                 asking how) {
    auto& which = w == way::hot ? hot_[spread % hot_.size()] : renewals_;
    if (how == asking::no)
        return which->ask(bytes, answer_by, std::move(done));
    std::string both;
    append_command(both, {"ASKING"});
    which->ask(both.append(bytes), answer_by, std::move(done), 1);
}

listener* server::ears_if_any() const {
    const std::lock_guard lock{guard_};
    return ears_.get();
}

listener& server::ears() {
    const std::lock_guard lock{guard_};
    if (ears_)
        return *ears_;
    auto s = settings(false);
    s.broken = troubles();
    ears_ = std::make_unique<listener>(with_->hot,
                                       std::move(s),
                                       with_->announce,
                                       with_->wake,
                                       with_->released,
                                       with_->forced,
                                       [self = weak_from_this()] { return self.lock(); });
    return *ears_;
}

std::function<void(const failure&)> server::troubles() {
    return [self = weak_from_this()](const failure& why) {
        if (const auto here = self.lock())
            here->with_->trouble(here->where(), why);
    };
}

server_facts server::facts() const {
    const std::lock_guard lock{guard_};
    return facts_;
}

endpoint server::where() const {
    const std::lock_guard lock{guard_};
    return where_;
}

void server::line_opened() {
    link_state what{};
    {
        const std::lock_guard lock{guard_};
        what = seen_ ? link_state::reconnected : link_state::connected;
        if (seen_ && !suspended_)
            return;
        seen_ = true;
        suspended_ = false;
    }
    with_->link(what, where().text());
}

void server::line_broken(const failure& why) {
    bool tell = false;
    {
        const std::lock_guard lock{guard_};
        tell = seen_ && !std::exchange(suspended_, true);
    }
    if (tell)
        with_->link(link_state::suspended, why.detail);
    with_->trouble(where(), why);
}

bool server::settled() const {
    return std::all_of(hot_.begin(), hot_.end(), [](const auto& one) { return one->settled(); });
}

void server::move_to(const endpoint& to) {
    listener* ears = nullptr;
    {
        const std::lock_guard lock{guard_};
        where_ = to;
        clock_ahead_us_ = 0; // it is another one's, from now on
        ears = ears_.get();
        for (auto* const one : {hot_acknowledger_.get(), renewals_acknowledger_.get()})
            if (one != nullptr)
                one->move_to(to);
    }
    for (const auto& one : hot_)
        one->move_to(to);
    renewals_->move_to(to);
    if (ears != nullptr)
        ears->move_to(to);
}

void server::close() {
    for (const auto& one : hot_)
        one->close();
    renewals_->close();
    const std::lock_guard lock{guard_};
    if (ears_)
        ears_->close();
    for (auto* const one : {hot_acknowledger_.get(), renewals_acknowledger_.get()})
        if (one != nullptr)
            one->close();
}

} // namespace holdfast::redis
