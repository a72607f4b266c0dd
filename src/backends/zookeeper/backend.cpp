#include "backends/zookeeper/backend.hpp"
#include "backends/zookeeper/probe.hpp"
#include "runtime/assert.hpp"
#include "runtime/quiet_thread.hpp"

#include <algorithm>
#include <future>
#include <sys/timerfd.h>
#include <unistd.h>
#include <utility>

namespace holdfast::zookeeper {
namespace {

template <class... F> struct overloaded : F... { using F::operator()...; };

constexpr std::uint64_t operators_first = std::uint64_t{1} << 63;

// Both together are over before whoever waits for a connection gives up.
[[nodiscard]] duration before_asking_why(const options& how) {
    return std::min<duration>(std::chrono::milliseconds{200}, how.connect_timeout / 4);
}
[[nodiscard]] duration longest_question(const options& how) {
    return std::min<duration>(std::chrono::seconds{1}, how.connect_timeout / 2);
}

[[nodiscard]] rules rules_of(const options& how) {
    return {.root = how.root,
            .session = how.session,
            .connect_timeout = how.connect_timeout,
            .mutex_is_semaphore = how.mutexes == mutexes::semaphore};
}

} // namespace

zookeeper_backend::zookeeper_backend(options how)
    : how_{std::move(how)}, timer_{::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)},
      machine_{rules_of(how_)} {
    HOLDFAST_ASSERT(timer_ >= 0, "the kernel gave no descriptor");
}

zookeeper_backend::~zookeeper_backend() {
    close(boot_clock::now());
    ::close(timer_);
}

const capabilities& zookeeper_backend::able() const noexcept {
    static constexpr capabilities what{
        .engine = "zookeeper",
        .reach = reach::network,
        .shared = true,
        .permits = true,
        .fair = true,
        .asks_holders = true,
        .fences = fence_grade::consensus,
        .ttl = ttl_scope::session,
        .wake = wake_by::grant,
        .assumptions = static_cast<std::uint8_t>(assumption::clock_rates_agree),
    };
    return what;
}

// -------------------------------------------------------------------------------------- the verbs

// The machine decides and the operations go out under the mutex, so that they are on the wire in
// the order of the decisions; nothing there waits. What is told is told after it.
template <class F> void zookeeper_backend::decide(F f) {
    actions out;
    {
        const std::lock_guard lock{guard_};
        if (closed_)
            return;
        const auto now = boot_clock::now();
        f(now, out);
        carry_out(out, now);
        arm(machine_.next_time());
    }
    tell(out);
}

void zookeeper_backend::carry_out(actions& out, instant now) {
    for (std::size_t i = 0; i < out.size(); ++i) { // it may grow
        if (const auto* op = std::get_if<operation>(&out[i])) {
            const auto id = op->id;
            if (session_ == nullptr || !session_->send(*op))
                machine_.replied(id, reply{}, now, out);
        } else if (const auto* o = std::get_if<open_session>(&out[i])) {
            open(o->bond);
        } else if (const auto* c = std::get_if<close_session>(&out[i])) {
            if (session_ != nullptr && session_->bond() == c->bond)
                end(std::exchange(session_, nullptr));
        }
    }
}

void zookeeper_backend::tell(actions& out) {
    for (auto& a : out)
        std::visit(
            overloaded{[](const operation&) {},
                       [](const open_session&) {},
                       [](const close_session&) {},
                       [&](tell_attempted& t) { events_->attempted(t.to, std::move(t.answer)); },
                       [&](const tell_withdrawn& t) { events_->withdrawn(t.to, t.certainty); },
                       [&](const tell_released& t) { events_->released(t.to, t.result); },
                       [&](const tell_renewed& t) { events_->renewed(t.to, t.answers); },
                       [&](const tell_granted& t) { events_->granted(t.whose, t.given); },
                       [&](const tell_bond_lost& t) { events_->bond_lost(t.bond); },
                       [&](const tell_grant_lost& t) { events_->grant_lost(t.whose); },
                       [&](const tell_wanted& t) { events_->wanted(t.whose); },
                       [&](const tell_link& t) { events_->link(t.state, t.detail); },
                       [&](const tell_notice& t) { events_->notice(t.sentence); }},
            a);
}

