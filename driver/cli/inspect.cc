// polyte inspect: into a model or an artifact. polyte ops: the operators that the importer knows.
#include <nlohmann/json.hpp>

#include <iostream>

#include "driver/cli/file_hints.h"
#include "driver/cli/model_options.h"
#include "driver/cli/reports.h"
#include "driver/compile/import_network.h"
#include "driver/package/package_model.h"
#include "graph/explain_fusion.h"
#include "graph/op.h"

namespace polyte::cli {
namespace {

struct InspectOptions {
  std::string model;
  ModelVerbOptions verb;
  bool coverage = false, groups = false, explain_fusion = false, layouts = false, memory = false,
       json = false;
};

// What a section adds: text for a person, keys of the one document for --json.
struct Report {
  bool as_json = false;
  nlohmann::ordered_json json;
  void print() const {
    if (as_json) std::cout << json.dump(2) << "\n";
  }
};

// Returns the exit status.
// A node behind one that is not supported has no types to be checked with: it counts as neither.
int add_coverage(const InspectOptions& options, Report& report) {
  frontend::ImportOptions import = import_options(options.verb, Ranges::Taken);
  // A size that stays open has its typical value here: coverage asks for shapes, not for
  // kernels.
  import.extent_of = [](const std::string&) { return driver::OpenSymbol().typical; };
  const frontend::Coverage coverage = frontend::coverage(options.model, import);
  std::size_t missing = 0, unchecked = 0;
  report.json["nodes"] = nlohmann::json::array();
  for (const frontend::NodeCoverage& node : coverage.nodes) {
    missing += !node.supported;
    unchecked += node.supported && !node.checked;
    report.json["nodes"].push_back({{"name", node.name},
                                    {"op", node.op},
                                    {"opset", node.opset},
                                    {"supported", node.supported && node.checked},
                                    {"checked", !node.supported || node.checked},
                                    {"reason", node.reason}});
    if (report.as_json) continue;
    std::cout << (!node.supported ? "  no   '"
                  : node.checked  ? "  yes  '"
                                  : "  ?    '")
              << node.name << "' (" << node.op << ", opset " << node.opset << ")"
              << (node.reason.empty() ? "" : "  " + node.reason) << "\n";
  }
  report.json["problems"] = coverage.problems;
  if (!report.as_json) {
    for (const std::string& problem : coverage.problems) std::cout << "  " << problem << "\n";
    std::cout << coverage.nodes.size() - missing - unchecked << " of " << coverage.nodes.size()
              << " nodes are supported"
              << (unchecked ? ", " + std::to_string(unchecked) + " could not be checked" : "")
              << "\n";
  }
  return missing || !coverage.problems.empty() ? static_cast<int>(ExitStatus::Unsupported) : 0;
}

std::string tensor_text(const runtime::TensorSpec& spec,
                        const runtime::ArtifactManifest& manifest) {
  return spec.name + ": " + std::string(to_string(spec.dtype)) + shape_text(spec, manifest.symbols);
}

// The manifest, and what the compiler has to say where it says something.
std::string artifact_json(const runtime::Artifact& artifact) {
  std::string manifest = runtime::manifest_to_json(artifact.manifest());
  // A report that does not parse is left out: it is for people, and no part of what runs.
  const auto report = nlohmann::ordered_json::parse(artifact.report(), nullptr, false);
  if (report.is_discarded()) return manifest;
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(manifest);
  json["report"] = report;
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

int print_artifact(const InspectOptions& options) {
  if (options.coverage || options.explain_fusion || options.layouts)
    throw UserError(ExitStatus::Usage,
                    options.model + ": --coverage, --explain-fusion and --layouts need the ONNX " +
                        "file, this is an artifact");
  const auto artifact = runtime::Artifact::open(options.model);
  const runtime::ArtifactManifest& manifest = artifact->manifest();
  if (options.json) {
    const nlohmann::ordered_json memory{{"memory", memory_json(manifest)}};
    std::cout << (options.memory ? memory.dump(2) : artifact_json(*artifact)) << "\n";
    return 0;
  }
  std::cout << "artifact for " << manifest.cpu << ", " << manifest.steps.size() << " steps, arena "
            << arena_text(manifest) << "\n";
  for (const runtime::SymbolSpec& symbol : manifest.symbols)
    std::cout << "  open " << symbol.name << ": " << symbol.least << " to " << symbol.most << "\n";
  for (const runtime::TensorSpec& spec : manifest.inputs)
    std::cout << "  in   " << tensor_text(spec, manifest) << "\n";
  for (const runtime::TensorSpec& spec : manifest.outputs)
    std::cout << "  out  " << tensor_text(spec, manifest) << "\n";
  for (const runtime::StepSpec& step : manifest.steps) {
    std::cout << "  " << (step.kernel.empty() ? "copy" : step.kernel) << "  " << step.group << "\n";
  }
  std::cout << device_text(*artifact);
  if (options.memory) std::cout << "\n" << memory_text(manifest);
  return 0;
}

void add_groups(const driver::PartitionedModel& model, Report& report) {
  report.json["groups"] = nlohmann::json::array();
  for (const driver::GroupPlan& group : model.groups) {
    std::vector<std::string> nodes;
    for (graph::NodeId id : group.nodes) {
      nodes.push_back(std::string(graph::info(model.graph.node(id).op).name) + " '" +
                      model.graph.node(id).name + "'");
    }
    if (!report.as_json) {
      std::cout << group.name << (group.view ? "  (a view: no kernel)" : "") << "\n";
      for (const std::string& node : nodes) std::cout << "  " << node << "\n";
    }
    nlohmann::ordered_json row{{"name", group.name}, {"view", group.view}, {"nodes", nodes}};
    if (!group.view) row["digest"] = ir::digest(group.expansion.program);
    report.json["groups"].push_back(row);
  }
}

void add_fusion(const driver::PartitionedModel& model, Report& report) {
  if (!report.as_json)
    std::cout << graph::explain_fusion(model.fusion_graph, model.fusion_options, model.fusion);
  report.json["fusion"] = nlohmann::json::array();
  for (const graph::EdgeDecision& edge : model.fusion.edges) {
    auto name = [&](int node) {
      return model.fusion_graph.nodes[static_cast<std::size_t>(node)].name;
    };
    report.json["fusion"].push_back(
        {{"from", name(edge.producer)},
         {"to", name(edge.consumer)},
         {"fused", edge.fused()},
         {"why", graph::explain_edge(model.fusion_graph, model.fusion_options, edge)}});
  }
}

void add_layouts(const driver::PartitionedModel& model, Report& report) {
  report.json["layouts"] = notes_of(model.passes, kLayoutPass);
  report.json["convolutions"] = notes_of(model.passes, kConvolutionPass);
  if (!report.as_json) std::cout << layouts_text(model.passes);
}

// The plan of the artifact that `compile` would write with the same options.
void add_memory(const driver::PackagedModel& model, Report& report) {
  report.json["memory"] = memory_json(model.parts.manifest);
  if (!report.as_json) std::cout << memory_text(model.parts.manifest);
}

void add_partition(const InspectOptions& options, const driver::PartitionedModel& model,
                   Report& report) {
  // Groups are what is shown when nothing else is asked for.
  if (options.groups || (!options.explain_fusion && !options.layouts && !options.memory))
    add_groups(model, report);
  if (options.layouts) add_layouts(model, report);
  if (options.explain_fusion) add_fusion(model, report);
}

// Groups need no schedule; only the plan of memory needs the whole compilation.
void add_model_sections(const InspectOptions& options, Report& report) {
  driver::ImportedNetwork imported = driver::import_network(
      options.model, import_options(options.verb, Ranges::Taken), open_ranges(options.verb));
  const driver::ModelOptions model_opts = model_options(options.verb);
  const codegen::Target target = target_from(options.verb.target);
  for (const std::string& note : imported.notes) std::cerr << "note: " << note << "\n";
  if (!options.memory)
    return add_partition(
        options, driver::partition_model(std::move(imported.network), target.machine, model_opts),
        report);
  const driver::PackagedModel model =
      driver::package_model(std::move(imported.network), target, model_opts);
  for (const std::string& note : model.notes) std::cerr << "note: " << note << "\n";
  add_partition(options, model, report);
  add_memory(model, report);
}

int run_inspect(const InspectOptions& options) {
  require_model_file(options.model);
  if (is_artifact(options.model)) return print_artifact(options);
  Report report{options.json, {}};
  const int status = options.coverage ? add_coverage(options, report) : 0;
  // Without any option the sections of the model are shown; after --coverage only if all is
  // supported, since the rest could not be made.
  const bool more = options.groups || options.explain_fusion || options.layouts || options.memory ||
                    !options.coverage;
  if (more && status == 0) add_model_sections(options, report);
  report.print();
  return status;
}

// docs/operators.md
void print_ops_page() {
  std::cout << "# Operators\n\n*For people with a trained network.*\n\nThe operators of ONNX that "
               "Polyte compiles, printed by `polyte ops --markdown`. Every attribute and every\n"
               "type that ONNX allows for an operator is supported, of f64 f32 f16 bf16 "
               "i8 i16 i32 i64 u8 u16 u32 u64 and\nbool, unless a limit is named here. An axis, "
               "a shape, pads and the like may be constants, computed from\nconstants, or run-time "
               "inputs: these are given with `--value`, or to `run` with `-i`, and compiled for.\n"
               "Functions of a model are inlined with their own opset. What is not "
               "here is refused by name.\n\n| operator | opsets | limits |\n| --- | --- | --- |\n";
  for (const frontend::OperatorSupport& row : frontend::supported_operators())
    std::cout << "| " << row.op << " | " << row.since << " to " << row.until << " | "
              << row.restrictions << " |\n";
}

void print_ops(bool as_json) {
  nlohmann::json rows = nlohmann::json::array();
  for (const frontend::OperatorSupport& row : frontend::supported_operators()) {
    if (!as_json)
      std::printf("%-26s opset %2d to %2d  %s\n", row.op.c_str(), row.since, row.until,
                  row.restrictions.c_str());
    rows.push_back({{"op", row.op},
                    {"since", row.since},
                    {"until", row.until},
                    {"restrictions", row.restrictions}});
  }
  if (as_json)
    std::cout << nlohmann::json{{"opsets", {frontend::kLeastOpset, frontend::kGreatestOpset}},
                                {"operators", rows}}
                     .dump(2)
              << "\n";
}

}  // namespace

void add_inspect(const Verb& app) {
  const Verb verb = app.verb("inspect", "look into a model or an artifact");
  auto options = std::make_shared<InspectOptions>();
  verb.option("model", options->model, "an ONNX file or an artifact").required();
  add_model_options(verb, options->verb);
  verb.flag("--coverage", options->coverage, "every node: supported or not, and why");
  verb.flag("--groups", options->groups, "the fused groups (what is shown by default)");
  verb.flag("--explain-fusion", options->explain_fusion, "why operators were fused or not");
  verb.flag("--layouts", options->layouts, "which nodes compute on channels in blocks, and why");
  verb.flag("--memory", options->memory,
            "every value: bytes, offset, first and last kernel that uses it; weights; totals");
  verb.flag("--json", options->json, "as JSON");
  verb.example("polyte inspect digits.onnx --explain-fusion");
  verb.calls([options] { return run_inspect(*options); });
}

void add_ops(const Verb& app) {
  const Verb verb = app.verb("ops", "operators, opsets, restrictions");
  auto json = std::make_shared<bool>(false);
  auto markdown = std::make_shared<bool>(false);
  verb.flag("--json", *json, "as JSON");
  verb.flag("--markdown", *markdown, "as the page docs/operators.md");
  verb.example("polyte ops --json");
  verb.calls([json, markdown] {
    *markdown ? print_ops_page() : print_ops(*json);
    return 0;
  });
}

}  // namespace polyte::cli
