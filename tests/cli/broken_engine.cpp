// An engine that breaks its promises on purpose, one at a time, over one that keeps them:
//
//   broken:two-holders,sqlite:PATH     grants now and then while somebody else holds
//   broken:stale-fence,…               gives a fence twice now and then
//   broken:forgets,…                   forgets a grant now and then, while its holder believes in
//   it broken:blind-release,…             gives back by name alone, whoever holds it
//   broken:extra-permit,…              grants one permit more than there are
//   broken:lost-wakeups,…              a waiter that was refused once is never granted
//   broken:sound,…                     passes everything on: the wrapper itself is not the defect
//
// Linked into a copy of the command line that is made for the tests only (holdfast_broken_cli).

#include "client/engine_entry.hpp"

#include <holdfast/backend.hpp>
#include <holdfast/error.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <utility>

extern "C" const holdfast::detail::engine_entry holdfast_engine_sqlite;

namespace holdfast::broken {
namespace {

enum class defect : std::uint8_t {
    two_holders,
    stale_fence,
    forgets,
    blind_release,
    extra_permit,
    lost_wakeups,
    none
};

/// Bonds and tickets that the wrapper made up, far above all that others count.
constexpr std::uint64_t made_up = std::uint64_t{1} << 62U;

class engine final : public backend, private backend_events {
public:
    engine(defect what, std::unique_ptr<backend> sound) : defect_{what}, sound_{std::move(sound)} {}

    const capabilities& able() const noexcept override { return sound_->able(); }
    void start(backend_events& events) override {
        up_ = &events;
        sound_->start(*this);
    }

    void attempt(const call& c, const std::shared_ptr<const claim>& what, joining join) override {
        {
            const std::scoped_lock turn{guard_};
            if (const auto fake = fakes_.find(what->nonce); fake != fakes_.end()) {
                return answer_again(c, fake->second);
            }
            if (refused_.contains(what->nonce)) {
                return up_->attempted(c.ticket, contended{});
            }
            asked_[c.ticket] = {c, what};
        }
        sound_->attempt(c, altered(what), join);
    }
    void withdraw(const call& c, const std::shared_ptr<const claim>& what) override {
        {
            const std::scoped_lock turn{guard_};
            refused_.erase(what->nonce);
        }
        forget_fake(what->nonce);
        sound_->withdraw(c, altered(what));
    }
    void release(const call& c, const std::shared_ptr<const claim>& what, const grant& g) override {
        if (forget_fake(what->nonce)) {
            up_->released(c.ticket, release_result::released);
            // Its place in the queue, which nobody was told of.
            return sound_->withdraw(own_call(c), altered(what));
        }
        if (defect_ == defect::blind_release) {
            up_->released(c.ticket, release_result::released);
            return sound_->force_release(own_call(c), what->name);
        }
        sound_->release(c, altered(what), g);
    }
    void renew(const call& c, std::span<const bond_id> bonds) override {
        if (std::any_of(bonds.begin(), bonds.end(), is_made_up)) {
            return renew_made_up(c, bonds);
        }
        sound_->renew(c, bonds);
    }
    void forget(bond_id bond) override {
        if (!is_made_up(bond)) {
            sound_->forget(bond);
        }
    }
    void inspect(const call& c, const std::string& pattern) override {
        sound_->inspect(c, pattern);
    }
    void examine(const call& c) override { sound_->examine(c); }
    void force_release(const call& c, const std::string& name) override {
        sound_->force_release(c, name);
    }
    void close(instant by) override { sound_->close(by); }
    int descriptor() const noexcept override { return sound_->descriptor(); }
    void on_readable() override { sound_->on_readable(); }

private:
    struct question {
        call how;
        std::shared_ptr<const claim> what;
    };

    // ---- upwards

    void attempted(ticket t, attempt_answer answer) override {
        if (is_own(t)) {
            return;
        }
        const auto asked = take(t);
        if (auto* yes = std::get_if<grant>(&answer)) {
            spoil(*yes, asked);
        } else if (auto* no = std::get_if<contended>(&answer)) {
            if (defect_ == defect::lost_wakeups) {
                no->retry_after = forever;
                const std::scoped_lock turn{guard_};
                refused_.insert(asked.what->nonce);
            } else if (defect_ == defect::two_holders && one_in(30)) {
                answer = fake_for(asked);
            }
        }
        up_->attempted(t, std::move(answer));
    }

    void spoil(grant& yes, const question& asked) {
        const std::scoped_lock turn{guard_};
        if (defect_ == defect::stale_fence) {
            auto& last = fences_[asked.what->name];
            if (last && one_in(5)) {
                yes.fence = last;
            }
            last = yes.fence;
        }
        if (defect_ == defect::forgets && one_in(30)) {
            sound_->release(own_call(asked.how), altered(asked.what), yes);
        }
    }

