#include <algorithm>
#include <numeric>

#include "codegen/common/emitter.h"
#include "support/error.h"

#include <llvm/IR/Intrinsics.h>

namespace polyte::codegen {

using Value = llvm::Value;

// A level begins at the builder's place. The marker is any instruction that no one uses: code for
// the head of the level is inserted in front of it for as long as the level is open, after the code
// that stands there already and before everything inside.
void FunctionEmitter::open_level() {
  auto* nothing = llvm::ConstantInt::get(b_.getInt64Ty(), 0);
  llvm::Instruction* marker = new llvm::FreezeInst(nothing);  // NOLINT: owned by its block
  b_.Insert(marker, "level");
  levels_.push_back(
      Head{.marker = marker, .sums = {}, .divisions = {}, .products = {}, .masks = {}});
  markers_.push_back(marker);
}

FunctionEmitter::Variable FunctionEmitter::variable(const std::string& name) const {
  const auto found = variables_.find(name);
  POLYTE_CHECK(found != variables_.end(), "kernel '" + context_.kernel.program.name +
                                              "': variable '" + name +
                                              "' is used outside its loop");
  return found->second;
}

// A division is computed at the head of the level of its numerator's innermost variable, and once.
FunctionEmitter::Variable FunctionEmitter::atom(const ir::Atom& atom) {
  if (!atom.div) return variable(atom.symbol);
  const Leveled numerator = leveled_value(atom.div->numerator);
  Value*& cached = levels_[numerator.level].divisions[atom];
  if (cached == nullptr) {
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(levels_[numerator.level].marker);
    cached = floor_division(numerator.value, atom.div->denominator);
  }
  return {cached, numerator.level};
}

// An arithmetic shift rounds down as floor does. sdiv truncates: where the remainder is negative,
// its quotient is one too large, and the comparison, sign-extended, is the -1 to add.
Value* FunctionEmitter::floor_division(Value* numerator, std::int64_t denominator) {
  const auto unsigned_denominator = static_cast<std::uint64_t>(denominator);
  if (llvm::isPowerOf2_64(unsigned_denominator))
    return b_.CreateAShr(numerator, llvm::Log2_64(unsigned_denominator));
  Value* quotient = b_.CreateSDiv(numerator, b_.getInt64(unsigned_denominator));
  Value* rest = b_.CreateSub(numerator, b_.CreateMul(quotient, b_.getInt64(unsigned_denominator)));
  return b_.CreateAdd(quotient,
                      b_.CreateSExt(b_.CreateICmpSLT(rest, b_.getInt64(0)), b_.getInt64Ty()));
}

// The terms of e by the level at which their values are known, so that each partial sum can be made
// as far out as possible. For x[64*i + j + 3] in loops i and j:
//
//   level of i   p = x + 64*i
//   level of j   q = p + j
//   the access   load q, displacement 3
FunctionEmitter::Sum FunctionEmitter::by_level(const ir::Affine& e) {
  Sum sum{std::vector<std::vector<Product>>(levels_.size()), e.constant()};
  for (const ir::Term& term : e.terms()) {
    const Variable bound = atom(term.atom);
    sum.parts[bound.level].emplace_back(bound.value, term.coefficient);
  }
  return sum;
}

// The same for sums of products of indices, which lower/flatten makes where sizes are open; nullopt
// for anything else.
std::optional<FunctionEmitter::Sum> FunctionEmitter::by_level(const ir::Expr& e) {
  if (e->type != DType::I64 || e->lanes != 1) return std::nullopt;
  if (const auto* literal = std::get_if<ir::Literal>(&e->op))
    return by_level(ir::Affine(literal->integer));
  if (const auto* index = std::get_if<ir::IndexValue>(&e->op)) return by_level(index->value);
  if (const auto* same = std::get_if<ir::Broadcast>(&e->op)) return by_level(same->a);
  const auto* binary = std::get_if<ir::Binary>(&e->op);
  if (binary == nullptr || (binary->op != ir::BinaryOp::Add && binary->op != ir::BinaryOp::Mul))
    return std::nullopt;
  std::optional<Sum> a = by_level(binary->a);
  const std::optional<Sum> b = a ? by_level(binary->b) : std::nullopt;
  if (!b) return std::nullopt;
  return binary->op == ir::BinaryOp::Mul ? product(*a, *b) : plus(*std::move(a), *b);
}

FunctionEmitter::Sum FunctionEmitter::plus(Sum a, const Sum& b) {
  for (std::size_t level = 0; level < b.parts.size(); ++level)
    a.parts[level].insert(a.parts[level].end(), b.parts[level].begin(), b.parts[level].end());
  a.constant += b.constant;
  return a;
}

// Multiplied out, so that each product stands at the head of the innermost level that it needs.
FunctionEmitter::Sum FunctionEmitter::product(const Sum& a, const Sum& b) {
  Sum result{std::vector<std::vector<Product>>(levels_.size()), a.constant * b.constant};
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    for (const auto& [value, coefficient] : a.parts[level])
      if (b.constant != 0) result.parts[level].emplace_back(value, coefficient * b.constant);
    for (const auto& [value, coefficient] : b.parts[level])
      if (a.constant != 0) result.parts[level].emplace_back(value, coefficient * a.constant);
  }
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    for (std::size_t j = 0; j < levels_.size(); ++j) {
      const std::size_t level = std::max(i, j);
      for (const auto& [one, factor] : a.parts[i])
        for (const auto& [other, coefficient] : b.parts[j])
          result.parts[level].emplace_back(product_at(static_cast<int>(level), one, other),
                                           factor * coefficient);
    }
  }
  return result;
}

