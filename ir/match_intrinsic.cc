// A point nest against a row of the catalogue: unification of two small trees, in which names and
// strides may differ.
#include <algorithm>
#include <numeric>

#include "ir/intrinsics.h"
#include "ir/point_nest.h"
#include "support/error.h"

namespace polyte::ir {
namespace {

std::string number(std::int64_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::string listed(const std::vector<NestLoop>& loops) {
  std::string text;
  for (const NestLoop& loop : loops)
    text += (text.empty() ? "" : ", ") + loop.shown + " of " + std::to_string(loop.extent);
  return text;
}

// True where every value of an integer type is one of the other.
bool widens(DType from, DType to) {
  if (!is_integer(from) || !is_integer(to)) return false;
  if (is_unsigned_integer(from) && is_unsigned_integer(to))
    return size_in_bytes(to) >= size_in_bytes(from);
  if (is_unsigned_integer(to)) return false;
  return size_in_bytes(to) > size_in_bytes(from) || (is_signed_integer(from) && from == to);
}

// A cast of a cast that loses nothing is one cast: i32(i16(x)) is i32(x) for x of i8. So a nest
// that widens in steps still matches a row that widens at once.
Expr normal(const Expr& e) {
  const auto* outer = std::get_if<Cast>(&e->op);
  const auto* inner = outer ? std::get_if<Cast>(&outer->a->op) : nullptr;
  if (!inner || !widens(inner->a->type, outer->a->type)) return e;
  return normal(make_cast(e->type, inner->a));
}

// Min and Max of floats commute bit for bit as well: NaN wins from either side, and -0 is below +0.
bool commutes(BinaryOp op) {
  switch (op) {
    case BinaryOp::Add:
    case BinaryOp::Mul:
    case BinaryOp::Min:
    case BinaryOp::Max:
    case BinaryOp::And:
    case BinaryOp::Or:
    case BinaryOp::Xor:
    case BinaryOp::Eq:
    case BinaryOp::Ne:
      return true;
    default:
      return false;
  }
}

// The nest's access that stands for an operand.
struct Bound {
  std::string buffer;
  const std::vector<Index>* indices = nullptr;
};
using Operands = std::map<std::string, Bound>;

bool same_indices(const std::vector<Index>& a, const std::vector<Index>& b) {
  return std::ranges::equal(a, b, [](const Index& x, const Index& y) {
    return x.affine == y.affine && !x.indirect && !y.indirect;
  });
}

// One pairing of the row's loops with the nest's.
class Unifier {
 public:
  Unifier(const Intrinsic& row, const PointNest& pattern, const PointNest& nest,
          const std::vector<std::size_t>& pairing, const ElementStrides& strides)
      : row_(row), pattern_(pattern), nest_(nest), pairing_(pairing), strides_(strides) {}

  Result<std::vector<OperandTile>, Mismatch> run() {
    if (!nest_.conditions.empty())
      return Mismatch{"not every iteration runs: " + to_string(nest_.conditions.front()) +
                      " does not always hold"};
    if (auto mismatch = unify_stores()) return *mismatch;
    std::vector<OperandTile> tiles;
    for (const Buffer& buffer : row_.program.buffers) {
      auto tile = tile_of(buffer);
      if (!tile) return tile.error();
      tiles.push_back(std::move(*tile));
    }
    return tiles;
  }

  // Of a warp: each access moves along the loops of its operand and no others.
  Result<WarpMatch, Mismatch> run_warp() {
    if (auto mismatch = unify_stores()) return *mismatch;
    WarpMatch result;
    result.conditions = nest_.conditions;
    // A condition about one loop cuts off whole rows, columns or terms, which masks and zeros
    // can stand for; one about two would cut the tile along a diagonal.
    for (const Constraint& c : nest_.conditions) {
      const auto uses = [&](const NestLoop& loop) { return c.expr.uses(loop.var); };
      if (c.equality || std::ranges::count_if(nest_.loops, uses) > 1)
        return Mismatch{"where the tile is cut short, " + to_string(c) +
                        ", is not about one of its loops"};
    }
    for (const std::size_t loop : pairing_) {
      result.loops.push_back(nest_.loops[loop].var);
      result.extents.push_back(nest_.loops[loop].extent);
    }
    for (std::size_t n = 0; n < row_.program.buffers.size(); ++n) {
      const Buffer& buffer = row_.program.buffers[n];
      const Bound& bound = operands_.at(buffer.name);
      const std::vector<std::size_t> own = loops_of_operand(row_, n);
      for (std::size_t i = 0; i < pairing_.size(); ++i) {
        const NestLoop& loop = nest_.loops[pairing_[i]];
        const bool moves = std::ranges::any_of(*bound.indices, [&](const Index& index) {
          return index.indirect != nullptr || index.affine.uses(loop.var);
        });
        if (moves && std::ranges::find(own, i) == own.end())
          return Mismatch{bound.buffer + " (operand " + buffer.name + ") moves with " + loop.shown +
                          ", expected the same element for all of its iterations"};
        if (!moves && std::ranges::find(own, i) != own.end() && buffer.role != Role::In)
          return Mismatch{bound.buffer + " (operand " + buffer.name + ") does not move with " +
                          loop.shown};
      }
      result.operands.push_back({bound.buffer, bound.indices});
    }
    return result;
  }

 private:
  // The element that is written is bound to the row's `c` first: where the value reads `c`, it has
  // to be that element. Nothing else of the nest may be in the same buffer, as the instruction
  // reads all of its operands before it writes.
  std::optional<Mismatch> unify_stores() {
    const Store &expected = *pattern_.store, &found = *nest_.store;
    if (found.atomic) return Mismatch{"the statement is atomic, the instruction is not"};
    if (found.nontemporal) return Mismatch{"the stores to " + found.buffer + " go past the caches"};
    const DType type = row_.program.buffer(expected.buffer).dtype;
    if (found.value->type != type)
      return Mismatch{found.buffer + " is " + name_of(found.value->type) + ", expected " +
                      name_of(type)};
    operands_[expected.buffer] = {found.buffer, &found.indices};
    if (!unify(expected.value, found.value)) return best_;
    for (const auto& [operand, bound] : operands_)
      if (operand != expected.buffer && bound.buffer == found.buffer)
        return Mismatch{found.buffer + " is written, and read as another operand (" + operand +
                        ")"};
    return std::nullopt;
  }

  const Intrinsic& row_;
  const PointNest &pattern_, &nest_;
  const std::vector<std::size_t>& pairing_;  // of pattern loop i: the nest's
  const ElementStrides& strides_;
  Operands operands_;
  int matched_ = 0, best_matched_ = -1;
  Mismatch best_;  // the one that comes after most that is equal

  bool differs(const std::string& difference) {
    if (matched_ > best_matched_) best_ = Mismatch{difference};
    best_matched_ = std::max(matched_, best_matched_);
    return false;
  }

  bool differs(const Expr& expected, const Expr& found) {
    return differs("where " + to_string(expected) + " is expected, the nest has " +
                   to_string(found));
  }

  bool unify(const Expr& expected_form, const Expr& found_form) {
    const Expr expected = normal(expected_form), found = normal(found_form);
    if (expected->op.index() != found->op.index()) return differs(expected, found);
    if (const auto* load = std::get_if<Load>(&expected->op))
      return unify_loads(expected, *load, found, std::get<Load>(found->op));
    if (expected->type != found->type) return differs(expected, found);
    ++matched_;
    return std::visit(
        [&](const auto& op) {
          return parts(op, std::get<std::decay_t<decltype(op)>>(found->op), expected, found);
        },
        expected->op);
  }

  bool unify_loads(const Expr& expected, const Load& a, const Expr& found, const Load& b) {
    const std::string shown = to_string(found);
    if (expected->type != found->type)
      return differs(b.buffer + " is " + name_of(found->type) + ", expected " +
                     name_of(expected->type) + " (" + to_string(expected) + ")");
    if (!b.guard.empty()) return differs("the read " + shown + " has a guard");
    const auto [at, is_new] = operands_.try_emplace(a.buffer, Bound{b.buffer, &b.indices});
    // An operand that the row reads twice, as in a[i] * a[i], has to be one access in the nest,
    // too.
    if (!is_new && (at->second.buffer != b.buffer || !same_indices(*at->second.indices, b.indices)))
      return differs(expected, found);
    ++matched_;
    return true;
  }

  bool parts(const Literal& a, const Literal& b, const Expr& expected, const Expr& found) {
    return (a.real == b.real && a.integer == b.integer) || differs(expected, found);
  }
  bool parts(const IndexValue&, const IndexValue&, const Expr& expected, const Expr& found) {
    return differs(expected, found);
  }
  bool parts(const Load&, const Load&, const Expr& expected, const Expr& found) {
    return differs(expected, found);
  }
  bool parts(const Unary& a, const Unary& b, const Expr& expected, const Expr& found) {
    return a.op == b.op ? unify(a.a, b.a) : differs(expected, found);
  }
  bool parts(const Binary& a, const Binary& b, const Expr& expected, const Expr& found) {
    if (a.op != b.op) return differs(expected, found);
    if (!commutes(a.op)) return unify(a.a, b.a) && unify(a.b, b.b);
    return in_either_order(a.a, a.b, b.a, b.b, [] { return true; });
  }
  bool parts(const Fma& a, const Fma& b, const Expr&, const Expr&) {
    return in_either_order(a.a, a.b, b.a, b.b, [&] { return unify(a.c, b.c); });
  }
  bool parts(const Select& a, const Select& b, const Expr&, const Expr&) {
    return unify(a.condition, b.condition) && unify(a.a, b.a) && unify(a.b, b.b);
  }
  bool parts(const Cast& a, const Cast& b, const Expr&, const Expr&) { return unify(a.a, b.a); }
  bool parts(const LaneRead&, const LaneRead&, const Expr& expected, const Expr& found) {
    return differs(expected, found);
  }
  bool parts(const Broadcast&, const Broadcast&, const Expr& expected, const Expr& found) {
    return differs(expected, found);
  }

  // Backtracks once: what the first order has bound is undone before the second is tried.
  // Exponential in the depth of commutative operators, of which rows have two or three.
  template <class Rest>
  bool in_either_order(const Expr& a, const Expr& b, const Expr& x, const Expr& y,
                       const Rest& rest) {
    const Operands before = operands_;
    const int matched = matched_;
    if (unify(a, x) && unify(b, y) && rest()) return true;
    operands_ = before;
    matched_ = matched;
    return unify(a, y) && unify(b, x) && rest();
  }

  // --- where the operands lie

  // What the row has: the step of each of its loops in elements of the buffer.
  std::vector<std::int64_t> expected_steps(const Buffer& buffer) const {
    std::vector<std::int64_t> shape = constant_shape(buffer), steps(pattern_.loops.size(), 0);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      std::int64_t stride = 1;
      const std::vector<Index>& indices = *access_of(buffer.name);
      for (std::size_t d = shape.size(); d-- > 0; stride *= shape[d])
        steps[i] += stride * indices[d].affine.coefficient(pattern_.loops[i].var);
    }
    return steps;
  }

  const std::vector<Index>* access_of(const std::string& operand) const {
    if (pattern_.store->buffer == operand) return &pattern_.store->indices;
    for (const Load* load : loads_of(pattern_.store->value))
      if (load->buffer == operand) return &load->indices;
    throw InternalError("intrinsic '" + row_.name + "' does not use '" + operand + "'");
  }

  Result<OperandTile, Mismatch> tile_of(const Buffer& operand) const {
    const Bound& bound = operands_.at(operand.name);
    OperandTile tile{bound.buffer, operand.dtype, *bound.indices, {}};
    Bindings first;
    for (const NestLoop& loop : nest_.loops) first[loop.var] = loop.lower;
    for (Index& index : tile.first) index.affine = substitute(index.affine, first);
    const auto strides = strides_(bound.buffer);
    std::vector<std::int64_t> steps;
    for (std::size_t i = 0; i < pattern_.loops.size(); ++i) {
      const NestLoop& loop = nest_.loops[pairing_[i]];
      OperandTile::Dimension dimension{loop.extent, {}};
      std::int64_t linear = 0;
      for (std::size_t d = 0; d < bound.indices->size(); ++d) {
        const auto step = step_of((*bound.indices)[d], loop.var);
        if (!step)
          return Mismatch{bound.buffer + " is not read or written evenly along " + loop.shown};
        if (*step != 0 && !strides[d])
          return Mismatch{"how far " + loop.shown + " moves in " + bound.buffer +
                          " depends on sizes without a number"};
        linear += *step == 0 ? 0 : *step * *strides[d];
        dimension.steps.push_back(*step);
      }
      steps.push_back(linear);
      tile.dimensions.push_back(std::move(dimension));
    }
    if (auto mismatch = check_steps(operand, bound, steps)) return *mismatch;
    return tile;
  }

  // As the row has them; of an input the outer ones may be 0. A loop that stands still has to be
  // outside of all that move: `a[i, k]` of a row may be read as one group of k for all i (a
  // broadcast of the group), not as one element per i for all k.
  std::optional<Mismatch> check_steps(const Buffer& operand, const Bound& bound,
                                      const std::vector<std::int64_t>& steps) const {
    const std::vector<std::int64_t> expected = expected_steps(operand);
    std::int64_t moving = 0;  // the greatest step of a loop that moves
    std::optional<std::size_t> wrong;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i] != 0) moving = std::max(moving, expected[i]);
      const bool stands = steps[i] == 0 && operand.role == Role::In;
      if (steps[i] != expected[i] && !stands && (!wrong || expected[*wrong] < expected[i]))
        wrong = i;
    }
    for (std::size_t i = 0; i < steps.size() && !wrong; ++i)
      if (steps[i] == 0 && expected[i] != 0 && expected[i] < moving) wrong = i;
    if (!wrong) return std::nullopt;
    return wrong_step(operand, bound, steps[*wrong], expected, *wrong);
  }

  Mismatch wrong_step(const Buffer& operand, const Bound& bound, std::int64_t step,
                      const std::vector<std::int64_t>& expected, std::size_t at) const {
    const NestLoop& loop = nest_.loops[pairing_[at]];
    const bool may_stand = operand.role == Role::In && expected[at] != 0 && step != 0;
    Mismatch result{bound.buffer + " (operand " + operand.name + ") moves by " +
                    number(step, "element") + " with " + loop.shown + ", expected " +
                    std::to_string(expected[at]) + (may_stand ? " (or 0, a broadcast)" : "")};
    result.buffer = bound.buffer;
    std::vector<std::size_t> order(expected.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
      return expected[a] != expected[b] ? expected[a] > expected[b] : a < b;
    });
    for (const std::size_t i : order)
      if (expected[i] != 0) result.along.push_back(nest_.loops[pairing_[i]].var);
    return result;
  }
};

