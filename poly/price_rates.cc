#include "poly/price_rates.h"

#include <algorithm>

namespace polyte::poly {
namespace {

constexpr double kDivision = 4;  // cycles of the divider
constexpr double kCall = 12;     // issue slots of a lane
constexpr int kScalarsACycle = 2;

// One instruction: the sum and the product that is added to it.
bool multiplies_and_adds(const ir::Statement& statement) {
  if (statement.combiner != ir::Combiner::Sum || statement.values.size() != 1) return false;
  const auto* product = std::get_if<ir::Binary>(&statement.values.front()->op);
  return product && product->op == ir::BinaryOp::Mul;
}

}  // namespace

Operations operations_of(const ir::Statement& statement) {
  Operations sum;
  for (const ir::Expr& value : statement.values)
    ir::for_each_node(value, [&](const ir::ExprNode& node) {
      if (const auto* binary = std::get_if<ir::Binary>(&node.op)) {
        const bool is_division = binary->op == ir::BinaryOp::Div || binary->op == ir::BinaryOp::Mod;
        sum.slots += 1;
        sum.divider += is_division ? kDivision : 0;
        sum.latency += is_division ? 3 * kOperation : kOperation;
      } else if (const auto* unary = std::get_if<ir::Unary>(&node.op);
                 unary && unary->op != ir::UnaryOp::Neg) {
        const bool is_root = unary->op == ir::UnaryOp::Sqrt;
        sum.slots += is_root ? 1 : kCall;
        sum.divider += is_root ? kDivision : 0;
        sum.latency += (is_root ? 3 : 4) * kOperation;
      }
    });
  // The chain of a sum is its addition alone: what it adds does not depend on the sum so far.
  if (statement.combiner != ir::Combiner::None) {
    sum.slots += multiplies_and_adds(statement) ? 0 : 1;
    sum.latency = kOperation;
  }
  sum.latency = std::max(sum.latency, kOperation);
  return sum;
}

// Operations share the issue slots of the multiply-add units, of scalars at least two per cycle;
// divisions wait for the one divider beside them.
double Operations::cycles(bool is_vector, const Machine& machine) const {
  const int least = is_vector ? 1 : kScalarsACycle;
  return std::max(slots / std::max(least, machine.fma_per_cycle), divider);
}

}  // namespace polyte::poly
