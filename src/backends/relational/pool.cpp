#include "backends/relational/pool.hpp"
#include "runtime/fork.hpp"
#include "runtime/quiet_thread.hpp"

#include <algorithm>
#include <netdb.h>
#include <sys/socket.h>

namespace holdfast::relational {
namespace {

constexpr duration first_pause = std::chrono::milliseconds{20};
constexpr duration longest_pause = std::chrono::seconds{1};
constexpr int most_tries = 5; // of what was undone because it met something else

[[nodiscard]] trouble unanswered(std::string words) {
    return {trouble::kind::unusable,
            {make_error_code(errc::backend_unavailable), applied::maybe, std::move(words)}};
}

[[nodiscard]] trouble not_sent(trouble why) {
    why.why.applied = applied::no;
    return why;
}

[[nodiscard]] std::string digits_of(const detail::socket_address& a) {
    char text[NI_MAXHOST] = {};
    if (::getnameinfo(reinterpret_cast<const sockaddr*>(&a.bytes),
                      a.size,
                      text,
                      sizeof text,
                      nullptr,
                      0,
                      NI_NUMERICHOST) != 0)
        return {};
    return text;
}

/// What was not sent yet will not be, and the server hears of the end at once.
void cut(int fd) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

} // namespace

// ----------------------------------------------------------------------------------- the pool

pool::pool(std::shared_ptr<detail::reactor> r, std::shared_ptr<speaker> s, pool_settings how)
    : reactor_{std::move(r)}, speaker_{std::move(s)}, settings_{std::move(how)} {
    ticker_.emplace(reactor_, [this](instant now) { return on_time(now); });
}

pool::~pool() { ticker_.reset(); }

template <class Body> void pool::locked(Body body) {
    afterwards then;
    {
        const std::lock_guard lock{guard_};
        body(then);
    }
    for (auto& each : then)
        each();
}

void pool::ask(statement what, std::string about, instant answer_by, on_answer done) {
    reactor_->wake_at(answer_by);
    locked([&](afterwards& then) {
        request asked{std::move(what), std::move(about), answer_by, std::move(done)};
        if (closed_)
            return finish(
                std::move(asked), not_sent(unanswered("this client has been closed")), then);
        waiting_.push_back(std::move(asked));
        send_what_can_be(then);
    });
}

void pool::keep_one_open() {
    locked([&](afterwards& then) {
        kept_open_ = true;
        if (lines_.empty() && !closed_)
            open_line(then);
    });
}

bool pool::settled() {
    const std::lock_guard lock{guard_};
    return waiting_.empty() &&
           std::ranges::none_of(lines_, [](const auto& one) { return one->current_.has_value(); });
}

void pool::close() {
    locked([&](afterwards& then) {
        closed_ = true;
        const auto why = unanswered("this client has been closed");
        for (auto& asked : std::exchange(waiting_, {}))
            finish(std::move(asked), not_sent(why), then);
        for (const auto& one : std::vector{lines_}) // each leaves the list
            one->end(*this, why, then);
    });
}

void pool::send_what_can_be(afterwards& then) {
    for (auto next = waiting_.begin(); next != waiting_.end();) {
        if (!next->about.empty() && busy_names_.contains(next->about)) {
            ++next;
            continue;
        }
        const auto idle =
            std::ranges::find_if(lines_, [](const auto& one) { return one->is_free(); });
        if (idle == lines_.end())
            return open_line(then);
        if (!next->about.empty())
            busy_names_.insert(next->about);
        auto asked = std::move(*next);
        next = waiting_.erase(next);
        const auto alive = *idle; // it may break, and leave the list
        alive->start(*this, std::move(asked), then);
        next = waiting_.begin(); // it may also have been answered already
    }
}

// One at a time: the next is opened when this one is there and something still waits.
void pool::open_line(afterwards& then) {
    const auto opening = [](const auto& one) { return one->state_ != line::state::open; };
    if (closed_ || lines_.size() >= settings_.most || std::ranges::any_of(lines_, opening))
        return;
    const auto now = boot_clock::now();
    if (now < retry_at_)
        return reactor_->wake_at(retry_at_);
    auto made = std::make_shared<line>(shared_from_this());
    made->id_ = reactor_->attend(made);
    lines_.push_back(made);
    made->begin(*this, then);
}

void pool::finish(request&& asked, answer&& what, afterwards& then) {
    then.emplace_back([done = std::move(asked.done), what = std::move(what)]() mutable {
        done(std::move(what));
    });
}

/// Whoever reads it wants to know which server it was.
trouble pool::on_this_server(trouble why) const {
    why.why.detail = settings_.servers[server_].text() + ": " + why.why.detail;
    return why;
}

trouble pool::why_nobody_was_free() const {
    if (std::ranges::any_of(lines_,
                            [](const auto& one) { return one->state_ == line::state::open; }))
        return unanswered("no connection was free in time");
    return refusal_ ? *refusal_ : on_this_server(unanswered("the server did not answer in time"));
}

// Each of the servers is tried once before those who wait hear that there is none.
void pool::cannot_open(const trouble& refused, afterwards& then) {
    const auto why = on_this_server(refused);
    refusal_ = why;
    server_ = (server_ + 1) % settings_.servers.size();
    if (++refused_in_a_row_ < settings_.servers.size())
        return open_line(then);
    refused_in_a_row_ = 0;
    back_off_ = std::clamp(back_off_ * 2, first_pause, longest_pause);
    retry_at_ = boot_clock::now() + back_off_;
    if (settings_.broken)
        then.emplace_back(
            [this, alive = shared_from_this(), what = why.why] { settings_.broken(what); });
    if (std::ranges::any_of(lines_,
                            [](const auto& one) { return one->state_ == line::state::open; }))
        return;
    for (auto& asked : std::exchange(waiting_, {}))
        finish(std::move(asked), not_sent(why), then);
    if (kept_open_)
        reactor_->wake_at(retry_at_);
}

instant pool::on_time(instant now) {
    auto next = never;
    locked([&](afterwards& then) {
        for (auto each = waiting_.begin(); each != waiting_.end();) {
            if (now < each->answer_by) {
                next = std::min(next, each->answer_by);
                ++each;
                continue;
            }
            finish(std::move(*each), not_sent(why_nobody_was_free()), then);
            each = waiting_.erase(each);
        }
        for (const auto& one : std::vector{lines_}) {
            const auto by = one->state_ == line::state::open
                                ? one->current_ ? one->current_->answer_by : never
                                : one->give_up_;
            if (now >= by)
                one->end(*this, unanswered("the server did not answer in time"), then);
            else
                next = std::min(next, by);
        }
        if (!waiting_.empty())
            send_what_can_be(then);
        else if (kept_open_ && lines_.empty())
            open_line(then);
        if (retry_at_ > now)
            next = std::min(next, retry_at_);
    });
    return next;
}

// ----------------------------------------------------------------------------------- one line

line::~line() = default;

void line::on_ready(bool readable, bool writable) {
    const auto of = pool_.lock();
    if (!of)
        return;
    of->locked([&](pool::afterwards& then) {
        if (state_ == state::connecting)
            return advance(*of, then);
        if (current_)
            return go_on(*of, wire_->proceed(readable, writable), then);
        if (!wire_)
            return;
        std::vector<whisper> heard;
        if (!wire_->listen(heard))
            end(*of, unanswered("the server closed the connection"), then);
        if (of->settings_.heard)
            for (auto& each : heard)
                then.emplace_back([of, each = std::move(each)] { of->settings_.heard(each); });
    });
}

void line::begin(pool& of, pool::afterwards& then) {
    ++generation_;
    give_up_ = boot_clock::now() + of.settings_.connect_timeout;
    of.reactor_->wake_at(give_up_);
    const auto& where = of.settings_.servers[of.server_];
    if (detail::is_numeric(where))
        return connect_to(of, where.host, then);
    // The system's resolver can only block, for as long as it likes: not on a caller's thread.
    state_ = state::resolving;
    detail::quiet_thread([self = weak_from_this(), where, generation = generation_] {
        std::string trouble_words;
        const auto found = detail::addresses_of(where, trouble_words);
        const auto alive = self.lock();
        const auto whose = alive ? alive->pool_.lock() : nullptr;
        if (!whose)
            return;
        whose->locked([&](pool::afterwards& after) {
            if (alive->generation_ != generation || alive->state_ != state::resolving)
                return;
            if (found.empty())
                alive->end(*whose, unanswered(trouble_words), after);
            else
                alive->connect_to(*whose, digits_of(found.front()), after);
        });
    }).detach();
}

void line::connect_to(pool& of, const std::string& number, pool::afterwards& then) {
    state_ = state::connecting;
    wire_ = of.speaker_->connect(of.settings_.servers[of.server_], number);
    advance(of, then);
}

void line::advance(pool& of, pool::afterwards& then) {
    const auto step = wire_->advance();
    if (const auto why = wire_->failed())
        return end(of, *why, then);
    watch(of, step == progress::wants_to_write);
    if (step != progress::done)
        return;
    state_ = state::greeting;
    then.emplace_back([self = shared_from_this(), whose = of.shared_from_this(), g = generation_] {
        greet(self, whose, g);
    });
}

conversation
line::greet(std::shared_ptr<line> self, std::shared_ptr<pool> of, std::uint64_t generation) {
    auto words = of->speaker_->greet(self);
    auto wrong = co_await words;
    if (!wrong && !of->settings_.first_words.empty()) {
        auto more = self->say(of->settings_.first_words);
        const auto answered = co_await more;
        if (const auto* refused = std::get_if<trouble>(&answered))
            wrong = *refused;
    }
    of->locked([&](pool::afterwards& then) {
        if (self->generation_ != generation || self->state_ != state::greeting)
            return;
        if (wrong)
            return self->end(*of, *wrong, then);
        self->state_ = state::open;
        self->give_up_ = never;
        if (of->settings_.not_for_children)
            detail::close_in_child(self->watched_);
        of->refused_in_a_row_ = 0;
        of->back_off_ = {};
        of->refusal_.reset();
        if (of->settings_.opened && !std::exchange(of->was_open_, true))
            then.emplace_back([of] { of->settings_.opened(); });
        of->send_what_can_be(then);
    });
}

void line::saying::await_suspend(std::coroutine_handle<> whole) {
    const auto of = on_->pool_.lock();
    pool::request asked{std::move(what_), {}, never, [this, whole](answer&& a) {
                            answer_ = std::move(a);
                            whole.resume();
                        }};
    if (!of)
        return asked.done(unanswered("this client has been closed"));
    const auto on = on_; // we may be gone before this is done
    of->locked([&](pool::afterwards& then) {
        if (on->state_ != state::greeting)
            return of->finish(std::move(asked), unanswered("the connection has ended"), then);
        on->start(*of, std::move(asked), then);
    });
}

std::int64_t line::session() {
    const auto of = pool_.lock();
    if (!of)
        return 0;
    const std::lock_guard lock{of->guard_};
    return wire_ ? wire_->session() : 0;
}

void line::start(pool& of, pool::request asked, pool::afterwards& then) {
    current_ = std::move(asked);
    go_on(of, wire_->send(current_->what), then);
}

void line::go_on(pool& of, progress step, pool::afterwards& then) {
    if (step != progress::done)
        return watch(of, step == progress::wants_to_write);
    auto got = wire_->take();
    if (const auto* wrong = std::get_if<trouble>(&got);
        wrong != nullptr &&
        (wrong->what == trouble::kind::unusable || wrong->what == trouble::kind::elsewhere) &&
        state_ == state::open)
        return end(of, trouble{*wrong}, then);
    watch(of, false);
    if (std::holds_alternative<trouble>(got) &&
        std::get<trouble>(got).what == trouble::kind::again && ++current_->tries < most_tries)
        return go_on(of, wire_->send(current_->what), then);
    auto done = std::move(*current_);
    current_.reset();
    if (!done.about.empty())
        of.busy_names_.erase(done.about);
    if (state_ == state::open)
        of.send_what_can_be(then);
    of.finish(std::move(done), std::move(got), then);
}

void line::watch(pool& of, bool for_writing) {
    const int fd = wire_->descriptor();
    if (fd != watched_) { // a library may try several
        if (watched_ >= 0)
            of.reactor_->unwatch(id_, watched_);
        watched_ = fd;
        for_writing_ = for_writing;
        if (fd >= 0)
            of.reactor_->watch(id_, fd, for_writing);
    } else if (fd >= 0 && for_writing != for_writing_) {
        for_writing_ = for_writing;
        of.reactor_->change(id_, fd, for_writing);
    }
}

void line::end(pool& of, const trouble& why, pool::afterwards& then) {
    const auto was = std::exchange(state_, state::resting);
    if (was == state::resting)
        return;
    ++generation_;
    if (watched_ >= 0 && of.settings_.not_for_children)
        detail::forget_in_child(watched_);
    if (watched_ >= 0)
        of.reactor_->unwatch(id_, std::exchange(watched_, -1));
    of.reactor_->leave(id_);
    if (wire_ && current_ && wire_->descriptor() >= 0)
        cut(wire_->descriptor());
    wire_.reset();
    if (current_) {
        auto lost = std::move(*current_);
        current_.reset();
        if (!lost.about.empty())
            of.busy_names_.erase(lost.about);
        of.finish(std::move(lost), trouble{why}, then);
    }
    std::erase_if(of.lines_, [this](const auto& one) { return one.get() == this; });
    if (of.closed_)
        return;
    if (was == state::open && of.settings_.ended)
        then.insert(then.begin(), [whose = of.shared_from_this()] { whose->settings_.ended(); });
    if (was != state::open || why.what == trouble::kind::elsewhere)
        return of.cannot_open(why, then);
    if (of.lines_.empty() && std::exchange(of.was_open_, false) && of.settings_.broken)
        then.emplace_back(
            [whose = of.shared_from_this(), what = why.why] { whose->settings_.broken(what); });
    if (of.kept_open_ || !of.waiting_.empty())
        of.open_line(then);
}

} // namespace holdfast::relational
