#pragma once

// The driver of the machine: a backend made of backends. It turns the core's verbs and the members'
// answers into events, and actions into calls; it thinks nothing. Time comes from whoever derives
// from it: the kernel in production, a seed in simulation.
//
// No lock is held while a member or the core is called: both may call back at once.

#include "quorum/machine.hpp"
#include "quorum/views.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace holdfast::quorum {

/// The weakest of the members, with what a quorum changes.
[[nodiscard]] capabilities abilities_of(const std::vector<std::unique_ptr<backend>>&,
                                        std::size_t needed);

class engine : public backend {
public:
    engine(std::vector<std::unique_ptr<backend>> members,
           std::size_t needed,
           detail::random_source& chance);
    ~engine() override;

    [[nodiscard]] const capabilities& able() const noexcept override { return able_; }
    void start(backend_events&) override;
    void attempt(const call&, const std::shared_ptr<const claim>&, joining) override;
    void withdraw(const call&, const std::shared_ptr<const claim>&) override;
    void release(const call&, const std::shared_ptr<const claim>&, const grant&) override;
    void renew(const call&, std::span<const bond_id>) override;
    void forget(bond_id) override;
    void inspect(const call&, const std::string& pattern) override;
    void examine(const call&) override;
    void force_release(const call&, const std::string& name) override;
    void close(instant by) override;

protected:
    [[nodiscard]] virtual instant now() const = 0;
    virtual void wake_at(instant) = 0; ///< calls on_time() then, or a little later
    void on_time();

    [[nodiscard]] backend& at(member m) noexcept { return *members_[m]; }
    [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }

private:
    class ear; // what one member tells

    /// Something asked of all members, whose answers are put together when the last has come.
    template <class T> struct survey {
        ticket to{};
        std::vector<std::optional<T>> answers;
        std::size_t missing = 0;
    };
    template <class T> using surveys = std::map<ticket, std::shared_ptr<survey<T>>>;

    template <class F> void decide(F);
    void perform(action&);
    void arm();
    template <class T, class Ask> void ask_all(surveys<T>&, const call&, Ask);
    template <class T>
    [[nodiscard]] std::shared_ptr<survey<T>> heard(surveys<T>&, member, ticket, T answer);
    template <class T> [[nodiscard]] failure too_few(const survey<response<T>>&) const;

    const capabilities able_;
    const std::size_t needed_;
    backend_events* events_ = nullptr;

    std::mutex guard_;
    machine machine_;
    instant armed_ = never;
    std::uint64_t asked_ = 0; // surveys; their tickets are far from the machine's
    surveys<response<std::vector<lock_info>>> inspections_;
    surveys<std::vector<finding>> examinations_;
    surveys<response<std::size_t>> forcings_;

    std::vector<std::unique_ptr<ear>> ears_;
    std::vector<std::unique_ptr<backend>> members_; // go first: they speak to the ears
};

} // namespace holdfast::quorum
