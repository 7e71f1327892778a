// Folds what scales and shifts whole output channels into the contraction before it:
//
//   BatchNormalization(Conv(x, w, b), s, t, m, v)
//     ->   Conv(x, w * a, b * a + c)      a = s / sqrt(v + eps)
//   Add(Gemm(x, w, b), k), Mul, Sub, Div
//     ->   Gemm(x, w * a, b * a + c)      c = t - m * a
//
// Contractions: Conv, ConvTranspose, Gemm, and MatMul by a constant matrix (scales only: it has no
// bias). Needs constant weights and a contraction that nobody else reads. New weights are computed
// in double and rounded once; results change by roundings (and signs of zeros), as they do in every
// compiler that folds a batch normalisation.
#pragma once

#include "graph/passes/pass.h"

namespace polyte::graph {

PassResult fold_scales(Graph& graph);

}  // namespace polyte::graph
