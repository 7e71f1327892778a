#include "graph/optimize.h"

#include <algorithm>

#include "graph/passes/choose_layouts.h"
#include "graph/passes/fold_constants.h"
#include "graph/passes/fold_scales.h"
#include "graph/passes/merge_common_nodes.h"
#include "graph/passes/merge_reshapes.h"
#include "graph/passes/merge_transposes.h"
#include "graph/passes/remove_dead_nodes.h"
#include "graph/passes/remove_identities.h"
#include "graph/passes/simplify_batch_norms.h"
#include "support/error.h"
#include "support/stage_log.h"

namespace polyte::graph {

namespace {

enum class Rounding { Kept, Changed };

// The list. `run(name, pass)` is called for every entry in order.
template <class Run>
void for_each_pass(const OptimizeOptions& options, const Run& run) {
  const auto choose = [&options](Graph& graph) { return choose_layouts(graph, options.layout); };
  const auto fold = [&options](Graph& graph) { return fold_constants(graph, options.unfolded); };
  run("remove dead nodes", remove_dead_nodes, Rounding::Kept);
  run("fold constants", fold, Rounding::Kept);
  run("merge transposes", merge_transposes, Rounding::Kept);
  run("merge reshapes", merge_reshapes, Rounding::Kept);  // turns some transposes into reshapes
  run("remove identities", remove_identities, Rounding::Kept);
  run("fold scales", fold_scales, Rounding::Changed);  // contractions see what follows them once identities are gone
  run("simplify batch norms", simplify_batch_norms, Rounding::Changed);  // only those that were not folded
  run("choose layouts", choose, Rounding::Kept);                         // every convolution as it will be
  run("merge common nodes", merge_common_nodes, Rounding::Kept);         // last: the others make equal constants
}

void check_after(std::string_view pass, const Graph& graph) {
  const std::vector<std::string> problems = verify(graph);
  POLYTE_CHECK(problems.empty(), "after pass '" + std::string(pass) + "': " + problems.front());
}

template <class AnyPass>
PassRecord run_pass(const char* name, const AnyPass& pass, Graph& graph) {
  PassResult result;
  const double milliseconds = milliseconds_of([&] { result = pass(graph); });
  return {.name = name,
          .ran = true,
          .rewrites = result.rewrites,
          .milliseconds = milliseconds,
          .notes = std::move(result.notes)};
}

void check_names(const std::vector<std::string>& names) {
  const std::vector<std::string> known = optimize_pass_names();
  std::vector<std::string> problems;
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string problem = "no graph pass is called '" + name + "'; there are";
    for (const std::string& pass : known) problem += (pass == known.front() ? " '" : ", '") + pass + "'";
    problems.push_back(std::move(problem));
  }
  if (!problems.empty()) throw UserError(ExitStatus::Usage, std::move(problems));
}

}  // namespace

OptimizeReport optimize(Graph& graph, const OptimizeOptions& options) {
  check_names(options.skip);
  OptimizeReport report;
  for_each_pass(options, [&](const char* name, const auto& pass, Rounding rounding) {
    const bool skipped = std::find(options.skip.begin(), options.skip.end(), name) != options.skip.end();
    if (skipped || (options.exact && rounding == Rounding::Changed)) {
      report.passes.push_back({.name = name});
      return;
    }
    report.passes.push_back(run_pass(name, pass, graph));
    check_after(name, graph);
    if (options.after_pass) options.after_pass(name, graph);
  });
  return report;
}

std::vector<std::string> optimize_pass_names() {
  std::vector<std::string> names;
  for_each_pass({}, [&](const char* name, const auto&, Rounding) { names.emplace_back(name); });
  return names;
}

}  // namespace polyte::graph
