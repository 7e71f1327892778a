// The plan as it lies in a result folder.
#include <algorithm>

#include "driver/lab/plan.h"
#include "support/error.h"

namespace polyte::lab {
namespace {

constexpr const char* kFormat = "polyte-lab-plan/1";
using Json = nlohmann::ordered_json;

Json stop_json(const StopRule& stop) {
  return {{"rounds", {stop.rounds_least, stop.rounds_most}},
          {"processes", {stop.processes_least, stop.processes_most}},
          {"width", stop.width},
          {"round_ms", stop.round_ms},
          {"process_seconds", stop.process_seconds}};
}

StopRule stop_from(const Json& json) {
  StopRule stop;
  stop.rounds_least = json.at("rounds").at(0);
  stop.rounds_most = json.at("rounds").at(1);
  stop.processes_least = json.at("processes").at(0);
  stop.processes_most = json.at("processes").at(1);
  stop.width = json.at("width");
  stop.round_ms = json.at("round_ms");
  stop.process_seconds = json.at("process_seconds");
  return stop;
}

const char* kKinds[] = {"scheduler", "script", "peer"};

Json arm_json(const PlannedArm& arm) {
  Json json{{"name", arm.spec.name},
            {"kind", kKinds[static_cast<int>(arm.spec.kind)]},
            {"what", arm.spec.what},
            {"params", arm.spec.params},
            {"scripts", Json::array()}};
  for (const PlannedScript& script : arm.scripts)
    json["scripts"].push_back({{"program", script.program}, {"text", script.text}});
  return json;
}

PlannedArm arm_from(const Json& json, const std::string& origin) {
  PlannedArm arm;
  arm.spec.name = json.at("name");
  arm.spec.what = json.at("what");
  arm.spec.params = json.at("params").get<std::vector<std::string>>();
  for (const Json& script : json.value("scripts", Json::array()))
    arm.scripts.push_back({script.at("program"), script.at("text")});
  // As it was written while an arm had one script.
  if (const std::string script = json.value("script", ""); !script.empty())
    arm.scripts.push_back({json.at("program"), script});
  const std::string kind = json.at("kind");
  const auto* found = std::ranges::find(kKinds, kind);
  if (found == std::end(kKinds))
    throw UserError(ExitStatus::InvalidInput, origin + ": arm '" + arm.spec.name +
                                                  "': 'kind': expected scheduler, script or peer, "
                                                  "got '" +
                                                  kind + "'");
  arm.spec.kind = static_cast<ArmSpec::Kind>(found - kKinds);
  return arm;
}

Json row_json(const Row& row) {
  Json json{{"name", row.name},       {"program", row.program}, {"sizes", row.sizes},
            {"threads", row.threads}, {"fill", row.fill},       {"caches", to_string(row.caches)}};
  // Left out where empty, as older plans have it.
  if (!row.suite.empty()) json["suite"] = row.suite;
  if (!row.source.empty()) json["source"] = row.source;
  return json;
}

Row row_from(const Json& json, std::size_t programs, const std::string& origin) {
  Row row;
  row.name = json.at("name");
  row.program = json.at("program");
  row.sizes = json.at("sizes").get<Sizes>();
  row.threads = json.at("threads");
  row.fill = json.at("fill");
  row.suite = json.value("suite", "");
  row.source = json.value("source", "");
  const std::string caches = json.at("caches");
  const Caches all[] = {Caches::Warm, Caches::Cold, Caches::Rotated};
  const auto* found =
      std::ranges::find_if(all, [&](Caches one) { return to_string(one) == caches; });
  if (found == std::end(all))
    throw UserError(ExitStatus::InvalidInput, origin + ": row '" + row.name +
                                                  "': 'caches': expected warm, cold or rotated, "
                                                  "got '" +
                                                  caches + "'");
  row.caches = *found;
  // The program's number is an index, and as many threads are started: a stranger's numbers.
  if (row.program >= programs || row.threads < 1 || row.threads > 1024)
    throw UserError(ExitStatus::InvalidInput,
                    origin + ": row '" + row.name + "': a number is out of range");
  return row;
}

}  // namespace

std::string words_of(const nlohmann::json::exception& e) {
  // "[json.exception.type_error.302] type must be string, but is number".
  const std::string text = e.what();
  const std::size_t end = text.find("] ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

Json to_json(const Plan& plan) {
  Json json{{"format", kFormat},           {"name", plan.name},     {"experiment", plan.experiment},
            {"baseline", plan.baseline},   {"target", plan.target}, {"stop", stop_json(plan.stop)},
            {"tolerance", plan.tolerance}, {"seed", plan.seed},     {"exact", plan.exact}};
  // Left out where they have their defaults, which plan_from_json then fills in.
  if (plan.explain > 0) json["explain"] = plan.explain;
  if (plan.emulate) json["emulate"] = true;
  json["programs"] = json["arms"] = json["rows"] = Json::array();
  for (const PlannedProgram& program : plan.programs)
    json["programs"].push_back({{"name", program.name},
                                {"digest", program.digest},
                                {"text", program.text},
                                {"model", program.model}});
  for (const PlannedArm& arm : plan.arms) json["arms"].push_back(arm_json(arm));
  for (const Row& row : plan.rows) json["rows"].push_back(row_json(row));
  return json;
}

Plan plan_from_json(const Json& json, const std::string& origin) try {
  if (json.value("format", "") != kFormat)
    throw UserError(ExitStatus::InvalidInput, origin + ": expected the format " + kFormat +
                                                  ", got '" + json.value("format", "") + "'");
  Plan plan;
  plan.name = json.at("name");
  plan.experiment = json.at("experiment");
  plan.baseline = json.at("baseline");
  plan.target = json.at("target");
  plan.stop = stop_from(json.at("stop"));
  plan.tolerance = json.at("tolerance");
  plan.seed = json.at("seed");
  plan.exact = json.at("exact");
  plan.explain = json.value("explain", 0);
  plan.emulate = json.value("emulate", false);
  for (const Json& one : json.at("programs"))
    plan.programs.push_back(
        {one.at("name"), one.at("digest"), one.at("text"), one.value("model", "")});
  for (const Json& one : json.at("arms")) plan.arms.push_back(arm_from(one, origin));
  for (const Json& one : json.at("rows"))
    plan.rows.push_back(row_from(one, plan.programs.size(), origin));
  return plan;
} catch (const nlohmann::json::exception& e) {
  throw UserError(ExitStatus::InvalidInput,
                  origin + ": not a plan of an experiment: " + words_of(e));
}

}  // namespace polyte::lab
