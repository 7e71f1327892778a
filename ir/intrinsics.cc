#include "ir/intrinsics.h"

#include "ir/domain.h"
#include "ir/program_text.h"
#include "support/error.h"
#include "support/join_words.h"

namespace polyte::ir {
namespace {

// A row before its Program is read. `lanes` is the extent of i.
struct Row {
  const char* name;
  const char* buffers;
  const char* statement;
  IntrinsicCall call;
  int vector_bits;
  std::vector<std::vector<std::string>> features;
};

// A row of the tensor cores: tiles of m by n, sums of k products of elements of so many bytes, each
// converted to `factor` before; empty: they are multiplied as they are.
struct MatrixRow {
  const char *name, *type, *factor, *sum;
  int k, bytes;
  IntrinsicCall call;
  bool rounds;
  int capability = 80;
};

using Features = std::vector<std::vector<std::string>>;
// Alternatives, each a list of features that are all needed: AVX-512 VNNI with VL, or AVX-VNNI.
const Features kVnni512 = {{"avx512vnni"}}, kVnni = {{"avx512vnni", "avx512vl"}, {"avxvnni"}};

const char* const kDot = "c[i] += i32(a[i, k]) * i32(b[i, k])";
const char* const kDistances = "c[i] += i64(abs(i32(a[i, k]) - i32(b[i, k])))";
const char* const kProducts = "c[i] += a[i] * b[i]";
const char* const kSum = "c[0] += a[i]";

// Sums of four products of bytes and of two products of shorts, wrapping; the same by
// multiply-and-add; sums of eight absolute differences; products of floats, each with one rounding;
// sums of whole vectors.
//
// Only instructions without saturation: VPDPBUSD and VPDPWSSD wrap where VPDPBUSDS and VPDPWSSDS
// saturate, and PMADDUBSW is left out because it saturates its sums of pairs to 16 bits. PMADDWD
// overflows in one case only, (-2^15)^2 + (-2^15)^2 = 2^31, which it wraps as the row's i32 does.
// As sums modulo 2^32 can be taken in any order, what the instruction computes is the row's
// statement bit for bit.
const Row kRows[] = {
    {"vnni_dot_i32x16",
     "in a: u8[16, 4]; in b: i8[16, 4]; inout c: i32[16]",
     kDot,
     {"llvm.x86.avx512.vpdpbusd.512", "cab"},
     512,
     kVnni512},
    {"vnni_dot_i32x8",
     "in a: u8[8, 4]; in b: i8[8, 4]; inout c: i32[8]",
     kDot,
     {"llvm.x86.avx512.vpdpbusd.256", "cab"},
     256,
     kVnni},
    {"vnni_dot_i32x4",
     "in a: u8[4, 4]; in b: i8[4, 4]; inout c: i32[4]",
     kDot,
     {"llvm.x86.avx512.vpdpbusd.128", "cab"},
     128,
     kVnni},
    {"vnni_pair_i32x16",
     "in a: i16[16, 2]; in b: i16[16, 2]; inout c: i32[16]",
     kDot,
     {"llvm.x86.avx512.vpdpwssd.512", "cab"},
     512,
     kVnni512},
    {"vnni_pair_i32x8",
     "in a: i16[8, 2]; in b: i16[8, 2]; inout c: i32[8]",
     kDot,
     {"llvm.x86.avx512.vpdpwssd.256", "cab"},
     256,
     kVnni},
    {"vnni_pair_i32x4",
     "in a: i16[4, 2]; in b: i16[4, 2]; inout c: i32[4]",
     kDot,
     {"llvm.x86.avx512.vpdpwssd.128", "cab"},
     128,
     kVnni},
    {"madd_i32x16",
     "in a: i16[16, 2]; in b: i16[16, 2]; inout c: i32[16]",
     kDot,
     {"llvm.x86.avx512.pmaddw.d.512", "ab", true},
     512,
     {{"avx512bw"}}},
    {"madd_i32x8",
     "in a: i16[8, 2]; in b: i16[8, 2]; inout c: i32[8]",
     kDot,
     {"llvm.x86.avx2.pmadd.wd", "ab", true},
     256,
     {{"avx2"}}},
    {"madd_i32x4",
     "in a: i16[4, 2]; in b: i16[4, 2]; inout c: i32[4]",
     kDot,
     {"llvm.x86.sse2.pmadd.wd", "ab", true},
     128,
     {{"sse2"}}},
    {"sad_i64x8",
     "in a: u8[8, 8]; in b: u8[8, 8]; inout c: i64[8]",
     kDistances,
     {"llvm.x86.avx512.psad.bw.512", "ab", true},
     512,
     {{"avx512bw"}}},
    {"sad_i64x4",
     "in a: u8[4, 8]; in b: u8[4, 8]; inout c: i64[4]",
     kDistances,
     {"llvm.x86.avx2.psad.bw", "ab", true},
     256,
     {{"avx2"}}},
    {"sad_i64x2",
     "in a: u8[2, 8]; in b: u8[2, 8]; inout c: i64[2]",
     kDistances,
     {"llvm.x86.sse2.psad.bw", "ab", true},
     128,
     {{"sse2"}}},
    {"fma_f32x16",
     "in a: f32[16]; in b: f32[16]; inout c: f32[16]",
     kProducts,
     {"llvm.fma", "abc"},
     0,
     {}},
    {"fma_f32x8",
     "in a: f32[8]; in b: f32[8]; inout c: f32[8]",
     kProducts,
     {"llvm.fma", "abc"},
     0,
     {}},
    {"fma_f32x4",
     "in a: f32[4]; in b: f32[4]; inout c: f32[4]",
     kProducts,
     {"llvm.fma", "abc"},
     0,
     {}},
    {"fma_f64x8",
     "in a: f64[8]; in b: f64[8]; inout c: f64[8]",
     kProducts,
     {"llvm.fma", "abc"},
     0,
     {}},
    {"fma_f64x4",
     "in a: f64[4]; in b: f64[4]; inout c: f64[4]",
     kProducts,
     {"llvm.fma", "abc"},
     0,
     {}},
    {"fma_f64x2",
     "in a: f64[2]; in b: f64[2]; inout c: f64[2]",
     kProducts,
     {"llvm.fma", "abc"},
     0,
     {}},
    {"sum_i32x16",
     "in a: i32[16]; inout c: i32[1]",
     kSum,
     {"llvm.vector.reduce.add", "a", true},
     0,
     {}},
    {"sum_i32x8",
     "in a: i32[8]; inout c: i32[1]",
     kSum,
     {"llvm.vector.reduce.add", "a", true},
     0,
     {}},
    {"sum_i32x4",
     "in a: i32[4]; inout c: i32[1]",
     kSum,
     {"llvm.vector.reduce.add", "a", true},
     0,
     {}},
};

constexpr int kOfHopper = 90;

const MatrixRow kMatrixCatalogue[] = {
    {"mma_bf16_m16n8k16",
     "bf16",
     "f32",
     "f32",
     16,
     2,
     {"llvm.nvvm.mma.m16n8k16.row.col.bf16", "abc", false,
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"},
     true},
    {"mma_f16_m16n8k16",
     "f16",
     "f32",
     "f32",
     16,
     2,
     {"llvm.nvvm.mma.m16n8k16.row.col.f32.f32", "abc", false,
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"},
     true},
    {"mma_tf32_m16n8k8",
     "f32",
     "tf32",
     "f32",
     8,
     4,
     {"llvm.nvvm.mma.m16n8k8.row.col.tf32", "abc", false,
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"},
     true},
    {"mma_s8_m16n8k32",
     "i8",
     "i32",
     "i32",
     32,
     1,
     {"llvm.nvvm.mma.m16n8k32.row.col.s8", "abc", false,
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"},
     false},
    {"mma_f64_m16n8k8",
     "f64",
     "",
     "f64",
     8,
     8,
     {"", "abc", false, "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64"},
     true,
     kOfHopper},
};

// A row of a warpgroup: sums of k products, `columns` of them side by side in each of 64 rows.
struct GroupRow {
  const char *name, *type, *factor, *sum;
  int columns, k;
  const char* ptx;
  bool rounds;
};
constexpr int kRowsOfWarp = 16;

const GroupRow kGroupRows[] = {
    {"wgmma_bf16_m64n64k16", "bf16", "f32", "f32", 64, 16, "m64n64k16.f32.bf16.bf16", true},
    {"wgmma_bf16_m64n128k16", "bf16", "f32", "f32", 128, 16, "m64n128k16.f32.bf16.bf16", true},
    {"wgmma_bf16_m64n256k16", "bf16", "f32", "f32", 256, 16, "m64n256k16.f32.bf16.bf16", true},
    {"wgmma_f16_m64n64k16", "f16", "f32", "f32", 64, 16, "m64n64k16.f32.f16.f16", true},
    {"wgmma_f16_m64n128k16", "f16", "f32", "f32", 128, 16, "m64n128k16.f32.f16.f16", true},
    {"wgmma_f16_m64n256k16", "f16", "f32", "f32", 256, 16, "m64n256k16.f32.f16.f16", true},
};

// The sums, as each warp has its 16 rows: 8 columns after the other as those of mma.sync. Digits
// are {dimension, stride, extent, of_lane, weight}:
//
//   lane 4*(i%8) + j//2%4        register 4*(j//8) + 2*(i//8) + j%2
//
// a and b have none: they stay in shared memory.
std::vector<Fragment> fragments_of(const GroupRow& row) {
  constexpr bool kLane = true;
  return {{},
          {},
          {{{0, 1, 8, kLane, 4},
            {1, 2, 4, kLane, 1},
            {1, 8, row.columns / 8, false, 4},
            {0, 8, 2, false, 2},
            {1, 1, 2, false, 1}}}};
}

// `together` elements of a 32-bit register follow each other along k; longer ones have a register,
// or two, of their own. Of bf16 (`together` 2), where the PTX ISA draws the fragments of m16n8k16:
//
//   a[i, k]   lane 4*(i%8) + k//2%4     register 4*(k//8) + 2*(i//8) + k%2
//   b[k, j]   lane 4*j + k//2%4         register 2*(k//8) + k%2
//   c[i, j]   lane 4*(i%8) + j//2       register 2*(i//8) + j%2
std::vector<Fragment> fragments_of(const MatrixRow& row) {
  const std::int64_t together = std::max(1, 4 / row.bytes), half = 4 * together;
  constexpr bool kLane = true;
  return {{{{0, 1, 8, kLane, 4},
            {1, together, 4, kLane, 1},
            {1, half, 2, false, 2 * together},
            {0, 8, 2, false, together},
            {1, 1, together, false, 1}}},
          {{{1, 1, 8, kLane, 4},
            {0, together, 4, kLane, 1},
            {0, half, 2, false, together},
            {0, 1, together, false, 1}}},
          {{{0, 1, 8, kLane, 4}, {1, 2, 4, kLane, 1}, {0, 8, 2, false, 2}, {1, 1, 2, false, 1}}}};
}

template <class AnyRow>
Program product_of(const AnyRow& row, int columns) {
  const std::string type = row.type, sum = row.sum, k = std::to_string(row.k),
                    n = std::to_string(columns);
  const std::string m = std::to_string(kRowsOfWarp);
  const std::string factor = row.factor, open = factor.empty() ? "" : factor + "(",
                    close = factor.empty() ? "" : ")";
  const std::string text = std::string("program ") + row.name + "()\n  in a: " + type + "[" + m +
                           ", " + k + "]\n  in b: " + type + "[" + k + ", " + n +
                           "]\n  inout c: " + sum + "[" + m + ", " + n + "]\n  c[i, j] += " + open +
                           "a[i, k]" + close + " * " + open + "b[k, j]" + close + "\n";
  return parse_program(text, row.name);
}
Program program_of(const MatrixRow& row) { return product_of(row, 8); }
Program program_of(const GroupRow& row) { return product_of(row, row.columns); }

// Buffers are separated by `;` in the table and each has a line of its own in Program text.
Program program_of(const Row& row) {
  std::string text = std::string("program ") + row.name + "()\n  ";
  for (const char* at = row.buffers; *at != '\0'; ++at)
    text += *at == ';' ? std::string("\n ") : std::string(1, *at);
  return parse_program(text + "\n  " + row.statement + "\n", row.name);
}

// The loops of the one statement around its store, in reference order.
// So that a nest of a schedule and the row are compared as the same kind of tree.
Stmt nest_of(const Program& program) {
  const Statement& s = program.statements.front();
  const Access& write = s.writes.front();
  const Expr current = make_load(program.buffer(write.buffer).dtype, write.buffer, write.indices);
  Stmt nest =
      make_store({write.buffer, write.indices, combined_values(s, {current}).front(), {}, {}});
  const DomainBounds bounds = bounds_of(s.domain, s.iterators);
  for (std::size_t i = s.iterators.size(); i-- > 0;) {
    const IteratorBounds& of = bounds.of[i];
    POLYTE_CHECK(of.upper.size() == 1 && of.upper.front().is_constant(),
                 program.name + ": an extent is not a number");
    nest = make_for({s.iterators[i],
                     {0},
                     {of.upper.front() + 1},
                     LoopKind::Serial,
                     s.iterators[i],
                     std::move(nest)});
  }
  return nest;
}

std::string print_access(const Store& store) {
  std::string indices;
  for (const Index& index : store.indices)
    indices += (indices.empty() ? "" : ", ") + to_string(index.affine);
  return store.buffer + "[" + indices + "]";
}

}  // namespace

const std::vector<Intrinsic>& intrinsics() {
  static const std::vector<Intrinsic> kAll = [] {
    std::vector<Intrinsic> all;
    for (const Row& row : kRows) {
      Program program = program_of(row);
      Stmt nest = nest_of(program);
      all.push_back(
          {row.name, std::move(program), std::move(nest), row.call, row.vector_bits, row.features});
    }
    for (const MatrixRow& row : kMatrixCatalogue) {
      Program program = program_of(row);
      Stmt nest = nest_of(program);
      all.push_back({row.name,
                     std::move(program),
                     std::move(nest),
                     row.call,
                     0,
                     {},
                     Scope::Warp,
                     fragments_of(row),
                     row.rounds,
                     row.capability});
    }
    for (const GroupRow& row : kGroupRows) {
      Program program = program_of(row);
      Stmt nest = nest_of(program);
      const IntrinsicCall call{"", "abc", false,
                               std::string("wgmma.mma_async.sync.aligned.") + row.ptx};
      all.push_back({row.name,
                     std::move(program),
                     std::move(nest),
                     call,
                     0,
                     {},
                     Scope::Warpgroup,
                     fragments_of(row),
                     row.rounds,
                     kOfHopper,
                     true});
    }
    return all;
  }();
  return kAll;
}

const Intrinsic* find_intrinsic(const std::string& name) {
  for (const Intrinsic& intrinsic : intrinsics())
    if (intrinsic.name == name) return &intrinsic;
  return nullptr;
}

std::string formula_of(const Stmt& nest) {
  std::string loops, store;
  for_each_stmt(nest, [&](const Stmt& s) {
    if (const auto* loop = std::get_if<For>(&s->op))
      loops += (loops.empty() ? "  for " : ", ") + loop->loop + " in " +
               to_string(loop->lower.front()) + ".." + to_string(loop->upper.front());
    if (const auto* found = std::get_if<Store>(&s->op))
      store = print_access(*found) + " = " + to_string(found->value);
  });
  return store + loops;
}

std::string missing_for(const Intrinsic& intrinsic, const Machine& machine) {
  if (is_of_warps(intrinsic.scope) && !machine.gpu) return "a GPU's tensor cores";
  const auto is_of = [&](const Gpu& gpu) {
    return gpu.specific && gpu.compute_capability == intrinsic.compute_capability;
  };
  if (intrinsic.specific && !is_of(*machine.gpu))
    return "sm_" + std::to_string(intrinsic.compute_capability) + "a, one generation alone";
  if (intrinsic.compute_capability > 0 &&
      machine.gpu->compute_capability < intrinsic.compute_capability)
    return "sm_" + std::to_string(intrinsic.compute_capability);
  std::vector<std::string> alternatives;
  for (const std::vector<std::string>& all : intrinsic.features) {
    std::vector<std::string> lacking;
    for (const std::string& feature : all)
      if (!machine.has(feature)) lacking.push_back(feature);
    if (!lacking.empty()) alternatives.push_back(join_words(lacking, " and "));
  }
  if (!intrinsic.features.empty() && alternatives.size() == intrinsic.features.size())
    return join_words(alternatives, " or ");
  if (machine.vector_bits < intrinsic.vector_bits)
    return "vectors of " + std::to_string(intrinsic.vector_bits) + " bits";
  return "";
}

}  // namespace polyte::ir
