// polyte profile: a network's steps over many runs: where the time goes, and how far each is from
// what the machine gives.
#include <algorithm>
#include <iostream>

#include "bench/bandwidth.h"
#include "bench/peak.h"
#include "driver/cli/model_options.h"
#include "driver/cli/output_files.h"
#include "driver/cli/profile.h"
#include "driver/cli/reports.h"
#include "driver/cli/run_sizes.h"
#include "driver/cli/step_figures.h"
#include "driver/compile/flops.h"
#include "driver/lab/text_table.h"
#include "driver/package/package_model.h"
#include "frontend/annotate_model.h"
#include "support/stable_sort.h"

namespace polyte::cli {
namespace {

struct ProfileVerbOptions {
  std::string model, fill = "normal", trace, html, onnx;
  ModelVerbOptions verb;
  int threads = 0, runs = 50, top = 0;
  bool json = false;
};

// A session with inputs and outputs of its own.
struct Profiled {
  std::unique_ptr<runtime::Session> session;
  std::map<std::string, double> flops;  // by group; of a model that was compiled here
  std::vector<runtime::Tensor> given, made;
  std::vector<runtime::TensorView> inputs, outputs;
};

// Operations are counted from the Programs, so only where the model is compiled here and its
// sizes are known; an artifact has none.
Profiled prepare(const ProfileVerbOptions& options) {
  Profiled result;
  LoadSteps steps;
  steps.packaged = [&](const driver::PackagedModel& model) {
    for (const driver::GroupPlan& group : model.groups)
      if (!group.view && group.expansion.program.params.empty())
        result.flops[group.name] = driver::count_flops(group.expansion.program);
  };
  const LoadedModel model = load_model(options.model, options.verb, steps);
  for (const std::string& note : model.notes) std::cerr << "note: " << note << "\n";
  result.session = std::make_unique<runtime::Session>(
      model.artifact,
      runtime::SessionOptions{.threads = options.threads, .cuda = options.verb.cuda});
  const runtime::Session& session = *result.session;
  const std::vector<std::int64_t> sizes = session.symbols().empty()
                                              ? std::vector<std::int64_t>()
                                              : run_sizes(session, {}, options.verb.shapes);
  const runtime::Fill fill = runtime::parse_fill(options.fill);
  for (const runtime::TensorSpec& spec : session.inputs()) {
    result.given.emplace_back(spec.dtype, shape_at(spec, sizes));
    runtime::fill(result.given.back(), fill, spec.name);
  }
  for (const runtime::TensorSpec& spec : session.outputs())
    result.made.emplace_back(spec.dtype, shape_at(spec, sizes));
  for (const runtime::Tensor& tensor : result.given) result.inputs.push_back(tensor.view());
  for (const runtime::Tensor& tensor : result.made) result.outputs.push_back(tensor.view());
  return result;
}

// The steps alone, without what lies between them.
std::int64_t total_of(const runtime::RunProfile& profile) {
  std::int64_t total = 0;
  for (const runtime::Span& span : profile.steps) total += span.nanoseconds();
  return total;
}

// After one to warm the caches; sorted by their time.
// Sorted, so that the one in the middle is a whole run of median time: parts and steps of one run
// belong together.
std::vector<runtime::RunProfile> run_often(const Profiled& profiled, int runs) {
  profiled.session->run(profiled.inputs, profiled.outputs);
  std::vector<runtime::RunProfile> profiles;
  for (int i = 0; i < runs; ++i)
    profiles.push_back(profiled.session->profile(profiled.inputs, profiled.outputs));
  sort_stably(profiles, {}, total_of);
  return profiles;
}

// Measured beside the profile, so that both see the same clock. A GPU has ceilings of its own,
// which are not measured here.
Ceilings measure_ceilings(const runtime::Session& session) {
  if (session.device().device_type == POLYTE_DL_CUDA) return {};
  const Machine machine = target_from("cpu:native").machine;
  return {bench::measure_peak(machine, DType::F32) * session.threads(),
          bench::measure_bandwidth(session.threads())};
}

// The least time that the ceilings leave to it, whatever its schedule (S. Williams, A. Waterman, D.
// Patterson, "Roofline", 2009).
void set_roofline(StepFigures& one, const Ceilings& ceilings) {
  if (ceilings.bytes_a_second <= 0 || one.time.median() <= 0) return;
  const double by_memory = one.bytes / ceilings.bytes_a_second;
  const double by_flops = ceilings.flops_a_second > 0 ? one.flops / ceilings.flops_a_second : 0;
  one.bound = by_flops > by_memory ? "multiply-adds" : "memory";
  one.roofline = std::max(by_flops, by_memory) / (one.time.median() * 1e-9);
}

// Time of all workers' parts over the time of the step: how many worked on the average; a step
// without parts is one worker's.
double busy_of(const runtime::RunProfile& profile, std::size_t step) {
  double parts = 0;
  for (const runtime::Span& part : profile.parts)
    if (part.step == step) parts += static_cast<double>(part.nanoseconds());
  const auto whole = static_cast<double>(profile.steps[step].nanoseconds());
  return parts > 0 && whole > 0 ? parts / whole : 1;
}

// Each step's times over all runs, and its distance from the roofline. `bytes` counts each
// operand once, as if none stayed in a cache.
NetworkFigures figures_of(const ProfileVerbOptions& options, const Profiled& profiled,
                          const std::vector<runtime::RunProfile>& profiles) {
  const runtime::ArtifactManifest& manifest = profiled.session->artifact().manifest();
  NetworkFigures result;
  result.source = options.model;
  result.threads = profiled.session->threads();
  result.runs = static_cast<int>(profiles.size());
  result.ceilings = measure_ceilings(*profiled.session);
  const std::vector<std::vector<std::size_t>> edges = step_edges(manifest);
  double total = 0;
  for (std::size_t i = 0; i < manifest.steps.size(); ++i) {
    StepFigures one;
    one.step = i;
    one.from = edges[i];
    for (const runtime::RunProfile& profile : profiles)
      one.time.rounds.push_back(static_cast<double>(profile.steps[i].nanoseconds()));
    // Parts are known of whole runs only, so the share of workers is taken from the median run.
    one.busy = busy_of(profiles[profiles.size() / 2], i);
    for (const std::int64_t buffer : manifest.steps[i].buffers)
      one.bytes += static_cast<double>(manifest.buffers.at(static_cast<std::size_t>(buffer)).bytes);
    const auto flops = profiled.flops.find(manifest.steps[i].group);
    if (flops != profiled.flops.end() && !manifest.steps[i].kernel.empty())
      one.flops = flops->second;
    set_roofline(one, result.ceilings);
    total += one.time.median();
    result.steps.push_back(std::move(one));
  }
  for (StepFigures& one : result.steps) one.share = total > 0 ? one.time.median() / total : 0;
  for (const runtime::RunProfile& profile : profiles)
    result.whole.rounds.push_back(static_cast<double>(total_of(profile)));
  return result;
}

std::vector<StepFigures> slowest_first(const NetworkFigures& figures) {
  std::vector<StepFigures> rows = figures.steps;
  sort_stably(rows, std::ranges::greater(), &StepFigures::share);
  return rows;
}

std::string short_time(double nanoseconds) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", decimals_of(nanoseconds / 1e3), nanoseconds / 1e3);
  return text;
}

std::string interval_of(const bench::Timing& time) {
  const auto [low, high] = time.interval();
  return short_time(low) + " to " + short_time(high);
}

// The slowest steps first, each with what it computes in a line of its own.
void print_table(const NetworkFigures& figures, const runtime::Session& session, int top) {
  std::printf("%13s  %-22s %6s  %4s  %s\n", "median", "95 % interval", "share", "busy", "roofline");
  int left = top > 0 ? top : static_cast<int>(figures.steps.size());
  for (const StepFigures& one : slowest_first(figures)) {
    if (left-- == 0) break;
    const runtime::StepSpec& step = session.steps()[one.step];
    char roofline[48] = "";
    if (!one.bound.empty())
      std::snprintf(roofline, sizeof roofline, "%.2f of %s", one.roofline, one.bound.c_str());
    std::printf("%10s us  %-22s %5.1f%%  %4.2f  %s\n%s", short_time(one.time.median()).c_str(),
                interval_of(one.time).c_str(), 100 * one.share, one.busy, roofline,
                lab::wrapped(step.group + ": " + operators_of(step), "      ").c_str());
  }
  std::printf("%10s us  %s in %zu steps; %d runs by %s\n",
              short_time(figures.whole.median()).c_str(), interval_of(figures.whole).c_str(),
              figures.steps.size(), figures.runs, threads_text(figures.threads).c_str());
  if (figures.ceilings.bytes_a_second > 0)
    std::printf("ceilings measured beside: %.1f GF/s of multiply-adds, %.1f GB/s of memory\n",
                figures.ceilings.flops_a_second / 1e9, figures.ceilings.bytes_a_second / 1e9);
}

void print_json(const NetworkFigures& figures, const runtime::Session& session) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const StepFigures& one : slowest_first(figures)) {
    const runtime::StepSpec& step = session.steps()[one.step];
    const auto [low, high] = one.time.interval();
    nlohmann::ordered_json row{{"step", one.step},        {"group", step.group},
                               {"kernel", step.kernel},   {"nodes", step.nodes},
                               {"time_unit", "ns"},       {"real_time", one.time.median()},
                               {"interval", {low, high}}, {"share", one.share},
                               {"busy", one.busy},        {"bytes", one.bytes}};
    row["flops"] = one.flops > 0 ? nlohmann::ordered_json(one.flops) : nlohmann::ordered_json();
    row["bound"] = one.bound.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(one.bound);
    row["roofline"] =
        one.bound.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(one.roofline);
    row["from"] = one.from;
    rows.push_back(std::move(row));
  }
  const auto [low, high] = figures.whole.interval();
  const nlohmann::ordered_json json{{"model", figures.source},
                                    {"threads", figures.threads},
                                    {"runs", figures.runs},
                                    {"real_time", figures.whole.median()},
                                    {"interval", {low, high}},
                                    {"time_unit", "ns"},
                                    {"ceilings",
                                     {{"flops_a_second", figures.ceilings.flops_a_second},
                                      {"bytes_a_second", figures.ceilings.bytes_a_second}}},
                                    {"steps", rows}};
  std::cout << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
}

