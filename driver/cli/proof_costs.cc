#include "driver/cli/proof_costs.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>

#include "support/error.h"

namespace polyte::cli {
namespace {

using Clock = std::chrono::steady_clock;
using schedule::ProofLevel;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Replays, and returns how long it took. `directives` receives the time of each.
// ProofLevel::Directive proves each line, Final the whole at the end, Off nothing.
double replay_once(const std::shared_ptr<const ir::Program>& program,
                   const schedule::Script& script, const Machine& machine, ProofLevel level,
                   std::vector<DirectiveCost>* directives) {
  schedule::ReplayOptions options{level, {}};
  if (directives != nullptr)
    options.on_applied = [&](const schedule::Directive& directive, const schedule::State&,
                             double milliseconds) {
      directives->push_back({schedule::print(directive), milliseconds});
    };
  const auto begin = Clock::now();
  const auto state = schedule::replay(program, script, machine, options);
  POLYTE_CHECK(static_cast<bool>(state),
               "'" + script.name + "' is refused: " + (state ? "" : state.error().headline));
  return milliseconds_since(begin);
}

// The best of several replays, line by line: what disturbs a measurement only adds to it.
void keep_best(std::vector<DirectiveCost>& best, const std::vector<DirectiveCost>& again) {
  for (std::size_t i = 0; i < std::min(best.size(), again.size()); ++i)
    best[i].milliseconds = std::min(best[i].milliseconds, again[i].milliseconds);
}

double largest(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::ranges::max_element(values);
}

std::vector<double> directive_times(const ProofCost& cost) {
  std::vector<double> times;
  for (const DirectiveCost& directive : cost.directives) times.push_back(directive.milliseconds);
  return times;
}

nlohmann::ordered_json cost_json(const ProofCost& cost) {
  nlohmann::ordered_json json{{"program", cost.program},
                              {"scheduler", cost.scheduler},
                              {"final_ms", cost.final_milliseconds}};
  const bool is_declined = !cost.declined.empty();
  json["scheduler_asked"] = cost.scheduler;
  json["scheduler_used"] = is_declined ? "naive" : cost.scheduler;
  json["declined"] = nullptr;
  if (is_declined)
    json["declined"] = {{"reason", cost.declined},
                        {"where", cost.scheduler + ", program '" + cost.program + "'"}};
  json["identical_to"] = nullptr;
  for (const DirectiveCost& directive : cost.directives)
    json["directives"].push_back({{"text", directive.text}, {"ms", directive.milliseconds}});
  return json;
}

// 0 of none
double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

ProofCost proof_cost(const std::shared_ptr<const ir::Program>& program, driver::Scheduler scheduler,
                     const Machine& machine, int rounds) {
  ProofCost cost{program->name, driver::to_string(scheduler), {}, 0, {}};
  const Result<schedule::Script> script = driver::write_script(*program, scheduler, machine);
  if (!script) {
    cost.declined = script.error().reason;
    return cost;
  }
  for (int round = 0; round < rounds; ++round) {
    std::vector<DirectiveCost> directives;
    replay_once(program, *script, machine, ProofLevel::Directive, &directives);
    if (round == 0) cost.directives = directives;
    keep_best(cost.directives, directives);
    // The final proof alone: a replay with it, less one without. Of several rounds the least
    // counts, for other processes only add time.
    const double whole = replay_once(program, *script, machine, ProofLevel::Final, nullptr) -
                         replay_once(program, *script, machine, ProofLevel::Off, nullptr);
    cost.final_milliseconds = round == 0 ? whole : std::min(cost.final_milliseconds, whole);
  }
  return cost;
}

void print_proof_costs(const std::vector<ProofCost>& costs, bool json) {
  std::vector<double> all, finals;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  if (!json)
    std::printf("%-32s %-10s %10s %10s %10s %10s\n", "", "", "directives", "median ms", "worst ms",
                "final ms");
  for (const ProofCost& cost : costs) {
    const std::vector<double> times = directive_times(cost);
    all.insert(all.end(), times.begin(), times.end());
    // Where there is no script nothing was proved, which is no proof of 0 ms.
    if (cost.declined.empty()) finals.push_back(cost.final_milliseconds);
    rows.push_back(cost_json(cost));
    if (!json)
      std::printf("%-32s %-10s %10zu %10.2f %10.2f %10.2f\n", cost.program.c_str(),
                  cost.scheduler.c_str(), times.size(), median(times), largest(times),
                  cost.final_milliseconds);
    if (!json && !cost.declined.empty())
      std::printf("  declined: reference order, nothing to prove\n");
  }
  const nlohmann::ordered_json summary{{"directive_median_ms", median(all)},
                                       {"directive_worst_ms", largest(all)},
                                       {"final_median_ms", median(finals)},
                                       {"final_worst_ms", largest(finals)}};
  if (json) {
    std::cout << nlohmann::ordered_json{{"summary", summary}, {"proofs", rows}}.dump(2) << "\n";
  } else {
    std::printf("%-32s %-10s %10zu %10.2f %10.2f %10.2f (worst %.2f)\n", "all", "", all.size(),
                median(all), largest(all), median(finals), largest(finals));
  }
}

}  // namespace polyte::cli