// As multisets: which loop of the nest is which of the row's is tried later, pairing by pairing. A
// mismatch names a loop whose extent the row does not have, and an extent of the row that is left.
std::optional<Mismatch> compare_extents(const Intrinsic& row, const PointNest& pattern,
                                        const PointNest& nest) {
  if (pattern.loops.size() != nest.loops.size())
    return Mismatch{"the nest has " + number(static_cast<std::int64_t>(nest.loops.size()), "loop") +
                    ", " + listed(nest.loops) + "; " + row.name + " has " + listed(pattern.loops)};
  std::vector<std::int64_t> left;
  for (const NestLoop& loop : pattern.loops) left.push_back(loop.extent);
  // Loops of the nest whose extents no loop of the row has.
  std::vector<const NestLoop*> odd;
  for (const NestLoop& loop : nest.loops) {
    const auto at = std::ranges::find(left, loop.extent);
    if (at == left.end()) {
      odd.push_back(&loop);
    } else {
      left.erase(at);
    }
  }
  if (odd.empty()) return std::nullopt;
  Mismatch mismatch{"loop " + odd.front()->shown + " runs " + number(odd.front()->extent, "time") +
                    ", expected " + std::to_string(left.front())};
  mismatch.loop = odd.front()->var;
  mismatch.extent = left.front();
  return mismatch;
}