// "Conv 'conv1'": the node's name in the model.
std::string name_of_node(const std::string& node) {
  const std::size_t from = node.find('\''), to = node.rfind('\'');
  return from == std::string::npos || to <= from ? "" : node.substr(from + 1, to - from - 1);
}

void write_onnx(const ProfileVerbOptions& options, const NetworkFigures& figures,
                const runtime::Session& session) {
  std::map<std::string, std::string> texts;
  for (const StepFigures& one : figures.steps) {
    const runtime::StepSpec& step = session.steps()[one.step];
    char time[96];
    std::snprintf(time, sizeof time, "Polyte: %.1f us, %.1f %% of the time, ",
                  one.time.median() / 1e3, 100 * one.share);
    for (const std::string& node : step.nodes)
      texts[name_of_node(node)] =
          std::string(time) +
          (step.nodes.size() == 1 ? "alone in " : "as one kernel with all of ") + step.group +
          (step.nodes.size() == 1 ? "" : ": " + operators_of(step));
  }
  const frontend::Annotated done = frontend::annotate_model(options.model, options.onnx, texts);
  std::cerr << options.onnx << ": " << done.nodes << " nodes with their times"
            << (done.has_external ? "; its tensors stay in files of their own, keep it beside them"
                                  : "")
            << "\n";
}

