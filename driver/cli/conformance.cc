// polyte conformance: ONNX test cases (a folder with model.onnx and test_data_set_*), under
// each scheduler.
#include <nlohmann/json.hpp>

#include <iostream>

#include "driver/cli/model_options.h"
#include "driver/cli/scheduling_report.h"
#include "driver/cli/thread_order.h"
#include "driver/judge/conformance.h"
#include "driver/lab/escape.h"

namespace polyte::cli {
namespace {

using driver::CaseOutcome;
using driver::CaseResult;

struct ConformanceOptions {
  std::vector<std::string> folders;
  std::vector<std::string> schedulers{"poly"};
  std::string filter = "*", json, junit, target = "cpu:native";
  int jobs = 1;
  bool emulate = false;
  std::string order;  // of --emulate
  driver::CaseOptions how;
};

// Cases in order, and a summary per scheduler. The second judge's counts show how many kernels
// were small enough to be executed.
nlohmann::json to_json(const std::vector<CaseResult>& results) {
  nlohmann::json json{{"cases", nlohmann::json::array()}, {"summary", nlohmann::json::object()}};
  for (const CaseResult& r : results) {
    const std::string scheduler = to_string(r.scheduler), result = to_string(r.outcome);
    nlohmann::json row{
        {"name", r.name}, {"scheduler", scheduler}, {"result", result}, {"detail", r.detail}};
    row.update(scheduling_json(scheduling_of(r.steps), ""));
    // A case that ended before it had steps has none that would say which scheduler was asked.
    row["scheduler_asked"] = scheduler;
    json["cases"].push_back(std::move(row));
    nlohmann::json& summary = json["summary"][scheduler];
    if (summary.is_null()) summary = {{"pass", 0}, {"fail", 0}, {"unsupported", 0}, {"error", 0}};
    summary[result] = summary[result].get<int>() + 1;
    nlohmann::json& judged = json["second_judge"][scheduler];
    if (judged.is_null()) judged = {{"executed", 0}, {"too_large", 0}};
    judged["executed"] = judged["executed"].get<int>() + r.executed;
    judged["too_large"] = judged["too_large"].get<int>() + r.not_executed;
  }
  return json;
}

// JUnit's words: a failure is a wrong result, an error one that did not come, skipped what the
// importer does not take.
std::string to_junit(const std::vector<CaseResult>& results) {
  std::string xml = "<?xml version=\"1.0\"?>\n<testsuite name=\"conformance\" tests=\"" +
                    std::to_string(results.size()) + "\">\n";
  for (const CaseResult& r : results) {
    xml += "  <testcase classname=\"" + to_string(r.scheduler) + "\" name=\"" +
           lab::escaped_xml(r.name) + "\">";
    if (r.outcome == CaseOutcome::Unsupported)
      xml += "<skipped message=\"" + lab::escaped_xml(r.detail) + "\"/>";
    if (r.outcome == CaseOutcome::Fail)
      xml += "<failure message=\"" + lab::escaped_xml(r.detail) + "\"/>";
    if (r.outcome == CaseOutcome::Error)
      xml += "<error message=\"" + lab::escaped_xml(r.detail) + "\"/>";
    xml += "</testcase>\n";
  }
  return xml + "</testsuite>\n";
}

int run_conformance(const ConformanceOptions& options) {
  const codegen::Target target = target_from(options.target);
  check_emulate(options.emulate, target);
  driver::CaseOptions how = options.how;
  const runtime::EmulatorOptions emulation = emulator_options(options.order, options.emulate);
  if (options.emulate) how.emulator = emulation;
  std::vector<driver::Scheduler> schedulers;
  for (const std::string& scheduler : options.schedulers)
    schedulers.push_back(*driver::scheduler_from_string(scheduler));
  const std::vector<std::filesystem::path> cases =
      driver::find_cases(options.folders, options.filter);
  if (cases.empty()) {
    throw UserError(ExitStatus::InvalidInput,
                    "no case matches '" + options.filter +
                        "': a case is a folder with model.onnx and test_data_set_*");
  }
  const std::vector<CaseResult> results = run_cases(cases, schedulers, target, options.jobs, how);
  int status = 0;
  for (const CaseResult& r : results) {
    if (r.outcome != CaseOutcome::Fail && r.outcome != CaseOutcome::Error) continue;
    status = static_cast<int>(ExitStatus::Refused);
    std::cerr << to_string(r.outcome) << "  " << to_string(r.scheduler) << "  " << r.name << "  "
              << r.detail << "\n";
  }
  const nlohmann::json json = to_json(results);
  // Also where cases failed: the files say which.
  if (!options.json.empty() && options.json != "-") write_file(options.json, json.dump(1) + "\n");
  if (!options.junit.empty()) write_file(options.junit, to_junit(results));
  if (options.json == "-") {
    std::cout << json.dump(1) << "\n";
  } else {
    for (const auto& [scheduler, s] : json["summary"].items()) {
      std::cout << scheduler << ": " << s["pass"] << " pass, " << s["fail"] << " fail, "
                << s["unsupported"] << " unsupported, " << s["error"]
                << " error; second judge: " << json["second_judge"][scheduler]["executed"]
                << " kernels executed, " << json["second_judge"][scheduler]["too_large"]
                << " too large\n";
    }
  }
  return status;
}

}  // namespace

void add_conformance(const Verb& app) {
  const Verb verb = app.verb("conformance", "run ONNX test cases");
  auto options = std::make_shared<ConformanceOptions>();
  verb.option("folders", options->folders, "cases, or folders of cases").required();
  verb.option("--scheduler", options->schedulers, "one or several: poly,template,naive")
      .separated()
      .one_of({"naive", "isl", "poly", "template"});
  verb.option("--filter", options->filter, "only cases whose name matches").shows_default();
  verb.option("--json", options->json, "write all results to this file; - for stdout");
  verb.option("--junit", options->junit, "write JUnit XML to this file");
  verb.option("--jobs", options->jobs, "cases at a time").within(1, 256).shows_default();
  verb.flag("--strict", options->how.strict,
            "a case of which not all was done as asked is an error");
  verb.option("--target", options->target, kTargetHelp).shows_default();
  verb.flag("--emulate", options->emulate,
            "of a GPU: emulate its threads on this CPU, and check every access");
  add_order_option(verb, options->order);
  verb.example("polyte conformance CASES --scheduler poly,template --json results.json");
  verb.calls([options] { return run_conformance(*options); });
}

}  // namespace polyte::cli
