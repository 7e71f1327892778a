// Classification of contractions: which iterators of a reduction statement are M, N, K and batch.
// One classifier serves GEMM, batched GEMM, convolution and any tensor contraction
// (TBLIS; Goto and van de Geijn):
//   M      in the first operand and the result      N   in the second operand and the result
//   K      reductions, in both operands (or one)    batch   in all three
// The operand roles are chosen so that N holds the iterator with stride 1 in the result and its
// operand. N is never empty; M may be (a matrix times a vector, a depthwise convolution).
#pragma once

#include "ir/program.h"
#include "support/result.h"

namespace polyte::ir {

struct Contraction {
  std::string statement;  // the update
  std::string a, b, c;    // buffers: a indexed by M and K, b by N and K
  // Iterators, in the statement's order.
  std::vector<std::string> m = {}, n = {}, k = {}, batch = {};
  std::string lane = {};  // of n: stride 1 in c; empty where there is none
};

// Decline tells why: not a sum of products of two loads, no free iterator on any side, ...
Result<Contraction> classify_contraction(const Program& program, const Statement& update);

// Stride of iterator `it` in an access to a row-major buffer of constant shape; nullopt where it
// is not linear.
std::optional<std::int64_t> stride_of(const Program& program, const Access& access,
                                      const std::string& it);
std::optional<std::int64_t> stride_of(const Program& program, const Load& load,
                                      const std::string& it);

}  // namespace polyte::ir