// The result of the first pairing of loops under which `run` finds that the nest is the row; else
// the mismatch of the first pairing whose extents agree. All permutations are gone through: a row
// has few loops, and those whose extents differ are skipped.
template <class Found>
Result<Found, Mismatch> first_match(const Intrinsic& intrinsic, const Stmt& nest,
                                    const ElementStrides& strides,
                                    Result<Found, Mismatch> (Unifier::*run)()) {
  const auto pattern = point_nest(intrinsic.nest), subject = point_nest(nest);
  POLYTE_CHECK(pattern, "intrinsic '" + intrinsic.name + "' is no point nest");
  if (!subject) return subject.error();
  if (auto mismatch = compare_extents(intrinsic, *pattern, *subject)) return *mismatch;
  std::vector<std::size_t> pairing(pattern->loops.size());
  std::iota(pairing.begin(), pairing.end(), std::size_t{0});
  std::optional<Mismatch> first;
  do {
    bool fits = true;
    for (std::size_t i = 0; i < pairing.size(); ++i)
      fits = fits && pattern->loops[i].extent == subject->loops[pairing[i]].extent;
    if (!fits) continue;
    Unifier unifier(intrinsic, *pattern, *subject, pairing, strides);
    auto found = (unifier.*run)();
    if (found) return found;
    if (!first) first = found.error();
  } while (std::ranges::next_permutation(pairing).found);
  return *first;
}

}  // namespace

