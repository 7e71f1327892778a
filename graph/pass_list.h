// The list of graph passes, one row each: `optimize` runs it in order, `polyte opt` any of
// it by name.
//
//   for (const ListedPass& pass : pass_list()) records.push_back(run_pass(pass, graph, options));
#pragma once

#include <span>

#include "graph/optimize.h"
#include "graph/passes/pass.h"

namespace polyte::graph {

// Of floating-point results; those that change them do not run under `exact`.
enum class Rounding { Kept, Changed };

struct ListedPass {
  const char* name;  // "fold scales"
  const char* what;  // it does, in a line
  Rounding rounding;
  PassResult (*run)(Graph& graph, const OptimizeOptions& options);
};

std::span<const ListedPass> pass_list();

// Runs the pass, timed, whatever `options` skip. InternalError where the graph is not well formed
// after it.
PassRecord run_pass(const ListedPass& pass, Graph& graph, const OptimizeOptions& options);

}  // namespace polyte::graph