void zookeeper_backend::arm(instant when) {
    if (when >= armed_)
        return;
    armed_ = when;
    const auto ns = std::max<std::int64_t>(when.time_since_epoch().count(), 1);
    itimerspec at{};
    at.it_value.tv_sec = ns / 1'000'000'000;
    at.it_value.tv_nsec = ns % 1'000'000'000;
    ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);
}

void zookeeper_backend::on_background() {
    std::uint64_t times = 0;
    if (::read(timer_, &times, sizeof times) <= 0)
        return;
    decide([&](instant now, actions& out) {
        armed_ = never;
        machine_.on_time(now, out);
    });
}

void zookeeper_backend::start(backend_events& events) {
    events_ = &events;
    decide([&](instant, actions& out) { machine_.start(out); });
}

void zookeeper_backend::attempt(const call& c,
                                const std::shared_ptr<const claim>& what,
                                joining join) {
    decide([&](instant now, actions& out) {
        if (!machine_.is_connected() && !std::exchange(finding_out_, true))
            operators_.post([this, bond = machine_.bond()] { find_out_why(bond); });
        machine_.attempt(c, what, join, now, out);
    });
}

void zookeeper_backend::withdraw(const call& c, const std::shared_ptr<const claim>& what) {
    decide([&](instant now, actions& out) { machine_.withdraw(c, what, now, out); });
}

void zookeeper_backend::release(const call& c,
                                const std::shared_ptr<const claim>& what,
                                const grant& g) {
    decide([&](instant now, actions& out) { machine_.release(c, what, g, now, out); });
}

void zookeeper_backend::renew(const call& c, std::span<const bond_id> bonds) {
    decide([&](instant now, actions& out) {
        machine_.renew(c, {bonds.begin(), bonds.end()}, now, out);
    });
}

void zookeeper_backend::forget(bond_id bond) {
    decide([&](instant, actions& out) { machine_.forget(bond, out); });
}

// ----------------------------------------------------------------------------------- the sessions

// Looking up names may wait as long as it likes, so nobody waits for it. Under the mutex.
void zookeeper_backend::open(bond_id bond) {
    listener& me = *this;
    session_ = std::make_shared<handle>(how_, bond, me);
    detail::quiet_thread([begins = session_] { begins->open(); }).detach();
}

// It may wait for seconds, and says nothing: so nobody waits for it. Under the mutex.
void zookeeper_backend::end(std::shared_ptr<handle> over) {
    std::erase_if(ending_, [](const auto& one) { return one.expired(); });
    ending_.push_back(over);
    detail::quiet_thread([over = std::move(over)] {
        over->fall_silent();
        over->close();
    }).detach();
}

void zookeeper_backend::close(instant by) {
    std::shared_ptr<handle> last;
    std::vector<std::weak_ptr<handle>> ending;
    {
        const std::lock_guard lock{guard_};
        if (std::exchange(closed_, true))
            return;
        last = std::exchange(session_, nullptr);
        ending.swap(ending_);
        changed_.notify_all();
    }
    operators_.finish();
    for (const auto& one : ending)
        if (const auto over = one.lock())
            over->fall_silent();
    if (last == nullptr)
        return;
    last->fall_silent();
    auto ended = std::make_shared<std::promise<void>>();
    auto wait = ended->get_future();
    detail::quiet_thread([last = std::move(last), ended] {
        last->close();
        ended->set_value();
    }).detach();
    wait.wait_for(std::max<duration>(by - boot_clock::now(), std::chrono::milliseconds{1}));
}

