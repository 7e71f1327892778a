// What the operators' functions share. The functions themselves are declared where the table
// of op.cc names them.
#pragma once

#include "graph/expander.h"
#include "graph/op.h"

namespace polyte::graph {

using Types = Result<std::vector<TensorType>>;

// Input subscripts of a reshape `from` -> `to` read at `at`, subscripts over `from`.
Subscripts reshaped_subscripts(const Subscripts& at, const Dims& from, const Dims& to);
ir::Expr activated(const GateActivation& by, const ir::Expr& x);
// index, or index + extent where it is negative.
ir::Expr wrapped_index(const ir::Expr& index, std::int64_t extent);

}  // namespace polyte::graph
