#pragma once

// What a client has seen, in the form that Prometheus reads. Link holdfast::prometheus.

#include <holdfast/metrics.hpp>

#include <map>
#include <memory>
#include <string>

namespace prometheus {
class Collectable;
}

namespace holdfast {

/// For prometheus::Exposer::RegisterCollectable(), which keeps it only weakly: keep it yourself.
/// The labels stand on every series: {{"service", "billing"}}.
[[nodiscard]] std::shared_ptr<prometheus::Collectable>
prometheus_collector(std::shared_ptr<const metrics>,
                     std::map<std::string, std::string> labels = {});

/// The same as text, for a server of your own or a node exporter's text file.
[[nodiscard]] std::string prometheus_text(std::shared_ptr<const metrics>,
                                          std::map<std::string, std::string> labels = {});

} // namespace holdfast
