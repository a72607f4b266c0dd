#pragma once

// Any engine, behind a line that can be cut.
//
//   none:  everything goes through
//   away:  nothing arrives; each request is answered "could not be reached, not applied"
//   deaf:  requests arrive and are carried out, answers are lost: each is answered "unknown"
//   clingy: only goodbyes do not arrive: what is released or withdrawn stays, "unknown"
//
// While a line is away or deaf, what the engine would push is lost too.

#include <holdfast/backend.hpp>

#include <atomic>
#include <memory>
#include <utility>

namespace holdfast::conformance {

enum class fault : std::uint8_t { none, away, deaf, clingy };

/// Shared by all lines that it concerns.
class fault_switch {
public:
    void set(fault f) noexcept { now_ = f; }
    [[nodiscard]] bool is(fault f) const noexcept { return now_ == f; }

private:
    std::atomic<fault> now_{fault::none};
};

class faulty_line final : public backend {
public:
    faulty_line(std::unique_ptr<backend> engine, std::shared_ptr<const fault_switch> fault)
        : fault_{std::move(fault)}, engine_{std::move(engine)} {}

    const capabilities& able() const noexcept override { return engine_->able(); }
    void start(backend_events& events) override {
        up_.to = &events;
        engine_->start(up_);
    }

    void attempt(const call& c, const std::shared_ptr<const claim>& what, joining join) override {
        if (away())
            up_.to->attempted(c.ticket, unreachable(applied::no));
        else
            engine_->attempt(c, what, join);
    }
    void withdraw(const call& c, const std::shared_ptr<const claim>& what) override {
        if (away() || clingy())
            up_.to->withdrawn(c.ticket, applied::maybe);
        else
            engine_->withdraw(c, what);
    }
    void release(const call& c, const std::shared_ptr<const claim>& what, const grant& g) override {
        if (away() || clingy())
            up_.to->released(c.ticket, release_result::unknown);
        else
            engine_->release(c, what, g);
    }
    void renew(const call& c, std::span<const bond_id> bonds) override {
        if (away())
            up_.to->renewed(c.ticket, unknown(bonds));
        else
            engine_->renew(c, bonds);
    }
    void forget(bond_id bond) override { engine_->forget(bond); }
    void inspect(const call& c, const std::string& pattern) override {
        if (away())
            up_.to->inspected(c.ticket, failure{errc::backend_unavailable, applied::no, {}});
        else
            engine_->inspect(c, pattern);
    }
    void force_release(const call& c, const std::string& name) override {
        if (away())
            up_.to->forced(c.ticket, failure{errc::backend_unavailable, applied::no, {}});
        else
            engine_->force_release(c, name);
    }
    void raise_fence(const call& c, const std::shared_ptr<const claim>& what, fence f) override {
        if (away())
            up_.to->fence_raised(c.ticket, raised::unknown);
        else
            engine_->raise_fence(c, what, f);
    }
    void close(instant by) override { engine_->close(by); }
    int descriptor() const noexcept override { return engine_->descriptor(); }
    void on_readable() override { engine_->on_readable(); }
    int background_descriptor() const noexcept override { return engine_->background_descriptor(); }
    void on_background() override { engine_->on_background(); }
    void examine(const call& c) override { engine_->examine(c); }

private:
    [[nodiscard]] bool away() const noexcept { return fault_->is(fault::away); }
    [[nodiscard]] bool clingy() const noexcept { return fault_->is(fault::clingy); }
    [[nodiscard]] static failure unreachable(applied certainty) {
        return {errc::backend_unavailable, certainty, "the line is cut"};
    }
    template <class Bonds>
    [[nodiscard]] static std::vector<renewal_answer> unknown(const Bonds& of) {
        std::vector<renewal_answer> answers;
        for (const auto bond : of)
            answers.push_back({bond, renewed::unknown, {}});
        return answers;
    }

    struct way_up final : backend_events {
        explicit way_up(const faulty_line& l) : line{l} {}
        const faulty_line& line;
        backend_events* to = nullptr;

        [[nodiscard]] bool deaf() const noexcept {
            return line.fault_->is(fault::away) || line.fault_->is(fault::deaf);
        }

        void attempted(ticket t, attempt_answer answer) override {
            to->attempted(t,
                          deaf() ? attempt_answer{unreachable(applied::maybe)} : std::move(answer));
        }
        void withdrawn(ticket t, applied certainty) override {
            to->withdrawn(t, deaf() ? applied::maybe : certainty);
        }
        void released(ticket t, release_result result) override {
            to->released(t, deaf() ? release_result::unknown : result);
        }
        void renewed(ticket t, std::span<const renewal_answer> answers) override {
            if (!deaf())
                return to->renewed(t, answers);
            std::vector<bond_id> bonds;
            for (const auto& answer : answers)
                bonds.push_back(answer.bond);
            to->renewed(t, unknown(bonds));
        }
        void inspected(ticket t, response<std::vector<lock_info>> answer) override {
            to->inspected(t, std::move(answer));
        }
        void examined(ticket t, std::vector<finding> all) override {
            to->examined(t, std::move(all));
        }
        void forced(ticket t, response<std::size_t> answer) override { to->forced(t, answer); }
        void fence_raised(ticket t, raised how) override {
            to->fence_raised(t, deaf() ? raised::unknown : how);
        }
        void woken(const nonce& n) override {
            if (!deaf())
                to->woken(n);
        }
        void granted(const nonce& n, const grant& g) override {
            if (!deaf())
                to->granted(n, g);
        }
        void bond_lost(bond_id bond) override {
            if (!deaf())
                to->bond_lost(bond);
        }
        void grant_lost(const nonce& n) override {
            if (!deaf())
                to->grant_lost(n);
        }
        void wanted(const nonce& n) override {
            if (!deaf())
                to->wanted(n);
        }
        void link(link_state state, std::string_view detail) override { to->link(state, detail); }
        void notice(std::string_view sentence) override { to->notice(sentence); }
    };

    const std::shared_ptr<const fault_switch> fault_;
    way_up up_{*this};
    const std::unique_ptr<backend> engine_; // goes first: it may still speak while it ends
};

} // namespace holdfast::conformance
