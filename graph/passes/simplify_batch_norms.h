// A BatchNormalization with constant parameters that no contraction took becomes one multiplication
// and one addition with constants computed here:
//
//   BatchNormalization(x: [n, c, ...], s, t, m, v)  ->  Add(Mul(x, a[c, 1...]), b[c, 1...])
//
// a = s / sqrt(v + epsilon), b = t - m * a, in double, rounded once. They are numbers where x is a
// vector: ONNX says that it has one channel.
#pragma once

#include "graph/passes/pass.h"

namespace polyte::graph {

PassResult simplify_batch_norms(Graph& graph);

}  // namespace polyte::graph
