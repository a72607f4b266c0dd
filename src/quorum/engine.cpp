#include "quorum/engine.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace holdfast::quorum {
namespace {

template <class... F> struct overloaded : F... { using F::operator()...; };

constexpr std::uint64_t first_survey = std::uint64_t{1} << 62;

[[nodiscard]] rules rules_for(const capabilities& able,
                              const std::vector<std::unique_ptr<backend>>& members,
                              std::size_t needed) {
    const bool hints = std::all_of(members.begin(), members.end(), [](const auto& one) {
        return one->able().wake == wake_by::hint;
    });
    return {.members = members.size(),
            .needed = needed,
            .fences = able.fences != fence_grade::none,
            .hints = hints,
            .one_by_one = able.blocks_caller,
            .ttl = able.ttl};
}

} // namespace

capabilities abilities_of(const std::vector<std::unique_ptr<backend>>& members,
                          std::size_t needed) {
    auto all = members.front()->able();
    for (const auto& m : members) {
        const auto& one = m->able();
        all.reach = std::min(all.reach, one.reach);
        all.lock_delay = all.lock_delay && one.lock_delay;
        all.notices_death = all.notices_death && one.notices_death;
        all.blocks_caller = all.blocks_caller || one.blocks_caller;
        all.fences = one.raises_fences ? std::min(all.fences, one.fences) : fence_grade::none;
        all.ttl = std::max(all.ttl, one.ttl);
        all.assumptions = static_cast<std::uint8_t>(all.assumptions | one.assumptions);
        all.max_name_bytes = std::min(all.max_name_bytes, one.max_name_bytes);
    }
    all.engine = "quorum";
    all.shared = false;
    all.permits = false; // N counters of permits do not add up to one
    all.loses_permits = false;
    all.fair = false;           // members keep different orders
    all.fence_per_pass = false; // reserved numbers would have to be reserved everywhere
    all.raises_fences = false;
    all.may_forget = static_cast<std::uint8_t>(2 * needed - members.size() - 1);
    all.wake =
        wake_by::polling; // hints of members make it quicker, but it is the asking that counts
    return all;
}

/// What one member tells, with its number.
class engine::ear final : public backend_events {
public:
    ear(engine& e, member m) : of_{e}, me_{m} {}

    void attempted(ticket t, attempt_answer answer) override {
        of_.decide([&](instant now, actions& out) { of_.machine_.attempted(t, answer, now, out); });
    }
    void withdrawn(ticket t, applied certainty) override {
        of_.decide(
            [&](instant now, actions& out) { of_.machine_.withdrawn(t, certainty, now, out); });
    }
    void released(ticket t, release_result how) override {
        of_.decide([&](instant now, actions& out) { of_.machine_.released(t, how, now, out); });
    }
    void renewed(ticket t, std::span<const renewal_answer> answers) override {
        of_.decide([&](instant now, actions& out) { of_.machine_.renewed(t, answers, now, out); });
    }
    void fence_raised(ticket t, raised how) override {
        of_.decide([&](instant now, actions& out) { of_.machine_.raised(t, how, now, out); });
    }
    void woken(const nonce& whose) override {
        of_.decide([&](instant now, actions&) { of_.machine_.woken(me_, whose, now); });
    }
    void granted(const nonce& whose, const grant&) override { woken(whose); } // never asked for
    void bond_lost(bond_id bond) override {
        of_.decide([&](instant, actions& out) { of_.machine_.bond_lost(me_, bond, out); });
    }
    void grant_lost(const nonce& whose) override {
        of_.decide(
            [&](instant now, actions& out) { of_.machine_.grant_lost(me_, whose, now, out); });
    }
    void wanted(const nonce& whose) override {
        of_.decide([&](instant, actions& out) { of_.machine_.wanted(whose, out); });
    }
    void link(link_state state, std::string_view detail) override {
        of_.events_->link(state, name() + std::string{detail});
    }
    void notice(std::string_view sentence) override {
        of_.events_->notice(name() + std::string{sentence});
    }

    void inspected(ticket t, response<std::vector<lock_info>> answer) override {
        const auto all = of_.heard(of_.inspections_, me_, t, std::move(answer));
        if (!all)
            return;
        std::vector<std::optional<std::vector<lock_info>>> views;
        for (auto& one : all->answers)
            views.push_back(*one ? std::optional{std::move(**one)} : std::nullopt);
        const auto seen = std::count_if(
            views.begin(), views.end(), [](const auto& view) { return view.has_value(); });
        if (static_cast<std::size_t>(seen) < of_.needed_)
            of_.events_->inspected(all->to, of_.too_few(*all));
        else
            of_.events_->inspected(all->to, seen_together(views, of_.needed_));
    }
    void examined(ticket t, std::vector<finding> answer) override {
        const auto all = of_.heard(of_.examinations_, me_, t, std::move(answer));
        if (all)
            of_.events_->examined(all->to, found_together(all->answers, of_.able_, of_.needed_));
    }
    void forced(ticket t, response<std::size_t> answer) override {
        const auto all = of_.heard(of_.forcings_, me_, t, std::move(answer));
        if (!all)
            return;
        std::size_t done = 0;
        std::size_t most = 0;
        for (const auto& one : all->answers)
            if (*one) {
                ++done;
                most = std::max(most, **one);
            }
        if (done < of_.needed_)
            of_.events_->forced(all->to, of_.too_few(*all));
        else
            of_.events_->forced(all->to, most);
    }

private:
    [[nodiscard]] std::string name() const { return "member " + std::to_string(me_ + 1) + ": "; }

    engine& of_;
    const member me_;
};

