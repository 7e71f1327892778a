#include "codegen/common/vector_math.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "codegen/common/math_tables.h"
#include "support/error.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

namespace polyte::codegen {

using ir::UnaryOp;
using Value = llvm::Value;

Value* VectorMath::emit(UnaryOp op, Value* x) {
  set_type(x->getType());
  switch (op) {
    case UnaryOp::Sin:
      return sine(x, false);
    case UnaryOp::Cos:
      return sine(x, true);
    case UnaryOp::Exp:
      return exp(x, Arguments::Any);
    case UnaryOp::Log:
      return log(x);
    case UnaryOp::Tanh:
      return tanh(x);
    case UnaryOp::Erf:
      return erf(x);
    case UnaryOp::Sigmoid:
      return sigmoid(x);
    default:
      break;
  }
  POLYTE_CHECK(false, "'" + to_string(op) + "' is no function of vector_math");
}

void VectorMath::set_type(llvm::Type* type) {
  type_ = type;
  wide_ = type_->getScalarType()->isDoubleTy();
  bits_type_ = type_->getWithNewType(b_.getIntNTy(wide_ ? 64 : 32));
}

// ---- building blocks

Value* VectorMath::constant(double value) { return llvm::ConstantFP::get(type_, value); }

// By Horner's rule. Coefficients come rounded to the type.
Value* VectorMath::polynomial(Value* x, std::span<const double> coefficients) {
  Value* sum = constant(coefficients.front());
  for (const double c : coefficients.subspan(1)) sum = a_.mul_add(sum, x, constant(c));
  return sum;
}

Value* VectorMath::magnitude(Value* x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }

Value* VectorMath::with_sign_of(Value* magnitude, Value* x) {
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, x);
}

Value* VectorMath::at_most(Value* x, double limit) {
  return b_.CreateSelect(b_.CreateFCmpOGT(x, constant(limit)), constant(limit), x);
}

Value* VectorMath::at_least(Value* x, double limit) {
  return b_.CreateSelect(b_.CreateFCmpOLT(x, constant(limit)), constant(limit), x);
}

// By its bits: a zero fraction and, in the low bits of `biased`, the biased exponent.
Value* VectorMath::power_of_two(Value* biased) {
  return b_.CreateBitCast(b_.CreateShl(biased, wide_ ? 52 : 23), type_);
}

// ---- exp: x = n ln 2 + r, |r| <= ln 2 / 2; exp(x) = 2^n (1 + r P(r))
//
// For f64 as 1 + (r + r^2 P(r)), which rounds less. f32 is within 2 ULP without, and a vector's
// chain is two operations shorter: for what a core holds in flight that counts more than their
// number.
//
// n is rounded by adding 1.5 * 2^p, which leaves it in the low bits as an integer: no conversion,
// NaN included. 2^n is applied in two halves: each is normal, so overflow and subnormal results
// round once. Twice the bias of an exponent is added to n from the start: its halves have theirs,
// and what the bits hold above them is shifted out. The first half goes into the last sum, whose
// bits stay the same but for the exponent. Of n up to 0 the first factor is 2^(n + m), which is
// normal, and the second is the constant 2^-m. Where exp(x) is known to be normal, 2^n is one
// factor, and nothing limits x. A target may have an instruction for just that, which takes any n,
// infinities and NaN included: then r alone has to stay in its range, instead of x, by one
// instruction more.

VectorMath::Reduced VectorMath::reduce(Value* x, double bias) {
  // ln 2 in two parts, the first short enough that n times it is exact (|n| < 2^8 and 2^11).
  const double high = wide_ ? 0x1.62e42feep-1 : 0x1.62e4p-1;
  const double low = wide_ ? 0x1.a39ef35793c76p-33 : 0x1.7f7d1cp-20;
  Value* magic = constant((wide_ ? 0x1.8p52 : 0x1.8p23) + bias);
  Value* shifted = a_.mul_add(x, constant(1.4426950408889634), magic);
  Value* n = b_.CreateFSub(shifted, magic);
  Value* r = a_.mul_add(n, constant(-high), x);
  return {shifted, n, a_.mul_add(n, constant(-low), r)};
}

