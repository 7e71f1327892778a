#include "driver/cli/refusal_report.h"

namespace polyte::cli {

std::string verdict_of(const schedule::Refusal& refusal) {
  switch (refusal.kind) {
    case schedule::RefusalKind::Malformed:
      return "malformed";
    case schedule::RefusalKind::Stale:
      return "stale";
    case schedule::RefusalKind::Illegal:
      return "illegal";
    case schedule::RefusalKind::Unknown:
    case schedule::RefusalKind::Conservative:
      break;
  }
  return "unknown";
}

nlohmann::json to_json(const schedule::Refusal& refusal) {
  nlohmann::json json{{"headline", refusal.headline}, {"directive", refusal.directive}, {"line", refusal.line}};
  json["advice"] = refusal.advice;
  json["counterexamples"] = nlohmann::json::array();
  for (const schedule::Counterexample& c : refusal.counterexamples) {
    json["counterexamples"].push_back({{"dependence", c.dependence},
                                       {"reference", c.reference},
                                       {"scheduled", c.scheduled},
                                       {"watch", c.watch},
                                       {"sizes", c.sizes}});
  }
  return json;
}

}  // namespace polyte::cli
