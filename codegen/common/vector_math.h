// exp, log, tanh, erf and sigmoid as straight-line LLVM IR, for f32 and f64, any number of lanes:
// at most 4 ULP over the whole range, infinities, NaN and subnormals included; sin, cos and
// pow for f32, computed in f64: at most 1. One instruction sequence serves scalars and vectors,
// so both give the same bits, and a GPU those of a CPU. The polynomials of math_tables.h are
// fitted by fit_polynomials.py.
// Internal: includes LLVM headers.
#pragma once

#include <cstdint>
#include <span>

#include "codegen/common/arithmetic.h"

namespace polyte::codegen {

class VectorMath {
 public:
  explicit VectorMath(Arithmetic& arithmetic) : a_(arithmetic), b_(arithmetic.builder()) {}
  llvm::Value* emit(ir::UnaryOp op, llvm::Value* x);             // sin and cos of f32 alone
  llvm::Value* power(llvm::Value* base, llvm::Value* exponent);  // of f32

 private:
  using Value = llvm::Value;
  Arithmetic& a_;
  llvm::IRBuilder<>& b_;
  llvm::Type* type_ = nullptr;       // of the argument
  bool wide_ = false;                // f64, else f32
  llvm::Type* bits_type_ = nullptr;  // integers as wide as the floats, as many lanes

  Value* polynomial(Value* x, std::span<const double> coefficients);  // highest power first
  Value* constant(double value);
  Value* bits(std::uint64_t value) { return llvm::ConstantInt::get(bits_type_, value); }
  Value* magnitude(Value* x);
  Value* with_sign_of(Value* magnitude, Value* x);
  Value* at_most(Value* x, double limit);   // NaN stays NaN
  Value* at_least(Value* x, double limit);  // NaN stays NaN
  Value* power_of_two(Value* biased);       // a normal number
  // What is known of x where it is a number; Normal: that exp(x) is a normal one.
  enum class Arguments : std::uint8_t { Any, UpToZero, Normal };
  Value* exp(Value* x, Arguments which);
  // x = n ln 2 + r. `shifted` has n, and the bias with it, in its lowest bits.
  struct Reduced {
    Value *shifted, *n, *r;
  };
  Reduced reduce(Value* x, double bias);
  Value* exp_less_one(Value* x);
  Value* log(Value* x);
  Value* log_of_normal(Value* mantissa, Value* exponent);
  Value* tanh(Value* x);
  Value* erf(Value* x);
  Value* erf_tail(Value* t);
  Value* sigmoid(Value* x);
  // x as n quarters of a turn, n its lowest two bits, and an angle up to pi / 4.
  struct Turn {
    Value *quarters, *angle;
  };
  void set_type(llvm::Type* type);
  Value* sine(Value* x, bool is_cosine);
  Turn turn(Value* magnitude, Value* bits_of_f32);
  Turn near_turn(Value* magnitude);
  Turn far_turn(Value* bits_of_f32);
  Value* is_bit_set(Value* integer, std::uint64_t bit);
};

}  // namespace polyte::codegen
