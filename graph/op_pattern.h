// OpPattern: how freely an operator may be fused; the vocabulary of TVM's fusion
// (Chen et al., OSDI 2018), in the order and meaning of TVM v0.14. The order matters:
// "at most Injective" is a comparison.
//
//   ElemWise         one-to-one, same index everywhere: Relu, Add of equal shapes
//   Broadcast        one-to-many along broadcast axes: Add of a bias
//   Injective        every output element reads one input element, at another index:
//                    Transpose, Concat
//   CommReduce       a commutative reduction: ReduceSum
//   OutEWiseFusable  too complex to enter another group, but takes an element-wise tail:
//                    Conv, Gemm, MaxPool
//   Tuple            several values bundled; no computation
//   Opaque           never fused
#pragma once

#include <cstdint>
#include <string_view>

namespace polyte::graph {

enum class OpPattern : std::uint8_t {
  ElemWise,
  Broadcast,
  Injective,
  CommReduce,
  OutEWiseFusable,
  Tuple,
  Opaque
};

std::string_view to_string(OpPattern pattern);  // "OutEWiseFusable"

}  // namespace polyte::graph
