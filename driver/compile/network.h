// Network: what the driver compiles. A graph, or, where sizes of it stay open, the same graph at
// several sizes: all that is later made of it, Programs, shapes and places in memory, is made at
// each of them and is one affine function of the sizes (ir/open_program.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "ir/open_program.h"

namespace polyte::driver {

// A size that runs choose, by its name in the model: an artifact takes least to most.
struct OpenSymbol {
  std::string name;
  std::int64_t least = 1, typical = 16, most = 65536;

  // What graph passes and schedulers choose for: the next prime, and none so small that one tile is
  // all of it. No choice then rests on a tile that happens to divide the size. It stays within the
  // range, beyond which the network may not be valid, unless that has no prime.
  std::int64_t chosen_for() const;
};

using GraphOfSizes = std::function<graph::Graph(const ir::Values& sizes)>;

struct Network {
  Network(graph::Graph graph);  // NOLINT: implicit by design; nothing is open
  // Asks for the graph at the sizes chosen for, near them, and at the ends of the ranges.
  // UserError(Unsupported) lists what is no affine function of the sizes; UserError(Usage)
  // an impossible range.
  Network(std::vector<OpenSymbol> open, const GraphOfSizes& graph_of);

  std::vector<OpenSymbol> symbols;
  ir::SizePoints sizes;  // all at which there is a graph
  // Of the same nodes and values; the first is that of the sizes chosen for.
  std::vector<graph::Graph> graphs;
};

// UserError(Unsupported) with these problems, if there are any, under a line that names the
// open sizes.
void refuse_open_sizes(const ir::SizePoints& sizes, std::vector<std::string> problems);

// Everything that is not the same network at every point, one message per node or value: other
// nodes, attributes, shapes or constants than an affine function of the sizes has there. Constants
// are equal where they are shared.
std::vector<std::string> differences(const ir::SizePoints& sizes,
                                     const std::vector<graph::Graph>& graphs);

// Constants of `graph` that `other` has at the same position are held once from now on.
void share_constants(const graph::Graph& other, graph::Graph& graph);

}  // namespace polyte::driver
