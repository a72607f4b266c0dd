// A cluster played by the test, because a real one does not lie.

#include "backends/redis/directory.hpp"
#include "backends/redis/names.hpp"
#include "peer.hpp"

#include <future>

using namespace std::chrono_literals;

namespace holdfast::redis::test {
namespace {

/// One node that has all slots, and answers GET as the test likes.
class node {
public:
    explicit node(std::function<std::string(int times)> answer)
        : answer_{std::move(answer)}, thread_{detail::quiet_thread([this] { serve(); })} {}
    ~node() {
        done_ = true;
        thread_.join();
        for (auto& one : talks_)
            one.join();
    }
    node(const node&) = delete;
    node& operator=(const node&) = delete;
    [[nodiscard]] int port() const noexcept { return peer_.port(); }

private:
    void serve() {
        while (!done_)
            if (peer_.called_within(20ms))
                talks_.push_back(detail::quiet_thread(
                    [this, who = std::make_shared<visitor>(peer_.accept())] { talk(*who); }));
    }
    void talk(visitor& who) {
        while (const auto heard = who.hear()) // until the directory is closed
            who.say(answer_to(heard->front()));
    }
    [[nodiscard]] std::string answer_to(const std::string& verb) {
        if (verb == "CLUSTER")
            return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:" +
                   std::to_string(port()) + "\r\n";
        if (verb == "ROLE")
            return "*1\r\n$6\r\nmaster\r\n";
        return verb == "GET" ? answer_(times_++) : "+OK\r\n";
    }

    peer peer_;
    const std::function<std::string(int)> answer_;
    std::atomic<int> times_ = 0;
    std::atomic<bool> done_ = false;
    std::vector<std::thread> talks_;
    std::thread thread_;
};

class redis_cluster : public testing::Test {
protected:
    void begin(std::function<std::string(int)> answer) {
        node_.emplace(std::move(answer));
        auto with = std::make_shared<acquaintance>();
        with->how.topology = topology::cluster;
        with->how.servers = {{"127.0.0.1", node_->port()}};
        with->how.connect_timeout = with->how.silence = 5s;
        with->hot = with->background = reactor_;
        with->in_cluster = true;
        with->link = [](link_state, const std::string&) {};
        with->notice = [](const std::string&) {};
        with->moved = [] {};
        with->trouble = [this](const endpoint& where, const failure& why) {
            directory_->troubled(where, why);
        };
        with_ = with;
        directory_ = make_cluster_directory(with);
        loop_.emplace(reactor_);
    }
    void TearDown() override {
        loop_.reset();
        directory_->close();
        directory_.reset();
        node_.reset();
    }
    /// What the answer says, or why there is none.
    [[nodiscard]] std::string ask(const std::string& key, duration within = 10s) {
        std::string bytes;
        append_command(bytes, {"GET", key});
        auto told = std::make_shared<std::promise<std::string>>();
        directory_->ask(server::way::hot,
                        key,
                        bytes,
                        boot_clock::now() + within,
                        [told](const reply& r, const failure* f) {
                            told->set_value(f != nullptr ? f->detail : std::string{r.text()});
                        });
        auto answer = told->get_future();
        if (answer.wait_for(patience) != std::future_status::ready)
            throw std::runtime_error{"it was never answered"};
        return answer.get();
    }
    /// Each server keeps its acquaintance, and so do the test and the directory.
    [[nodiscard]] long servers() const { return with_.use_count() - 2; }

    std::shared_ptr<reactor> reactor_ = std::make_shared<reactor>();
    std::optional<node> node_;
    std::shared_ptr<const acquaintance> with_;
    std::unique_ptr<directory> directory_;
    std::optional<driver> loop_;
};

[[nodiscard]] std::string elsewhere(int n) {
    return " 127.9." + std::to_string(n / 200) + "." + std::to_string(n % 200 + 1) + ":1\r\n";
}

TEST_F(redis_cluster, forgets_those_to_whom_it_was_led_astray) {
    const auto slot = std::to_string(slot_of("k"));
    begin([=](int n) { return (n % 2 == 0 ? "-ASK " : "-MOVED ") + slot + elsewhere(n); });
    long most = 0;
    for (int i = 0; i < 300; ++i) {
        EXPECT_NE(ask("k"), "");
        most = std::max(most, servers());
    }
    const auto give_up = boot_clock::now() + patience;
    while (servers() > 1 && boot_clock::now() < give_up) {
        (void)ask("k");
        std::this_thread::sleep_for(5ms);
    }
    EXPECT_LE(servers(), 2) << "of " << most;
}

TEST_F(redis_cluster, is_not_led_to_where_another_slot_is) {
    const auto other = std::to_string(slot_of("k") ^ 1);
    begin([=](int n) { return "-MOVED " + other + elsewhere(n); });
    EXPECT_EQ(ask("k").substr(0, 5), "MOVED");
    EXPECT_EQ(servers(), 1);
}

TEST_F(redis_cluster, asks_again_for_a_slot_that_is_half_here_until_its_time_is_over) {
    begin([](int n) { return n < 3 ? "-TRYAGAIN half of it is here\r\n" : "+whole\r\n"; });
    EXPECT_EQ(ask("k"), "whole");
}

TEST_F(redis_cluster, tells_of_a_slot_that_stays_half_moved) {
    begin([](int) { return "-TRYAGAIN half of it is here\r\n"; });
    const auto begun = boot_clock::now();
    EXPECT_EQ(ask("k", 500ms), "TRYAGAIN half of it is here");
    EXPECT_GE(boot_clock::now() - begun, 200ms) << "it was not asked again";
}

} // namespace
} // namespace holdfast::redis::test
