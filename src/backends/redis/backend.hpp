#pragma once

// Locks on Redis, in the layout of Redisson.
//
//   attempt ─▶ one script ─▶ {1, fence} granted: a bond of its own, ttl from when we asked
//                       └──▶ {0, ms}    contended: listen, and ask once more when we can hear
//   release, withdraw ─▶ one script that compares the holder; it announces what it freed
//   renew ─▶ many in one flight, on a line of their own
//
// Invariant: a request that was taken back cannot take effect later. Its script refuses to act
// after the time by which it had to be answered, and a withdrawal is certain only after that.

#include "backends/redis/directory.hpp"
#include "backends/redis/errors.hpp"
#include "backends/redis/manners.hpp"
#include "backends/redis/notebook.hpp"
#include "backends/redis/protocol.hpp"

#include <holdfast/backend.hpp>
#include <holdfast/redis.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace holdfast::redis {

class redis_backend final : public backend {
public:
    explicit redis_backend(options);
    ~redis_backend() override;

    const capabilities& able() const noexcept override { return able_; }
    void start(backend_events&) override;
    void attempt(const call&, const std::shared_ptr<const claim>&, joining) override;
    void withdraw(const call&, const std::shared_ptr<const claim>&) override;
    void release(const call&, const std::shared_ptr<const claim>&, const grant&) override;
    void renew(const call&, std::span<const bond_id>) override;
    void forget(bond_id) override;
    void inspect(const call&, const std::string& pattern) override;
    void examine(const call&) override;
    void raise_fence(const call&, const std::shared_ptr<const claim>&, fence least) override;
    void force_release(const call&, const std::string& name) override;
    void close(instant by) override;

    int descriptor() const noexcept override { return hot_->descriptor(); }
    void on_readable() override { hot_->dispatch(); }
    bool wait_readable(int nudge, const std::function<void()>& woken) override {
        hot_->wait(nudge, woken);
        return true;
    }
    void watched(bool yes) override { hot_->watched(yes); }
    int background_descriptor() const noexcept override { return background_->descriptor(); }
    void on_background() override { background_->dispatch(); }

private:
    using held = std::shared_ptr<const claim>;
    enum class again : std::uint8_t { no, yes };

    /// Calls a script wherever the name lives; in full if the server does not know it yet. `Whose`
    /// is a claim or a name, and goes to `encode` too.
    template <class Whose, class Encode, class Done>
    void run(server::way, Whose, instant answer_by, Encode, Done, calling = calling::by_digest);

    void ask_for(const call&, const held&, joining, again);
    void answered(const call&, const held&, joining, const reply&, const failure*, again);
    void granted(const call&, const held&, const protocol::verdict&);
    void believe(const call&, const held&, const protocol::verdict&);
    [[nodiscard]] failure unacknowledged() const;
    void refused(const call&, const held&, joining, protocol::verdict&);
    template <class Done> void give_back(const held&, instant answer_by, Done);
    void tell(const call&, const held&, attempt_answer);
    void give_back_and_fail(const call&, const held&, const failure&);
    void stop_listening(const claim&);
    void listen_where_names_live_now();
    void heard_by(const claim&, const std::string& channel, std::int64_t listeners);
    [[nodiscard]] instant from_time_to_time(instant now);
    void introduce(const claim&);
    void write_note(const std::string& text);
    [[nodiscard]] std::pair<bool, bool> holds_or_waits();
    [[nodiscard]] std::set<std::shared_ptr<server>> servers_in_use();
    void look_around_soon(instant now);
    void doubt(const nonce&, instant until);
    [[nodiscard]] bool in_doubt(const nonce&, instant now);

    void look_after_force(const std::string& key);

    void when_servers_are_known(const call&, std::function<void(const failure*)>);
    void examine_all(const call&);

    struct flight;
    struct inspection;
    struct examination;
    void renew_some(const std::shared_ptr<flight>&, std::vector<std::pair<bond_id, held>>);

    const options how_;
    const capabilities able_;
    const std::shared_ptr<reactor> hot_ = std::make_shared<reactor>();
    const std::shared_ptr<reactor> background_ = std::make_shared<reactor>();
    const protocol protocol_;
    backend_events* events_ = nullptr;
    std::unique_ptr<directory> directory_;
    notebook notebook_;
    manners manners_;
    std::shared_ptr<std::atomic<duration::rep>> longest_ttl_;
    std::atomic<instant> looks_at_{never}; // when all servers are looked at again

    struct nonce_hash {
        std::size_t operator()(const nonce& n) const noexcept {
            return n.bytes[0] | std::size_t{n.bytes[1]} << 8 | std::size_t{n.bytes[2]} << 16 |
                   std::size_t{n.bytes[3]} << 24;
        }
    };
    std::mutex guard_;
    std::uint64_t last_bond_ = 0;
    boost::unordered_flat_map<bond_id, held, std::hash<bond_id>> bonds_;
    boost::unordered_flat_map<nonce, held, nonce_hash> asking_; // attempts that are not answered
    std::unordered_map<nonce, instant, nonce_hash> doubts_; // until when an attempt may take effect
    struct place_to_listen {
        std::string channel, key;
    };
    std::unordered_map<nonce, place_to_listen, nonce_hash> listening_;

    std::optional<ticker> ticker_; // goes first: it uses all of the above
};

[[nodiscard]] inline const std::string& name_in(const std::shared_ptr<const claim>& what) {
    return what->name;
}
[[nodiscard]] inline const std::string& name_in(const std::string& name) { return name; }

template <class Whose, class Encode, class Done>
void redis_backend::run(
    server::way w, Whose whose, instant answer_by, Encode encode, Done done, calling how) {
    thread_local std::string room; // kept from one request to the next
    auto bytes = std::exchange(room, {});
    bytes.clear();
    encode(bytes, whose, how);
    const auto key = protocol_.key(name_in(whose)); // a view of it, so it stays
    directory_->ask(
        w,
        key,
        bytes,
        answer_by,
        [=, this, encode = std::move(encode)](const reply& r, const failure* f) mutable {
            if (f == nullptr && how == calling::by_digest && r.is_error() &&
                first_word(r.text()) == "NOSCRIPT")
                return run(w,
                           std::move(whose),
                           answer_by,
                           std::move(encode),
                           std::move(done),
                           calling::in_full);
            done(r, f);
        });
    room = std::move(bytes);
}

} // namespace holdfast::redis
