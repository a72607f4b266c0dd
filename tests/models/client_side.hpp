#pragma once

// The half of a model that lives in a process: it turns verbs into requests and replies into
// answers.
//
// Each request is answered exactly once, at `answer_by` at the latest, if need be with "unknown";
// what comes later, or twice, is dropped here.

#include "models/wire.hpp"

#include <holdfast/backend.hpp>

#include <vector>

namespace holdfast::models {

class client_side : public backend {
public:
    client_side(surroundings& around, process_id me) : around_{around}, me_{me} {}

    virtual void receive(const reply&);
    virtual void receive(const push&);

    void start(backend_events& events) override { events_ = &events; }
    void attempt(const call&, const std::shared_ptr<const claim>&, joining) override;
    void withdraw(const call&, const std::shared_ptr<const claim>&) override;
    void release(const call&, const std::shared_ptr<const claim>&, const grant&) override;
    void renew(const call&, std::span<const bond_id>) override;
    void raise_fence(const call&, const std::shared_ptr<const claim>&, fence) override;
    void inspect(const call&, const std::string&) override;
    void force_release(const call&, const std::string&) override;
    void close(instant) override {}
    void examine(const call&) override;

protected:
    /// A request without its answer.
    struct asked {
        call when;
        request what;
        std::vector<bond_id> bonds;
    };

    virtual void stamp(request&) {}
    [[nodiscard]] virtual bond_id bond_for(const asked&) = 0; // of what was granted, or a place
    [[nodiscard]] virtual bond_terms terms(bond_id, instant anchor, const claim*) const = 0;
    [[nodiscard]] virtual bool places_are_leases() const { return false; }
    virtual void answered(const asked&, const reply&) {} // before anybody is told
    virtual void left_unanswered(const asked&) {}
    [[nodiscard]] virtual std::shared_ptr<const claim> claim_on(bond_id) { return nullptr; }

    surroundings& around_;
    const process_id me_;
    backend_events* events_ = nullptr;

private:
    void ask(const call&, request, std::vector<bond_id> bonds = {});
    void silence(ticket);
    void tell_unknown(const asked&, applied, const char* sentence);
    void tell_renewed(const asked&, const reply&);

    std::vector<asked> open_;
};

/// The client side of an engine where each grant is a bond of its own.
class client_of_leases : public client_side {
public:
    client_of_leases(surroundings& around, process_id me, duration margin)
        : client_side{around, me}, margin_{margin} {}

    void withdraw(const call&, const std::shared_ptr<const claim>&) override;
    void release(const call&, const std::shared_ptr<const claim>&, const grant&) override;
    void forget(bond_id) override;

protected:
    [[nodiscard]] bond_id bond_for(const asked&) override;
    [[nodiscard]] bond_terms terms(bond_id, instant anchor, const claim*) const override;
    [[nodiscard]] std::shared_ptr<const claim> claim_on(bond_id) override;

private:
    struct kept {
        bond_id bond;
        std::shared_ptr<const claim> by;
    };
    void drop(const nonce&);

    const duration margin_;
    std::vector<kept> bonds_;
    std::uint32_t made_ = 0;
};

} // namespace holdfast::models
