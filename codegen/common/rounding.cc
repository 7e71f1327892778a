// Floor, ceil, round to even, trunc: one instruction where the target has it, else by adding
// and taking away 2^p, exact for |x| < 2^p (larger values are integers already), instead
// of calls into libm.
#include "codegen/common/arithmetic.h"
#include "support/error.h"

#include <llvm/IR/Intrinsics.h>

namespace polyte::codegen {

using ir::UnaryOp;

namespace {

llvm::Intrinsic::ID rounding_intrinsic(UnaryOp op) {
  switch (op) {
    case UnaryOp::Floor:
      return llvm::Intrinsic::floor;
    case UnaryOp::Ceil:
      return llvm::Intrinsic::ceil;
    case UnaryOp::Round:
      return llvm::Intrinsic::roundeven;
    default:
      return llvm::Intrinsic::trunc;
  }
}

}  // namespace

// Floats in [2^p, 2^(p+1)) are whole numbers, for f32 with p = 23, for f64 with p = 52. So |a| +
// 2^p is rounded to a whole number, half to even, and taking 2^p away again is exact. Floor, ceil
// and trunc correct that by one where it went the wrong way. The sign is put back last: ceil(-0.3)
// is -0.
llvm::Value* Arithmetic::rounded(UnaryOp op, llvm::Value* a) {
  if (target_.has.rounding) return b_.CreateUnaryIntrinsic(rounding_intrinsic(op), a);
  Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
  Value* big = constant_like(a, a->getType()->getScalarType()->isDoubleTy() ? 0x1p52 : 0x1p23);
  Value* one = constant_like(a, 1);
  Value* even = b_.CreateFSub(b_.CreateFAdd(magnitude, big), big);  // of |a|, half to even
  Value* nearest = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, even, a);
  Value* result = nearest;
  if (op == UnaryOp::Floor) {
    result = b_.CreateSelect(b_.CreateFCmpOGT(nearest, a), b_.CreateFSub(nearest, one), nearest);
  } else if (op == UnaryOp::Ceil) {
    result = b_.CreateSelect(b_.CreateFCmpOLT(nearest, a), b_.CreateFAdd(nearest, one), nearest);
  } else if (op == UnaryOp::Trunc) {
    result = b_.CreateSelect(b_.CreateFCmpOGT(even, magnitude), b_.CreateFSub(even, one), even);
  }
  result = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, result, a);
  return b_.CreateSelect(b_.CreateFCmpOLT(magnitude, big), result, a);
}

// The upper 10 of 23 bits stay, half of the last of them rounds it up; past the largest it is
// infinite, as it should be. ir/arithmetic.cc says why an integer addition does it.
llvm::Value* Arithmetic::to_tf32(llvm::Value* a) {
  constexpr std::uint64_t kDropped = 0x1fff, kHalf = 0x1000;
  llvm::Type* bits = a->getType()->getWithNewType(b_.getInt32Ty());
  llvm::Value* up = b_.CreateAdd(b_.CreateBitCast(a, bits), llvm::ConstantInt::get(bits, kHalf));
  llvm::Value* kept = b_.CreateAnd(up, llvm::ConstantInt::get(bits, 0xffffffffU & ~kDropped));
  return b_.CreateSelect(b_.CreateFCmpUNO(a, a), a, b_.CreateBitCast(kept, a->getType()));
}

}  // namespace polyte::codegen
