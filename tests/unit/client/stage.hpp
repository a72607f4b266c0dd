#pragma once

// A stage for the core: one clock hand, one engine that says what the test says, callers that note
// down what they are told.

#include "client/core.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::detail {

using namespace std::chrono_literals;

/// The same numbers each time.
class counted_chance final : public random_source {
public:
    std::uint64_t next() override { return state_ += 0x9e3779b97f4a7c15; }

private:
    std::uint64_t state_ = 0;
};

struct caller final : wish {
    bool lined_up = false; // whatever the time is
    bool told = false;
    error_code error;
    std::shared_ptr<hold> lease;

    [[nodiscard]] bool contended() const { return told && !error && !lease; }
};

struct parter final : goodbye {
    std::optional<release_result> told;
};

class stage {
public:
    explicit stage(capabilities able = everything())
        : core_{core_settings{able, std::make_shared<party>(), 0, false}, chance_} {}

    [[nodiscard]] static capabilities everything() {
        return {.engine = "stage",
                .shared = true,
                .permits = true,
                .fair = true,
                .lock_delay = true,
                .fence_per_pass = true,
                .fences = fence_grade::hybrid,
                .ttl = ttl_scope::grant,
                .wake = wake_by::grant};
    }

    /// One bond for all that this process holds, as ZooKeeper has it.
    [[nodiscard]] static capabilities with_sessions() {
        auto able = everything();
        able.ttl = ttl_scope::session;
        return able;
    }

    // ---- callers

    caller& asks(const std::string& name,
                 acquire_options options = {},
                 mode how = mode::exclusive,
                 owner_id owner = owner_id::nobody,
                 kind which = kind::plain) {
        auto& c = *callers_.emplace_back(std::make_unique<caller>());
        c.what = {std::make_shared<const std::string>(name), which, how, 3, owner, options};
        ttl_ = options.ttl;
        run([&](actions& out) {
            c.lined_up = core_.lines_up(c);
            if (!c.lined_up)
                core_.acquire(c, now, out);
        });
        return c;
    }
    void releases(caller& c, parter* waits = nullptr) {
        const auto h = c.lease;
        run([&](actions& out) { core_.release(h, waits, now, out); });
    }
    void cancels(caller& c) {
        run([&](actions& out) { core_.cancel(c, errc::cancelled, now, out); });
    }
    void closes() {
        run([&](actions& out) { core_.close(now, out); });
    }

    // ---- the engine

    /// The oldest request of this kind that nobody has answered; there must be one.
    template <class Request> Request take() {
        for (auto it = requests_.begin(); it != requests_.end(); ++it)
            if (auto* found = std::get_if<Request>(&*it)) {
                auto request = *found;
                requests_.erase(it);
                return request;
            }
        ADD_FAILURE() << "the engine was not asked";
        return Request{};
    }
    template <class Request> [[nodiscard]] std::size_t count() const {
        std::size_t n = 0;
        for (const auto& r : requests_)
            n += std::holds_alternative<Request>(r);
        return n;
    }

    [[nodiscard]] grant grant_for(const do_attempt& a, std::int64_t number, bond_id bond = {}) {
        if (bond == bond_id{})
            bond = bond_id{++bonds_};
        return {a.what->nonce, fence{number}, 64, {bond, a.call.asked, a.what->ttl, 0ns}};
    }
    grant grants(std::int64_t number, bond_id bond = {}) {
        const auto a = take<do_attempt>();
        const auto g = grant_for(a, number, bond);
        answers(a, g);
        return g;
    }
    void refuses(duration retry_after = forever) {
        contended no;
        no.retry_after = retry_after;
        answers(take<do_attempt>(), no);
    }
    /// Refuses, and says that the place lives on this bond.
    do_attempt refuses_with_place(bond_id bond) {
        const auto a = take<do_attempt>();
        contended no;
        no.keeps_place = {bond, a.call.asked, a.what->ttl, 0ns};
        answers(a, no);
        return a;
    }
    void fails(errc code, applied certainty) {
        answers(take<do_attempt>(), failure{code, certainty, {}});
    }
    void answers(const do_attempt& a, const attempt_answer& answer) {
        run([&](actions& out) { core_.attempted(a.call.ticket, answer, now, out); });
    }
    void pushes(const grant& g) {
        run([&](actions& out) { core_.granted(g.nonce, g, now, out); });
    }
    void wakes(const nonce& n) {
        run([&](actions& out) { core_.woken(n, now, out); });
    }
    void withdrawn(applied certainty = applied::no) {
        const auto w = take<do_withdraw>();
        run([&](actions& out) { core_.withdrawn(w.call.ticket, certainty, now, out); });
    }
    void released(release_result how = release_result::released) {
        const auto r = take<do_release>();
        run([&](actions& out) { core_.released(r.call.ticket, how, now, out); });
    }
    void renews(renewed how) {
        const auto r = take<do_renew>();
        std::vector<renewal_answer> all;
        for (const auto b : r.bonds)
            all.push_back({b, how, {b, r.call.asked, ttl_, 0ns}});
        run([&](actions& out) { core_.renewed(all, now, out); });
    }
    void wants(const nonce& n) {
        run([&](actions& out) { core_.wanted(n, out); });
    }
    void takes_grant(const nonce& n) {
        run([&](actions& out) { core_.grant_lost(n, now, out); });
    }
    void ends_bond(bond_id b) {
        run([&](actions& out) { core_.bond_lost(b, now, out); });
    }

    // ---- time

    void passes(duration by) {
        const auto end = now + by;
        while (core_.next_due() <= end) {
            now = std::max(now, core_.next_due());
            run([&](actions& out) { core_.on_time(now, out); });
        }
        now = end;
    }

    instant now{1h};
    std::vector<std::shared_ptr<hold>> stopped, lost;
    std::vector<bond_id> forgotten;
    [[nodiscard]] std::size_t unsettled() const { return core_.unsettled(); }
    [[nodiscard]] instant deadly() const { return core_.deadly_deadline(); }

private:
    template <class F> void run(F f) {
        actions out;
        f(out);
        for (auto& a : out)
            note(a);
    }
    void note(action& a) {
        if (auto* w = std::get_if<tell_wish>(&a)) {
            auto& c = static_cast<caller&>(*w->to);
            EXPECT_FALSE(c.told) << "a wish is answered once";
            c.told = true;
            c.error = w->error;
            c.lease = w->granted;
        } else if (auto* g = std::get_if<tell_goodbye>(&a)) {
            static_cast<parter&>(*g->to).told = g->result;
        } else if (auto* s = std::get_if<tell_stop>(&a)) {
            stopped.push_back(s->whom);
        } else if (auto* l = std::get_if<tell_lost>(&a)) {
            lost.push_back(l->whom);
        } else if (auto* f = std::get_if<do_forget>(&a)) {
            forgotten.push_back(f->bond);
        } else if (!std::holds_alternative<tell_observer>(a) &&
                   !std::holds_alternative<tell_wanted>(a)) {
            requests_.push_back(std::move(a));
        }
    }

    counted_chance chance_;
    std::vector<std::unique_ptr<caller>> callers_;
    std::vector<action> requests_;
    std::uint64_t bonds_ = 0;
    duration ttl_{}; // of the last claim; what renewals are granted for
    core core_;      // before the callers go, they are unlinked
};

} // namespace holdfast::detail