Value* VectorMath::exp(Value* x, Arguments which) {
  const bool is_normal = which == Arguments::Normal, is_falling = which == Arguments::UpToZero;
  const bool any_exponent = !is_normal && a_.target().has_within(type_);
  if (which == Arguments::Any && !any_exponent) x = at_most(x, wide_ ? 710 : 89);
  if (!is_normal && !any_exponent) x = at_least(x, wide_ ? -746 : -105);
  const double bias = wide_ ? 1023 : 127;
  const double lift = wide_ ? 512 : 64;  // m
  auto [shifted, n, r] = reduce(x, is_normal ? bias : is_falling ? bias + lift : 2 * bias);
  if (any_exponent) r = a_.target().within(b_, r, llvm::cast<llvm::Constant>(constant(0.5)));
  Value* p = wide_ ? polynomial(r, tables::kExpF64) : polynomial(r, tables::kExpF32);
  Value* tail = wide_ ? a_.mul_add(b_.CreateFMul(r, r), p, r) : p;
  Value* value = wide_ ? b_.CreateFAdd(tail, constant(1)) : a_.mul_add(tail, r, constant(1));
  if (Value* scaled = a_.target().times_power_of_two(b_, value, n)) return scaled;
  Value* exponents = b_.CreateBitCast(shifted, bits_type_);
  Value* half = is_normal || is_falling ? exponents : b_.CreateLShr(exponents, 1);
  Value* first = power_of_two(half);
  value = a_.mul_add(tail, wide_ ? first : b_.CreateFMul(r, first), first);
  if (is_normal) return value;
  if (is_falling) return b_.CreateFMul(value, constant(std::exp2(-lift)));
  return b_.CreateFMul(value, power_of_two(b_.CreateSub(exponents, half)));
}

// ---- log: x = 2^n m, m in [sqrt 1/2, sqrt 2)
//
// Subtracting the bits of sqrt 1/2 from those of x splits the exponents there instead of at 1: m is
// around 1, and log m does not cancel against n ln 2. A subnormal x is made normal by 2^25 (2^54),
// and n is less by that.

Value* VectorMath::log(Value* x) {
  const int fraction = wide_ ? 52 : 23;
  const std::uint64_t root_half = wide_ ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  Value* tiny = b_.CreateFCmpOLT(x, constant(wide_ ? 0x1p-1022 : 0x1p-126));
  Value* normal = b_.CreateSelect(tiny, b_.CreateFMul(x, constant(wide_ ? 0x1p54 : 0x1p25)), x);
  Value* from_root = b_.CreateSub(b_.CreateBitCast(normal, bits_type_), bits(root_half));
  Value* exponent = b_.CreateAShr(from_root, static_cast<std::uint64_t>(fraction));
  Value* mantissa = b_.CreateAdd(b_.CreateAnd(from_root, bits((std::uint64_t{1} << fraction) - 1)),
                                 bits(root_half));
  // The exponent to a float: its bits added to those of 1.5 * 2^p.
  Value* magic = constant(wide_ ? 0x1.8p52 : 0x1.8p23);
  Value* counted = b_.CreateAdd(exponent, b_.CreateBitCast(magic, bits_type_));
  Value* n = b_.CreateFSub(b_.CreateBitCast(counted, type_), magic);
  n = b_.CreateFSub(n, b_.CreateSelect(tiny, constant(wide_ ? 54 : 25), constant(0)));
  Value* result = log_of_normal(b_.CreateBitCast(mantissa, type_), n);
  const double infinity = std::numeric_limits<double>::infinity();
  result = b_.CreateSelect(b_.CreateFCmpOEQ(x, constant(infinity)), x, result);
  result = b_.CreateSelect(b_.CreateFCmpOEQ(x, constant(0)), constant(-infinity), result);
  // Below zero and for NaN.
  return b_.CreateSelect(b_.CreateFCmpOGE(x, constant(0)), result,
                         constant(std::numeric_limits<double>::quiet_NaN()));
}