// An annotated model is written from the ONNX file: an artifact has no nodes any more.
void check_files(const ProfileVerbOptions& options) {
  std::vector<std::string> files = {options.model};
  add_files(options.verb, files);
  const std::pair<const char*, const std::string*> written[] = {
      {"--trace ", &options.trace}, {"--html ", &options.html}, {"--onnx ", &options.onnx}};
  for (const auto& [option, path] : written)
    if (!path->empty()) check_output_file(option + *path, *path, files);
  if (!options.onnx.empty() && is_artifact(options.model))
    throw UserError(ExitStatus::Usage,
                    "--onnx " + options.onnx + ": " + options.model +
                        " is an artifact, which keeps no nodes to annotate; profile the ONNX file");
}

int run_profile(const ProfileVerbOptions& options) {
  check_files(options);
  const Profiled profiled = prepare(options);
  const std::vector<runtime::RunProfile> profiles = run_often(profiled, options.runs);
  const NetworkFigures figures = figures_of(options, profiled, profiles);
  if (options.json) {
    print_json(figures, *profiled.session);
  } else {
    print_table(figures, *profiled.session, options.top);
  }
  report_profile(*profiled.session, profiles[profiles.size() / 2],
                 {.table = false, .trace = options.trace});
  if (!options.html.empty()) write_file(options.html, profile_page(figures, *profiled.session));
  if (!options.onnx.empty()) write_onnx(options, figures, *profiled.session);
  return 0;
}

}  // namespace

void add_profile(const Verb& app) {
  const Verb verb =
      app.verb("profile", "where a network's time goes: its kernels over many runs, slowest first");
  auto options = std::make_shared<ProfileVerbOptions>();
  verb.option("model", options->model, "an artifact or an ONNX file").required();
  add_model_options(verb, options->verb);
  add_device_options(verb, options->verb.cuda);
  verb.option("--fill", options->fill,
              "values of the inputs: zeros, ones, normal[:SEED] or int:SEED")
      .shows_default();
  verb.option("--threads", options->threads, "worker threads; 0: as many as processors")
      .within(0, 1024)
      .shows_default();
  verb.option("--runs", options->runs, "how many are measured, after one to warm up")
      .within(1, 100'000)
      .shows_default();
  verb.option("--top", options->top, "only the N slowest in the table; 0: all")
      .within(0, 1'000'000)
      .shows_default();
  verb.option("--trace", options->trace,
              "write the median run's timeline as Chrome trace events, for Perfetto");
  verb.option("--html", options->html,
              "write a page with the network drawn, in the colours of its times");
  verb.option("--onnx", options->onnx,
              "write the model with the time of each node in its doc_string, for Netron");
  verb.flag("--json", options->json, "as JSON");
  verb.example("polyte profile digits.onnx --html profile.html --trace trace.json");
  verb.calls([options] {
    options->verb.schedule_threads = options->threads;
    return run_profile(*options);
  });
}

}  // namespace polyte::cli
