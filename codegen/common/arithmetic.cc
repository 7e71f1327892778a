#include "codegen/common/arithmetic.h"

#include "codegen/common/vector_math.h"
#include "ir/arithmetic.h"
#include "support/error.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

namespace polyte::codegen {

using ir::BinaryOp;
using ir::UnaryOp;
using llvm::Intrinsic::ID;
using Value = llvm::Value;

namespace {

[[noreturn]] void undefined_operation(const std::string& op, DType type) {
  throw UserError(ExitStatus::Unsupported,
                  "operation '" + op + "' is not defined for type " + std::string(to_string(type)));
}

}  // namespace

llvm::Type* Arithmetic::value_type(DType type, int lanes) const {
  llvm::Type* scalar = nullptr;
  switch (type) {
    case DType::F64:
      scalar = b_.getDoubleTy();
      break;
    case DType::F32:
    case DType::F16:
    case DType::BF16:
      scalar = b_.getFloatTy();
      break;
    case DType::Bool:
      scalar = b_.getInt1Ty();
      break;
    default:
      scalar = b_.getIntNTy(8 * size_in_bytes(type));
      break;
  }
  return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, lanes);
}

// A short float and a bool are integers in memory. A bool is a byte there and an i1 in registers; a
// short float is an f32 in registers.
llvm::Type* Arithmetic::memory_type(DType type, int lanes) const {
  if (type == DType::F64 || type == DType::F32) return value_type(type, lanes);
  llvm::Type* scalar = b_.getIntNTy(8 * size_in_bytes(type));
  return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, lanes);
}

// The scalar type with as many lanes as `like` has.
llvm::Type* Arithmetic::shaped(llvm::Type* scalar, const Value* like) const {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like->getType());
  return vector == nullptr ? scalar : llvm::FixedVectorType::get(scalar, vector->getNumElements());
}

// bf16 is the upper half of an f32: conversion to f32 is a shift to the left, and back, of a value
// that is a bf16 already, a shift to the right.
Value* Arithmetic::from_memory(DType type, Value* raw) {
  if (type == DType::Bool)
    return b_.CreateICmpNE(raw, llvm::Constant::getNullValue(raw->getType()));
  if (type == DType::F16) return half_bits_to_float(raw);
  if (type != DType::BF16) return raw;
  Value* wide = b_.CreateShl(b_.CreateZExt(raw, shaped(b_.getInt32Ty(), raw)), 16);
  return b_.CreateBitCast(wide, shaped(b_.getFloatTy(), raw));
}

Value* Arithmetic::to_memory(DType type, Value* value) {
  if (type == DType::Bool) return b_.CreateZExt(value, shaped(b_.getInt8Ty(), value));
  if (type == DType::F16) return float_to_half_bits(value);
  if (type != DType::BF16) return value;
  Value* bits = b_.CreateBitCast(value, shaped(b_.getInt32Ty(), value));
  return b_.CreateTrunc(b_.CreateLShr(bits, 16), shaped(b_.getInt16Ty(), value));
}

// A short float is rounded from f64 in one step. By way of f32 it would be rounded twice, which
// differs for values next to the middle between two of them.
Value* Arithmetic::literal(DType type, const ir::Literal& literal) {
  switch (type) {
    case DType::F64:
      return llvm::ConstantFP::get(b_.getDoubleTy(), literal.real);
    case DType::F32:
      return llvm::ConstantFP::get(b_.getContext(),
                                   llvm::APFloat(static_cast<float>(literal.real)));
    case DType::F16:
      return llvm::ConstantFP::get(b_.getContext(),
                                   llvm::APFloat(half_to_float(double_to_half(literal.real))));
    case DType::BF16:
      return llvm::ConstantFP::get(
          b_.getContext(), llvm::APFloat(bfloat16_to_float(double_to_bfloat16(literal.real))));
    case DType::Bool:
      return b_.getInt1(literal.integer != 0);
    default: {
      const auto bits = static_cast<unsigned>(8 * size_in_bytes(type));
      return b_.getInt(llvm::APInt(64, static_cast<std::uint64_t>(literal.integer)).trunc(bits));
    }
  }
}

Value* Arithmetic::splat(Value* scalar, int lanes) {
  return lanes == 1 ? scalar : b_.CreateVectorSplat(static_cast<unsigned>(lanes), scalar);
}

Value* Arithmetic::constant_like(Value* shape, double value) {
  return llvm::ConstantFP::get(shape->getType(), value);
}

Value* Arithmetic::unary(UnaryOp op, DType type, Value* a) {
  if (!is_defined(op, type)) undefined_operation(to_string(op), type);
  if (is_float(type)) return float_unary(op, type, a);
  if (type != DType::Bool) return integer_unary(op, type, a);
  return b_.CreateNot(a);
}

