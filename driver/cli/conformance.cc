// polyte conformance: ONNX test cases (a folder with model.onnx and test_data_set_*), under each scheduler.
#include <fnmatch.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "driver/cli/model_options.h"
#include "driver/parallel_jobs.h"
#include "runtime/compare.h"
#include "runtime/session.h"

namespace polyte::cli {
namespace {

namespace fs = std::filesystem;

struct ConformanceOptions {
  std::vector<std::string> folders;
  std::vector<std::string> schedulers{"poly"};
  std::string filter = "*", json, junit, target = "cpu:native";
  int jobs = 1;
};

struct CaseResult {
  std::string name, scheduler, result, detail;
};

std::vector<fs::path> find_cases(const ConformanceOptions& options) {
  std::vector<fs::path> cases;
  for (const std::string& folder : options.folders) {
    if (!fs::is_directory(folder)) throw UserError(ExitStatus::InvalidInput, folder + ": not a folder");
    if (fs::exists(fs::path(folder) / "model.onnx")) {
      cases.emplace_back(folder);
      continue;
    }
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().filename() == "model.onnx") cases.push_back(entry.path().parent_path());
    }
  }
  std::ranges::sort(cases);
  std::erase_if(cases,
                [&](const fs::path& path) { return fnmatch(options.filter.c_str(), path.filename().c_str(), 0) != 0; });
  return cases;
}

runtime::Tolerance tolerance_of(const fs::path& folder) {
  runtime::Tolerance tolerance{1e-3, 1e-7};
  const fs::path file = folder / "data.json";
  if (!fs::exists(file)) return tolerance;
  const nlohmann::json data = nlohmann::json::parse(read_text_file(file), nullptr, false);
  if (data.is_object()) {
    tolerance.rtol = data.value("rtol", tolerance.rtol);
    tolerance.atol = data.value("atol", tolerance.atol);
  }
  return tolerance;
}

runtime::Tensor to_runtime(const graph::Tensor& tensor) {
  runtime::Tensor result(tensor.type.dtype, tensor.type.shape);
  std::ranges::copy(*tensor.bytes, result.raw().begin());
  return result;
}

std::vector<runtime::Tensor> read_set(const fs::path& set, const std::string& kind) {
  std::vector<runtime::Tensor> tensors;
  for (int i = 0;; ++i) {
    const fs::path file = set / (kind + "_" + std::to_string(i) + ".pb");
    if (!fs::exists(file)) return tensors;
    tensors.push_back(to_runtime(frontend::read_tensor_file(file)));
  }
}

std::vector<fs::path> data_sets(const fs::path& folder) {
  std::vector<fs::path> sets;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_"))
      sets.push_back(entry.path());
  }
  std::ranges::sort(sets);
  return sets;
}

// Empty if all outputs are as expected.
std::string run_set(const runtime::Session& session, const fs::path& set, const runtime::Tolerance& tolerance) {
  const std::vector<runtime::Tensor> inputs = read_set(set, "input"), expected = read_set(set, "output");
  if (inputs.size() != session.inputs().size()) {
    return "has " + std::to_string(inputs.size()) + " inputs, the model takes " +
           std::to_string(session.inputs().size());
  }
  std::vector<runtime::Tensor> got = session.run(inputs);
  for (std::size_t i = 0; i < expected.size() && i < got.size(); ++i) {
    const runtime::Comparison comparison = runtime::compare(got[i], expected[i], tolerance);
    if (!comparison.equal) return "output " + std::to_string(i) + ": " + comparison.message;
  }
  return got.size() < expected.size() ? "the model has fewer outputs than the case" : "";
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ';');
  return text;
}

CaseResult run_case(const fs::path& folder, const std::string& scheduler, const codegen::Target& target) {
  CaseResult result{folder.parent_path().filename().string() + "/" + folder.filename().string(), scheduler, "pass", ""};
  try {
    frontend::Imported imported = frontend::import_onnx(folder / "model.onnx");
    driver::ModelOptions options;
    options.arm = *driver::arm_from_string(scheduler);
    options.jobs = 1;
    driver::CompiledModel model = driver::compile_model(std::move(imported.graph), target, options);
    const runtime::Session session(runtime::Artifact::from_parts(std::move(model.parts)), {.threads = 2});
    for (const fs::path& set : data_sets(folder)) {
      const std::string difference = run_set(session, set, tolerance_of(folder));
      if (!difference.empty()) return {result.name, scheduler, "fail", set.filename().string() + ": " + difference};
    }
    for (const std::string& note : model.notes) result.detail += (result.detail.empty() ? "" : "; ") + one_line(note);
  } catch (const UserError& e) {
    const bool refused = e.status() == ExitStatus::Unsupported;
    return {result.name, scheduler, refused ? "unsupported" : "error", one_line(e.what())};
  } catch (const std::exception& e) {
    return {result.name, scheduler, "error", one_line(e.what())};
  }
  return result;
}

