// f16 and bf16: rounding of f32 values to them, and their 16-bit forms. f16 by the target's
// instructions where it has them, else integer arithmetic; bf16 always integer arithmetic
// (AVX512-BF16's conversion flushes subnormals, and the library call __truncsfbf2 does
// not exist everywhere).
#include "codegen/common/arithmetic.h"

#include <llvm/IR/Intrinsics.h>

namespace polyte::codegen {

namespace {

llvm::Constant* bits_like(llvm::Value* shape, std::uint64_t value) {
  return llvm::ConstantInt::get(shape->getType(), value);
}

}  // namespace

// To bf16, half to even: adding 0x7fff and the last bit that stays carries out of the 16 bits that
// are dropped where these are more than a half, or a half and the number is odd. The carry runs
// into the exponent and, past the largest number, makes infinity. The payload of a NaN could carry
// away; it is made quiet instead.
llvm::Value* Arithmetic::round_short(DType type, llvm::Value* f32) {
  if (type == DType::F16) return half_bits_to_float(float_to_half_bits(f32));
  if (type != DType::BF16) return f32;
  Value* bits = b_.CreateBitCast(f32, shaped(b_.getInt32Ty(), f32));
  Value* last = b_.CreateAnd(b_.CreateLShr(bits, 16), bits_like(bits, 1));
  Value* carried = b_.CreateAdd(bits, b_.CreateAdd(last, bits_like(bits, 0x7fff)));
  Value* quiet = b_.CreateOr(bits, bits_like(bits, 0x400000));
  Value* chosen = b_.CreateSelect(b_.CreateFCmpUNO(f32, f32), quiet, carried);
  return b_.CreateBitCast(b_.CreateAnd(chosen, bits_like(bits, 0xffff0000)), f32->getType());
}

llvm::Value* Arithmetic::float_to_half_bits(llvm::Value* f32) {
  if (!target_.has.half_floats) return emulated_float_to_half_bits(f32);
  Value* half = b_.CreateFPTrunc(f32, shaped(b_.getHalfTy(), f32));
  return b_.CreateBitCast(half, shaped(b_.getInt16Ty(), f32));
}

llvm::Value* Arithmetic::half_bits_to_float(llvm::Value* bits) {
  if (!target_.has.half_floats) return emulated_half_bits_to_float(bits);
  return b_.CreateFPExt(b_.CreateBitCast(bits, shaped(b_.getHalfTy(), bits)),
                        shaped(b_.getFloatTy(), bits));
}

// Normal results: the 13 dropped bits round by an integer addition whose carry runs into the
// exponent. Subnormal results: adding 0.5 aligns the fraction so that the hardware does the
// rounding, as one unit in the last place of 0.5 is 2^-24, the least f16. The exponents, as f32 has
// them:
//
//   112    127 - 15: the difference of the biases of f32 and f16
//   113    2^-14, the least normal f16
//   126    2^-1, of the 0.5
//   143    2^16: infinity; from 65520 on the rounding itself carries there
llvm::Value* Arithmetic::emulated_float_to_half_bits(llvm::Value* f32) {
  llvm::Type* int_type = shaped(b_.getInt32Ty(), f32);
  Value* bits = b_.CreateBitCast(f32, int_type);
  Value* sign = b_.CreateAnd(b_.CreateLShr(bits, 16), bits_like(bits, 0x8000));
  Value* magnitude = b_.CreateAnd(bits, bits_like(bits, 0x7fffffff));
  Value* last = b_.CreateAnd(b_.CreateLShr(magnitude, 13), bits_like(bits, 1));
  Value* biased = b_.CreateSub(magnitude, bits_like(bits, 112U << 23));
  Value* normal =
      b_.CreateLShr(b_.CreateAdd(biased, b_.CreateAdd(last, bits_like(bits, 0xfff))), 13);
  Value* aligned =
      b_.CreateFAdd(b_.CreateBitCast(magnitude, f32->getType()), constant_like(f32, 0.5));
  Value* subnormal = b_.CreateSub(b_.CreateBitCast(aligned, int_type), bits_like(bits, 126U << 23));
  Value* finite =
      b_.CreateSelect(b_.CreateICmpULT(magnitude, bits_like(bits, 113U << 23)), subnormal, normal);
  Value* payload = b_.CreateAnd(b_.CreateLShr(magnitude, 13), bits_like(bits, 0x3ff));
  Value* nan = b_.CreateOr(payload, bits_like(bits, 0x7e00));
  Value* huge = b_.CreateSelect(b_.CreateICmpUGT(magnitude, bits_like(bits, 0x7f800000)), nan,
                                bits_like(bits, 0x7c00));
  Value* overflow = b_.CreateICmpUGE(magnitude, bits_like(bits, 143U << 23));
  Value* result = b_.CreateOr(sign, b_.CreateSelect(overflow, huge, finite));
  return b_.CreateTrunc(result, shaped(b_.getInt16Ty(), f32));
}

// A subnormal f16 is its bits times 2^-24, exact in f32; others get the exponent's bias changed,
// and infinity and NaN the exponent of all ones.
llvm::Value* Arithmetic::emulated_half_bits_to_float(llvm::Value* bits) {
  llvm::Type* float_type = shaped(b_.getFloatTy(), bits);
  Value* wide = b_.CreateZExt(bits, shaped(b_.getInt32Ty(), bits));
  Value* sign = b_.CreateShl(b_.CreateAnd(wide, bits_like(wide, 0x8000)), 16);
  Value* magnitude = b_.CreateAnd(wide, bits_like(wide, 0x7fff));
  Value* shifted = b_.CreateShl(magnitude, 13);
  Value* normal = b_.CreateAdd(shifted, bits_like(wide, 112U << 23));
  Value* special = b_.CreateOr(shifted, bits_like(wide, 0x7f800000));
  Value* counted = b_.CreateSIToFP(magnitude, float_type);
  Value* small = b_.CreateFMul(counted, llvm::ConstantFP::get(float_type, 0x1p-24));
  Value* value =
      b_.CreateSelect(b_.CreateICmpUGE(magnitude, bits_like(wide, 0x7c00)), special, normal);
  value = b_.CreateSelect(b_.CreateICmpULT(magnitude, bits_like(wide, 0x400)),
                          b_.CreateBitCast(small, wide->getType()), value);
  return b_.CreateBitCast(b_.CreateOr(value, sign), float_type);
}

}  // namespace polyte::codegen
