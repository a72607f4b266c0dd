#include "backends/relational/backend.hpp"
#include "backends/relational/front.hpp"
#include "backends/relational/parts.hpp"

#include <algorithm>
#include <poll.h>

namespace holdfast::relational {
namespace {

using namespace std::chrono_literals;

/// How long who was woken has to come: after a message, and after a bell, which takes more steps.
constexpr duration longest_yield = 5ms, longest_yield_to_a_bell = 15ms;
constexpr std::size_t most_yields = 1000;
constexpr duration longest_ring = 1s;

[[nodiscard]] std::int64_t new_number() {
    detail::kernel_random chance;
    return number_from(chance.next());
}

[[nodiscard]] std::vector<detail::endpoint> endpoints(const sql::options& how, int usual_port) {
    std::vector<detail::endpoint> all;
    for (const auto& one : how.servers)
        all.push_back({one.host, one.port != 0 ? one.port : usual_port});
    return all;
}

} // namespace

std::size_t sql_backend::nonce_hash::operator()(const nonce& n) const noexcept {
    std::size_t bits = 0;
    std::memcpy(&bits, n.bytes.data(), sizeof bits); // random already
    return bits;
}

sql_backend::sql_backend(sql::options how, std::shared_ptr<database> kind, int usual_port)
    : how_{std::move(how)}, database_{std::move(kind)}, client_{new_number()} {
    const bool listens_apart = !database_->sleeping(client_).empty();
    pool_settings settings{.servers = endpoints(how_, usual_port),
                           .most = how_.connections - (listens_apart ? 2 : 1),
                           .connect_timeout = how_.connect_timeout};
    settings.opened = [this] { events_->link(link_state::connected, ""); };
    settings.broken = [this](const failure& why) {
        events_->link(link_state::suspended, why.detail);
    };
    lines_ = std::make_shared<pool>(hot_, database_, settings);
    if (how_.mode != sql::locking::lease) {
        auto lines = settings;
        lines.opened = {};
        lines.broken = {};
        front_ = make_front(how_.mode,
                            {.hot = hot_,
                             .kind = database_,
                             .lines = std::move(lines),
                             .most = how_.held_rows,
                             .lost = [this](const held& what) { front_lost(what); }});
    }
    settings.most = 1;
    settings.first_words = database_->listening(client_);
    settings.heard = [this](const whisper& w) { heard(w); };
    settings.opened = [this] { catch_up(); };
    settings.broken = {};
    own_line_ = std::make_shared<pool>(background_, database_, settings);
    settings.opened = {};
    settings.first_words.clear(); // what it sleeps for, the other one has
    if (listens_apart)
        ears_ = std::make_shared<pool>(background_, database_, std::move(settings));
    ticker_.emplace(background_, [this](instant now) { return on_time(now); });
}

sql_backend::~sql_backend() {
    ticker_.reset();
    lines_->close();
    own_line_->close();
    if (front_)
        front_->close();
    if (ears_)
        ears_->close();
}

asking sql_backend::on_hot(statement what, const claim& about, instant by) {
    return {*lines_, std::move(what), about.name, by};
}

// ------------------------------------------------------------------------------------ giving back

void sql_backend::release(const call& c, const held& what, const grant& given) {
    give_back(c, what, given);
}

conversation sql_backend::give_back(call c, held what, grant given) {
    const under_way here{*this};
    const auto& w = *what;
    departures_.begin(w.name);
    const bool own = !shares_bond(w);
    const auto bond = number_of(given.terms.bond);
    if (front_) { // first: whoever is woken by the rest finds it free
        auto parting = leave_front(what->nonce);
        static_cast<void>(co_await parting);
    }
    auto leaving = leave_row(c, what, given);
    const auto got = co_await leaving;
    const auto* rows = std::get_if<table>(&got);
    if (rows != nullptr && own) {
        {
            const std::lock_guard lock{guard_};
            bonds_.erase(given.terms.bond);
        }
        if (w.mode != mode::exclusive)
            go({bond}, c.answer_by);
    }
    if (rows != nullptr && !rows->empty() && rows->number(0, 1) != 0 && w.mode == mode::exclusive) {
        const std::lock_guard lock{guard_};
        const auto now = boot_clock::now();
        if (yields_.size() > most_yields)
            std::erase_if(yields_, [&](const auto& one) { return one.second <= now; });
        yields_[w.name] = now + (ears_ ? longest_yield_to_a_bell : longest_yield);
    }
    departures_.end(w.name);
    if (rows != nullptr)
        expect_stragglers(what);
    events_->released(c.ticket,
                      rows == nullptr ? release_result::unknown
                      : rows->empty() ? release_result::lost
                                      : release_result::released);
    if (rows != nullptr)
        after_leaving(w.name, *rows);
}

/// What nobody is heard to want is given back by the smaller statement. If somebody waits after
/// all, that has done nothing, and the one follows that wakes him.
part_of<answer> sql_backend::leave_row(call c, held what, grant given) {
    const auto& w = *what;
    const bool alone = w.mode == mode::exclusive;
    if (alone && shares_bond(w) && !may_be_wanted(w.nonce, given)) {
        statement gives{.what = query::release_unwanted, .with = {w.name, octets_of(w.nonce)}};
        auto asked = on_hot(std::move(gives), w, c.answer_by);
        auto got = co_await asked;
        const auto* rows = std::get_if<table>(&got);
        if (rows != nullptr && !rows->empty())
            co_return got;
        {
            const std::lock_guard lock{guard_};
            wanted_.insert(w.nonce); // if that is asked again, then for certain
        }
        if (rows == nullptr)
            co_return got;
    }
    const auto own = shares_bond(w) ? 0 : number_of(given.terms.bond);
    auto gives = alone ? release_of(w.name, w.nonce, own) : leave_of(w.name, w.nonce);
    auto asked = on_hot(std::move(gives), w, c.answer_by);
    co_return co_await asked;
}

/// As far as we know: from its grant, or because we heard it since.
bool sql_backend::may_be_wanted(const nonce& n, const grant& given) {
    const std::lock_guard lock{guard_};
    return wanted_.erase(n) || given.passes <= passes_while_others_wait;
}

/// It was asked for more than once, and nobody knows of what comes now.
void sql_backend::expect_stragglers(const held& what) {
    const std::lock_guard lock{guard_};
    const auto doubt = doubts_.find(what->nonce);
    if (doubt == doubts_.end())
        return;
    const auto now = boot_clock::now();
    if (now < doubt->second && !closed_) {
        stragglers_.push_back({what, doubt->second});
        clears_at_ = std::min(clears_at_, now + clears_every);
        background_->wake_at(clears_at_);
    }
    doubts_.erase(doubt);
}

conversation sql_backend::clear(held what) {
    auto removing = remove(*own_line_, std::move(what), boot_clock::now() + longest_doubt);
    static_cast<void>(co_await removing); // else the next time, or when its bond ends
}

/// Wakes the first who waits, if that has not been done. Whoever joined while we left may not have
/// been seen: a second look finds him, or that there was somebody and is no more.
void sql_backend::after_leaving(const std::string& name, const table& row, seen_before seen) {
    if (row.empty() || row.number(0, 1) == 0)
        return;
    if (!row.is_null(0, 2) && row.number(0, 2) >= 0)
        ring(row.number(0, 2));
    else if (seen == seen_before::no)
        wake_next(name);
    else
        lines_->ask({.what = query::calm, .with = {name, row.number(0, 0)}},
                    {},
                    boot_clock::now() + longest_doubt,
                    [](answer&&) {});
}

/// Once at a time: who is woken looks at all that he waits for.
void sql_backend::ring(std::int64_t bell) {
    auto text = database_->ringing(bell);
    {
        const std::lock_guard lock{guard_};
        if (text.empty() || !ringing_.insert(bell).second)
            return;
    }
    lines_->ask(
        {.text = std::move(text)}, {}, boot_clock::now() + longest_ring, [this, bell](answer&&) {
            const std::lock_guard lock{guard_};
            ringing_.erase(bell);
        });
}

conversation sql_backend::wake_next(std::string name) {
    statement wakes{.what = query::next_in_line, .with = {name}};
    asking asked{*lines_, std::move(wakes), name, boot_clock::now() + longest_doubt};
    const auto got = co_await asked;
    if (const auto* rows = std::get_if<table>(&got))
        after_leaving(name, *rows, seen_before::yes);
}

void sql_backend::withdraw(const call& c, const held& what) { take_back(c, what); }

conversation sql_backend::take_back(call c, held what) {
    const under_way here{*this};
    const auto& w = *what;
    doings::until_done seeking{seeks_, raw_of(w.nonce)}; // or its next step would come after ours
    co_await seeking;
    departures_.begin(w.name);
    if (front_) {
        auto parting = leave_front(what->nonce);
        static_cast<void>(co_await parting);
    }
    auto removing = remove(*lines_, what, c.answer_by);
    bool certain = co_await removing;
    {
        const std::lock_guard lock{guard_};
        const auto doubt = doubts_.find(w.nonce);
        if (doubt != doubts_.end() && boot_clock::now() < doubt->second)
            certain = false;
        if (certain) {
            places_.erase(w.nonce);
            doubts_.erase(w.nonce);
        }
        if (certain && !shares_bond(w))
            bonds_.erase(own_bond(w));
    }
    if (certain && !shares_bond(w))
        go({number_of(own_bond(w))}, c.answer_by);
    departures_.end(w.name);
    events_->withdrawn(c.ticket, certain ? applied::no : applied::maybe);
}

/// From the lock and from its line; true if there is an answer to that.
part_of<bool> sql_backend::remove(pool& lines, held what, instant by) {
    bool certain = true;
    for (const auto which : {query::release, query::leave}) {
        if (which == query::release && what->mode != mode::exclusive)
            continue;
        auto goes = which == query::release ? release_of(what->name, what->nonce)
                                            : leave_of(what->name, what->nonce);
        asking asked{lines, std::move(goes), what->name, by};
        const auto got = co_await asked;
        if (const auto* rows = std::get_if<table>(&got))
            after_leaving(what->name, *rows);
        else
            certain = false;
    }
    co_return certain;
}

/// Removes bonds of ours, and with them all that they keep.
conversation sql_backend::go(std::vector<std::int64_t> bonds, instant by) {
    const under_way here{*this};
    one_of ids{std::move(bonds)};
    statement goes{.what = query::bonds_remove, .with = {std::move(ids)}};
    asking asked{*lines_, std::move(goes), {}, by};
    const auto got = co_await asked;
    static_cast<void>(got); // what is left ends by itself
}

// What has a lock delay ends by itself, as if we had died.
void sql_backend::close(instant by) {
    std::vector<std::int64_t> ours;
    {
        const std::lock_guard lock{guard_};
        for (const auto& [id, known] : bonds_)
            if (known.lock_delay == duration::zero())
                ours.push_back(number_of(id));
        bonds_.clear();
        closed_ = true;
    }
    if (!ours.empty())
        go(std::move(ours), by);
    while ((under_way_ > 0 || !lines_->settled()) && boot_clock::now() < by) {
        pollfd one{hot_->descriptor(), POLLIN, 0};
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(by - boot_clock::now());
        ::poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 100)));
        hot_->dispatch();
    }
    lines_->close();
    own_line_->close();
    if (front_)
        front_->close();
    if (ears_)
        ears_->close();
}

} // namespace holdfast::relational
