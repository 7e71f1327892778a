// A small network of whole numbers, on which every order of the sums gives the same bits: two
// convolutions, a pooling, a residual, a mean over 16 elements, a matrix product. Nodes are named
// conv1 relu1 pool conv2 add relu2 mean flat fc.
#pragma once

#include "graph/graph.h"
#include "runtime/artifact.h"
#include "runtime/tensor.h"

namespace polyte::testing {

graph::Graph integer_network();
// On whole numbers; its one output.
runtime::Tensor run_once(runtime::ArtifactParts parts, int threads);
bool same_bits(const runtime::Tensor& a, const runtime::Tensor& b);

}  // namespace polyte::testing
