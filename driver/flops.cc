#include "driver/flops.h"

#include <algorithm>

namespace polyte::driver {
namespace {

double operations_of(const ir::Expr& e) {
  double count = 0;
  ir::for_each_node(e, [&](const ir::ExprNode& node) {
    if (!is_float(node.type)) return;
    if (std::holds_alternative<ir::Fma>(node.op)) count += 2;
    if (std::holds_alternative<ir::Unary>(node.op) || std::holds_alternative<ir::Binary>(node.op)) count += 1;
  });
  return count;
}

// Intervals of the iterators, narrowed by the constraints until nothing changes.
ir::Ranges ranges_of(const ir::Statement& statement) {
  ir::Ranges ranges;
  for (std::size_t round = 0; round <= statement.iterators.size(); ++round) {
    for (const ir::Constraint& c : statement.domain) {
      for (const std::string& it : statement.iterators) {
        const std::int64_t a = c.expr.coefficient(it);
        const ir::Affine rest = c.expr - ir::Affine::symbol(it) * a;
        if ((a != 1 && a != -1) || rest.uses(it)) continue;
        const ir::Interval range = ir::range_of(rest, ranges);
        ir::Interval& own = ranges[it];
        if (a == 1 && range.max) own.min = std::max(own.min.value_or(-*range.max), -*range.max);
        if (a == -1 && range.max) own.max = std::min(own.max.value_or(*range.max), *range.max);
      }
    }
  }
  return ranges;
}

}  // namespace

double count_instances(const ir::Program&, const ir::Statement& statement) {
  const ir::Ranges ranges = ranges_of(statement);
  double count = 1;
  for (const std::string& it : statement.iterators) {
    auto range = ranges.find(it);
    if (range == ranges.end() || !range->second.min || !range->second.max) return 0;
    count *= static_cast<double>(std::max<std::int64_t>(0, *range->second.max - *range->second.min + 1));
  }
  return count;
}

double count_flops(const ir::Program& program) {
  double total = 0;
  for (const ir::Statement& statement : program.statements) {
    double each = statement.combiner == ir::Combiner::None ? 0 : 1;
    for (const ir::Expr& value : statement.values) each += operations_of(value);
    total += each * count_instances(program, statement);
  }
  return total;
}

}  // namespace polyte::driver
