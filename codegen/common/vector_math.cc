#include "codegen/common/vector_math.h"

#include <algorithm>
#include <limits>

#include "codegen/common/math_tables.h"
#include "support/error.h"

#include <llvm/IR/Intrinsics.h>

namespace polyte::codegen {

using ir::UnaryOp;
using Value = llvm::Value;

Value* VectorMath::emit(UnaryOp op, Value* x) {
  type_ = x->getType();
  wide_ = type_->getScalarType()->isDoubleTy();
  bits_type_ = type_->getWithNewType(b_.getIntNTy(wide_ ? 64 : 32));
  switch (op) {
    case UnaryOp::Exp:
      return exp(x);
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

// ---- building blocks

Value* VectorMath::constant(double value) { return llvm::ConstantFP::get(type_, value); }

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

Value* VectorMath::power_of_two(Value* exponent) {
  Value* biased = b_.CreateAdd(exponent, bits(wide_ ? 1023 : 127));
  return b_.CreateBitCast(b_.CreateShl(biased, wide_ ? 52 : 23), type_);
}

// ---- exp: x = n ln 2 + r, |r| <= ln 2 / 2; exp(x) = 2^n (1 + r + r^2 P(r))
//
// n is rounded by adding 1.5 * 2^p, which leaves it in the low bits as an integer: no conversion, NaN included.
// 2^n is applied in two halves: each is normal, so overflow and subnormal results round once. A target
// may have an instruction for just that, which takes any n, infinities and NaN included: then r alone has to stay in
// its range, instead of x, by one instruction more.

Value* VectorMath::exp(Value* x) {
  // ln 2 in two parts, the first short enough that n times it is exact (|n| < 2^8 and 2^11).
  const double high = wide_ ? 0x1.62e42feep-1 : 0x1.62e4p-1;
  const double low = wide_ ? 0x1.a39ef35793c76p-33 : 0x1.7f7d1cp-20;
  const bool any_exponent = a_.target().has_within(type_);
  if (!any_exponent) x = at_least(at_most(x, wide_ ? 710 : 89), wide_ ? -746 : -105);
  Value* magic = constant(wide_ ? 0x1.8p52 : 0x1.8p23);
  Value* shifted = a_.mul_add(x, constant(1.4426950408889634), magic);
  Value* n = b_.CreateFSub(shifted, magic);
  Value* r = a_.mul_add(n, constant(-high), x);
  r = a_.mul_add(n, constant(-low), r);
  if (any_exponent) r = a_.target().within(b_, r, llvm::cast<llvm::Constant>(constant(0.5)));
  Value* tail = wide_ ? polynomial(r, tables::kExpF64) : polynomial(r, tables::kExpF32);
  Value* value = b_.CreateFAdd(a_.mul_add(b_.CreateFMul(r, r), tail, r), constant(1));
  if (Value* scaled = a_.target().times_power_of_two(b_, value, n)) return scaled;
  Value* exponent = b_.CreateSub(b_.CreateBitCast(shifted, bits_type_), b_.CreateBitCast(magic, bits_type_));
  Value* half = b_.CreateAShr(exponent, 1);
  value = b_.CreateFMul(value, power_of_two(half));
  return b_.CreateFMul(value, power_of_two(b_.CreateSub(exponent, half)));
}

// ---- log: x = 2^n m, m in [sqrt 1/2, sqrt 2)

Value* VectorMath::log(Value* x) {
  const int fraction = wide_ ? 52 : 23;
  const std::uint64_t root_half = wide_ ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  Value* tiny = b_.CreateFCmpOLT(x, constant(wide_ ? 0x1p-1022 : 0x1p-126));
  Value* normal = b_.CreateSelect(tiny, b_.CreateFMul(x, constant(wide_ ? 0x1p54 : 0x1p25)), x);
  Value* from_root = b_.CreateSub(b_.CreateBitCast(normal, bits_type_), bits(root_half));
  Value* exponent = b_.CreateAShr(from_root, static_cast<std::uint64_t>(fraction));
  Value* mantissa = b_.CreateAdd(b_.CreateAnd(from_root, bits((std::uint64_t{1} << fraction) - 1)), bits(root_half));
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
  return b_.CreateSelect(b_.CreateFCmpOGE(x, constant(0)), result, constant(std::numeric_limits<double>::quiet_NaN()));
}

// n ln 2 + log(m)
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

// ---- tanh: a polynomial near 0, else 1 - 2 / (exp(2 |x|) + 1)

Value* VectorMath::tanh(Value* x) {
  Value* t = magnitude(x);
  Value* z = b_.CreateFMul(x, x);
  Value* tail = b_.CreateFMul(z, wide_ ? polynomial(z, tables::kTanhF64) : polynomial(z, tables::kTanhF32));
  Value* near = a_.mul_add(x, tail, x);
  Value* grown = b_.CreateFAdd(exp(b_.CreateFAdd(t, t)), constant(1));
  Value* far = b_.CreateFSub(constant(1), b_.CreateFDiv(constant(2), grown));
  Value* is_near = b_.CreateFCmpOLT(t, constant(wide_ ? 0.5625 : 0.625));
  return b_.CreateSelect(is_near, near, with_sign_of(far, x));
}

// ---- erf: a polynomial near 0, else 1 - erfc(|x|)

Value* VectorMath::erf(Value* x) {
  Value* t = magnitude(x);
  Value* z = b_.CreateFMul(x, x);
  Value* tail = wide_ ? polynomial(z, tables::kErfF64) : polynomial(z, tables::kErfF32);
  Value* near = a_.mul_add(x, tail, x);
  Value* far = b_.CreateFSub(constant(1), erf_tail(at_most(t, wide_ ? 6 : 4)));
  Value* is_near = b_.CreateFCmpOLT(t, constant(wide_ ? 1 : 0.9375));
  return b_.CreateSelect(is_near, near, with_sign_of(far, x));
}

// erfc(t) for t from 1 (f32: 0.9375) to where it no longer counts
Value* VectorMath::erf_tail(Value* t) {
  if (!wide_) return exp(b_.CreateFNeg(b_.CreateFMul(t, polynomial(t, tables::kErfTailF32))));
  Value* root = constant(2.449489742783178);
  Value* u = b_.CreateFDiv(b_.CreateFSub(t, root), b_.CreateFAdd(t, root));
  return b_.CreateFMul(exp(b_.CreateFNeg(b_.CreateFMul(t, t))), polynomial(u, tables::kErfTailF64));
}

// ---- sigmoid: e = exp(-|x|) never overflows; 1 / (1 + e), or e / (1 + e) below 0

Value* VectorMath::sigmoid(Value* x) {
  Value* e = exp(b_.CreateFNeg(magnitude(x)));
  Value* above = b_.CreateSelect(b_.CreateFCmpOLT(x, constant(0)), e, constant(1));
  return b_.CreateFDiv(above, b_.CreateFAdd(e, constant(1)));
}

}  // namespace polyte::codegen
