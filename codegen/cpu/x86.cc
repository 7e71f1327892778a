// x86-64: SSE2 lacks rounding (SSE4.1), half floats (F16C) and fused products (FMA). AVX-512 does
// in one instruction what others need several for.
#include <elf.h>

#include <algorithm>
#include <numeric>

#include "codegen/cpu/backend.h"

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/Support/MathExtras.h>
#include <llvm/Support/TargetSelect.h>

namespace polyte::codegen {
namespace {

namespace id = llvm::Intrinsic;

// Bits of a vector; 0: the type is a scalar.
unsigned bits_of(const llvm::Type* type) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector == nullptr ? 0 : vector->getNumElements() * vector->getScalarSizeInBits();
}

bool is_wide(const llvm::Type* type) { return type->getScalarType()->isDoubleTy(); }

class X86Instructions final : public Instructions {
 public:
  explicit X86Instructions(const Machine& machine)
      : Instructions({.fma = machine.has_fma,
                      .half_floats = machine.has("f16c") || machine.has("avx512f"),
                      .rounding = machine.has("sse4.1") || machine.has("avx")}),
        avx512_(machine.has("avx512f")),
        avx512_short_(machine.has("avx512vl")),
        avx512_range_(machine.has("avx512f") && machine.has("avx512dq")) {}

  // An x86 maximum gives its second operand where the two are zeros or one is NaN; the two ways of
  // asking differ there alone. Of both, magnitudes by `or` keep a NaN one, and +0 has its sign by
  // `and`; a minimum has its sign by `or` too, so that without AVX-512 a maximum is the minimum of
  // what is negated: LLVM's own sequence takes five operations of the units that multiply. Scalars
  // and what fills no register are the first lanes of one: by LLVM they go by way of a mask, 20
  // cycles on a Zen 5, or of a branch.
  Value* extremum(Builder& b, id::ID which, Value* x, Value* y) const override {
    if (llvm::isa<llvm::Constant>(x) || llvm::isa<llvm::Constant>(y)) return nullptr;
    const unsigned filled = llvm::PowerOf2Ceil(std::max(128U, bits_of(x->getType())));
    if (filled > 512 || !(filled == 512 ? avx512_ : avx512_short_))
      return plain_extremum(b, which, x, y);
    if (bits_of(x->getType()) == filled) return whole_extremum(b, which, x, y);
    const unsigned lanes = filled / x->getType()->getScalarSizeInBits();
    return first_lanes(b, whole_extremum(b, which, widened(b, x, lanes), widened(b, y, lanes)),
                       x->getType());
  }

  // By vscalef, where there is one for as many lanes: VSCALEFPS is a * 2^floor(b), rounded once,
  // with overflow and subnormal results as a multiplication has them.
  Value* times_power_of_two(Builder& b, Value* value, Value* n) const override {
    llvm::Type* const type = value->getType();
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    const unsigned bits = vector == nullptr ? 128 : bits_of(type);
    const bool wide = is_wide(type);
    if (!avx512_ || (vector != nullptr && bits < 512 && !avx512_short_)) return nullptr;
    const unsigned mask_bits = vector == nullptr ? 8 : std::max(8U, vector->getNumElements());
    Value* all = llvm::Constant::getAllOnesValue(b.getIntNTy(mask_bits));
    if (vector == nullptr) return scaled_scalar(b, value, n, all);
    if (bits == 512)
      return b.CreateIntrinsic(
          wide ? id::x86_avx512_mask_scalef_pd_512 : id::x86_avx512_mask_scalef_ps_512, {},
          {value, n, value, all, as_the_thread_rounds(b)});
    if (bits == 256)
      return b.CreateIntrinsic(
          wide ? id::x86_avx512_mask_scalef_pd_256 : id::x86_avx512_mask_scalef_ps_256, {},
          {value, n, value, all});
    if (bits == 128)
      return b.CreateIntrinsic(
          wide ? id::x86_avx512_mask_scalef_pd_128 : id::x86_avx512_mask_scalef_ps_128, {},
          {value, n, value, all});
    return nullptr;
  }

  bool has_within(const llvm::Type* type) const override {
    return bits_of(type) == 512 && avx512_range_;
  }

  // By VRANGEPS: 2 in the lowest bits asks for the smaller magnitude, 0 above them for the first
  // operand's sign. It gives the other operand where one is NaN.
  Value* within(Builder& b, Value* x, llvm::Constant* limit) const override {
    if (!has_within(x->getType())) return nullptr;
    const bool wide = is_wide(x->getType());
    Value* all = llvm::Constant::getAllOnesValue(b.getIntNTy(wide ? 8 : 16));
    Value* smaller_magnitude = b.getInt32(2);
    return b.CreateIntrinsic(
        wide ? id::x86_avx512_mask_range_pd_512 : id::x86_avx512_mask_range_ps_512, {},
        {x, limit, smaller_magnitude, x, all, as_the_thread_rounds(b)});
  }

  // Stores past the caches wait in buffers that other threads do not see, and ordinary stores after
  // them may be seen first (Intel SDM, volume 1, "Caching of Temporal vs. Non-Temporal Data").
  void fence_streams(Builder& b) const override { b.CreateIntrinsic(id::x86_sse_sfence, {}, {}); }