    void withdrawn(ticket t, applied certainty) override {
        if (!is_own(t)) {
            up_->withdrawn(t, certainty);
        }
    }
    void released(ticket t, release_result how) override {
        if (!is_own(t)) {
            up_->released(t, how);
        }
    }
    void renewed(ticket t, std::span<const renewal_answer> answers) override {
        std::vector<renewal_answer> all{answers.begin(), answers.end()};
        {
            const std::scoped_lock turn{guard_};
            if (const auto more = renewing_.extract(t)) {
                all.insert(all.end(), more.mapped().begin(), more.mapped().end());
            }
        }
        up_->renewed(t, all);
    }
    void inspected(ticket t, response<std::vector<lock_info>> answer) override {
        up_->inspected(t, std::move(answer));
    }
    void examined(ticket t, std::vector<finding> all) override { up_->examined(t, std::move(all)); }
    void forced(ticket t, response<std::size_t> answer) override {
        if (!is_own(t)) {
            up_->forced(t, answer);
        }
    }
    void woken(const nonce& n) override {
        if (defect_ != defect::lost_wakeups) {
            up_->woken(n);
        }
    }
    void granted(const nonce& n, const grant& g) override {
        if (forgotten(n) || defect_ == defect::lost_wakeups) {
            return;
        }
        up_->granted(n, g);
    }
    void bond_lost(bond_id bond) override { up_->bond_lost(bond); }
    void grant_lost(const nonce& n) override {
        if (defect_ != defect::blind_release) { // nor is the victim told
            up_->grant_lost(n);
        }
    }
    void wanted(const nonce& n) override { up_->wanted(n); }
    void link(link_state state, std::string_view detail) override { up_->link(state, detail); }
    void notice(std::string_view sentence) override { up_->notice(sentence); }

    // ---- what is made up

    grant fake_for(const question& asked) {
        const std::scoped_lock turn{guard_};
        const grant fake{.nonce = asked.what->nonce,
                         .fence = fence{std::int64_t{1} << 60U},
                         .reserved = 0,
                         .terms = {.bond = bond_id{made_up + next_++},
                                   .anchor = asked.how.asked,
                                   .ttl = asked.what->ttl,
                                   .margin = {}}};
        fakes_[asked.what->nonce] = fake;
        return fake;
    }
    void answer_again(const call& c, const grant& fake) { up_->attempted(c.ticket, fake); }

    bool forget_fake(const nonce& n) {
        const std::scoped_lock turn{guard_};
        return fakes_.erase(n) > 0;
    }
    bool forgotten(const nonce& n) {
        const std::scoped_lock turn{guard_};
        return fakes_.contains(n);
    }

    void renew_made_up(const call& c, std::span<const bond_id> bonds) {
        std::vector<bond_id> real;
        std::vector<renewal_answer> made;
        for (const auto bond : bonds) {
            if (is_made_up(bond)) {
                made.push_back({bond, renewed::yes, {bond, c.asked, std::chrono::seconds{1}, {}}});
            } else {
                real.push_back(bond);
            }
        }
        if (real.empty()) {
            return up_->renewed(c.ticket, made);
        }
        {
            const std::scoped_lock turn{guard_};
            renewing_[c.ticket] = made;
        }
        sound_->renew(c, real);
    }

    // ---- small things

    [[nodiscard]] std::shared_ptr<const claim> altered(std::shared_ptr<const claim> what) const {
        if (defect_ != defect::extra_permit || what->mode != mode::permit) {
            return what;
        }
        auto more = std::make_shared<claim>(*what);
        ++more->permits;
        return more;
    }

    question take(ticket t) {
        const std::scoped_lock turn{guard_};
        auto found = asked_.extract(t);
        return found ? found.mapped() : question{};
    }

    call own_call(call like) {
        like.ticket = ticket{made_up + next_++};
        return like;
    }
    [[nodiscard]] static bool is_own(ticket t) { return static_cast<std::uint64_t>(t) >= made_up; }
    [[nodiscard]] static bool is_made_up(bond_id bond) {
        return static_cast<std::uint64_t>(bond) >= made_up;
    }
    bool one_in(unsigned n) { return luck_() % n == 0; }

    const defect defect_;
    backend_events* up_ = nullptr;
    std::recursive_mutex guard_; // answers may come while we ask
    std::atomic<std::uint64_t> next_{0};
    std::minstd_rand luck_{std::random_device{}()};
    std::map<ticket, question> asked_;
    std::map<nonce, grant> fakes_;
    std::map<ticket, std::vector<renewal_answer>> renewing_;
    std::map<std::string, fence> fences_;
    std::set<nonce> refused_;              // and never granted
    const std::unique_ptr<backend> sound_; // goes first: it may still speak while it ends
};

defect defect_called(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, defect>, 7> all{
        {{"two-holders", defect::two_holders},
         {"stale-fence", defect::stale_fence},
         {"forgets", defect::forgets},
         {"blind-release", defect::blind_release},
         {"extra-permit", defect::extra_permit},
         {"lost-wakeups", defect::lost_wakeups},
         {"sound", defect::none}}};
    for (const auto& [known, what] : all) {
        if (known == name) {
            return what;
        }
    }
    throw_error(errc::bad_option, "there is no such defect");
}

std::unique_ptr<backend> open_url(const detail::engine_url& url) {
    constexpr std::string_view inner = ",sqlite:";
    const auto comma = url.rest.find(inner);
    if (comma == std::string_view::npos) {
        throw_error(errc::bad_option, "broken: wants broken:DEFECT,sqlite:PATH");
    }
    return std::make_unique<engine>(
        defect_called(url.rest.substr(0, comma)),
        holdfast_engine_sqlite(
            {"sqlite", url.rest.substr(comma + inner.size()), url.children_keep_locks}));
}

} // namespace
} // namespace holdfast::broken

extern "C" {
extern const holdfast::detail::engine_entry holdfast_engine_broken;
const holdfast::detail::engine_entry holdfast_engine_broken = &holdfast::broken::open_url;
}
