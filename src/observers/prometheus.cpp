#include <holdfast/prometheus.hpp>

#include <limits>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

[[nodiscard]] double seconds(duration d) { return std::chrono::duration<double>{d}.count(); }

class collector final : public prometheus::Collectable {
public:
    collector(std::shared_ptr<const metrics> of, std::map<std::string, std::string> labels)
        : seen_{std::move(of)} {
        for (auto& [name, value] : labels)
            labels_.push_back({name, value});
    }

    std::vector<prometheus::MetricFamily> Collect() const override {
        return {events(),
                times("holdfast_wait_seconds", "From asking for a lock to having it.", seen_->wait),
                times("holdfast_hold_seconds", "From having a lock to its end.", seen_->hold),
                times("holdfast_hand_off_seconds",
                      "From the engine's decision to our hearing of it.",
                      seen_->hand_off),
                times("holdfast_renewal_slack_seconds",
                      "How much time was left when a renewal was confirmed.",
                      seen_->renewal_slack)};
    }

private:
    [[nodiscard]] prometheus::MetricFamily events() const {
        prometheus::MetricFamily all{"holdfast_events_total",
                                     "What happened to locks.",
                                     prometheus::MetricType::Counter,
                                     {}};
        for (std::size_t i = 0; i < event::kinds; ++i) {
            const auto what = static_cast<event::kind>(i);
            prometheus::ClientMetric one;
            one.label = labels_;
            one.label.push_back({"event", std::string{name_of(what)}});
            one.counter.value = static_cast<double>(seen_->count(what));
            all.metric.push_back(std::move(one));
        }
        return all;
    }

    // Every fourth of our buckets is a power of two: enough for a dashboard.
    [[nodiscard]] prometheus::MetricFamily
    times(const char* name, const char* help, const histogram& of) const {
        prometheus::ClientMetric one;
        one.label = labels_;
        std::uint64_t below = 0;
        for (std::size_t i = 0; i < histogram::buckets; ++i) {
            below += of.in_bucket(i);
            if (i % 4 == 3)
                one.histogram.bucket.push_back({below, seconds(histogram::upper_bound_of(i))});
        }
        one.histogram.bucket.push_back({below, std::numeric_limits<double>::infinity()});
        one.histogram.sample_count = below;
        one.histogram.sample_sum = seconds(of.sum());
        return {name, help, prometheus::MetricType::Histogram, {std::move(one)}};
    }

    const std::shared_ptr<const metrics> seen_;
    std::vector<prometheus::ClientMetric::Label> labels_;
};

} // namespace

std::shared_ptr<prometheus::Collectable>
prometheus_collector(std::shared_ptr<const metrics> of, std::map<std::string, std::string> labels) {
    return std::make_shared<collector>(std::move(of), std::move(labels));
}

std::string prometheus_text(std::shared_ptr<const metrics> of,
                            std::map<std::string, std::string> labels) {
    return prometheus::TextSerializer{}.Serialize(
        collector{std::move(of), std::move(labels)}.Collect());
}

} // namespace holdfast
