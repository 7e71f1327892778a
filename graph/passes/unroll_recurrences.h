// Writes the steps of a Recurrence out, as nodes of their own: on a GPU each is kernels of many
// blocks then, where the steps in order are one block.
//
//   y, h = Recurrence(x[2, b, n], w, h0)
//     ->  h1 = Tanh(Add(x[0], MatMul(h0, w)));  h = Tanh(Add(x[1], MatMul(h1, w)));  y = Concat(h1,
//     h)
#pragma once

#include "graph/passes/pass.h"

namespace polyte::graph {

PassResult unroll_recurrences(Graph& graph);

}  // namespace polyte::graph
