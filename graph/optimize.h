// Runs the list of graph passes (pass_list.h): each is named, timed, can be skipped, and the graph
// is checked after it and shown to whoever wants to see it.
//
//   OptimizeReport report = optimize(graph, {.skip = {"fold scales"}});
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/passes/choose_layouts.h"
#include "graph/passes/transform_convolutions.h"

namespace polyte::graph {

struct OptimizeOptions {
  // Names of passes; UserError(Usage) for one that does not exist.
  std::vector<std::string> skip = {};
  // Floating-point results stay what the model says, bit for bit: passes that change roundings
  // do not run.
  bool exact = false;
  LayoutOptions layout = {};  // no vectors: no layout is chosen
  ConvolutionOptions convolutions = {};
  bool absorbs_transposes = false;   // a GPU's products want operands as they multiply them
  bool unrolls_recurrences = false;  // a GPU's steps are kernels of many blocks
  // Names of nodes that compute constants at run time all the same: of an open network those whose
  // results have open sizes.
  std::set<std::string> unfolded = {};
  std::function<void(std::string_view pass, const Graph& graph)> after_pass = {};
};

struct PassRecord {
  std::string name;
  bool ran = false;
  int rewrites = 0;
  double milliseconds = 0;
  std::vector<std::string> notes = {};
};

struct OptimizeReport {
  std::vector<PassRecord> passes;  // in order
};

OptimizeReport optimize(Graph& graph, const OptimizeOptions& options = {});

std::vector<std::string> optimize_pass_names();

}  // namespace polyte::graph
