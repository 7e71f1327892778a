#include "driver/lab/prediction.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "bench/peak.h"
#include "poly/state_price.h"

namespace polyte::lab {
namespace {

using Json = nlohmann::ordered_json;

// Of all lanes together; an fma counts as two.
double operations_of(const ir::Expr& value) {
  double count = 0;
  ir::for_each_node(value, [&](const ir::ExprNode& node) {
    if (!is_float(node.type)) return;
    const bool is_fma = std::holds_alternative<ir::Fma>(node.op);
    if (is_fma || std::holds_alternative<ir::Unary>(node.op) ||
        std::holds_alternative<ir::Binary>(node.op))
      count += (is_fma ? 2 : 1) * node.lanes;
  });
  return count;
}

// Bounds of a loop may depend on loops around it. Each of those is taken at the middle of its
// range, which is exact for bounds that are affine in it, as the terms of a triangle's sum are:
//   for i in 0..n: for j in 0..i: f   ->   n * (n - 1) / 2 operations
// What stands under a condition counts as if it always ran.
class FlopCount {
 public:
  double count(const ir::Stmt& s) {
    if (const auto* store = std::get_if<ir::Store>(&s->op)) return operations_of(store->value);
    if (const auto* loop = std::get_if<ir::For>(&s->op)) return count_loop(*loop);
    double sum = 0;
    if (const auto* block = std::get_if<ir::Block>(&s->op))
      for (const ir::Stmt& child : block->body) sum += count(child);
    if (const auto* branch = std::get_if<ir::If>(&s->op)) sum = count(branch->body);
    if (const auto* alloc = std::get_if<ir::Alloc>(&s->op)) sum = count(alloc->body);
    if (const auto* known = std::get_if<ir::Tensorized>(&s->op)) sum = count(known->body);
    return sum;
  }

 private:
  std::map<std::string, double> middle_;  // of each loop around

  double value(const ir::Affine& e) const {
    auto sum = static_cast<double>(e.constant());
    for (const ir::Term& term : e.terms()) {
      const double atom = term.atom.div
                              ? std::floor(value(term.atom.div->numerator) /
                                           static_cast<double>(term.atom.div->denominator))
                              : middle_.at(term.atom.symbol);
      sum += static_cast<double>(term.coefficient) * atom;
    }
    return sum;
  }

  double count_loop(const ir::For& loop) {
    double from = value(loop.lower.front()), to = value(loop.upper.front());
    for (const ir::Affine& e : loop.lower) from = std::max(from, value(e));
    for (const ir::Affine& e : loop.upper) to = std::min(to, value(e));
    const double trips = std::max(0.0, to - from);
    middle_[loop.var] = from + std::max(0.0, trips - 1) / 2;
    return trips * count(loop.body);
  }
};

// The cycles of this process in a second: its FMA peak over what such a processor does in a
// cycle, lanes * FMAs per cycle * 2 operations. 0: not known.
double clock_hz(const Machine& machine) {
  const double peak = bench::measure_peak(machine, DType::F32);
  return peak / (2.0 * machine.lanes(DType::F32) * std::max(1, machine.fma_per_cycle));
}

}  // namespace

double flops_of_loops(const ir::LoopProgram& program) { return FlopCount().count(program.body); }

Json predict(const driver::BuiltKernel& kernel, const Machine& machine) {
  const poly::StatePrice price = poly::price_of(*kernel.state, machine);
  Json json{{"model", "state price"}};
  if (kernel.kernel.program.params.empty()) json["flops"] = flops_of_loops(kernel.kernel.program);
  json["bytes"] = {{"beyond_l1", price.beyond_l1},
                   {"beyond_l2", price.beyond_l2},
                   {"beyond_l3", price.beyond_l3}};
  json["cycles"] = price.cycles;
  json["bound"] = price.bound();
  if (const double clock = clock_hz(machine); clock > 0) {
    json["clock_ghz"] = clock * 1e-9;
    json["nanoseconds"] = price.cycles / clock * 1e9;
  }
  return json;
}

Json memory_of(const driver::CompiledOperator& op, int threads) {
  std::int64_t interface = 0;
  for (const ir::Buffer& buffer : op.built.kernel.program.buffers)
    interface +=
        checked_mul(checked_product(ir::constant_shape(buffer)), size_in_bytes(buffer.dtype));
  return {{"interface", interface},
          {"scratch", op.scratch.total_bytes(threads)},
          {"stack", op.scratch.stack_bytes}};
}

}  // namespace polyte::lab
