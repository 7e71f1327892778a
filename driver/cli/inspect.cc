// polyte inspect: into a model or an artifact. polyte ops: the operators that the importer knows.
#include <nlohmann/json.hpp>

#include <iostream>

#include "driver/cli/model_options.h"
#include "graph/explain_fusion.h"
#include "graph/op.h"

namespace polyte::cli {
namespace {

struct InspectOptions {
  std::string model;
  ModelVerbOptions verb;
  bool coverage = false, groups = false, explain_fusion = false, memory = false, json = false;
};

int print_coverage(const InspectOptions& options) {
  const frontend::Coverage coverage = frontend::coverage(options.model, import_options(options.verb));
  int missing = 0;
  nlohmann::json rows = nlohmann::json::array();
  for (const frontend::NodeCoverage& node : coverage.nodes) {
    missing += !node.supported;
    rows.push_back({{"name", node.name},
                    {"op", node.op},
                    {"opset", node.opset},
                    {"supported", node.supported},
                    {"reason", node.reason}});
    if (!options.json) {
      std::cout << (node.supported ? "  yes  '" : "  no   '") << node.name << "' (" << node.op << ", opset "
                << node.opset << ")" << (node.reason.empty() ? "" : "  " + node.reason) << "\n";
    }
  }
  if (options.json) {
    std::cout << nlohmann::json{{"nodes", rows}, {"problems", coverage.problems}}.dump(2) << "\n";
  } else {
    for (const std::string& problem : coverage.problems) std::cout << "  " << problem << "\n";
    std::cout << coverage.nodes.size() - static_cast<std::size_t>(missing) << " of " << coverage.nodes.size()
              << " nodes are supported\n";
  }
  return missing || !coverage.problems.empty() ? static_cast<int>(ExitStatus::Unsupported) : 0;
}

nlohmann::json tensor_json(const runtime::TensorSpec& spec) {
  return {{"name", spec.name}, {"dtype", to_string(spec.dtype)}, {"shape", spec.shape}};
}

int print_artifact(const InspectOptions& options) {
  const auto artifact = runtime::Artifact::open(options.model);
  const runtime::ArtifactManifest& manifest = artifact->manifest();
  if (options.json) {
    std::cout << runtime::manifest_to_json(manifest) << "\n";
    return 0;
  }
  std::cout << "artifact for " << manifest.cpu << ", " << manifest.steps.size() << " steps, arena "
            << manifest.arena_bytes << " bytes\n";
  for (const runtime::TensorSpec& spec : manifest.inputs) std::cout << "  in   " << tensor_json(spec).dump() << "\n";
  for (const runtime::TensorSpec& spec : manifest.outputs) std::cout << "  out  " << tensor_json(spec).dump() << "\n";
  for (const runtime::StepSpec& step : manifest.steps) {
    std::cout << "  " << (step.kernel.empty() ? "copy" : step.kernel) << "  " << step.group << "\n";
  }
  if (options.memory) {
    for (const runtime::BufferSpec& buffer : manifest.buffers) {
      std::cout << "  " << buffer.offset << " + " << buffer.bytes << "  " << buffer.name << "\n";
    }
  }
  return 0;
}

int print_model(const InspectOptions& options) {
  frontend::Imported imported = frontend::import_onnx(options.model, import_options(options.verb));
  driver::ModelOptions model_opts = model_options(options.verb);
  model_opts.arm = driver::Arm::Naive;
  const driver::CompiledModel model =
      driver::schedule_model(std::move(imported.graph), target_from(options.verb.target), model_opts);
  if (options.explain_fusion) {
    std::cout << graph::explain_fusion(model.fusion_graph, {}, model.fusion);
    return 0;
  }
  nlohmann::json rows = nlohmann::json::array();
  for (const driver::GroupPlan& group : model.groups) {
    std::vector<std::string> nodes;
    for (graph::NodeId id : group.nodes) {
      nodes.push_back(std::string(graph::info(model.graph.node(id).op).name) + " '" + model.graph.node(id).name + "'");
    }
    if (!options.json) {
      std::cout << group.name << (group.view ? "  (a view: no kernel)" : "") << "\n";
      for (const std::string& node : nodes) std::cout << "  " << node << "\n";
    }
    rows.push_back({{"name", group.name}, {"view", group.view}, {"nodes", nodes}});
  }
  if (options.json) std::cout << nlohmann::json{{"groups", rows}}.dump(2) << "\n";
  return 0;
}

int run_inspect(const InspectOptions& options) {
  if (is_artifact(options.model)) return print_artifact(options);
  if (options.coverage) return print_coverage(options);
  return print_model(options);
}

void print_ops(bool as_json) {
  nlohmann::json rows = nlohmann::json::array();
  for (const frontend::OperatorSupport& row : frontend::supported_operators()) {
    if (!as_json) std::printf("%-24s since %-3d %s\n", row.op.c_str(), row.since, row.restrictions.c_str());
    rows.push_back({{"op", row.op}, {"since", row.since}, {"restrictions", row.restrictions}});
  }
  if (as_json)
    std::cout
        << nlohmann::json{{"opsets", {frontend::kLeastOpset, frontend::kGreatestOpset}}, {"operators", rows}}.dump(2)
        << "\n";
}

}  // namespace

void add_inspect(CLI::App& app, int& status) {
  CLI::App* verb = app.add_subcommand("inspect", "look into a model or an artifact");
  auto options = std::make_shared<InspectOptions>();
  verb->add_option("model", options->model, "an ONNX file or an artifact")->required();
  add_model_options(*verb, options->verb);
  verb->add_flag("--coverage", options->coverage, "every node: supported or not, and why");
  verb->add_flag("--groups", options->groups, "the fused groups (what is shown by default)");
  verb->add_flag("--explain-fusion", options->explain_fusion, "why operators were fused or not");
  verb->add_flag("--memory", options->memory, "an artifact's memory plan");
  verb->add_flag("--json", options->json, "as JSON");
  verb->footer("example: polyte inspect digits.onnx --explain-fusion");
  verb->callback([options, &status] { status = run_inspect(*options); });
}

void add_ops(CLI::App& app, int&) {
  CLI::App* verb = app.add_subcommand("ops", "operators, opsets, restrictions");
  auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "as JSON");
  verb->footer("example: polyte ops --json");
  verb->callback([json] { print_ops(*json); });
}

}  // namespace polyte::cli
