#include "backends/redis/line.hpp"
#include "runtime/assert.hpp"
#include "runtime/quiet_thread.hpp"

#include <algorithm>
#include <array>
#include <sys/socket.h>
#include <utility>
#include <vector>

namespace holdfast::redis {
namespace {

constexpr duration first_back_off = std::chrono::milliseconds{10};
constexpr duration longest_back_off = std::chrono::seconds{1};
constexpr duration listeners_pulse = std::chrono::seconds{15};
constexpr duration tls_answers_within = std::chrono::milliseconds{500};
constexpr int reads_at_a_time = 16; // then the others have their turn

/// A write costs both sides some microseconds, whatever is in it. Two that are under way let the
/// server work while we read; the further away it is, the more there are.
constexpr std::size_t writes_under_way = 2;
constexpr duration worth_another_write = std::chrono::microseconds{50};

} // namespace

std::shared_ptr<line> line::make(std::shared_ptr<reactor> r, line_settings s) {
    auto made = std::make_shared<line>(std::move(r), std::move(s), by_make{});
    made->id_ = made->reactor_->attend(made);
    return made;
}

line::line(std::shared_ptr<reactor> r, line_settings s, by_make)
    : reactor_{std::move(r)}, settings_{std::move(s)} {}

line::~line() {
    if (connection_)
        reactor_->unwatch(id_, connection_->descriptor());
    reactor_->leave(id_);
}

endpoint line::where() const {
    const std::lock_guard lock{guard_};
    return settings_.where;
}

bool line::settled() const {
    const std::lock_guard lock{guard_};
    return unanswered_.empty() && (parked_.empty() || opened_ == instant{});
}

failure line::failed(std::string sentence) const {
    return {errc::backend_unavailable,
            applied::no,
            settings_.where.text() + ": " + std::move(sentence)};
}

std::string line::silent(std::string words) const {
    if (!settings_.tls || state_ != state::connecting)
        return words;
    return known_in_the_clear_ ? std::string{speaks_no_tls} : words + ": does it speak TLS?";
}

// One under TLS hangs up on whoever talks to it in the clear.
failure line::was_cut() const {
    const bool unheard = !settings_.tls && state_ == state::greeting && greeting_ == 0;
    return failed(unheard
                      ? "the connection was cut without a word: does it want TLS, as in rediss://?"
                      : "the connection was cut");
}

// --------------------------------------------------------------------------------------- asking

void line::ask(std::string_view bytes, instant answer_by, on_answer done, std::size_t before) {
    guard lock{guard_};
    const auto now = boot_clock::now();
    if (state_ == state::resting && now >= retry_at_)
        start_connecting(lock);
    switch (state_) {
    case state::open:
        put(bytes, {std::move(done), answer_by, 0, before});
        if (unanswered_.size() == 1)
            oldest_sent_ = now;
        break;
    case state::resolving:
    case state::connecting:
    case state::greeting:
        parked_.push_back({std::string{bytes}, {std::move(done), answer_by, 0, before}});
        break;
    case state::resting:
    case state::closed: {
        const auto why = state_ == state::closed ? failed("it was closed") : last_problem_;
        lock.unlock();
        return done({}, &why);
    }
    }
    const auto due = std::min(answer_by, now + settings_.silence);
    flush(lock);
    lock.unlock();
    reactor_->wake_at(due);
}

void line::say(std::string_view bytes) {
    guard lock{guard_};
    if (state_ != state::open)
        return;
    put(bytes, {});
    flush(lock);
}

void line::open_now() {
    guard lock{guard_};
    if (state_ == state::resting && boot_clock::now() >= retry_at_)
        start_connecting(lock);
}

// Its bytes are the next of the stream.
void line::put(std::string_view bytes, request what) {
    out_.append(bytes);
    promised_ += bytes.size();
    if (settings_.heard)
        return;
    what.ends_at = promised_;
    unanswered_.push_back(std::move(what));
}

// ----------------------------------------------------------------------------------- connecting

void line::start_connecting(guard& lock) {
    ++generation_;
    give_up_connecting_ = boot_clock::now() + settings_.connect_timeout;
    turn_ = settings_.connect_timeout / 12;
    reactor_->wake_at(give_up_connecting_);
    std::string problem;
    if (is_numeric(settings_.where)) {
        addresses_ = addresses_of(settings_.where, problem);
        return connect_to_next(lock, std::move(problem));
    }
    // The system's resolver can only block, for as long as it likes: not on a caller's thread.
    state_ = state::resolving;
    resolved_ = false;
    detail::quiet_thread([self = weak_from_this(), where = settings_.where, of = generation_] {
        std::string trouble;
        auto found = addresses_of(where, trouble);
        if (const auto alive = self.lock())
            alive->resolved(of, std::move(found), std::move(trouble));
    }).detach();
}

// On the resolver's thread, which nobody waits for: it may still be here when those whom we would
// tell are gone. So it only leaves a message for whoever drives.
void line::resolved(std::uint64_t of, std::vector<socket_address> found, std::string problem) {
    {
        const guard lock{guard_};
        if (of != generation_ || state_ != state::resolving)
            return;
        addresses_ = std::move(found);
        resolving_problem_ = std::move(problem);
        resolved_ = true;
    }
    reactor_->wake_at(boot_clock::now());
}

void line::connect_to_next(guard& lock, std::string problem) {
    if (connection_)
        reactor_->unwatch(id_, connection_->descriptor());
    connection_.reset();
    while (!addresses_.empty()) {
        trying_ = addresses_.front();
        addresses_.erase(addresses_.begin());
        problem.clear();
        auto next =
            std::make_shared<transport>(trying_, settings_.tls, settings_.where.host, problem);
        if (next->descriptor() < 0)
            continue;
        connection_ = std::move(next);
        state_ = state::connecting;
        waits_to_write_ = true;
        reactor_->watch(id_, connection_->descriptor(), true);
        const auto now = boot_clock::now();
        turn_ends_ = addresses_.empty() ? never : now + turn_;
        tls_suspected_ = settings_.tls ? now + tls_answers_within : never;
        found_in_the_clear_ = false;
        reactor_->wake_at(std::min(turn_ends_, tls_suspected_));
        return;
    }
    break_off(lock, failed(problem.empty() ? "it cannot be reached" : std::move(problem)));
}

// One that is silent comes to the end of the line, and its next turn is longer: it may be far away.
void line::try_another_address(guard& lock) {
    turn_ends_ = never;
    if (connection_->reached())
        return;
    addresses_.push_back(trying_);
    turn_ += turn_ / 2;
    connect_to_next(lock, {});
}

// A server in the clear takes the beginning of TLS for a command that is not whole yet, and waits
// for the rest of it. Asking it can only block: not on a caller's thread.
void line::suspect_no_tls() {
    tls_suspected_ = never;
    if (!connection_->reached())
        return;
    detail::quiet_thread([self = weak_from_this(),
                          to = trying_,
                          of = generation_,
                          at_most = settings_.connect_timeout] {
        if (!answers_in_the_clear(to, at_most))
            return;
        if (const auto alive = self.lock())
            alive->answered_in_the_clear(of);
    }).detach();
}

// On that thread; as resolved(), it only leaves a message.
void line::answered_in_the_clear(std::uint64_t of) {
    {
        const guard lock{guard_};
        if (of != generation_ || state_ != state::connecting)
            return;
        found_in_the_clear_ = known_in_the_clear_ = true;
    }
    reactor_->wake_at(boot_clock::now());
}

void line::advance(guard& lock) {
    bool wants_to_write = true;
    std::string problem;
    switch (connection_->advance(wants_to_write, problem)) {
    case io::done:
        return begin_greeting(lock);
    case io::would_block:
        if (wants_to_write != waits_to_write_) {
            waits_to_write_ = wants_to_write;
            reactor_->change(id_, connection_->descriptor(), wants_to_write);
        }
        return;
    case io::closed:
        return connect_to_next(lock, std::move(problem));
    }
}

void line::begin_greeting(guard& lock) {
    state_ = state::greeting;
    waits_to_write_ = false;
    reactor_->change(id_, connection_->descriptor(), false);
    last_heard_ = boot_clock::now();
    out_.clear();
    written_ = promised_ = 0;
    greeting_ = 0;
    greetings_left_ = settings_.greet(out_);
    promised_ = out_.size();
    if (greetings_left_ == 0)
        return become_open(lock);
    flush(lock);
}

void line::become_open(guard& lock) {
    state_ = state::open;
    known_in_the_clear_ = false;
    not_open_because_.reset();
    give_up_connecting_ = never;
    opened_ = oldest_sent_ = pinged_ = boot_clock::now();
    shortest_trip_ = std::chrono::seconds{1};
    auto waiting = std::exchange(parked_, {});
    for (auto& one : waiting)
        put(one.bytes, std::move(one.what));
    flush(lock);
    if (settings_.heard)
        reactor_->wake_at(boot_clock::now() + listeners_pulse);
    if (settings_.opened) {
        lock.unlock();
        settings_.opened();
        lock.lock();
    }
}

// -------------------------------------------------------------------------------------- writing

// Only while the loop reads. That it does not may be said just before we say that we count on it:
// so we look again.
bool line::enough_under_way() {
    const auto more = static_cast<std::size_t>(shortest_trip_ / worth_another_write);
    if (under_way_.size() < writes_under_way + more || !reactor_->is_watched())
        return false;
    reactor_->keeps_back();
    return reactor_->is_watched();
}

void line::answered_up_to(std::uint64_t place, instant now) {
    while (!under_way_.empty() && under_way_.front().ends_at <= place) {
        shortest_trip_ = std::min(shortest_trip_, now - under_way_.front().when);
        under_way_.pop_front();
    }
}

// Whoever reads the answers to what is under way comes back here.
void line::flush(guard& lock) {
    if (writing_ || corked_ > 0 || (state_ != state::open && state_ != state::greeting))
        return;
    writing_ = true;
    auto of = generation_;
    auto to = connection_;
    while (to && (sending_done_ < sending_.size() || !out_.empty())) {
        if (sending_done_ == sending_.size()) {
            if (enough_under_way())
                break;
            sending_.clear();
            sending_done_ = 0;
            sending_.swap(out_);
            if (state_ == state::open && !settings_.heard)
                under_way_.push_back({written_ + sending_.size(), boot_clock::now()});
        }
        std::size_t sent = 0;
        lock.unlock();
        const auto how = to->write(std::string_view{sending_}.substr(sending_done_), sent);
        lock.lock();
        if (of != generation_) { // meanwhile it broke; what was being sent is void
            sending_.clear();
            sending_done_ = 0;
            of = generation_;
            to = state_ == state::open || state_ == state::greeting ? connection_ : nullptr;
            continue;
        }
        if (how == io::done) {
            sending_done_ += sent;
            written_ += sent;
            continue;
        }
        if (how == io::would_block) {
            waits_to_write_ = true;
            reactor_->change(id_, to->descriptor(), true);
            break;
        }
        writing_ = false;
        return break_off(lock, was_cut());
    }
    writing_ = false;
}

// -------------------------------------------------------------------------------------- reading

void line::on_ready(bool readable, bool writable) {
    guard lock{guard_};
    if (!connection_)
        return;
    if (state_ == state::connecting) {
        // Not while somebody still reads out what the last connection's greeting gave; we are
        // called again at once.
        if (!reading_)
            advance(lock);
        return;
    }
    if (writable && waits_to_write_) {
        waits_to_write_ = false;
        reactor_->change(id_, connection_->descriptor(), false);
        flush(lock);
    }
    if (readable && connection_)
        read(lock);
}

void line::on_unwatched() {
    guard lock{guard_};
    flush(lock);
}

void line::read(guard& lock) {
    if (reading_)
        return;
    reading_ = true;
    ++corked_;
    const auto from = connection_;
    const auto of = generation_;
    if (std::exchange(replies_of_, of) != of)
        replies_.forget();
    lock.unlock();

    std::array<char, 16 * 1024> bytes;
    const char* problem = nullptr;
    bool cut = false;
    for (int i = 0; i < reads_at_a_time && problem == nullptr; ++i) {
        std::size_t got = 0;
        const auto how = from->read(bytes, got);
        if (how == io::would_block)
            break;
        if (how == io::closed) {
            cut = true;
            break;
        }
        if (!replies_.feed({bytes.data(), got})) {
            problem = "it does not speak the language of Redis";
            break;
        }
        reply one;
        auto found = replies_.next(one);
        for (; found == reply_reader::found::reply; found = replies_.next(one))
            if (!take(one, of))
                break;
        if (found == reply_reader::found::nonsense)
            problem = "it does not speak the language of Redis";
        if (got < bytes.size() && !settings_.tls)
            break;
    }

    lock.lock();
    reading_ = false;
    --corked_;
    if ((cut || problem != nullptr) && of == generation_)
        return break_off(lock, cut ? was_cut() : failed(problem));
    flush(lock);
}

// Hands one reply to whom it belongs. False if it belongs to nobody.
bool line::take(const reply& one, std::uint64_t of) {
    guard lock{guard_};
    if (of != generation_)
        return false;
    last_heard_ = boot_clock::now();
    if (greetings_left_ > 0) {
        const auto i = greeting_++;
        --greetings_left_;
        lock.unlock();
        const auto wrong = settings_.greeted(i, one);
        lock.lock();
        if (of != generation_)
            return false;
        if (wrong) {
            break_off(lock, *wrong);
            return false;
        }
        if (greetings_left_ == 0)
            become_open(lock);
        return true;
    }
    if (settings_.heard) {
        lock.unlock();
        settings_.heard(one);
        return true;
    }
    if (unanswered_.empty()) {
        break_off(lock, failed("it answered what nobody had asked"));
        return false;
    }
    if (unanswered_.front().before > 0) {
        --unanswered_.front().before;
        return true;
    }
    const auto done = std::move(unanswered_.front().done);
    answered_up_to(unanswered_.front().ends_at, last_heard_);
    unanswered_.pop_front();
    oldest_sent_ = last_heard_;
    lock.unlock();
    if (done)
        done(one, nullptr);
    return true;
}

// --------------------------------------------------------------------------------------- ending

void line::break_off(guard& lock, failure why) {
    ++generation_;
    if (connection_) {
        reactor_->unwatch(id_, connection_->descriptor());
        ::shutdown(connection_->descriptor(), SHUT_RDWR);
    }
    connection_.reset();
    auto unanswered = std::exchange(unanswered_, {});
    auto waiting = std::exchange(parked_, {});
    under_way_.clear();
    // Whoever is writing now may have handed over all that he has, and not yet said so.
    const auto written = written_ + (writing_ ? sending_.size() - sending_done_ : 0);
    out_.clear();
    if (!writing_) {
        sending_.clear();
        sending_done_ = 0;
    }
    written_ = promised_ = 0;
    greetings_left_ = 0;
    waits_to_write_ = false;
    give_up_connecting_ = never;
    const auto now = boot_clock::now();
    // A server that lets us in and hangs up, because it has too many clients, is not well either.
    if (state_ == state::open && now >= opened_ + longest_back_off)
        back_off_ = duration::zero();
    why.applied = applied::no;
    last_problem_ = why;
    if (state_ != state::open)
        not_open_because_ = why;
    if (state_ != state::closed)
        state_ = state::resting;
    const auto pause = back_off_ / 2 +
                       duration{static_cast<duration::rep>(
                           chance_.next() % static_cast<std::uint64_t>(back_off_.count() / 2 + 1))};
    retry_at_ = now + pause;
    back_off_ = std::clamp(back_off_ * 2, first_back_off, longest_back_off);
    if (settings_.stays_open)
        reactor_->wake_at(retry_at_);
    lock.unlock();

    for (const auto& one : waiting)
        if (one.what.done)
            one.what.done({}, &why);
    for (const auto& one : unanswered) {
        auto its = why;
        its.applied = one.ends_at <= written ? applied::maybe : applied::no;
        if (one.done)
            one.done({}, &its);
    }
    if (settings_.broken)
        settings_.broken(why);
    // What they have with them may be the last to keep our owner, who then closes us.
    waiting.clear();
    unanswered.clear();
    lock.lock();
}

void line::move_to(const endpoint& to) {
    guard lock{guard_};
    if (settings_.where == to)
        return;
    // First: whoever is told that the old one is gone may ask again before break_off() returns.
    const auto why = failed("the primary is another server now");
    settings_.where = to;
    back_off_ = {};
    if (state_ != state::resting && state_ != state::closed)
        break_off(lock, why);
    else
        retry_at_ = {};
    not_open_because_.reset();
}

void line::close() {
    std::deque<parked> waiting; // what they have with them ends after the lock is given back
    std::deque<request> unanswered;
    guard lock{guard_};
    if (connection_) {
        reactor_->unwatch(id_, connection_->descriptor());
        ::shutdown(connection_->descriptor(), SHUT_RDWR);
    }
    ++generation_;
    connection_.reset();
    state_ = state::closed;
    give_up_connecting_ = never;
    waiting.swap(parked_);
    unanswered.swap(unanswered_);
    out_.clear();
    lock.unlock();
}

// ----------------------------------------------------------------------------------------- time

instant line::next_due(instant now) const {
    if (state_ == state::closed)
        return never;
    if (state_ == state::resting)
        return settings_.stays_open ? std::max(retry_at_, now) : never;
    auto due = give_up_connecting_;
    if (state_ == state::connecting)
        due = std::min({due, turn_ends_, tls_suspected_});
    for (const auto& one : parked_)
        due = std::min(due, one.what.answer_by);
    for (const auto& one : unanswered_)
        if (one.done)
            due = std::min(due, one.answer_by);
    if (!unanswered_.empty())
        due = std::min(due, oldest_sent_ + settings_.silence);
    if (settings_.heard && state_ == state::open)
        due = std::min(due, pinged_ + listeners_pulse);
    return due;
}

instant line::on_time(instant now) {
    guard lock{guard_};
    if (state_ == state::resting && settings_.stays_open && now >= retry_at_)
        start_connecting(lock);
    if (state_ == state::resolving && std::exchange(resolved_, false))
        connect_to_next(lock, std::move(resolving_problem_));
    if (state_ == state::connecting && now >= turn_ends_)
        try_another_address(lock);
    if (state_ == state::connecting && now >= tls_suspected_)
        suspect_no_tls();
    if (state_ == state::connecting && found_in_the_clear_)
        break_off(lock, failed(std::string{speaks_no_tls}));
    if (state_ != state::resting && now >= give_up_connecting_)
        break_off(lock, failed(silent("no answer")));
    if (!unanswered_.empty() && now >= oldest_sent_ + settings_.silence)
        break_off(lock, failed("it has fallen silent"));
    if (settings_.heard && state_ == state::open && now >= pinged_ + listeners_pulse) {
        if (last_heard_ < pinged_) {
            break_off(lock, failed("it has fallen silent"));
        } else {
            pinged_ = now;
            std::string ping;
            append_command(ping, {"PING"});
            put(ping, {});
            flush(lock);
        }
    }
    // Whose time is over is told so. The replies that are still due will belong to nobody.
    std::vector<std::pair<on_answer, failure>> late;
    const auto why = failed(silent("no answer in time"));
    for (auto it = parked_.begin(); it != parked_.end();) {
        if (it->what.answer_by > now) {
            ++it;
            continue;
        }
        late.emplace_back(std::move(it->what.done), not_open_because_.value_or(why));
        it = parked_.erase(it);
    }
    for (auto& one : unanswered_)
        if (one.done && one.answer_by <= now) {
            late.emplace_back(std::exchange(one.done, nullptr), why);
            late.back().second.applied = applied::maybe;
        }
    lock.unlock();
    for (const auto& [done, its] : late)
        if (done)
            done({}, &its);
    late.clear(); // as in break_off()
    lock.lock();
    return next_due(now);
}

} // namespace holdfast::redis