// n ln 2 + log(m), with the small parts added first. For f64 by s = f / (2 + f), as in fdlibm: the
// series of log((1 + s) / (1 - s)) has odd powers alone, and R is its tail in
//
//   log(1 + f) = f - (f^2 / 2 - s * (f^2 / 2 + R))
Value* VectorMath::log_of_normal(Value* mantissa, Value* n) {
  const double high = wide_ ? 0x1.62e42feep-1 : 0x1.62e4p-1;
  const double low = wide_ ? 0x1.a39ef35793c76p-33 : 0x1.7f7d1cp-20;
  Value* f = b_.CreateFSub(mantissa, constant(1));
  Value* half_square = b_.CreateFMul(b_.CreateFMul(f, f), constant(0.5));
  Value* rest = nullptr;  // log(1 + f) = f - (half_square - rest)
  if (wide_) {
    Value* s = b_.CreateFDiv(f, b_.CreateFAdd(f, constant(2)));
    Value* z = b_.CreateFMul(s, s);
    Value* tail = b_.CreateFMul(z, polynomial(z, tables::kLogF64));
    rest = b_.CreateFMul(s, b_.CreateFAdd(half_square, tail));
  } else {
    rest = b_.CreateFMul(b_.CreateFMul(b_.CreateFMul(f, f), f), polynomial(f, tables::kLogF32));
  }
  Value* correction = a_.mul_add(n, constant(low), b_.CreateFSub(rest, half_square));
  return a_.mul_add(n, constant(high), b_.CreateFAdd(f, correction));
}

// ---- exp(x) - 1 for f32 where exp(x) is normal
//
// With s = 2^n, (r + r^2 P(r)) s + (s - 1): r s and s - 1 are exact, or beside the other of no
// account. Near 0, where n is 0, the terms are r and r^2 P(r): nothing cancels.

Value* VectorMath::exp_less_one(Value* x) {
  const Reduced reduced = reduce(x, 127);
  Value* s = power_of_two(b_.CreateBitCast(reduced.shifted, bits_type_));
  Value* rs = b_.CreateFMul(reduced.r, s);
  Value* first = b_.CreateFAdd(rs, b_.CreateFSub(s, constant(1)));
  return a_.mul_add(polynomial(reduced.r, tables::kExpTailF32), b_.CreateFMul(rs, reduced.r),
                    first);
}

// ---- tanh(t) = 1 - 2 / (exp(2 t) + 1). For f32 as g / (g + 2), g = exp(2 t) - 1, everywhere;
// for f64 with a polynomial near 0

Value* VectorMath::tanh(Value* x) {
  Value* t = magnitude(x);
  Value* far_enough = at_most(t, wide_ ? 20 : 10);
  Value* twice = b_.CreateFAdd(far_enough, far_enough);
  if (!wide_) {
    Value* g = exp_less_one(twice);
    return with_sign_of(b_.CreateFDiv(g, b_.CreateFAdd(g, constant(2))), x);
  }
  Value* z = b_.CreateFMul(x, x);
  Value* near = a_.mul_add(x, b_.CreateFMul(z, polynomial(z, tables::kTanhF64)), x);
  Value* grown = b_.CreateFAdd(exp(twice, Arguments::Normal), constant(1));
  Value* far = b_.CreateFSub(constant(1), b_.CreateFDiv(constant(2), grown));
  return b_.CreateSelect(b_.CreateFCmpOLT(t, constant(0.5625)), near, with_sign_of(far, x));
}

// ---- erf(t) = 1 - exp(-t P(t)) for f32; for f64 a polynomial near 0, else 1 - erfc(|x|)

Value* VectorMath::erf(Value* x) {
  Value* t = magnitude(x);
  Value* limited = at_most(t, wide_ ? 6 : 4);
  if (!wide_) {
    Value* exponent = b_.CreateFMul(limited, polynomial(limited, tables::kErfF32));
    return with_sign_of(exp_less_one(b_.CreateFNeg(exponent)), x);
  }
  Value* z = b_.CreateFMul(x, x);
  Value* near = a_.mul_add(x, polynomial(z, tables::kErfF64), x);
  Value* far = b_.CreateFSub(constant(1), erf_tail(limited));
  return b_.CreateSelect(b_.CreateFCmpOLT(t, constant(1)), near, with_sign_of(far, x));
}

// erfc(t) of f64 for t from 1 to where it no longer counts
Value* VectorMath::erf_tail(Value* t) {
  Value* root = constant(2.449489742783178);
  Value* u = b_.CreateFDiv(b_.CreateFSub(t, root), b_.CreateFAdd(t, root));
  Value* falling = exp(b_.CreateFNeg(b_.CreateFMul(t, t)), Arguments::Normal);
  return b_.CreateFMul(falling, polynomial(u, tables::kErfTailF64));
}

// ---- sigmoid: e = exp(-|x|) never overflows; 1 / (1 + e), or e / (1 + e) below 0