Value* FunctionEmitter::product_at(int level, Value* a, Value* b) {
  Value*& cached = levels_[level].products[{a, b}];
  if (cached != nullptr) return cached;
  const llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(levels_[level].marker);
  return cached = b_.CreateMul(a, b);
}

// base + sum of products, at the head of `level`. With an element size, base is an address and the
// sum counts elements.
Value* FunctionEmitter::sum_of(int level, Value* base, const std::vector<Product>& products,
                               int element_size) {
  Partial key{base, products, element_size};
  const auto found = levels_[level].sums.find(key);
  if (found != levels_[level].sums.end()) return found->second;
  const llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(levels_[level].marker);
  Value* sum = nullptr;
  if (element_size != 0) {
    Value* offset = sum_of(level, nullptr, products, 0);
    sum = b_.CreateGEP(b_.getIntNTy(8 * element_size), base, offset);
  } else {
    sum = base;
    for (const auto& [value, coefficient] : products) {
      Value* product = coefficient == 1 ? value : b_.CreateMul(value, b_.getInt64(coefficient));
      sum = sum == nullptr ? product : b_.CreateAdd(sum, product);
    }
  }
  levels_[level].sums.emplace(std::move(key), sum);
  return sum;
}

// The whole value, at the head of the innermost level that it depends on. Constants are level 0.
FunctionEmitter::Leveled FunctionEmitter::leveled_value(const ir::Affine& e) {
  Leveled result{nullptr, 0};
  const auto parts = by_level(e).parts;
  for (std::size_t level = 0; level < parts.size(); ++level) {
    if (parts[level].empty()) continue;
    result = {sum_of(static_cast<int>(level), result.value, parts[level], 0),
              static_cast<int>(level)};
  }
  if (result.value == nullptr) return {b_.getInt64(e.constant()), 0};
  if (e.constant() != 0) {
    result.value = sum_of(result.level, result.value, {{b_.getInt64(1), e.constant()}}, 0);
  }
  return result;
}

