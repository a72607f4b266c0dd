#include "client/client_state.hpp"
#include "runtime/assert.hpp"
#include "runtime/fork.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <thread>
#include <unistd.h>
#include <utility>

namespace holdfast::detail {
namespace {

constexpr duration operators_patience = std::chrono::seconds{5};
constexpr duration unlocks_patience = std::chrono::milliseconds{2};

template <class... F> struct overloaded : F... { using F::operator()...; };

[[nodiscard]] std::string command_line() {
    std::ifstream file{"/proc/self/cmdline", std::ios::binary};
    std::string words{std::istreambuf_iterator<char>{file}, {}};
    while (!words.empty() && words.back() == '\0')
        words.pop_back();
    std::replace(words.begin(), words.end(), '\0', ' ');
    return words;
}

[[nodiscard]] std::shared_ptr<const party> ourselves(const std::string& purpose) {
    char host[256] = {};
    ::gethostname(host, sizeof host - 1);
    return std::make_shared<party>(
        party{host, ::getpid(), (purpose.empty() ? command_line() : purpose).substr(0, 256)});
}

} // namespace

// ------------------------------------------------------------------------------ making and ending

std::shared_ptr<client_state> client_state::make(std::unique_ptr<backend> engine,
                                                 client_options options) {
    const auto end = [](client_state* state) {
        if (state->forked())
            return; // its threads and locks are the parent's: leave everything as it is
        // The last handle may go away inside a callback of ours: a thread cannot join itself.
        if (state->loop_.is_this_thread() || state->lane_.is_this_thread() ||
            state->alarms_.is_this_thread())
            std::thread{[state] { delete state; }}.detach();
        else
            delete state;
    };
    std::shared_ptr<client_state> made{new client_state{std::move(engine), std::move(options)},
                                       end};
    made->begin();
    return made;
}

client_state::client_state(std::unique_ptr<backend> engine, client_options options)
    : generation_{fork_generation()}, backend_{std::move(engine)}, observer_{std::move(
                                                                       options.observer)},
      core_{{backend_->able(), ourselves(options.purpose), generation_, observer_ != nullptr},
            chance_},
      watch_{
          backend_->descriptor(),
          [this] { backend_->on_readable(); },
          {[this](int nudge, const auto& woken) { return backend_->wait_readable(nudge, woken); },
           [this](bool yes) { backend_->watched(yes); }}},
      loop_{[this] {
          decide(patience::full, [this](instant now, actions& out) {
              timer_ = never;
              core_.on_time(now, out);
          });
      }} {}

void client_state::begin() {
    backend_->start(*this);
    if (const int fd = watch_.for_the_loop(); fd >= 0)
        loop_.watch(fd, [this] { watch_.on_loop_readable(); });
    if (const int fd = backend_->background_descriptor(); fd >= 0)
        loop_.watch(fd, [this] { backend_->on_background(); });
}

client_state::~client_state() {
    close(std::chrono::seconds{2});
    loop_.stop();
    backend_.reset(); // it tells us nothing any more
    alarms_.finish();
    lane_.finish();
}

void client_state::close(duration at_most) {
    const auto by = boot_clock::now() + at_most;
    {
        const std::lock_guard lock{guard_};
        if (std::exchange(closing_, true))
            return;
    }
    decide(patience::full, [this](instant now, actions& out) { core_.close(now, out); });
    {
        std::unique_lock lock{guard_};
        while (core_.unsettled() > 0 && boot_clock::now() < by)
            settled_.wait_for(lock, std::chrono::milliseconds{50});
        closed_ = true;
        while (in_engine_ > 0 && boot_clock::now() < by)
            settled_.wait_for(lock, std::chrono::milliseconds{10});
    }
    decide(patience::none, [this](instant, actions& out) { core_.leave_nobody_waiting(out); });
    backend_->close(std::max(by, boot_clock::now() + std::chrono::milliseconds{100}));
}

bool client_state::forked() const noexcept { return fork_generation() != generation_; }

void client_state::check_not_forked() const {
    if (forked())
        throw_error(errc::unsupported,
                    "this client was made before fork(); open a new one in the child");
}

// --------------------------------------------------------------------------- deciding, performing

template <class F> void client_state::decide(patience how, const F& f) {
    actions out;
    {
        const std::lock_guard lock{guard_};
        f(boot_clock::now(), out);
        after_deciding();
    }
    perform(out, how);
}

// Under the mutex: the timers follow what was decided, before anybody is told.
void client_state::after_deciding() {
    HOLDFAST_ASSERT(deadman_.kill_at(core_.deadly_deadline()), "the kernel gave no dead-man timer");
    if (const auto due = core_.next_due(); due < timer_) {
        timer_ = due;
        loop_.wake_at(due);
    }
    if (closing_)
        settled_.notify_all();
}

void client_state::perform(actions& wanted, patience how) {
    for (auto& one : wanted)
        perform_one(one, how);
}

// What is asked after the end is answered here: nobody may be left waiting.
template <class Ask, class Refuse>
void client_state::enter_engine(const call& c, const Ask& ask, const Refuse& refuse) {
    ++in_engine_;
    if (!closed_)
        ask(c);
    else
        refuse(c.ticket);
    if (--in_engine_ == 0 && closed_)
        settled_.notify_all();
}

template <class Ask, class Refuse>
void client_state::ask_engine(patience how, call& c, Ask ask, Refuse refuse) {
    if (backend_->able().blocks_caller && !closed_) {
        // Whoever blocks until the last moment answers after it, and would be taken for silent.
        c.answer_by -= (c.answer_by - c.asked) / 4;
        if (how == patience::none)
            return loop_.post([this, ask = std::move(ask), refuse = std::move(refuse), c] {
                enter_engine(c, ask, refuse);
            });
        if (how == patience::short_)
            c.answer_by = std::min(c.answer_by, c.asked + unlocks_patience);
    }
    enter_engine(c, ask, refuse);
}

void client_state::perform_one(action& one, patience how) {
    std::visit(
        overloaded{
            [&](do_attempt& a) {
                ask_engine(
                    how,
                    a.call,
                    [this, what = a.what, join = a.join](const call& c) {
                        backend_->attempt(c, what, join);
                    },
                    [this](ticket t) {
                        attempted(t, failure{errc::unsupported, applied::no, "it was closed"});
                    });
            },
            [&](do_withdraw& a) {
                ask_engine(
                    how,
                    a.call,
                    [this, what = a.what](const call& c) { backend_->withdraw(c, what); },
                    [this](ticket t) { withdrawn(t, applied::no); });
            },
            [&](do_release& a) {
                ask_engine(
                    how,
                    a.call,
                    [this, what = a.what, given = a.given](const call& c) {
                        backend_->release(c, what, given);
                    },
                    [this](ticket t) { released(t, release_result::unknown); });
            },
            [&](do_renew& a) {
                ask_engine(
                    how,
                    a.call,
                    [this, bonds = std::move(a.bonds)](const call& c) {
                        backend_->renew(c, bonds);
                    },
                    [](ticket) {});
            },
            [&](do_forget& a) { backend_->forget(a.bond); },
            [&](tell_wish& a) {
                auto* const who = static_cast<acquirer*>(a.to);
                if (who->blocks_no_thread)
                    watch_.loop_is_needed_less();
                who->told(a.error, std::move(a.detail), std::move(a.granted));
            },
            [&](tell_goodbye& a) {
                auto* const who = static_cast<releaser*>(a.to);
                if (who->blocks_no_thread)
                    watch_.loop_is_needed_less();
                who->told(a.result);
            },
            [&](tell_stop& a) {
                alarms_.post([whom = std::move(a.whom)] { whom->request_stop(); });
            },
            [&](tell_lost& a) {
                alarms_.post([whom = std::move(a.whom)] { whom->report_lost(); });
            },
            [&](tell_wanted& a) {
                lane_.post([whom = std::move(a.whom)] { whom->report_wanted(); });
            },
            [&](tell_observer& a) { tell(a); }},
        one);
}

void client_state::tell(const tell_observer& what) {
    if (!observer_)
        return;
    lane_.post([to = observer_, what, at = boot_clock::now()] {
        const std::string_view name = what.name ? std::string_view{*what.name} : std::string_view{};
        to->on({what.what, name, what.fence, at, what.took, what.handed_over, what.detail});
    });
}

// ------------------------------------------------------------------------------- what callers want

// Before anything is asked for: a thread that cannot be had must not cost a lease.
void client_state::start_threads() {
    if (threads_started_.load(std::memory_order_acquire))
        return;
    alarms_.start();
    lane_.start();
    threads_started_.store(true, std::memory_order_release);
}

void client_state::start_acquire(acquirer& who, patience how) {
    start_threads();
    who.blocks_no_thread = how == patience::none;
    if (who.blocks_no_thread)
        watch_.loop_is_needed();
    std::shared_ptr<client_state> alive; // who is answered at once may let go of the client, too
    actions out;
    {
        const std::lock_guard lock{guard_};
        if (core_.lines_up(who))
            return;
        alive = shared_from_this();
        core_.acquire(who, boot_clock::now(), out);
        after_deciding();
    }
    perform(out, how);
}

void client_state::cancel(acquirer& who, error_code why) {
    decide(patience::none, [&](instant now, actions& out) { core_.cancel(who, why, now, out); });
}

void client_state::start_release(const std::shared_ptr<hold>& what, releaser* who, patience how) {
    if (who != nullptr && how == patience::none) {
        who->blocks_no_thread = true;
        watch_.loop_is_needed();
    }
    decide(how, [&](instant now, actions& out) { core_.release(what, who, now, out); });
}

call client_state::operator_call() {
    const auto now = boot_clock::now();
    // Far from the core's own numbers.
    return {ticket{(std::uint64_t{1} << 63) | ++operator_calls_}, now, now + operators_patience};
}

template <class T, class F>
void client_state::ask_for_operator(questions<T>& open,
                                    patience how,
                                    std::function<void(response<T>)> done,
                                    F ask) {
    call c;
    {
        const std::lock_guard lock{guard_};
        c = operator_call();
        open.emplace(c.ticket, std::move(done));
    }
    ask_engine(how, c, std::move(ask), [this, &open](ticket t) {
        answer_operator(
            open,
            t,
            response<T>{failure{errc::unsupported, applied::no, "this client has been closed"}});
    });
}

void client_state::start_inspect(const std::string& pattern,
                                 patience how,
                                 std::function<void(response<std::vector<lock_info>>)> done) {
    ask_for_operator(inspections_, how, std::move(done), [this, pattern](const call& c) {
        backend_->inspect(c, pattern);
    });
}

void client_state::start_examine(patience how,
                                 std::function<void(response<std::vector<finding>>)> done) {
    ask_for_operator(
        examinations_, how, std::move(done), [this](const call& c) { backend_->examine(c); });
}

void client_state::start_ask_release(const std::string& name,
                                     patience how,
                                     std::function<void(response<std::size_t>)> done) {
    ask_for_operator(forcings_, how, std::move(done), [this, name](const call& c) {
        backend_->ask_release(c, name);
    });
}

void client_state::start_force_release(const std::string& name,
                                       patience how,
                                       std::function<void(response<std::size_t>)> done) {
    ask_for_operator(forcings_, how, std::move(done), [this, name](const call& c) {
        backend_->force_release(c, name);
    });
}

template <class T>
void client_state::answer_operator(questions<T>& open, ticket number, response<T> answer) {
    std::function<void(response<T>)> done;
    {
        const std::lock_guard lock{guard_};
        const auto found = open.find(number);
        if (found == open.end())
            return;
        done = std::move(found->second);
        open.erase(found);
    }
    done(std::move(answer));
}

// ------------------------------------------------------------------------------ what the engine
// says

void client_state::attempted(ticket number, attempt_answer answer) {
    decide(patience::full,
           [&](instant now, actions& out) { core_.attempted(number, answer, now, out); });
}
void client_state::withdrawn(ticket number, applied certainty) {
    decide(patience::full,
           [&](instant now, actions& out) { core_.withdrawn(number, certainty, now, out); });
}
void client_state::released(ticket number, release_result answer) {
    decide(patience::full,
           [&](instant now, actions& out) { core_.released(number, answer, now, out); });
}
void client_state::renewed(ticket, std::span<const renewal_answer> answers) {
    decide(patience::full, [&](instant now, actions& out) { core_.renewed(answers, now, out); });
}
void client_state::inspected(ticket number, response<std::vector<lock_info>> answer) {
    answer_operator(inspections_, number, std::move(answer));
}
void client_state::examined(ticket number, std::vector<finding> all) {
    answer_operator(examinations_, number, response<std::vector<finding>>{std::move(all)});
}
void client_state::forced(ticket number, response<std::size_t> answer) {
    answer_operator(forcings_, number, std::move(answer));
}
void client_state::woken(const nonce& whose) {
    decide(patience::full, [&](instant now, actions& out) { core_.woken(whose, now, out); });
}
void client_state::granted(const nonce& whose, const grant& given) {
    decide(patience::full,
           [&](instant now, actions& out) { core_.granted(whose, given, now, out); });
}
void client_state::bond_lost(bond_id bond) {
    decide(patience::full, [&](instant now, actions& out) { core_.bond_lost(bond, now, out); });
}
void client_state::grant_lost(const nonce& whose) {
    decide(patience::full, [&](instant now, actions& out) { core_.grant_lost(whose, now, out); });
}
void client_state::wanted(const nonce& whose) {
    decide(patience::full, [&](instant, actions& out) { core_.wanted(whose, out); });
}
void client_state::link(link_state state, std::string_view detail) {
    static constexpr const char* names[] = {
        "connected", "suspended", "reconnected", "lost", "read-only"};
    std::string sentence = names[static_cast<std::size_t>(state)];
    if (!detail.empty())
        sentence.append(": ").append(detail);
    tell({.what = event::kind::link, .detail = std::move(sentence)});
}
void client_state::notice(std::string_view sentence) {
    tell({.what = event::kind::notice, .detail = std::string{sentence}});
}

} // namespace holdfast::detail