void zookeeper_backend::connected(bond_id bond, std::int64_t session, duration granted) {
    decide([&](instant now, actions& out) {
        machine_.connected(bond, session, granted, now, out);
        changed_.notify_all();
    });
}
void zookeeper_backend::suspended(bond_id bond) {
    decide([&](instant now, actions& out) { machine_.suspended(bond, now, out); });
}
void zookeeper_backend::read_only(bond_id bond) {
    decide([&](instant, actions& out) {
        machine_.read_only(bond, out);
        changed_.notify_all();
    });
}
void zookeeper_backend::expired(bond_id bond) {
    decide([&](instant, actions& out) { machine_.expired(bond, out); });
}
void zookeeper_backend::unreachable(bond_id bond, const failure& why) {
    decide([&](instant now, actions& out) { machine_.unreachable(bond, why, now, out); });
}
void zookeeper_backend::replied(op_id id, reply&& r) {
    const auto number = static_cast<std::uint64_t>(id);
    if (number < operators_first)
        return decide([&](instant now, actions& out) { machine_.replied(id, r, now, out); });
    const std::lock_guard lock{guard_};
    if (const auto found = asks_.find(number); found != asks_.end()) {
        found->second = std::move(r);
        changed_.notify_all();
    }
}
void zookeeper_backend::noticed(op_id id, seen what) {
    decide([&](instant now, actions& out) { machine_.noticed(id, what, now, out); });
}

// The C client tries one server after the other and says nothing: so we look ourselves.
void zookeeper_backend::find_out_why(bond_id bond) {
    std::string why;
    if (!wait_until([](const machine& m) { return m.is_connected(); },
                    boot_clock::now() + before_asking_why(how_)))
        why = why_nobody_serves(ask_all(how_.servers, longest_question(how_)));
    decide([&](instant now, actions& out) {
        finding_out_ = false;
        if (!why.empty())
            machine_.unreachable(bond, {errc::backend_unavailable, applied::no, why}, now, out);
    });
}

// ------------------------------------------------------------------------------- for operators

template <class F> bool zookeeper_backend::wait_until(F is_so, instant by) {
    std::unique_lock lock{guard_};
    while (!closed_ && !is_so(machine_)) {
        const auto left = by - boot_clock::now();
        if (left <= duration::zero())
            return false;
        changed_.wait_for(lock, std::min<duration>(left, std::chrono::milliseconds{50}));
    }
    return !closed_;
}

/// Waits for a session; else says why there is none. Nobody waits long for servers that say
/// themselves that they do not serve.
std::optional<failure> zookeeper_backend::why_not_connected(instant by) {
    const auto is_there = [this](const machine& m) {
        return m.is_connected() || (how_.read_only && m.is_read_only());
    };
    by = std::min(by, boot_clock::now() + how_.connect_timeout);
    if (wait_until(is_there, std::min(by, boot_clock::now() + before_asking_why(how_))))
        return std::nullopt;
    auto why = why_nobody_serves(ask_all(how_.servers, longest_question(how_)));
    if ((why.empty() || how_.read_only) && wait_until(is_there, by))
        return std::nullopt;
    return failure{errc::backend_unavailable,
                   applied::no,
                   why.empty() ? "there is no connection to ZooKeeper" : std::move(why)};
}

reply zookeeper_backend::ask(decltype(operation::what) what, instant by) {
    std::unique_lock lock{guard_};
    const auto number = operators_first | ++last_ask_;
    if (closed_ || session_ == nullptr)
        return {};
    asks_[number];
    if (!session_->send({op_id{number}, std::move(what)})) {
        asks_.erase(number);
        return {};
    }
    for (;;) {
        auto& answer = asks_[number];
        const auto left = by - boot_clock::now();
        if (answer || closed_ || left <= duration::zero()) {
            auto got = answer ? std::move(*answer) : reply{};
            asks_.erase(number);
            return got;
        }
        changed_.wait_for(lock, std::min<duration>(left, std::chrono::milliseconds{50}));
    }
}

} // namespace holdfast::zookeeper
