// Cast: float to integer truncates and saturates, NaN gives 0; integer to integer wraps; to
// Bool is x != 0; to a float rounds once (integers to f16 and bf16 twice: to f32 first, as all
// operations of short floats do).
#include "codegen/common/arithmetic.h"

#include <llvm/IR/Intrinsics.h>

namespace polyte::codegen {

llvm::Value* Arithmetic::cast(DType to, DType from, llvm::Value* a) {
  if (to == from) return a;
  if (to == DType::Bool) {
    llvm::Constant* zero = llvm::Constant::getNullValue(a->getType());
    return is_float(from) ? b_.CreateFCmpUNE(a, zero) : b_.CreateICmpNE(a, zero);
  }
  if (is_float(from) && !is_float(to)) return float_to_integer(to, a);
  if (!is_float(from) && is_float(to)) return integer_to_float(to, from, a);
  if (!is_float(from))
    return b_.CreateIntCast(a, shaped(value_type(to, 1), a), is_signed_integer(from));
  if (to == DType::F64) return b_.CreateFPExt(a, shaped(b_.getDoubleTy(), a));
  if (from == DType::F64 && to == DType::F32)
    return b_.CreateFPTrunc(a, shaped(b_.getFloatTy(), a));
  return round_short(to, from == DType::F64 ? double_to_float_odd(a) : a);
}

// The saturating intrinsics: fptosi itself is poison for what does not fit, and cvttps2dq gives
// 0x80000000 for it.
llvm::Value* Arithmetic::float_to_integer(DType to, llvm::Value* a) {
  llvm::Type* type = shaped(value_type(to, 1), a);
  const auto id = is_signed_integer(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  return b_.CreateIntrinsic(id, {type, a->getType()}, {a});
}

// A short float comes by way of f32, as all its operations do.
llvm::Value* Arithmetic::integer_to_float(DType to, DType from, llvm::Value* a) {
  llvm::Type* type = shaped(to == DType::F64 ? b_.getDoubleTy() : b_.getFloatTy(), a);
  return round_short(to,
                     is_signed_integer(from) ? b_.CreateSIToFP(a, type) : b_.CreateUIToFP(a, type));
}

// Rounds to odd: truncates, and sets the last bit where anything was lost. A second rounding to 11
// bits or fewer then gives what a single one would, as two bits more than the result has are enough
// (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using
// rounding to odd", 2008).
//
// From the nearest f32: if its magnitude is above that of the value, its bits less one are the
// truncated magnitude, since the bits of a float, without the sign, grow with it. An overflow to
// infinity comes back to the largest finite number so, which is odd. NaN compares as exact and
// stays.
llvm::Value* Arithmetic::double_to_float_odd(llvm::Value* a) {
  llvm::Type* int_type = shaped(b_.getInt32Ty(), a);
  Value* nearest = b_.CreateFPTrunc(a, shaped(b_.getFloatTy(), a));
  Value* back = b_.CreateFPExt(nearest, a->getType());
  Value* inexact = b_.CreateFCmpONE(back, a);
  Value* above = b_.CreateFCmpOGT(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                                  b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a));
  Value* bits = b_.CreateBitCast(nearest, int_type);
  Value* truncated = b_.CreateSub(bits, b_.CreateZExt(above, int_type));
  Value* odd = b_.CreateOr(truncated, llvm::ConstantInt::get(int_type, 1));
  return b_.CreateBitCast(b_.CreateSelect(inexact, odd, bits), nearest->getType());
}

}  // namespace polyte::codegen
