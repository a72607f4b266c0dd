// The primary is whom the sentinels say. They are asked when we begin and when something is wrong,
// and they tell by themselves when they have chosen another one: the old primary may go on
// answering for ten seconds, not knowing that it is none any more.

#include "backends/redis/errors.hpp"
#include "backends/redis/waiting_room.hpp"

#include <functional>
#include <optional>

namespace holdfast::redis {
namespace {

constexpr duration asked_at_most_every = std::chrono::milliseconds{100};
constexpr duration sentinels_patience = std::chrono::milliseconds{500};

class sentinel_directory final : public directory {
public:
    explicit sentinel_directory(std::shared_ptr<const acquaintance> with)
        : with_{std::move(with)}, ticker_{with_->background,
                                          [this](instant now) { return on_time(now); }} {
        for (const auto& one : with_->how.servers) {
            const endpoint where{one.host, one.port};
            ask_.push_back(line::make(with_->background, settings(where)));
            auto hears = settings(where);
            hears.stays_open = true;
            hears.heard = [this](const reply& what) { heard(what); };
            const auto at = hear_.size();
            hears.opened = [this, at] {
                std::string bytes;
                append_command(bytes, {"SUBSCRIBE", "+switch-master"});
                hear_[at]->say(bytes);
            };
            hear_.push_back(line::make(with_->background, std::move(hears)));
        }
    }

    ~sentinel_directory() override { sentinel_directory::close(); }

    void ask(server::way w,
             std::string_view key,
             std::string_view bytes,
             instant answer_by,
             on_answer done) override {
        const auto now = primary();
        if (!now) {
            room_.enter({w, std::string{key}, std::string{bytes}, answer_by, std::move(done)});
            with_->background->wake_at(answer_by);
            return find();
        }
        now->ask(w,
                 std::hash<std::string_view>{}(key),
                 bytes,
                 answer_by,
                 [this, done = std::move(done)](const reply& r, const failure* f) {
                     if (f == nullptr && r.is_error() && first_word(r.text()) == "READONLY")
                         find();
                     done(r, f);
                 });
    }

    std::shared_ptr<server> server_of(std::string_view) override { return primary(); }
    std::vector<std::shared_ptr<server>> primaries() override {
        auto now = primary();
        return now ? std::vector{std::move(now)} : std::vector<std::shared_ptr<server>>{};
    }
    void troubled(const endpoint&, const failure&) override { find(); }

    void close() override {
        for (const auto& one : ask_)
            one->close();
        for (const auto& one : hear_)
            one->close();
        if (const auto now = primary())
            now->close();
    }

private:
    [[nodiscard]] line_settings settings(const endpoint& where) const {
        line_settings s;
        s.where = where;
        s.tls = with_->tls;
        s.connect_timeout = with_->how.connect_timeout;
        s.silence = with_->how.silence;
        s.greet = [password = with_->how.sentinel_password](std::string& out) -> std::size_t {
            if (password.empty())
                return 0;
            append_command(out, {"AUTH", password});
            return 1;
        };
        s.greeted = [](std::size_t, const reply& r) -> std::optional<failure> {
            if (r.is_error())
                return failure{
                    errc::backend_refused, applied::no, "the sentinel refused the password"};
            return std::nullopt;
        };
        return s;
    }

    [[nodiscard]] std::shared_ptr<server> primary() const {
        const std::lock_guard lock{guard_};
        return primary_;
    }

    // All of them at once; the first that knows decides.
    void find() {
        std::uint64_t round = 0;
        const auto now = boot_clock::now();
        {
            const std::lock_guard lock{guard_};
            if (unanswered_ > 0 || now < not_before_) {
                again_ = true;
                with_->background->wake_at(std::max(not_before_, now + asked_at_most_every));
                return;
            }
            again_ = false;
            not_before_ = now + asked_at_most_every;
            unanswered_ = ask_.size();
            round = ++round_;
        }
        for (const auto& one : hear_)
            one->open_now();
        std::string bytes;
        append_command(bytes, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", with_->how.primary_name});
        for (const auto& one : ask_)
            one->ask(bytes,
                     now + sentinels_patience,
                     [this, round](const reply& r, const failure* f) { answered(round, r, f); });
    }

    void answered(std::uint64_t round, const reply& r, const failure* f) {
        std::optional<endpoint> found;
        if (f == nullptr && r.size() == 2) {
            const auto port = r[1].number();
            if (port && *port > 0 && *port < 65536 && !r[0].text().empty())
                found = endpoint{std::string{r[0].text()}, static_cast<int>(*port)};
        }
        bool first = false, nobody = false;
        {
            const std::lock_guard lock{guard_};
            if (round != round_)
                return;
            --unanswered_;
            if (f != nullptr)
                last_problem_ = *f;
            else if (!found)
                last_problem_ = r.is_error() ? failure_of(r.text())
                                             : failure{errc::backend_refused,
                                                       applied::no,
                                                       "the sentinels know no primary named '" +
                                                           with_->how.primary_name + "'"};
            first = found && decided_ != round;
            if (first)
                decided_ = round;
            nobody = unanswered_ == 0 && decided_ != round;
        }
        if (first)
            it_is(*found);
        else if (nobody)
            no_one_knows();
    }

    void it_is(const endpoint& where) {
        std::shared_ptr<server> known, made;
        {
            const std::lock_guard lock{guard_};
            if (!primary_)
                primary_ = made = server::make(with_, where);
            else
                known = primary_;
        }
        if (known && known->where() != where) {
            with_->notice("the primary is now " + where.text());
            known->move_to(where);
            with_->moved();
        }
        for (auto& one : room_.empty_out())
            ask(one.way, one.key, one.bytes, one.answer_by, std::move(one.done));
    }

    void no_one_knows() {
        failure why;
        {
            const std::lock_guard lock{guard_};
            why = last_problem_;
            again_ = again_ || primary_ != nullptr;
        }
        room_.turn_out(never, why);
        with_->background->wake_at(boot_clock::now() + asked_at_most_every);
    }

    // "name old-address old-port new-address new-port"
    void heard(const reply& what) {
        if (what[0].text() != "message")
            return;
        std::vector<std::string> words;
        auto rest = what[2].text();
        while (!rest.empty()) {
            const auto end = std::min(rest.find(' '), rest.size());
            words.emplace_back(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        if (words.size() != 5 || words[0] != with_->how.primary_name)
            return;
        const int port = std::atoi(words[4].c_str());
        if (port > 0 && port < 65536)
            it_is({words[3], port});
    }

    instant on_time(instant now) {
        bool ask_again = false;
        failure why;
        {
            const std::lock_guard lock{guard_};
            ask_again = again_ && unanswered_ == 0 && now >= not_before_;
            why = last_problem_.code
                      ? last_problem_
                      : failure{errc::backend_unavailable, applied::no, "no sentinel has answered"};
        }
        room_.turn_out(now, why);
        if (ask_again)
            find();
        return room_.next();
    }

    const std::shared_ptr<const acquaintance> with_;
    const ticker ticker_;
    std::vector<std::shared_ptr<line>> ask_, hear_;
    waiting_room room_;
    mutable std::mutex guard_;
    std::shared_ptr<server> primary_;
    std::uint64_t round_ = 0, decided_ = 0;
    std::size_t unanswered_ = 0;
    bool again_ = false;
    instant not_before_{};
    failure last_problem_;
};

} // namespace

std::unique_ptr<directory> make_sentinel_directory(std::shared_ptr<const acquaintance> with) {
    return std::make_unique<sentinel_directory>(std::move(with));
}

} // namespace holdfast::redis