// For a short float the operand is an f32 that the short type can hold, and `round_short` rounds
// the result to one.
Value* Arithmetic::float_unary(UnaryOp op, DType type, Value* a) {
  switch (op) {
    case UnaryOp::Neg:
      return b_.CreateFNeg(a);
    case UnaryOp::Abs:
      return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
    case UnaryOp::Floor:
    case UnaryOp::Ceil:
    case UnaryOp::Round:
    case UnaryOp::Trunc:
      return rounded(op, a);  // exact: a short float stays one
    case UnaryOp::Sqrt:
      return round_short(type, b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a));
    case UnaryOp::Sin:
    case UnaryOp::Cos:
      if (type == DType::F64) return call_libm(op == UnaryOp::Sin ? "sin" : "cos", {a});
      [[fallthrough]];
    case UnaryOp::Exp:
    case UnaryOp::Log:
    case UnaryOp::Tanh:
    case UnaryOp::Erf:
    case UnaryOp::Sigmoid:
      return round_short(type, VectorMath(*this).emit(op, a));
    case UnaryOp::Tf32:
      return to_tf32(a);
    case UnaryOp::Not:
      break;
  }
  undefined_operation(to_string(op), type);
}

// llvm.abs with `false` wraps for the lowest integer; with `true` it would be poison.
Value* Arithmetic::integer_unary(UnaryOp op, DType type, Value* a) {
  switch (op) {
    case UnaryOp::Neg:
      return b_.CreateNeg(a);
    case UnaryOp::Abs:
      return is_unsigned_integer(type)
                 ? a
                 : b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, b_.getFalse());
    case UnaryOp::Not:
      return b_.CreateNot(a);
    default:
      undefined_operation(to_string(op), type);
  }
}

Value* Arithmetic::binary(BinaryOp op, DType type, Value* a, Value* b) {
  if (!is_defined(op, type)) undefined_operation(to_string(op), type);
  if (op == BinaryOp::Eq || op == BinaryOp::Ne || op == BinaryOp::Lt || op == BinaryOp::Le) {
    return compare(op, type, a, b);
  }
  if (is_float(type)) return float_binary(op, type, a, b);
  return type == DType::Bool ? bool_binary(op, a, b) : integer_binary(op, type, a, b);
}

// Ordered comparisons are false where an operand is NaN; != is the unordered one, which is true:
// what IEEE 754 and C have.
Value* Arithmetic::compare(BinaryOp op, DType type, Value* a, Value* b) {
  const bool real = is_float(type);
  const bool is_signed = is_signed_integer(type);
  switch (op) {
    case BinaryOp::Eq:
      return real ? b_.CreateFCmpOEQ(a, b) : b_.CreateICmpEQ(a, b);
    case BinaryOp::Ne:
      return real ? b_.CreateFCmpUNE(a, b) : b_.CreateICmpNE(a, b);
    case BinaryOp::Lt:
      return real        ? b_.CreateFCmpOLT(a, b)
             : is_signed ? b_.CreateICmpSLT(a, b)
                         : b_.CreateICmpULT(a, b);
    default:
      return real        ? b_.CreateFCmpOLE(a, b)
             : is_signed ? b_.CreateICmpSLE(a, b)
                         : b_.CreateICmpULE(a, b);
  }
}

Value* Arithmetic::float_binary(BinaryOp op, DType type, Value* a, Value* b) {
  switch (op) {
    case BinaryOp::Add:
      return round_short(type, b_.CreateFAdd(a, b));
    case BinaryOp::Sub:
      return round_short(type, b_.CreateFSub(a, b));
    case BinaryOp::Mul:
      return round_short(type, b_.CreateFMul(a, b));
    case BinaryOp::Div:
      return round_short(type, b_.CreateFDiv(a, b));
    case BinaryOp::Pow:
      if (type == DType::F64) return call_libm("pow", {a, b});
      return round_short(type, VectorMath(*this).power(a, b));
    // Those of IEEE 754-2019: NaN if an operand is, and -0 below +0. llvm.minnum would give the
    // other operand.
    case BinaryOp::Min:
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::minimum, a, b);
    case BinaryOp::Max:
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, a, b);
    default:
      undefined_operation(to_string(op), type);
  }
}

Value* Arithmetic::bool_binary(BinaryOp op, Value* a, Value* b) {
  switch (op) {
    case BinaryOp::And:
    case BinaryOp::Min:
      return b_.CreateAnd(a, b);
    case BinaryOp::Or:
    case BinaryOp::Max:
      return b_.CreateOr(a, b);
    case BinaryOp::Xor:
      return b_.CreateXor(a, b);
    default:
      undefined_operation(to_string(op), DType::Bool);
  }
}

