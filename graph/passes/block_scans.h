// Gives a CumSum over few, long rows blocks that run side by side:
//
//   CumSum(x)[1, 1000000]  ->  CumSum(x) block 15625
//
// 64 blocks, each summed up before (ops/cumsum.cc). Terms are added in another order, by blocks.
// Sums of f16 and bf16 are left as they are: they are rounded at each step, which blocks
// would move.
#pragma once

#include "graph/passes/pass.h"

namespace polyte::graph {

PassResult block_scans(Graph& graph);

}  // namespace polyte::graph
