#include "driver/cli/fuzz_report.h"

#include "support/error.h"

namespace polyte::cli {
namespace {

using fuzz::FuzzReport;

// Counts that a report has under the same names in JSON, so that writing and reading cannot
// differ.
constexpr std::pair<const char*, std::uint64_t FuzzReport::*> kCounts[] = {
    {"runs", &FuzzReport::runs},
    {"accepted", &FuzzReport::accepted},
    {"accepted_directives", &FuzzReport::directives},
    {"native", &FuzzReport::native},
    {"malformed", &FuzzReport::malformed},
    {"undecided", &FuzzReport::undecided},
    {"skipped", &FuzzReport::skipped},
    {"illegal", &FuzzReport::illegal},
    {"illegal_executed", &FuzzReport::illegal_executed},
    {"illegal_shown_by_execution", &FuzzReport::illegal_justified},
    {"sizes_refused_when_bound", &FuzzReport::refused_bound}};

// What decides each run, apart from its number.
nlohmann::ordered_json identity_json(const FuzzIdentity& identity) {
  return {{"fuzzer", identity.fuzzer},
          {"seed", identity.seed},
          {"target", identity.target},
          {"native_percent", identity.native_percent},
          {"open", identity.open}};
}

nlohmann::ordered_json rows_json(const std::vector<std::string>& names,
                                 const std::map<std::string, fuzz::CoverageRow>& rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const std::string& name : names) {
    const auto at = rows.find(name);
    const fuzz::CoverageRow row = at == rows.end() ? fuzz::CoverageRow{} : at->second;
    json[name] = {row.drawn, row.accepted, row.refused, row.executed};
  }
  return json;
}

// Rows as [drawn, accepted, refused, executed].
nlohmann::ordered_json coverage_json(const fuzz::Coverage& coverage, bool gpu) {
  nlohmann::ordered_json json = {
      {"columns", {"drawn", "accepted", "refused", "executed"}},
      {"features", rows_json(fuzz::feature_names(), coverage.features)},
      {"directives", rows_json(fuzz::directive_names(), coverage.directives)},
      {"empty_rows", fuzz::empty_rows(coverage, gpu)},
      {"possible_pairs", fuzz::possible_pairs()},
      {"pairs", nlohmann::ordered_json::array()}};
  for (const auto& [a, b] : coverage.pairs) json["pairs"].push_back({a, b});
  return json;
}

void read_rows(const nlohmann::ordered_json& json, std::map<std::string, fuzz::CoverageRow>& rows) {
  for (const auto& [name, row] : json.items())
    rows[name] = {row.at(0), row.at(1), row.at(2), row.at(3)};
}

void read_coverage(const nlohmann::ordered_json& json, fuzz::Coverage& coverage) {
  read_rows(json.at("features"), coverage.features);
  read_rows(json.at("directives"), coverage.directives);
  for (const nlohmann::ordered_json& pair : json.at("pairs"))
    coverage.pairs.emplace(pair.at(0), pair.at(1));
}

}  // namespace

// Options with their default are left out; --native always stands, for it decides the data as
// well.
std::string replay_line(const FuzzIdentity& identity, std::uint64_t run) {
  std::string text = "polyte fuzz " + identity.fuzzer + " --seed " + std::to_string(identity.seed) +
                     " --only " + std::to_string(run) + " --native " +
                     std::to_string(identity.native_percent);
  if (identity.open) text += " --open";
  if (identity.target != "x86-64-v3") text += " --target " + identity.target;
  return text;
}

nlohmann::ordered_json to_json(const FuzzIdentity& identity, const FuzzReport& report) {
  nlohmann::ordered_json json = identity_json(identity);
  for (const auto& [name, count] : kCounts) json[name] = report.*count;
  json["directives"] = nlohmann::ordered_json::object();
  for (const auto& [name, count] : report.statistics.proposed) {
    const auto applied = report.statistics.applied.find(name);
    const int legal = applied == report.statistics.applied.end() ? 0 : applied->second;
    json["directives"][name] = {{"tried", count}, {"legal", legal}};
  }
  json["coverage"] = coverage_json(report.coverage, identity.target.starts_with("cuda:"));
  json["undecided_because"] = nlohmann::ordered_json::object();
  for (const auto& [reason, undecided] : report.undecided_because)
    json["undecided_because"][reason] = {{"runs", undecided.runs}, {"first", undecided.first}};
  json["refused_without_visible_fault"] = nlohmann::ordered_json::array();
  for (const fuzz::FuzzRefusal& refusal : report.doubted)
    json["refused_without_visible_fault"].push_back(
        {{"run", refusal.run},
         {"verdict", refusal.illegal ? "illegal" : "unknown"},
         {"reason", refusal.reason}});
  json["failures"] = nlohmann::ordered_json::array();
  for (const fuzz::FuzzFailure& failure : report.failures)
    json["failures"].push_back({{"run", failure.run},
                                {"kind", failure.kind},
                                {"detail", failure.detail},
                                {"replay", replay_line(identity, failure.run)},
                                {"program", failure.program},
                                {"script", failure.script}});
  return json;
}

// Only a report of the same runs is continued: seed, target and options decide what each run is.
FuzzReport read_report(const std::string& text, const FuzzIdentity& identity,
                       const std::string& origin) {
  try {
    const nlohmann::ordered_json json = nlohmann::ordered_json::parse(text);
    const nlohmann::ordered_json expected = identity_json(identity);
    for (const auto& [key, value] : expected.items())
      if (json.at(key) != value)
        throw UserError(ExitStatus::InvalidInput, origin + ": its " + key + " is " +
                                                      json.at(key).dump() + ", of these runs " +
                                                      value.dump());
    FuzzReport report;
    for (const auto& [name, count] : kCounts) report.*count = json.at(name);
    for (const auto& [name, counts] : json.at("directives").items()) {
      report.statistics.proposed[name] = counts.at("tried");
      report.statistics.applied[name] = counts.at("legal");
    }
    read_coverage(json.at("coverage"), report.coverage);
    for (const auto& [reason, undecided] : json.at("undecided_because").items())
      report.undecided_because[reason] = {undecided.at("runs"), undecided.at("first")};
    for (const nlohmann::ordered_json& refusal : json.at("refused_without_visible_fault"))
      report.doubted.push_back(
          {refusal.at("run"), refusal.at("verdict") == "illegal", refusal.at("reason")});
    for (const nlohmann::ordered_json& failure : json.at("failures"))
      report.failures.push_back({failure.at("run"), failure.at("kind"), failure.at("detail"),
                                 failure.at("program"), failure.at("script")});
    return report;
  } catch (const nlohmann::json::exception& e) {
    throw UserError(ExitStatus::InvalidInput,
                    origin + ": is no report of polyte fuzz: " + e.what());
  }
}

}  // namespace polyte::cli