engine::engine(std::vector<std::unique_ptr<backend>> members,
               std::size_t needed,
               detail::random_source& chance)
    : able_{abilities_of(members, needed)}, needed_{needed},
      machine_{rules_for(able_, members, needed), chance}, members_{std::move(members)} {
    for (member m = 0; m < members_.size(); ++m)
        ears_.push_back(std::make_unique<ear>(*this, m));
}

engine::~engine() = default;

void engine::start(backend_events& events) {
    events_ = &events;
    for (member m = 0; m < members_.size(); ++m)
        members_[m]->start(*ears_[m]);
}

// --------------------------------------------------------------------------- deciding, performing

template <class F> void engine::decide(F f) {
    actions out;
    {
        const std::lock_guard lock{guard_};
        f(now(), out);
    }
    for (auto& one : out)
        perform(one);
    arm();
}

void engine::arm() {
    const std::lock_guard lock{guard_};
    if (const auto due = machine_.next_due(); due < armed_) {
        armed_ = due;
        wake_at(due);
    }
}

void engine::on_time() {
    decide([this](instant t, actions& out) {
        armed_ = never;
        machine_.on_time(t, out);
    });
}

void engine::perform(action& one) {
    std::visit(
        overloaded{
            [&](ask_attempt& a) { members_[a.of]->attempt(a.call, a.what, a.join); },
            [&](ask_raise& a) { members_[a.of]->raise_fence(a.call, a.what, a.least); },
            [&](ask_withdraw& a) { members_[a.of]->withdraw(a.call, a.what); },
            [&](quorum::ask_release& a) { members_[a.of]->release(a.call, a.what, a.given); },
            [&](ask_renew& a) { members_[a.of]->renew(a.call, a.bonds); },
            [&](ask_forget& a) { members_[a.of]->forget(a.bond); },
            [&](say_attempted& a) { events_->attempted(a.to, std::move(a.answer)); },
            [&](say_withdrawn& a) { events_->withdrawn(a.to, a.certainty); },
            [&](say_released& a) { events_->released(a.to, a.result); },
            [&](say_renewed& a) { events_->renewed(a.to, a.answers); },
            [&](say_woken& a) { events_->woken(a.whose); },
            [&](say_lost& a) { events_->bond_lost(a.bond); },
            [&](say_wanted& a) { events_->wanted(a.whose); }},

        one);
}

// ------------------------------------------------------------------------------------ the verbs

void engine::attempt(const call& c, const std::shared_ptr<const claim>& what, joining join) {
    decide([&](instant t, actions& out) { machine_.attempt(c, what, join, t, out); });
}
void engine::withdraw(const call& c, const std::shared_ptr<const claim>& what) {
    decide([&](instant t, actions& out) { machine_.withdraw(c, what, t, out); });
}
void engine::release(const call& c, const std::shared_ptr<const claim>& what, const grant&) {
    decide([&](instant t, actions& out) { machine_.release(c, what, t, out); });
}
void engine::renew(const call& c, std::span<const bond_id> bonds) {
    decide([&](instant t, actions& out) { machine_.renew(c, bonds, t, out); });
}
void engine::forget(bond_id bond) {
    decide([&](instant t, actions& out) { machine_.forget(bond, t, out); });
}

template <class T, class Ask> void engine::ask_all(surveys<T>& open, const call& c, Ask ask) {
    call mine = c;
    {
        const std::lock_guard lock{guard_};
        mine.ticket = ticket{first_survey + ++asked_};
        auto all = std::make_shared<survey<T>>();
        *all = {c.ticket, std::vector<std::optional<T>>(members_.size()), members_.size()};
        open.emplace(mine.ticket, std::move(all));
    }
    const auto share = (c.answer_by - c.asked) / static_cast<duration::rep>(members_.size());
    for (member m = 0; m < members_.size(); ++m) {
        if (able_.blocks_caller) // one after the other
            mine.answer_by = c.asked + share * static_cast<duration::rep>(m + 1);
        ask(*members_[m], mine);
    }
}

/// The whole survey, if this was its last answer.
template <class T>
std::shared_ptr<engine::survey<T>>
engine::heard(surveys<T>& open, member m, ticket number, T answer) {
    const std::lock_guard lock{guard_};
    const auto found = open.find(number);
    if (found == open.end())
        return nullptr;
    found->second->answers[m] = std::move(answer);
    if (--found->second->missing > 0)
        return nullptr;
    auto all = std::move(found->second);
    open.erase(found);
    return all;
}

// In the words of the machine. If those who refuse are in the way of any quorum, they know why.
template <class T> failure engine::too_few(const survey<response<T>>& all) const {
    std::size_t heard = 0;
    std::size_t refused = 0;
    failure last;
    for (const auto& one : all.answers) {
        heard += one->has_value();
        if (one->has_value())
            continue;
        last = one->error();
        if (last.code != condition::try_again && ++refused > members_.size() - needed_)
            return last;
    }
    return {errc::backend_unavailable,
            applied::maybe,
            std::to_string(heard) + " of " + std::to_string(members_.size()) +
                " members answered, " + std::to_string(needed_) + " are needed" +
                (last.detail.empty() ? "" : ": " + last.detail)};
}

void engine::inspect(const call& c, const std::string& pattern) {
    ask_all(inspections_, c, [&](backend& to, const call& each) { to.inspect(each, pattern); });
}
void engine::examine(const call& c) {
    ask_all(examinations_, c, [](backend& to, const call& each) { to.examine(each); });
}
void engine::force_release(const call& c, const std::string& name) {
    ask_all(forcings_, c, [&](backend& to, const call& each) { to.force_release(each, name); });
}

void engine::close(instant by) {
    for (auto& m : members_)
        m->close(by);
}

} // namespace holdfast::quorum
