// Our own locks in a process of their own, driven as redisson/Peer.java and curator/Peer.java are:
// the same commands, so that a test can say the same to both and compare, and can kill either.
//
//   client C single|sentinel|cluster address=h:p[,h:p…] [master=N] [watchdog_ms=N] [layout=plain]
//            [semaphore=plain] [announce=publish|spublish|both] [counter=h:p]
//                               watchdog_ms: the ttl that is renewed. counter: where keys to count
//                               are, if not at the address
//   client C zookeeper address=h:p[,h:p…][/chroot] [session_ms=N] [mutexes=semaphore]
//   lock C H KIND NAME [lease_ms] · trylock C H KIND NAME wait_ms lease_ms · unlock C H KIND NAME
//   held C H KIND NAME         "yes" while the newest lease of this hand is held
//   count C H KIND NAME KEY n  n times: lock, read KEY, pause up to 1 ms, write it plus 1, unlock.
//                              On ZooKeeper KEY is a file
//   guard C H KIND NAME KEY n  the same, and fails if somebody else has written meanwhile; a reader
//                              only looks
//   revoked C H NAME wait_ms   whether the holder of this client has heard that somebody wants it
//   revoke C H NAME            asks the holder, and tells how many were asked
//   permit C H set|acquire|tryacquire|release NAME …
//   semaphore C H set|acquire|tryacquire|release NAME 1 …      with semaphore=plain
//
// KIND: plain, fair, read, write, spin, fenced, permit, semaphore, multi. A fenced lock answers its
// fence. Curator's mutex and semaphore_mutex are plain ones; lockable_read and lockable_write
// belong to the hand, which may thus read while it writes.

#include "cli/program.hpp"
#include "promise.hpp"
#include "servers/redis_link.hpp"

#include <holdfast/client.hpp>
#include <holdfast/multi_lock.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include <condition_variable>
#include <deque>
#include <fcntl.h>
#include <iostream>
#include <map>
#include <mutex>
#include <poll.h>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <variant>