// The constant is added last, where it is used: it becomes the displacement of the access.
Value* FunctionEmitter::address(const BufferSlot& slot, const Sum& element) {
  const int element_size = size_in_bytes(slot.dtype);
  Value* pointer = slot.base;
  for (std::size_t level = 0; level < element.parts.size(); ++level) {
    const std::vector<Product>& part = element.parts[level];
    if (!part.empty()) pointer = sum_of(static_cast<int>(level), pointer, part, element_size);
  }
  if (element.constant == 0) return pointer;
  return b_.CreateGEP(b_.getIntNTy(8 * element_size), pointer, b_.getInt64(element.constant));
}

// The greatest power of two that surely divides the address: of the buffer's alignment and each
// term. Elements are taken modulo that alignment, itself one, before they become bytes: no product
// overflows, and no bit below it is lost.
int FunctionEmitter::known_alignment(const BufferSlot& slot, const ir::Affine& e) const {
  const std::int64_t size = size_in_bytes(slot.dtype);
  const auto bytes = [&](std::int64_t elements) { return elements % slot.alignment * size; };
  std::int64_t alignment = std::gcd(std::int64_t{slot.alignment}, bytes(e.constant()));
  if (!slot.swizzle.none()) alignment = std::gcd(alignment, slot.swizzle.chunk * size);
  for (const ir::Term& term : e.terms()) alignment = std::gcd(alignment, bytes(term.coefficient));
  return static_cast<int>(std::max(alignment, std::min<std::int64_t>(size, slot.alignment)));
}

Value* FunctionEmitter::holds(const std::vector<ir::Constraint>& conjunction) {
  Value* all = nullptr;
  for (const ir::Constraint& c : conjunction) {
    Value* value = affine(c.expr);
    Value* one = c.equality ? b_.CreateICmpEQ(value, b_.getInt64(0))
                            : b_.CreateICmpSGE(value, b_.getInt64(0));
    all = all == nullptr ? one : b_.CreateAnd(all, one);
  }
  return all;
}

// Lanes skipped <= l < active. `active` alone is the common case and one comparison.
Value* FunctionEmitter::mask(const ir::Lanes& lanes) {
  Value* active = lanes.active ? lanes_below(*lanes.active, lanes.count) : nullptr;
  if (!lanes.skipped) return active;
  Value* skipped = lanes_below(*lanes.skipped, lanes.count);
  if (skipped == nullptr) skipped = arithmetic_.splat(b_.getTrue(), lanes.count);
  Value* rest = b_.CreateNot(skipped);
  return active == nullptr ? rest : b_.CreateAnd(active, rest);
}

// (0, 1, 2, ..) < bound in all lanes at once. The bound is clamped first: as an affine count it may
// be negative or beyond the vector, and need not fit the narrow type of the comparison. Made once
// per level, as all accesses of a tail share it.
Value* FunctionEmitter::lanes_below(const ir::Affine& bound, int lanes) {
  const Leveled count = leveled_value(bound);
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(count.value);
      known && known->getSExtValue() >= lanes) {
    return nullptr;
  }
  Value*& cached = levels_[count.level].masks[{count.value, lanes}];
  if (cached != nullptr) return cached;
  const llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(levels_[count.level].marker);
  Value* clamped = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count.value, b_.getInt64(0));
  clamped = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, clamped,
                                     b_.getInt64(static_cast<std::uint64_t>(lanes)));
  // 32-bit lane numbers suit the common 4-byte elements; many lanes take narrower ones.
  llvm::IntegerType* type = b_.getIntNTy(lanes <= 16    ? 32
                                         : lanes <= 32  ? 16
                                         : lanes <= 255 ? 8
                                                        : 32);
  std::vector<llvm::Constant*> numbers;
  for (int lane = 0; lane < lanes; ++lane) {
    numbers.push_back(llvm::ConstantInt::get(type, static_cast<std::uint64_t>(lane)));
  }
  Value* limit = arithmetic_.splat(b_.CreateTrunc(clamped, type), lanes);
  Value* ids = lanes == 1 ? numbers.front() : llvm::ConstantVector::get(numbers);
  cached = b_.CreateICmpULT(ids, limit);
  return cached;
}

}  // namespace polyte::codegen