Value* VectorMath::sigmoid(Value* x) {
  Value* e = exp(b_.CreateFNeg(magnitude(x)), Arguments::UpToZero);
  Value* is_negative = b_.CreateICmpSLT(b_.CreateBitCast(x, bits_type_), bits(0));
  Value* above = b_.CreateSelect(is_negative, e, constant(1));
  return b_.CreateFDiv(above, b_.CreateFAdd(e, constant(1)));
}

// ---- sin, cos: x = n pi / 2 + r, |r| <= pi / 4; polynomials of r, in f64

Value* VectorMath::sine(Value* x, bool is_cosine) {
  llvm::Type* narrow = type_;
  Value* small_bits = b_.CreateBitCast(x, bits_type_);
  set_type(narrow->getWithNewType(b_.getDoubleTy()));
  Value* wide_bits = b_.CreateZExt(small_bits, bits_type_);
  Value* t = magnitude(b_.CreateFPExt(x, type_));
  auto [n, r] = turn(t, wide_bits);
  if (is_cosine) n = b_.CreateAdd(n, bits(1));
  Value* z = b_.CreateFMul(r, r);
  Value* of_sine = a_.mul_add(b_.CreateFMul(r, z), polynomial(z, tables::kSin), r);
  Value* of_cosine = a_.mul_add(z, polynomial(z, tables::kCos), constant(1));
  Value* value = b_.CreateSelect(is_bit_set(n, 1), of_cosine, of_sine);
  value = b_.CreateSelect(is_bit_set(n, 2), b_.CreateFNeg(value), value);
  if (!is_cosine)
    value = b_.CreateSelect(is_bit_set(wide_bits, 1U << 31U), b_.CreateFNeg(value), value);
  Value* is_finite = b_.CreateFCmpOLT(t, constant(std::numeric_limits<double>::infinity()));
  value = b_.CreateSelect(is_finite, value, constant(std::numeric_limits<double>::quiet_NaN()));
  return b_.CreateFPTrunc(value, narrow);
}

Value* VectorMath::is_bit_set(Value* integer, std::uint64_t bit) {
  return b_.CreateICmpNE(b_.CreateAnd(integer, bits(bit)), bits(0));
}

// The far way is longer than all the rest, and taken where a lane wants it. Lanes that hold nothing
// (registers behind a masked tail) must not decide for the others: frozen, they are any number.
VectorMath::Turn VectorMath::turn(Value* magnitude, Value* bits_of_f32) {
  const Turn near = near_turn(magnitude);
  Value* is_far = b_.CreateFreeze(b_.CreateNot(b_.CreateFCmpOLT(magnitude, constant(0x1p20))));
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::Function* function = before->getParent();
  auto* far_block = llvm::BasicBlock::Create(b_.getContext(), "far", function);
  auto* join = llvm::BasicBlock::Create(b_.getContext(), "turned", function);
  Value* is_any_far = type_->isVectorTy() ? b_.CreateOrReduce(is_far) : is_far;
  b_.CreateCondBr(is_any_far, far_block, join,
                  llvm::MDBuilder(b_.getContext()).createUnlikelyBranchWeights());
  b_.SetInsertPoint(far_block);
  const Turn far = far_turn(bits_of_f32);
  Value* quarters = b_.CreateSelect(is_far, far.quarters, near.quarters);
  Value* angle = b_.CreateSelect(is_far, far.angle, near.angle);
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
  const auto joined = [&](Value* of_near, Value* of_all) {
    llvm::PHINode* value = b_.CreatePHI(of_near->getType(), 2);
    value->addIncoming(of_near, before);
    value->addIncoming(of_all, far_block);
    return value;
  };
  llvm::PHINode* n = joined(near.quarters, quarters);
  return {n, joined(near.angle, angle)};
}

// Below 2^20: pi / 2 in two parts, the first short enough that n times it is exact
// (Cody and Waite, 1980).
VectorMath::Turn VectorMath::near_turn(Value* magnitude) {
  Value* magic = constant(0x1.8p52);
  Value* shifted = a_.mul_add(magnitude, constant(0x1.45f306dc9c883p-1), magic);
  Value* n = b_.CreateFSub(shifted, magic);
  Value* r = a_.mul_add(n, constant(-0x1.921fb544p0), magnitude);
  r = a_.mul_add(n, constant(-0x1.0b4611a626331p-34), r);
  return {b_.CreateBitCast(shifted, bits_type_), r};
}