namespace holdfast::interop {
namespace {

using words = std::vector<std::string>;
using held_lease = std::variant<lease, multi_lease>;

duration milliseconds(const std::string& text) {
    return std::chrono::milliseconds{std::stoll(text)};
}

words split(const std::string& text, char at) {
    words parts;
    std::istringstream in{text};
    for (std::string one; std::getline(in, one, at);)
        parts.push_back(one);
    return parts;
}

/// A number that those who count read and write: a key in Redis, or a file.
class counter {
public:
    counter(std::uint16_t redis_port, std::string key) : key_{std::move(key)} {
        if (redis_port != 0)
            redis_.emplace(servers::redis_link::over_tcp(redis_port));
        else
            file_ = cli_tests::descriptor{::open(key_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    }

    [[nodiscard]] long long read() {
        if (redis_) {
            const auto found = redis_->ask({"GET", key_});
            return found.is_nil() ? 0 : std::stoll(found.text);
        }
        char digits[width + 1] = {};
        return ::pread(file_.number(), digits, width, 0) <= 0 ? 0 : std::stoll(digits);
    }

    void write(long long number) {
        const auto text = std::to_string(number);
        if (redis_) {
            redis_->ask({"SET", key_, text});
            return;
        }
        // As many bytes as ever, at once: who is killed leaves the old number or the new one.
        const auto digits = std::string(width - text.size(), '0') + text;
        if (::pwrite(file_.number(), digits.data(), digits.size(), 0) != width)
            throw std::runtime_error{"the counter cannot be written"};
    }

private:
    static constexpr std::size_t width = 20;
    std::string key_;
    std::optional<servers::redis_link> redis_;
    cli_tests::descriptor file_;
};

/// Which names somebody else would like to have, as the holders have heard.
class wishes {
public:
    void hear(const std::string& name) {
        const std::lock_guard lock{guard_};
        heard_.insert(name);
        changed_.notify_all();
    }
    [[nodiscard]] bool take(const std::string& name, duration wait) {
        std::unique_lock lock{guard_};
        changed_.wait_for(lock, wait, [&] { return heard_.contains(name); });
        return heard_.erase(name) != 0;
    }

private:
    std::mutex guard_;
    std::condition_variable changed_;
    std::set<std::string> heard_;
};

struct party_of_test {
    client ours;
    duration ttl;
    std::uint16_t counter_port; ///< 0: counters are files
    std::shared_ptr<wishes> wanted = std::make_shared<wishes>();
};

using settings = std::map<std::string, std::string>;

party_of_test open_on_zookeeper(settings set) {
    const auto session = set.contains("session_ms") ? set["session_ms"] : "30000";
    auto url = "zookeeper://" + set["address"] + "?session=" + session + "ms";
    if (set.contains("mutexes"))
        url += "&mutex=" + set["mutexes"];
    return {open(url), milliseconds(session), 0};
}

party_of_test open_as(const words& said) { // C topology setting=value…
    settings set;
    for (std::size_t i = 2; i < said.size(); ++i)
        set.emplace(said[i].substr(0, said[i].find('=')), said[i].substr(said[i].find('=') + 1));
    if (said[1] == "zookeeper")
        return open_on_zookeeper(set);
    const auto scheme = said[1] == "single" ? std::string{"redis"} : "redis+" + said[1];
    auto url = scheme + "://" + set["address"];
    if (set.contains("master"))
        url += "/" + set["master"];
    url += "?quarantine=0"; // the servers of tests have just been started, and forgot nothing
    for (const auto* option : {"layout", "semaphore", "announce"})
        if (set.contains(option))
            url += std::string{"&"} + option + "=" + set[option];
    const auto counter = set.contains("counter") ? set["counter"] : set["address"];
    return {open(url),
            set.contains("watchdog_ms") ? milliseconds(set["watchdog_ms"])
                                        : std::chrono::seconds{30},
            static_cast<std::uint16_t>(std::stoi(counter.substr(counter.rfind(':') + 1)))};
}

/// A thread, because that is what a hand of Java is. What it holds is its own.
class hand {
public:
    explicit hand(party_of_test& of) : of_{of} {}

    void obey(const std::string& tag, const words& said) {
        {
            const std::lock_guard lock{guard_};
            orders_.emplace_back(tag, said);
        }
        changed_.notify_one();
    }

private:
    [[noreturn]] void work() {
        for (;;) {
            std::unique_lock lock{guard_};
            changed_.wait(lock, [this] { return !orders_.empty(); });
            const auto [tag, said] = std::move(orders_.front());
            orders_.pop_front();
            lock.unlock();
            answer(tag, said);
        }
    }

    void answer(const std::string& tag, const words& said) {
        std::string text;
        try {
            text = "ok " + done(said);
        } catch (const std::exception& e) {
            text = std::string{"error "} + e.what();
        }
        const auto line = tag + " " + text + "\n"; // one write: lines of others come between
        if (::write(STDOUT_FILENO, line.data(), line.size()) < 0)
            ::_exit(1);
    }

    std::string done(const words& said) { // verb C H …
        const auto& verb = said.at(0);
        if (said.size() > 4 && said[3].starts_with("lockable_"))
            return lockable(verb, said[3], said[4]);
        if (verb == "lock")
            return lock(said, forever, said.size() > 5 ? said[5] : "-1");
        if (verb == "trylock")
            return lock(said, milliseconds(said.at(5)), said.at(6));
        if (verb == "unlock")
            return unlock(said);
        if (verb == "held")
            return std::visit([](const auto& one) { return one.held() ? "yes" : "no"; },
                              mine_.at(said.at(3) + " " + said.at(4)).back());
        if (verb == "count" || verb == "guard")
            return count(said);
        if (verb == "revoked")
            return of_.wanted->take(said.at(3), milliseconds(said.at(4))) ? "yes" : "no";
        if (verb == "revoke")
            return std::to_string(of_.ours.ask_release(said.at(3)));
        if (verb == "permit")
            return permit(said);
        if (verb == "semaphore")
            return plain_semaphore(said);
        throw std::invalid_argument{"there is no command " + verb};
    }

    std::optional<held_lease>
    acquired(const words& said, duration wait, const std::string& for_ms) {
        const auto& kind = said.at(3);
        const auto& name = said.at(4);
        acquire_options o;
        o.ttl = for_ms == "-1" ? of_.ttl : milliseconds(for_ms);
        o.renew = for_ms == "-1";
        o.order = kind == "fair" ? queueing::fair : queueing::plain;
        if (kind == "spin")
            o.waiting = waiting::spin();
        std::optional<held_lease> made;
        const auto keep = [&](auto got) {
            if (got)
                made.emplace(std::move(*got));
        };
        if (kind == "read")
            keep(shared_mutex{of_.ours, name}.try_acquire_shared_for(wait, o));
        else if (kind == "write")
            keep(shared_mutex{of_.ours, name}.try_acquire_for(wait, o));
        else if (kind == "permit" || kind == "semaphore")
            keep(semaphore{of_.ours, name, permits_}.try_acquire_for(wait, o));
        else if (kind == "multi") {
            std::vector<multi_lock::member> members;
            for (const auto& one : split(name, ','))
                members.emplace_back(one);
            keep(multi_lock{of_.ours, members}.try_acquire_for(wait, o));
        } else
            keep(mutex{of_.ours, name}.try_acquire_for(wait, o));
        return made;
    }

    std::string lock(const words& said, duration wait, const std::string& for_ms) {
        auto got = acquired(said, wait, for_ms);
        if (!got)
            return "no";
        if (auto* one = std::get_if<lease>(&*got))
            one->on_wanted([heard = of_.wanted, name = said.at(4)] { heard->hear(name); });
        std::string answer = said.at(0) == "trylock" ? "yes" : "";
        if (said.at(3) == "fenced")
            answer +=
                (answer.empty() ? "" : " ") + std::to_string(std::get<lease>(*got).fence().value());
        mine_[said.at(3) + " " + said.at(4)].push_back(std::move(*got));
        return answer;
    }

    std::string unlock(const words& said) {
        auto& all = mine_.at(said.at(3) + " " + said.at(4));
        if (all.empty())
            throw std::logic_error{"this hand holds nothing of that name"};
        auto last = std::move(all.back());
        all.pop_back();
        if (std::visit([](auto& one) { return one.release(); }, last) != release_result::released)
            throw std::runtime_error{"it was not held any more"};
        return "";
    }

    std::string
    lockable(const std::string& verb, const std::string& kind, const std::string& name) {
        auto& one = lockables_.try_emplace(name, of_.ours, name).first->second;
        const bool writes = kind == "lockable_write";
        if (verb == "lock")
            writes ? one.lock() : one.lock_shared();
        else
            writes ? one.unlock() : one.unlock_shared();
        return "";
    }

    std::string count(const words& said) {
        counter at{of_.counter_port, said.at(5)};
        for (auto left = std::stoi(said.at(6)); left > 0; --left) {
            auto got = acquired(said, forever, "-1");
            const auto before = at.read();
            std::this_thread::sleep_for(std::chrono::microseconds{chance_() % 1000});
            if (said.at(0) == "guard" && at.read() != before)
                throw std::runtime_error{std::string{promise_broken} + "somebody else was here"};
            if (said.at(3) == "read") {
                got.reset();
                std::this_thread::sleep_for(std::chrono::milliseconds{3}); // writers get their turn
                continue;
            }
            at.write(before + 1);
        }
        return said.at(6);
    }

    std::string permit(const words& said) { // permit C H verb NAME …
        const auto& verb = said.at(3);
        if (verb == "set") {
            permits_ = static_cast<std::uint32_t>(std::stoul(said.at(5)));
            return "true";
        }
        if (verb == "release")
            return released_permit(said.at(5));
        const words wanted{"", "", "", "permit", said.at(4)};
        auto got = verb == "acquire" ? acquired(wanted, forever, said.size() > 5 ? said[5] : "-1")
                                     : acquired(wanted, milliseconds(said.at(5)), said.at(6));
        if (!got)
            return "null";
        const auto id = "p" + std::to_string(++last_permit_);
        permits_out_.emplace(id, std::move(*got));
        return id;
    }

    std::string plain_semaphore(const words& said) { // semaphore C H verb NAME permits [wait_ms]
        const auto& verb = said.at(3);
        if (verb == "set") {
            permits_ = static_cast<std::uint32_t>(std::stoul(said.at(5)));
            return "true";
        }
        const words one{verb, "", "", "semaphore", said.at(4)};
        if (verb == "release")
            return unlock(one);
        const bool waits = verb == "acquire";
        const auto got = lock(one, waits ? forever : milliseconds(said.at(6)), "-1");
        return waits ? "" : got == "no" ? "false" : "true";
    }

    std::string released_permit(const std::string& id) {
        auto one = permits_out_.extract(id);
        return std::get<lease>(one.mapped()).release() == release_result::released ? "true"
                                                                                   : "false";
    }

    party_of_test& of_;
    std::map<std::string, std::vector<held_lease>> mine_; // by kind and name
    std::map<std::string, held_lease> permits_out_;
    std::map<std::string, shared_mutex> lockables_; // by name
    std::uint32_t permits_ = 1;
    int last_permit_ = 0;
    std::minstd_rand chance_{std::random_device{}()};

    std::mutex guard_;
    std::condition_variable changed_;
    std::deque<std::pair<std::string, words>> orders_;
    std::thread thread_{[this] { work(); }}; // the last: it uses the others
};

int serve() {
    std::map<std::string, party_of_test> clients;
    std::map<std::string, hand*> hands;
    for (std::string line; std::getline(std::cin, line);) {
        auto said = split(line, ' ');
        const auto tag = said.at(0);
        said.erase(said.begin());
        if (said.at(0) == "client") {
            said.erase(said.begin());
            clients.insert_or_assign(said.at(0), open_as(said));
            std::cout << tag << " ok" << std::endl;
            continue;
        }
        auto& whose = hands[said.at(1) + "/" + said.at(2)];
        if (whose == nullptr)
            whose = new hand{clients.at(said.at(1))}; // lives as long as the process
        whose->obey(tag, said);
    }
    ::_exit(0); // the test has gone; nobody waits for a clean end
}

} // namespace
} // namespace holdfast::interop

int main() { return holdfast::interop::serve(); }
