// The arithmetic of ir/expr.h over LLVM values, scalars and vectors alike (lanes are in
// the value's type).
//
// How a value is held in registers, by element type:
//   f64 double   f32 float   f16, bf16 float, always exactly representable in the short type
//   integers iN  Bool i1     In memory f16 and bf16 are 16 bits, Bool one byte.
// So short floats compute in f32 and round after each operation, as the definition says.
// Internal: includes LLVM headers.
#pragma once

#include <string>

#include "codegen/common/instructions.h"
#include "ir/expr.h"

#include <llvm/IR/IRBuilder.h>

namespace polyte::codegen {

class Arithmetic {
 public:
  using Value = llvm::Value;
  Arithmetic(llvm::IRBuilder<>& builder, const Instructions& instructions)
      : b_(builder), target_(instructions) {}

  llvm::Type* value_type(DType type, int lanes) const;
  llvm::Type* memory_type(DType type, int lanes) const;
  Value* from_memory(DType type, Value* raw);
  Value* to_memory(DType type, Value* value);

  Value* literal(DType type, const ir::Literal& literal);
  Value* unary(ir::UnaryOp op, DType type, Value* a);
  Value* binary(ir::BinaryOp op, DType type, Value* a, Value* b);  // `type` of the operands
  Value* fma(DType type, Value* a, Value* b, Value* c);
  Value* cast(DType to, DType from, Value* a);
  Value* splat(Value* scalar, int lanes);

  // Building blocks that vector_math.cc shares. constant_like: of a float type.
  Value* constant_like(Value* shape, double value);
  Value* rounded(ir::UnaryOp op, Value* a);      // Floor, Ceil, Round, Trunc of f32 or f64 values
  Value* mul_add(Value* a, Value* b, Value* c);  // fused where the target fuses, else two roundings
  Value* fused(Value* a, Value* b, Value* c);    // one rounding on every target
  llvm::IRBuilder<>& builder() { return b_; }
  const Instructions& target() const { return target_; }

 private:
  llvm::IRBuilder<>& b_;
  const Instructions& target_;

  llvm::Type* shaped(llvm::Type* scalar, const Value* like) const;
  Value* to_tf32(Value* a);
  Value* float_unary(ir::UnaryOp op, DType type, Value* a);
  Value* float_binary(ir::BinaryOp op, DType type, Value* a, Value* b);
  Value* integer_unary(ir::UnaryOp op, DType type, Value* a);
  Value* integer_binary(ir::BinaryOp op, DType type, Value* a, Value* b);
  Value* integer_division(bool remainder, DType type, Value* a, Value* b);
  Value* integer_shift(ir::BinaryOp op, DType type, Value* a, Value* b);
  Value* bool_binary(ir::BinaryOp op, Value* a, Value* b);
  Value* compare(ir::BinaryOp op, DType type, Value* a, Value* b);
  Value* call_libm(const char* name, std::initializer_list<Value*> arguments);

  // casts.cc
  Value* float_to_integer(DType to, Value* a);
  Value* integer_to_float(DType to, DType from, Value* a);
  Value* double_to_float_odd(Value* a);

  // short_floats.cc: an f32 value to the nearest f16 or bf16 value (kept as f32), and
  // the 16-bit formats.
  Value* round_short(DType type, Value* f32);
  Value* float_to_half_bits(Value* f32);
  Value* half_bits_to_float(Value* bits);
  Value* emulated_float_to_half_bits(Value* f32);
  Value* emulated_half_bits_to_float(Value* bits);
};

}  // namespace polyte::codegen
