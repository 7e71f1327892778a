// Results for programs: everything that is known, and the layout of Google Benchmark for tools
// that read that.
#include "driver/lab/report.h"

namespace polyte::lab {
namespace {

using Json = nlohmann::ordered_json;

Json arm_json(const ArmResult& arm) {
  Json json{{"arm", arm.name}, {"status", arm.status}, {"verdict", to_string(arm.outcome)}};
  json["reason"] = arm.reason.empty() ? Json() : Json(arm.reason);
  json["identical_to"] = arm.identical_to.empty() ? Json() : Json(arm.identical_to);
  json["time_ns"] = arm.is_timed() ? to_json(arm.time) : Json();
  json["ratio"] = arm.ratio ? to_json(*arm.ratio) : Json();
  json["chance"] = arm.ratio ? Json(arm.chance) : Json();
  json["samples_ns"] = arm.samples;
  // These keys alone are promised to readers; what else a record holds may change.
  Json facts = Json::object();
  for (const char* key :
       {"nest", "storage", "order", "proof", "script", "loops_digest", "compile_ms", "outputs",
        "interpreter", "compiler", "command", "predicted", "memory", "launches"})
    if (arm.facts.is_object() && arm.facts.contains(key)) facts[key] = arm.facts[key];
  json["facts"] = facts;
  json["counted"] = arm.counted;
  return json;
}

Json row_json(const Results& results, const RowResult& row) {
  const Row& planned = results.plan.rows[row.row];
  Json json{{"row", row.name},
            {"program", results.plan.programs[planned.program].name},
            {"digest", results.plan.programs[planned.program].digest},
            {"sizes", planned.sizes},
            {"dtype", row.dtype},
            {"threads", planned.threads},
            {"fill", planned.fill},
            {"caches", to_string(planned.caches)},
            {"reference", row.reference},
            {"processes", row.processes},
            {"rounds", row.rounds},
            {"stopped", row.why},
            {"flops", row.flops},
            {"bytes", row.bytes},
            {"peak_flops_a_second", row.peak},
            {"bandwidth_bytes_a_second", row.bandwidth},
            {"ceiling_flops_a_second", row.ceiling()}};
  json["at_least_ns"] = row.least_ns > 0 ? Json(row.least_ns) : Json();
  json["at_least_bound"] = row.least_ns > 0 ? Json(row.least_bound) : Json();
  json["noise"] = row.noise ? to_json(*row.noise) : Json();
  json["fastest"] = row.fastest.empty() ? Json() : Json(row.fastest);
  json["not_told"] = row.fastest.empty() ? Json(row.not_told) : Json();
  json["warnings"] = row.warnings;
  json["machine"] = row.machine.empty() ? Json() : Json(row.machine);
  json["arms"] = Json::array();
  for (const ArmResult& arm : row.arms) json["arms"].push_back(arm_json(arm));
  return json;
}

}  // namespace

Json report_json(const Results& results) {
  Json json{{"format", "polyte-lab-results/1"},  {"name", results.plan.name},
            {"baseline", results.plan.baseline}, {"contexts", results.contexts},
            {"warnings", results.warnings},      {"model", to_json(results.agreement)}};
  json["arms"] = json["rows"] = Json::array();
  for (const ArmSummary& arm : results.arms)
    json["arms"].push_back({{"arm", arm.name},
                            {"rows", arm.rows},
                            {"geometric_mean", to_json(arm.mean)},
                            {"faster", arm.faster},
                            {"slower", arm.slower},
                            {"not_distinguishable", arm.not_told},
                            {"same_loops", arm.identical},
                            {"not_timed", arm.not_timed}});
  for (const RowResult& row : results.rows) json["rows"].push_back(row_json(results, row));
  const auto part = [](const Results& of) { return of.rows.empty() ? Json() : report_json(of); };
  for (const TakenApart& each : results.differences)
    json["differences"].push_back({{"title", each.title},
                                   {"path", part(each.path)},
                                   {"lines", part(each.lines)},
                                   {"why_not", each.why_not}});
  return json;
}

// One entry per process, as a repetition of Google Benchmark: `real_time` is that of one execution.
// CPU time is not measured apart; tools that read the layout expect the key.
Json report_benchmark(const Results& results) {
  Json context = Json::object();
  if (!results.contexts.empty()) {
    const Json& first = results.contexts[0];
    context["date"] = first.value("date", "");
    for (const char* key : {"machine", "polyte", "compilers"})
      if (first.contains(key)) context[key] = first[key];
  }
  Json benchmarks = Json::array();
  for (const RowResult& row : results.rows)
    for (const ArmResult& arm : row.arms) {
      const std::string name = row.name + "/" + arm.name;
      for (std::size_t p = 0; p < arm.samples.size(); ++p) {
        if (arm.samples[p].empty()) continue;
        const double time = median(arm.samples[p]);
        benchmarks.push_back({{"name", name},
                              {"run_name", name},
                              {"run_type", "iteration"},
                              {"repetitions", arm.samples.size()},
                              {"repetition_index", p},
                              {"threads", results.plan.rows[row.row].threads},
                              {"iterations", arm.samples[p].size()},
                              {"real_time", time},
                              {"cpu_time", time},
                              {"time_unit", "ns"}});
      }
    }
  return {{"context", context}, {"benchmarks", benchmarks}};
}

}  // namespace polyte::lab
