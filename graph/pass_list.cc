#include "graph/pass_list.h"

#include "graph/passes/absorb_transposes.h"
#include "graph/passes/block_scans.h"
#include "graph/passes/choose_layouts.h"
#include "graph/passes/fold_constants.h"
#include "graph/passes/fold_scales.h"
#include "graph/passes/merge_common_nodes.h"
#include "graph/passes/merge_reshapes.h"
#include "graph/passes/merge_transposes.h"
#include "graph/passes/remove_dead_nodes.h"
#include "graph/passes/remove_identities.h"
#include "graph/passes/simplify_batch_norms.h"
#include "graph/passes/transform_convolutions.h"
#include "graph/passes/unroll_recurrences.h"
#include "support/error.h"
#include "support/stage_log.h"

namespace polyte::graph {

namespace {

// A pass that asks for no options.
template <Pass pass>
PassResult plain(Graph& graph, const OptimizeOptions&) {
  return pass(graph);
}

// The list.
constexpr ListedPass kPasses[] = {
    {"remove dead nodes", "what no output needs is dropped", Rounding::Kept,
     plain<remove_dead_nodes>},
    // What stays the same in all steps is folded.
    {"unroll recurrences", "steps of recurrent layers become nodes of their own, for a GPU",
     Rounding::Changed,
     [](Graph& graph, const OptimizeOptions& options) {
       return options.unrolls_recurrences ? unroll_recurrences(graph) : PassResult{};
     }},
    {"fold constants", "nodes of constant operands are evaluated", Rounding::Kept,
     [](Graph& graph, const OptimizeOptions& options) {
       return fold_constants(graph, options.unfolded);
     }},
    {"merge transposes", "a Transpose of a Transpose becomes one", Rounding::Kept,
     plain<merge_transposes>},
    // Turns some transposes into reshapes.
    {"merge reshapes",
     "chains of Reshape become one; a Transpose that moves no element becomes a Reshape",
     Rounding::Kept, plain<merge_reshapes>},
    {"remove identities", "nodes whose result is their operand are dropped", Rounding::Kept,
     plain<remove_identities>},
    // Contractions see what follows them once identities are gone.
    {"fold scales",
     "scales and shifts of channels go into the weights of the contraction before them",
     Rounding::Changed, plain<fold_scales>},
    // Only those that were not folded.
    {"simplify batch norms", "a BatchNormalization becomes a multiplication and an addition",
     Rounding::Changed, plain<simplify_batch_norms>},
    // Every convolution as it will be.
    {"choose layouts", "channels in blocks as long as a vector, where that pays", Rounding::Kept,
     [](Graph& graph, const OptimizeOptions& options) {
       LayoutOptions layout = options.layout;
       const Convolutions how = options.convolutions.how;
       if (!options.exact && how != Convolutions::Direct) {
         layout.transforms = options.convolutions.use;
         layout.transforms->always = how == Convolutions::Winograd;
       }
       return choose_layouts(graph, layout);
     }},
    // Those in blocks.
    {"transform convolutions", "windows of 3 by Winograd's method, where that pays",
     Rounding::Changed,
     [](Graph& graph, const OptimizeOptions& options) {
       return transform_convolutions(graph, options.convolutions);
     }},
    {"block scans", "a cumulative sum of few, long rows is taken in blocks that run side by side",
     Rounding::Changed, plain<block_scans>},
    // What is a product was seen as one before.
    {"absorb transposes", "products read transposed operands where they lie", Rounding::Kept,
     [](Graph& graph, const OptimizeOptions& options) {
       return options.absorbs_transposes ? absorb_transposes(graph) : PassResult{};
     }},
    // Last: the others make equal constants.
    {"merge common nodes", "of equal nodes, and of equal constants, the first serves all",
     Rounding::Kept, plain<merge_common_nodes>},
};

void check_after(const ListedPass& pass, const Graph& graph) {
  const std::vector<std::string> problems = verify(graph);
  POLYTE_CHECK(problems.empty(),
               "after pass '" + std::string(pass.name) + "': " + problems.front());
}

}  // namespace

std::span<const ListedPass> pass_list() { return kPasses; }

PassRecord run_pass(const ListedPass& pass, Graph& graph, const OptimizeOptions& options) {
  PassResult result;
  const double milliseconds = milliseconds_of([&] { result = pass.run(graph, options); });
  check_after(pass, graph);
  return {.name = pass.name,
          .ran = true,
          .rewrites = result.rewrites,
          .milliseconds = milliseconds,
          .notes = std::move(result.notes)};
}

}  // namespace polyte::graph
