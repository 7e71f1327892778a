// Values computed before the statement that reads them, once for all iterations in which they are
// the same: the inverse of inlining a definition.
//
//   C[m, n] += 2 * A[m, k] * B[k, n]    ->    a[m, k] = 2 * A[m, k];   C[m, n] += a[m, k] * B[k, n]
//
// The value is rounded in both, so no bit changes.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"
#include "support/result.h"

namespace polyte::ir {

struct Precomputed {
  std::string statement;  // that has the value, once or more: C.update
  std::string tensor;     // of the values, a new temporary of their type: a
  // Of the statement, a dimension each, outermost first; its range has to be one of its own, from a
  // number on. The value depends on no others.
  std::vector<std::string> iterators;
  Expr value;
};

// The statement with reads of the tensor in place of the value.
Statement reading(const Statement& statement, const Statement& definition, const Expr& value);

// The Program with the definition, outside of regions, as early as what it reads allows. Declines
// where the statement has no such value, a sum of floats would round a product that it does not
// round now, an iterator has no range of its own, or what the value reads is written where the
// statement runs.
Result<Program> with_precomputed(const Program& program, const Precomputed& precomputed);

}  // namespace polyte::ir