nlohmann::json to_json(const std::vector<CaseResult>& results) {
  nlohmann::json json{{"cases", nlohmann::json::array()}, {"summary", nlohmann::json::object()}};
  for (const CaseResult& r : results) {
    json["cases"].push_back({{"name", r.name}, {"scheduler", r.scheduler}, {"result", r.result}, {"detail", r.detail}});
    nlohmann::json& summary = json["summary"][r.scheduler];
    if (summary.is_null()) summary = {{"pass", 0}, {"fail", 0}, {"unsupported", 0}, {"error", 0}};
    summary[r.result] = summary[r.result].get<int>() + 1;
  }
  return json;
}

std::string xml_escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
  }
  return out;
}

std::string to_junit(const std::vector<CaseResult>& results) {
  std::string xml =
      "<?xml version=\"1.0\"?>\n<testsuite name=\"conformance\" tests=\"" + std::to_string(results.size()) + "\">\n";
  for (const CaseResult& r : results) {
    xml += "  <testcase classname=\"" + r.scheduler + "\" name=\"" + xml_escaped(r.name) + "\">";
    if (r.result == "unsupported") xml += "<skipped message=\"" + xml_escaped(r.detail) + "\"/>";
    if (r.result == "fail") xml += "<failure message=\"" + xml_escaped(r.detail) + "\"/>";
    if (r.result == "error") xml += "<error message=\"" + xml_escaped(r.detail) + "\"/>";
    xml += "</testcase>\n";
  }
  return xml + "</testsuite>\n";
}

int run_conformance(const ConformanceOptions& options) {
  const codegen::Target target = target_from(options.target);
  const std::vector<fs::path> cases = find_cases(options);
  std::vector<CaseResult> results(cases.size() * options.schedulers.size());
  driver::run_jobs(options.jobs, results.size(), [&](std::size_t i) {
    results[i] =
        run_case(cases[i / options.schedulers.size()], options.schedulers[i % options.schedulers.size()], target);
  });
  int status = 0;
  for (const CaseResult& r : results) {
    const bool bad = r.result == "fail" || r.result == "error";
    if (bad) status = static_cast<int>(ExitStatus::Refused);
    if (bad) std::cerr << r.result << "  " << r.scheduler << "  " << r.name << "  " << r.detail << "\n";
  }
  const nlohmann::json json = to_json(results);
  if (!options.json.empty() && options.json != "-") write_file(options.json, json.dump(1) + "\n");
  if (!options.junit.empty()) write_file(options.junit, to_junit(results));
  if (options.json == "-") {
    std::cout << json.dump(1) << "\n";
  } else {
    for (const auto& [scheduler, s] : json["summary"].items()) {
      std::cout << scheduler << ": " << s["pass"] << " pass, " << s["fail"] << " fail, " << s["unsupported"]
                << " unsupported, " << s["error"] << " error\n";
    }
  }
  return status;
}

}  // namespace

void add_conformance(CLI::App& app, int& status) {
  CLI::App* verb = app.add_subcommand("conformance", "run ONNX test cases");
  auto options = std::make_shared<ConformanceOptions>();
  verb->add_option("folders", options->folders, "cases, or folders of cases")->required();
  verb->add_option("--scheduler", options->schedulers, "one or several: poly,template,naive")
      ->delimiter(',')
      ->check(CLI::IsMember({"naive", "isl", "poly", "template"}));
  verb->add_option("--filter", options->filter, "only cases whose name matches")->capture_default_str();
  verb->add_option("--json", options->json, "write all results to this file; - for stdout");
  verb->add_option("--junit", options->junit, "write JUnit XML to this file");
  verb->add_option("--jobs", options->jobs, "cases at a time")->check(CLI::Range(1, 256))->capture_default_str();
  verb->add_option("--target", options->target, "cpu:native or an LLVM CPU name")->capture_default_str();
  verb->footer("example: polyte conformance CASES --scheduler poly,template --json results.json");
  verb->callback([options, &status] { status = run_conformance(*options); });
}

}  // namespace polyte::cli
