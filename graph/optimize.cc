#include "graph/optimize.h"

#include <algorithm>

#include "graph/pass_list.h"
#include "support/error.h"

namespace polyte::graph {

namespace {

void check_names(const std::vector<std::string>& names) {
  const std::vector<std::string> known = optimize_pass_names();
  std::vector<std::string> problems;
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) != known.end()) continue;
    std::string problem = "no graph pass is called '" + name + "'; there are";
    for (const std::string& pass : known)
      problem += (pass == known.front() ? " '" : ", '") + pass + "'";
    problems.push_back(std::move(problem));
  }
  if (!problems.empty()) throw UserError(ExitStatus::Usage, std::move(problems));
}

}  // namespace

OptimizeReport optimize(Graph& graph, const OptimizeOptions& options) {
  check_names(options.skip);
  OptimizeReport report;
  for (const ListedPass& pass : pass_list()) {
    const bool skipped = std::ranges::find(options.skip, pass.name) != options.skip.end();
    if (skipped || (options.exact && pass.rounding == Rounding::Changed)) {
      // A record of a pass that did not run, so that the report names them all.
      report.passes.push_back({.name = pass.name});
      continue;
    }
    report.passes.push_back(run_pass(pass, graph, options));
    if (options.after_pass) options.after_pass(pass.name, graph);
  }
  return report;
}

std::vector<std::string> optimize_pass_names() {
  std::vector<std::string> names;
  for (const ListedPass& pass : pass_list()) names.emplace_back(pass.name);
  return names;
}

}  // namespace polyte::graph