// From 2^20 on: x = m 2^k, and of m 2^k 2/pi only what is below 4 counts. So m times 128 bits of
// 2/pi, from that whose weight 2^k makes 2, as an integer: its two highest bits are the quarters
// (Payne and Hanek, 1983).
VectorMath::Turn VectorMath::far_turn(Value* bits_of_f32) {
  Value* exponent = b_.CreateAnd(b_.CreateLShr(bits_of_f32, 23), bits(255));
  Value* m = b_.CreateOr(b_.CreateAnd(bits_of_f32, bits((1U << 23U) - 1)), bits(1U << 23U));
  // x = m 2^(exponent - 150); the window begins at bit exponent - 144 of the table, up to 110
  // for numbers.
  Value* first = b_.CreateAnd(b_.CreateSub(exponent, bits(144)), bits(127));
  Value* in_second = is_bit_set(first, 64);
  Value* within = b_.CreateAnd(first, bits(63));
  const auto word = [&](int i) {
    return b_.CreateSelect(in_second, bits(tables::kTwoOverPi[i + 1]), bits(tables::kTwoOverPi[i]));
  };
  const auto window = [&](int i) {
    return b_.CreateIntrinsic(llvm::Intrinsic::fshl, {bits_type_}, {word(i), word(i + 1), within});
  };
  Value *high = window(0), *low = window(1);
  Value* carried = b_.CreateLShr(b_.CreateMul(m, b_.CreateAnd(low, bits(0xffffffff))), 32);
  carried = b_.CreateLShr(b_.CreateAdd(b_.CreateMul(m, b_.CreateLShr(low, 32)), carried), 32);
  // Quarters, then 62 bits of a fraction.
  Value* product = b_.CreateAdd(b_.CreateMul(m, high), carried);
  Value* quarters = b_.CreateLShr(b_.CreateAdd(product, bits(std::uint64_t{1} << 61)), 62);
  Value* fraction = b_.CreateSIToFP(b_.CreateSub(product, b_.CreateShl(quarters, 62)), type_);
  return {quarters, b_.CreateFMul(fraction, constant(0x1.921fb54442d18p-62))};
}

// ---- pow: exp(y log |x|) in f64; what C says of zeros, ones and infinities (ISO C23, F.10.4.5)

Value* VectorMath::power(Value* base, Value* exponent) {
  llvm::Type* narrow = base->getType();
  set_type(narrow->getWithNewType(b_.getDoubleTy()));
  Value *x = b_.CreateFPExt(base, type_), *y = b_.CreateFPExt(exponent, type_);
  Value* t = magnitude(x);
  // What is beyond f32 on either side stays so.
  Value* grows = at_least(at_most(b_.CreateFMul(y, log(t)), 128), -128);
  Value* result = exp(grows, Arguments::Normal);
  result = b_.CreateSelect(b_.CreateFCmpOEQ(t, constant(1)),
                           b_.CreateSelect(b_.CreateFCmpUNO(y, y), y, constant(1)), result);
  // Above 2^51 every f32 is whole, and even.
  const auto is_whole = [&](Value* value) {
    Value *size = at_most(magnitude(value), 0x1p52), *magic = constant(0x1.8p52);
    return b_.CreateFCmpOEQ(b_.CreateFSub(b_.CreateFAdd(size, magic), magic), size);
  };
  Value* whole = is_whole(y);
  Value* odd = b_.CreateAnd(whole, b_.CreateNot(is_whole(b_.CreateFMul(y, constant(0.5)))));
  Value* is_negative = b_.CreateICmpSLT(b_.CreateBitCast(x, bits_type_), bits(0));
  result = b_.CreateSelect(b_.CreateAnd(is_negative, odd), b_.CreateFNeg(result), result);
  Value* below =
      b_.CreateAnd(b_.CreateFCmpOLT(x, constant(0)),
                   b_.CreateFCmpOGT(x, constant(-std::numeric_limits<double>::infinity())));
  result = b_.CreateSelect(b_.CreateAnd(below, b_.CreateNot(whole)),
                           constant(std::numeric_limits<double>::quiet_NaN()), result);
  Value* is_one = b_.CreateOr(b_.CreateFCmpOEQ(x, constant(1)), b_.CreateFCmpOEQ(y, constant(0)));
  return b_.CreateFPTrunc(b_.CreateSelect(is_one, constant(1), result), narrow);
}

}  // namespace polyte::codegen