 private:
  bool avx512_, avx512_short_, avx512_range_;

  // _MM_FROUND_CUR_DIRECTION: the rounding mode of MXCSR.
  static Value* as_the_thread_rounds(Builder& b) { return b.getInt32(4); }

  // Of any number of lanes.
  static Value* plain_extremum(Builder& b, id::ID which, Value* x, Value* y) {
    if (!x->getType()->isVectorTy()) {
      const unsigned lanes = 128 / x->getType()->getScalarSizeInBits();
      return first_lanes(b, plain_extremum(b, which, widened(b, x, lanes), widened(b, y, lanes)),
                         x->getType());
    }
    if (which == id::maximum)
      return b.CreateFNeg(plain_extremum(b, id::minimum, b.CreateFNeg(x), b.CreateFNeg(y)));
    llvm::Type* as_bits =
        x->getType()->getWithNewType(b.getIntNTy(x->getType()->getScalarSizeInBits()));
    const auto one_way = [&](Value* p, Value* q) {
      return b.CreateBitCast(b.CreateSelect(b.CreateFCmpOLT(p, q), p, q), as_bits);
    };
    return b.CreateBitCast(b.CreateOr(one_way(x, y), one_way(y, x)), x->getType());
  }

  // Of vectors that fill a register.
  static Value* whole_extremum(Builder& b, id::ID which, Value* x, Value* y) {
    const unsigned bits = bits_of(x->getType());
    const bool is_max = which == id::maximum;
    const auto one_way = [&](Value* p, Value* q) {
      return b.CreateSelect(is_max ? b.CreateFCmpOGT(p, q) : b.CreateFCmpOLT(p, q), p, q);
    };
    const bool wide = is_wide(x->getType());
    llvm::Type* as_bits = x->getType()->getWithNewType(b.getIntNTy(wide ? 64 : 32));
    Value* first = b.CreateBitCast(one_way(x, y), as_bits);
    Value* second = b.CreateBitCast(one_way(y, x), as_bits);
    if (!is_max) return b.CreateBitCast(b.CreateOr(first, second), x->getType());
    const auto ternary =
        bits == 512   ? (wide ? id::x86_avx512_pternlog_q_512 : id::x86_avx512_pternlog_d_512)
        : bits == 256 ? (wide ? id::x86_avx512_pternlog_q_256 : id::x86_avx512_pternlog_d_256)
                      : (wide ? id::x86_avx512_pternlog_q_128 : id::x86_avx512_pternlog_d_128);
    // VPTERNLOG: bit 4*a + 2*b + c of the constant is the result for bits a, b and c.
    constexpr int kAndWhereSetElseOr = 0xd4;  // of the third operand
    Value* sign = llvm::ConstantInt::get(as_bits, llvm::APInt::getSignMask(wide ? 64 : 32));
    Value* both =
        b.CreateIntrinsic(ternary, {}, {first, second, sign, b.getInt32(kAndWhereSetElseOr)});
    return b.CreateBitCast(both, x->getType());
  }

  // The value in the first of so many lanes; what the others hold is not said.
  static Value* widened(Builder& b, Value* value, unsigned lanes) {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
    if (vector == nullptr) {
      Value* none = llvm::PoisonValue::get(llvm::FixedVectorType::get(value->getType(), lanes));
      return b.CreateInsertElement(none, value, std::uint64_t{0});
    }
    llvm::SmallVector<int, 16> from(lanes, llvm::PoisonMaskElem);
    std::iota(from.begin(), from.begin() + vector->getNumElements(), 0);
    return b.CreateShuffleVector(value, from);
  }

  static Value* first_lanes(Builder& b, Value* value, const llvm::Type* type) {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    if (vector == nullptr) return b.CreateExtractElement(value, std::uint64_t{0});
    llvm::SmallVector<int, 16> from(vector->getNumElements());
    std::iota(from.begin(), from.end(), 0);
    return b.CreateShuffleVector(value, from);
  }

  static Value* scaled_scalar(Builder& b, Value* value, Value* n, Value* all) {
    const bool wide = is_wide(value->getType());
    Value* x = widened(b, value, wide ? 2 : 4);
    Value* y = widened(b, n, wide ? 2 : 4);
    Value* scaled =
        b.CreateIntrinsic(wide ? id::x86_avx512_mask_scalef_sd : id::x86_avx512_mask_scalef_ss, {},
                          {x, y, x, all, as_the_thread_rounds(b)});
    return b.CreateExtractElement(scaled, std::uint64_t{0});
  }
};

void register_x86() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeX86AsmParser();
}

std::unique_ptr<const Instructions> x86_instructions(const Machine& machine) {
  return std::make_unique<const X86Instructions>(machine);
}

}  // namespace

const Backend& x86_backend() {
  static constexpr Backend kBackend{"x86_64-unknown-linux-gnu", "x86-64", EM_X86_64, register_x86,
                                    x86_instructions};
  return kBackend;
}

}  // namespace polyte::codegen