Result<std::vector<OperandTile>, Mismatch> match(const Intrinsic& intrinsic, const Stmt& nest,
                                                 const ElementStrides& strides) {
  return first_match(intrinsic, nest, strides, &Unifier::run);
}

Result<WarpMatch, Mismatch> match_warp(const Intrinsic& intrinsic, const Stmt& nest) {
  const ElementStrides none = [](const std::string&) {
    return std::vector<std::optional<std::int64_t>>{};
  };
  return first_match(intrinsic, nest, none, &Unifier::run_warp);
}

// In the order of the operand's dimensions, which is how the digits of its fragment count them.
std::vector<std::size_t> loops_of_operand(const Intrinsic& intrinsic, std::size_t buffer) {
  const auto pattern = point_nest(intrinsic.nest);
  POLYTE_CHECK(pattern, "intrinsic '" + intrinsic.name + "' is no point nest");
  const std::string& name = intrinsic.program.buffers[buffer].name;
  const std::vector<Index>* indices =
      pattern->store->buffer == name ? &pattern->store->indices : nullptr;
  for (const Load* load : loads_of(pattern->store->value))
    if (load->buffer == name) indices = &load->indices;
  std::vector<std::size_t> loops;
  for (const Index& index : *indices)
    for (std::size_t i = 0; i < pattern->loops.size(); ++i)
      if (index.affine.uses(pattern->loops[i].var)) loops.push_back(i);
  return loops;
}

