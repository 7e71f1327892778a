// exp, log, tanh, erf and sigmoid as straight-line LLVM IR, for f32 and f64, any number of lanes: at most 4 ULP
// over the whole range, infinities, NaN and subnormals included. One instruction sequence serves scalars and
// vectors, so both give the same bits. Polynomials were fitted by tools/fit_polynomials (minimax in relative
// error). Internal: includes LLVM headers.
#pragma once

#include <span>

#include "codegen/arithmetic.h"

namespace polyte::codegen {

class VectorMath {
 public:
  explicit VectorMath(Arithmetic& arithmetic) : a_(arithmetic), b_(arithmetic.builder()) {}
  llvm::Value* emit(ir::UnaryOp op, llvm::Value* x);

 private:
  using Value = llvm::Value;
  Arithmetic& a_;
  llvm::IRBuilder<>& b_;

  Value* polynomial(Value* x, std::span<const double> coefficients);  // highest power first
  Value* constant(Value* like, double value) { return a_.constant_like(like, value); }
  Value* magnitude(Value* x);
  Value* scale_by_power(Value* x, Value* exponent);  // x * 2^exponent, one rounding, exponent integral
  Value* exp(Value* x);
  Value* log(Value* x);
  Value* tanh(Value* x);
  Value* erf(Value* x);
  Value* sigmoid(Value* x);
};

}  // namespace polyte::codegen
