#include "ir/contraction.h"

#include <algorithm>

namespace polyte::ir {
namespace {

// Row-major, from the last dimension on: stride = sum of coefficient * (product of the extents
// behind).
std::optional<std::int64_t> stride_in(const Buffer& buffer, const std::vector<Index>& indices,
                                      const std::string& it) {
  std::int64_t stride = 0;
  // Elements between neighbours of the dimension; unknown past an open extent.
  std::optional<std::int64_t> step = 1;
  for (std::size_t i = indices.size(); i-- > 0;) {
    const Affine& e = indices[i].affine;
    const std::int64_t coefficient = e.coefficient(it);
    if ((e - Affine::symbol(it) * coefficient).uses(it)) return std::nullopt;
    bool gathers = false;
    if (indices[i].indirect) {
      for_each_node(indices[i].indirect, [&](const ExprNode& n) {
        if (const auto* value = std::get_if<IndexValue>(&n.op))
          gathers = gathers || value->value.uses(it);
        if (const auto* load = std::get_if<Load>(&n.op))
          for (const Index& index : load->indices) gathers = gathers || index.affine.uses(it);
      });
    }
    if (gathers || (coefficient != 0 && !step)) return std::nullopt;
    if (coefficient != 0) stride += coefficient * *step;
    const bool known = step && buffer.shape[i].is_constant();
    step = known ? std::optional(*step * buffer.shape[i].constant()) : std::nullopt;
  }
  return stride;
}

bool uses(const std::vector<Index>& indices, const std::string& it) {
  return std::ranges::any_of(indices, [&](const Index& index) { return index.affine.uses(it); });
}

bool is_direct(const std::vector<Index>& indices) {
  return std::ranges::none_of(indices,
                              [](const Index& index) { return index.indirect != nullptr; });
}

struct Operands {
  const Load* a;
  const Load* b;
};

Result<Operands> operands_of(const Statement& update) {
  if (update.combiner != Combiner::Sum)
    return Decline{"statement '" + update.name + "' is no sum: its combiner is " +
                   to_string(update.combiner)};
  if (update.guard) return Decline{"statement '" + update.name + "' has a run-time guard"};
  const auto* product = std::get_if<Binary>(&update.values[0]->op);
  const bool multiplies = product && product->op == BinaryOp::Mul;
  const Load* a = multiplies ? std::get_if<Load>(&product->a->op) : nullptr;
  const Load* b = multiplies ? std::get_if<Load>(&product->b->op) : nullptr;
  if (!a || !b)
    return Decline{"the summand of statement '" + update.name + "' is no product of two tensors"};
  if (!is_direct(a->indices) || !is_direct(b->indices) || !is_direct(update.writes[0].indices))
    return Decline{"statement '" + update.name + "' gathers or scatters"};
  return Operands{a, b};
}

// Own iterators by where they occur. `a` and `b` as they stand in the text. An iterator
// in neither operand has no place in the scheme, and is declined; one of the sum may be in one
// operand only.
Result<Contraction> sort_iterators(const Statement& update, const Operands& operands) {
  Contraction c{.statement = update.name,
                .a = operands.a->buffer,
                .b = operands.b->buffer,
                .c = update.writes[0].buffer};
  for (std::size_t i = static_cast<std::size_t>(update.region_depth); i < update.iterators.size();
       ++i) {
    const std::string& it = update.iterators[i];
    const bool in_a = uses(operands.a->indices, it), in_b = uses(operands.b->indices, it);
    const bool in_c = uses(update.writes[0].indices, it);
    if (!in_a && !in_b)
      return Decline{"iterator " + it + " of statement '" + update.name +
                     "' is in neither operand"};
    (in_c ? (in_a && in_b ? c.batch : in_a ? c.m : c.n) : c.k).push_back(it);
  }
  if (c.k.empty()) return Decline{"statement '" + update.name + "' has no reduction iterator"};
  if (c.m.empty() && c.n.empty())
    return Decline{"statement '" + update.name +
                   "' has no iterator that is in one operand and the result only"};
  return c;
}

// The iterator with stride 1 in the result; better if in its operand too.
std::string find_lane(const Program& program, const Statement& update,
                      const std::vector<std::string>& candidates, const Load& operand,
                      bool in_operand) {
  for (const std::string& it : candidates) {
    if (stride_of(program, update.writes[0], it) != std::optional<std::int64_t>(1)) continue;
    if (!in_operand || stride_of(program, operand, it) == std::optional<std::int64_t>(1)) return it;
  }
  return "";
}

}  // namespace

std::optional<std::int64_t> stride_of(const Program& program, const Access& access,
                                      const std::string& it) {
  return stride_in(program.buffer(access.buffer), access.indices, it);
}

std::optional<std::int64_t> stride_of(const Program& program, const Load& load,
                                      const std::string& it) {
  return stride_in(program.buffer(load.buffer), load.indices, it);
}

// Operands are exchanged where that makes the lane an iterator of N. An iterator that has stride 1
// in the result and in its operand is preferred, from either side, before one that has it in the
// result alone: vectors are then loaded and stored without gathers.
Result<Contraction> classify_contraction(const Program& program, const Statement& update) {
  Result<Operands> operands = operands_of(update);
  if (!operands) return operands.error();
  Result<Contraction> sorted = sort_iterators(update, *operands);
  if (!sorted) return sorted;
  Contraction c = *sorted;
  for (const bool in_operand : {true, false}) {
    c.lane = find_lane(program, update, c.n, *operands->b, in_operand);
    if (!c.lane.empty()) return c;
    const std::string other = find_lane(program, update, c.m, *operands->a, in_operand);
    if (other.empty()) continue;
    c.lane = other;
    std::swap(c.a, c.b);
    std::swap(c.m, c.n);
    return c;
  }
  if (c.n.empty()) {
    std::swap(c.a, c.b);
    std::swap(c.m, c.n);
  }
  return c;
}

}  // namespace polyte::ir