// Each loop of the operand has to be in exactly one subscript, as `loop + multiple of its extent`,
// and no two in the same one: then the buffer is cut into whole tiles along these dimensions.
Result<std::vector<std::size_t>, Mismatch> fragment_dimensions(const Intrinsic& intrinsic,
                                                               const WarpMatch& match,
                                                               std::size_t buffer) {
  const WarpMatch::Operand& operand = match.operands[buffer];
  const std::string shown =
      operand.buffer + " (operand " + intrinsic.program.buffers[buffer].name + ")";
  std::vector<std::size_t> dimensions;
  for (const std::size_t i : loops_of_operand(intrinsic, buffer)) {
    const std::string& loop = match.loops[i];
    std::optional<std::size_t> along;
    for (std::size_t d = 0; d < operand.indices->size(); ++d) {
      const Index& index = (*operand.indices)[d];
      if (!index.affine.uses(loop)) continue;
      const bool is_tile =
          !along && !index.indirect && tile_base(index.affine, loop, match.extents[i]);
      if (!is_tile || std::ranges::find(dimensions, d) != dimensions.end())
        return Mismatch{shown + " is no whole tile along " + loop + ": subscript " +
                        to_string(index.affine) + ", expected " + loop + " and multiples of " +
                        std::to_string(match.extents[i])};
      along = d;
    }
    if (!along) return Mismatch{shown + " does not move with " + loop};
    dimensions.push_back(*along);
  }
  return dimensions;
}

}  // namespace polyte::ir
