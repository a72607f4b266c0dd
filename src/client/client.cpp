#include "client/client_state.hpp"
#include "runtime/parker.hpp"

#include <holdfast/backend.hpp>
#include <holdfast/client.hpp>
#include <holdfast/observer.hpp>
#include <holdfast/primitive.hpp>

#include <optional>
#include <utility>

namespace holdfast {
namespace {

// Starts something that answers once, and waits for the answer.
template <class T, class Start> T await_answer(Start start) {
    detail::parker answered;
    std::optional<response<T>> answer;
    start([&](response<T> given) {
        answer.emplace(std::move(given));
        answered.open();
    });
    answered.wait();
    if (answer->has_error())
        throw_error(answer->error().code, answer->error().detail);
    return std::move(**answer);
}

} // namespace

client::client(std::unique_ptr<backend> engine, client_options options)
    : state_{detail::client_state::make(std::move(engine), std::move(options))} {}

const capabilities& client::capabilities() const noexcept { return state_->able(); }

std::vector<lock_info> client::inspect(const std::string& pattern) const {
    state_->check_not_forked();
    return await_answer<std::vector<lock_info>>([&](auto done) {
        state_->start_inspect(pattern, detail::patience::full, std::move(done));
    });
}

std::size_t client::force_release(const std::string& name) const {
    check_name(name);
    state_->check_not_forked();
    return await_answer<std::size_t>([&](auto done) {
        state_->start_force_release(name, detail::patience::full, std::move(done));
    });
}

std::size_t client::ask_release(const std::string& name) const {
    check_name(name);
    state_->check_not_forked();
    if (!state_->able().asks_holders)
        throw_error(errc::unsupported,
                    std::string{"the engine '"} + state_->able().engine +
                        "' cannot ask a holder for anything");
    return await_answer<std::size_t>([&](auto done) {
        state_->start_ask_release(name, detail::patience::full, std::move(done));
    });
}

std::vector<finding> client::examine() const {
    state_->check_not_forked();
    return await_answer<std::vector<finding>>(
        [&](auto done) { state_->start_examine(detail::patience::full, std::move(done)); });
}

void client::require(guarantees wanted) const {
    if (const auto reason = what_is_missing(state_->able(), wanted); !reason.empty())
        throw_error(errc::unsupported, reason);
}

void client::close(duration at_most) const {
    if (!state_->forked())
        state_->close(at_most);
}

} // namespace holdfast