Value* Arithmetic::integer_binary(BinaryOp op, DType type, Value* a, Value* b) {
  const bool is_signed = is_signed_integer(type);
  switch (op) {
    case BinaryOp::Add:
      return b_.CreateAdd(a, b);
    case BinaryOp::Sub:
      return b_.CreateSub(a, b);
    case BinaryOp::Mul:
      return b_.CreateMul(a, b);
    case BinaryOp::Div:
      return integer_division(false, type, a, b);
    case BinaryOp::Mod:
      return integer_division(true, type, a, b);
    case BinaryOp::Min:
      return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a,
                                      b);
    case BinaryOp::Max:
      return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a,
                                      b);
    case BinaryOp::And:
      return b_.CreateAnd(a, b);
    case BinaryOp::Or:
      return b_.CreateOr(a, b);
    case BinaryOp::Xor:
      return b_.CreateXor(a, b);
    case BinaryOp::Shl:
    case BinaryOp::Shr:
      return integer_shift(op, type, a, b);
    default:
      undefined_operation(to_string(op), type);
  }
}

// x / 0 and x % 0 are 0; MIN / -1 wraps: the divisor 1 stands in for both. It is frozen unless it
// folds to a constant: LLVM simplifies `x % select(c, 1, v)` as if all lanes of v were divided by,
// a zero in another lane too.
Value* Arithmetic::integer_division(bool remainder, DType type, Value* a, Value* b) {
  const bool is_signed = is_signed_integer(type);
  const unsigned width = a->getType()->getScalarSizeInBits();
  const auto constant = [&](const llvm::APInt& bits) {
    return llvm::ConstantInt::get(a->getType(), bits);
  };
  Value* by_zero = b_.CreateICmpEQ(b, constant(llvm::APInt(width, 0)));
  Value* divisor = b_.CreateSelect(by_zero, constant(llvm::APInt(width, 1)), b);
  if (is_signed) {
    Value* smallest = b_.CreateICmpEQ(a, constant(llvm::APInt::getSignedMinValue(width)));
    Value* minus_one = b_.CreateICmpEQ(b, constant(llvm::APInt::getAllOnes(width)));
    divisor = b_.CreateSelect(b_.CreateAnd(smallest, minus_one), constant(llvm::APInt(width, 1)),
                              divisor);
  }
  if (!llvm::isa<llvm::Constant>(divisor)) divisor = b_.CreateFreeze(divisor);
  Value* result = nullptr;
  if (remainder) {
    result = is_signed ? b_.CreateSRem(a, divisor) : b_.CreateURem(a, divisor);
  } else {
    result = is_signed ? b_.CreateSDiv(a, divisor) : b_.CreateUDiv(a, divisor);
  }
  return b_.CreateSelect(by_zero, constant(llvm::APInt(width, 0)), result);
}

// The mask is part of the definition, and needed: an LLVM shift by the width or more is poison.
Value* Arithmetic::integer_shift(BinaryOp op, DType type, Value* a, Value* b) {
  const unsigned width = a->getType()->getScalarSizeInBits();
  Value* amount = b_.CreateAnd(b, llvm::ConstantInt::get(b->getType(), width - 1));
  if (op == BinaryOp::Shl) return b_.CreateShl(a, amount);
  return is_signed_integer(type) ? b_.CreateAShr(a, amount) : b_.CreateLShr(a, amount);
}

Value* Arithmetic::fma(DType type, Value* a, Value* b, Value* c) {
  if (is_float(type)) return round_short(type, fused(a, b, c));
  if (type == DType::Bool) undefined_operation("fma", type);
  return b_.CreateAdd(b_.CreateMul(a, b), c);
}

Value* Arithmetic::fused(Value* a, Value* b, Value* c) {
  return b_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
}

Value* Arithmetic::mul_add(Value* a, Value* b, Value* c) {
  return target_.has.fma ? fused(a, b, c) : b_.CreateFAdd(b_.CreateFMul(a, b), c);
}

// In f64, lane by lane: libm's scalar functions are within 1 ULP and the same for every vector
// width.
Value* Arithmetic::call_libm(const char* name, std::initializer_list<Value*> arguments) {
  if (!target_.has.libm)
    throw UserError(
        ExitStatus::Unsupported,
        std::string(name) + " of f64 is not computed on a GPU yet: expected that of f32");
  Value* first = *arguments.begin();
  llvm::Type* scalar = first->getType()->getScalarType();
  llvm::Module* module = b_.GetInsertBlock()->getModule();
  const std::vector<llvm::Type*> parameters(arguments.size(), scalar);
  auto callee =
      module->getOrInsertFunction(name, llvm::FunctionType::get(scalar, parameters, false));
  if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee())) {
    function->setDoesNotThrow();
    function->setDoesNotAccessMemory();
  }
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(first->getType());
  if (vector == nullptr)
    return b_.CreateCall(callee, llvm::ArrayRef<Value*>(arguments.begin(), arguments.size()));
  Value* result = llvm::PoisonValue::get(first->getType());
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    std::vector<Value*> scalars;
    for (Value* argument : arguments) scalars.push_back(b_.CreateExtractElement(argument, lane));
    result = b_.CreateInsertElement(result, b_.CreateCall(callee, scalars), lane);
  }
  return result;
}

}  // namespace polyte::codegen
