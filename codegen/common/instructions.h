// Instructions: what the emitter asks of a target. Everything else is the plain LLVM IR that
// all of them take; here is what one processor does in an instruction and another in several, or
// not at all. A question that a target does not answer (null) has a plain form with the same bits.
//
//   Value* scaled = instructions.times_power_of_two(b, value, n);
//   if (scaled == nullptr) scaled = ..two products..
//
// Internal: includes LLVM headers.
#pragma once

#include <string>

#include "support/machine.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

namespace polyte::codegen {

class Instructions {
 public:
  using Value = llvm::Value;
  using Builder = llvm::IRBuilder<>;

  struct Has {
    // Else a product and a sum, where the Program does not say that they are fused.
    bool fma = false;
    bool half_floats = false;  // f16 to f32 and back; else integer arithmetic
    bool rounding = false;     // floor, ceil, round to even, trunc; else arithmetic
    bool libm = true;          // sin, cos and pow of f64, by a call
  };

  explicit Instructions(const Has& abilities) : has(abilities) {}
  virtual ~Instructions() = default;
  Instructions(const Instructions&) = delete;
  Instructions& operator=(const Instructions&) = delete;

  const Has has;

  // minimum or maximum of IEEE 754-2019: -0 is below +0, NaN is kept.
  virtual Value* extremum(Builder& b, llvm::Intrinsic::ID which, Value* x, Value* y) const;
  // value * 2^n with one rounding, for any whole n, infinities and NaN included.
  virtual Value* times_power_of_two(Builder& b, Value* value, Value* n) const;
  // Whether there is `within` for values of this type. Then `times_power_of_two` is there for
  // them too.
  virtual bool has_within(const llvm::Type* type) const;
  // The smaller magnitude of x and the limit (a constant of x's type), with the sign of x; the
  // limit where x is NaN.
  virtual Value* within(Builder& b, Value* x, llvm::Constant* limit) const;
  // After stores past the caches: whoever is told of them afterwards sees them.
  virtual void fence_streams(Builder& b) const;
};

// As LLVM reads them: "+avx2,-amx-tile".
std::string feature_string(const Machine& machine);

}  // namespace polyte::codegen
