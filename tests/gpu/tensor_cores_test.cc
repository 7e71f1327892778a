// Random matrix products on tensor cores: types, layouts, sizes that tiles divide or not, tiles,
// warps, operands from memory or through shared memory (padded, swizzled, pipelined), nests in
// other orders. Each is proved, interpreted as loops after every pass, and emulated; all sums are
// of small whole numbers, so that every bit is the reference's.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "codegen/nvptx/assembler.h"
#include "lower/lower.h"
#include "support/error.h"
#include "tests/gpu/drawn.h"
#include "tests/sweep.h"

using namespace polyte;
using namespace polyte::gpu::testing;

namespace {

struct Type {
  const char *element, *factor, *sum, *instruction;
  int k, bytes;
};
constexpr Type kTypes[] = {{"bf16", "f32", "f32", "mma_bf16_m16n8k16", 16, 2},
                           {"f16", "f32", "f32", "mma_f16_m16n8k16", 16, 2},
                           {"f32", "tf32", "f32", "mma_tf32_m16n8k8", 8, 4},
                           {"i8", "i32", "i32", "mma_s8_m16n8k32", 32, 1},
                           {"f64", "f64", "f64", "mma_f64_m16n8k8", 8, 8}};

std::string number(int n) { return std::to_string(n); }

// "x at acc.update:k.o in shared ..", copied by `threads` threads; empty: read where it is.
std::string staged(Draw& draw, const Type& type, const std::string& name, const std::string& rows,
                   const std::string& columns, int row_count, int column_count, int threads) {
  const std::string copy = name + ".in", row = name + "." + rows, column = name + "." + columns;
  std::string text = "stage " + name + " at acc.update:k.o in shared copy " + row + " > " + column +
                     " > " + copy + "\n";
  const bool padded = draw.chance(70);
  if (padded) {
    text += "pad " + name + ": " + row + " to " + number(row_count) + "\n";
    text += "pad " + name + ": " + column + " to " + number(column_count) + "\n";
  }
  const int chunk = 16 / type.bytes;
  const bool has_power = (column_count & (column_count - 1)) == 0;
  if (padded && has_power && column_count >= chunk && draw.chance(60))
    text += "swizzle " + name + " by " + number(chunk) + "\n";
  text += "split " + copy + ": " + column + " by " + number(std::min(chunk, column_count)) + "\n";
  text += "fuse " + copy + ": " + row + ", " + column + ".o as e\n";
  text += "split " + copy + ": e by " + number(threads) + "\n";
  if (draw.chance(50)) text += "vectorize " + copy + ": " + column + ".i\n";
  return text + "bind " + copy + ": e.i to thread\n";
}

KernelFile drawn(unsigned seed) {
  Draw draw(seed);
  // Each comes up, however few seeds there are.
  const Type& type = kTypes[seed % std::size(kTypes)];
  const bool whole = draw.chance(40), x_turned = draw.chance(30), w_turned = draw.chance(50);
  // Of a warp.
  const int m_tiles = draw.of({1, 2}), n_tiles = draw.of({1, 2, 4}), k_tiles = draw.of({1, 2});
  const int m_warps = draw.of({1, 2}), n_warps = draw.of({1, 2});
  const int wm = 16 * m_tiles, wn = 8 * n_tiles, bm = wm * m_warps, bn = wn * n_warps,
            bk = type.k * k_tiles;
  const auto size = [&](int tile) {
    return whole ? tile * (1 + draw.below(2)) : 1 + draw.below(2 * tile);
  };
  KernelFile file;
  file.sizes = {{{"M", size(bm)}, {"N", size(bn)}, {"K", size(bk) + (whole ? 2 * bk : 0)}}};
  const std::string element = type.element, factor = type.factor, sum = type.sum;
  file.program = "program mm(M, N, K)\n  in  x: " + element + (x_turned ? "[K, M]" : "[M, K]") +
                 "\n  in  w: " + element + (w_turned ? "[N, K]" : "[K, N]") + "\n  in  b: " + sum +
                 "[N]\n  out y: " + sum + "[M, N]\n" + "  acc[m, n] = sum[k] " + factor +
                 (x_turned ? "(x[k, m])" : "(x[m, k])") + " * " + factor +
                 (w_turned ? "(w[n, k])" : "(w[k, n])") +
                 "\n  y[m, n] = max(acc[m, n] + b[n], 0)\n";
  const std::string points = draw.chance(80) ? "m.i.i.i > n.i.i.i" : "n.i.i.i > m.i.i.i";
  const std::string unrolled = draw.chance(85) ? "[m.i.i.o] > [n.i.i.o]" : "m.i.i.o > [n.i.i.o]";
  const std::string nest = "m.i.o > n.i.o > " + unrolled + " > " + points + " > ";
  std::string text =
      "schedule gpu/1 for mm  " + sum + "  " + (type.bytes == 1 ? "exact" : "reassoc k") + "\n";
  text += "split m by " + number(bm) + ", n by " + number(bn) + ", k by " + number(bk) + "\n";
  text += "split m.i by " + number(wm) + ", n.i by " + number(wn) + "\n";
  text += "split m.i.i by 16, n.i.i by 8, k.i by " + number(type.k) + "\n";
  text +=
      "nest block m.o > block n.o > { " + nest + "acc.init; k.o > m.i.o > n.i.o > " +
      draw.of<std::string>({"[k.i.o] > [m.i.i.o] > [n.i.i.o]", "k.i.o > [n.i.i.o] > [m.i.i.o]"}) +
      " > " + draw.of<std::string>({"m.i.i.i > n.i.i.i > k.i.i", "k.i.i > m.i.i.i > n.i.i.i"}) +
      " > acc.update; " + nest + "y }\n";
  text += "stage acc at n.o in register\n";
  const int threads = 32 * m_warps * n_warps;
  const bool x_staged = draw.chance(70), w_staged = draw.chance(70);
  if (x_staged)
    text += x_turned ? staged(draw, type, "x", "k", "m", bk, bm, threads)
                     : staged(draw, type, "x", "m", "k", bm, bk, threads);
  if (w_staged)
    text += w_turned ? staged(draw, type, "w", "n", "k", bn, bk, threads)
                     : staged(draw, type, "w", "k", "n", bk, bn, threads);
  for (const char* statement : {"acc.init", "acc.update", "y"}) {
    text += std::string("fuse ") + statement + ": m.i.o, n.i.o as t\n";
    text += std::string("bind ") + statement + ": t to warp\n";
  }
  if (x_staged && w_staged && draw.chance(60))
    text += "pipeline x, w at acc.update:k.o depth " + draw.of<std::string>({"2", "3"}) + "\n";
  text += "tensorize acc.update: " +
          std::string(text.find("k.i.i > m.i.i.i >") != std::string::npos ? "k.i.i" : "m.i.i.i") +
          " with " + type.instruction + "\n";
  file.script = text;
  return file;
}

// Nothing where no disassembler is installed.
std::optional<std::string> machine_code(const codegen::DeviceBinary& binary) {
  try {
    return codegen::disassemble(binary);
  } catch (const UserError& error) {
    if (std::string(error.what()).find("no nvdisasm") == std::string::npos) throw;
    MESSAGE(std::string(error.what()));
    return std::nullopt;
  }
}

}  // namespace

TEST_CASE("tensor cores: random products, proved, interpreted after every pass, emulated") {
  std::vector<unsigned> seeds(test::takes_all() ? 20 : 10);
  std::iota(seeds.begin(), seeds.end(), 1U);
  for (const Type& type : kTypes)
    CHECK(std::ranges::any_of(
        seeds, [&](unsigned seed) { return count_of(drawn(seed).script, type.instruction) > 0; }));
  CHECK(check_drawn(seeds, drawn, "mma_") > 0);
}

// Both kernels: warps of 64 by 32, two steps of the instruction in each step of k.
TEST_CASE(
    "tensor cores: as many instructions as the tiles say, in portable PTX that newer GPUs' "
    "assemblers take") {
  constexpr int kTall = 64 / 16, kWide = 32 / 8, kDeep = 2;
  // In shared memory; of a slice, vectors by a thread.
  constexpr int kSlices = 3, kCopied = 2 * (128 * 64 / 16) / 256;
  const codegen::Target target = polyte::gpu::testing::gpu("a100");
  for (const char* name : {"mma_pipeline", "mma_bytes"}) {
    CAPTURE(name);
    const KernelFile file = kernel_named(name);
    ir::Values sizes = {{"M", 1024}, {"N", 1024}, {"K", 1024}};
    const schedule::State state = scheduled(file, sizes, target.machine, schedule::ProofLevel::Off);
    const codegen::Kernel kernel{lower::lower(state, {.machine = target.machine}), {}};
    const std::string ptx = codegen::compile({&kernel, 1}, target).device;
    CHECK(count_of(ptx, "mma.sync.aligned") == kTall * kWide * kDeep);
    CHECK(count_of(ptx, "ldmatrix.sync.aligned.m8n8.x4") == kTall * kDeep + kWide / 2 * kDeep);
    CHECK(count_of(ptx, "ldmatrix") == count_of(ptx, "ldmatrix.sync.aligned.m8n8.x4"));
    // Two tiles, ahead of the loop and in it.
    CHECK(count_of(ptx, "cp.async.cg.shared.global") == 4);
    if (!codegen::has_assembler()) continue;
    for (const int capability : {80, 89, 90, 100, 120}) {
      CAPTURE(capability);
      Machine machine = target.machine;
      machine.gpu->compute_capability = capability;
      const codegen::DeviceBinary binary = codegen::assemble_ptx(ptx, machine);
      CHECK(binary.messages.empty());
      for (const codegen::DeviceBinary::Kernel& each : binary.kernels) {
        CHECK(each.registers <= 128);
        CHECK(each.spill_store_bytes + each.spill_load_bytes == 0);
      }
      const std::optional<std::string> code = machine_code(binary);
      if (!code) continue;
      CHECK(count_of(*code, "HMMA.16816.F32.BF16 ") + count_of(*code, "IMMA.16832.S8.S8 ") ==
            kTall * kWide * kDeep);
      CHECK(count_of(*code, "LDSM.16.M") == kTall * kDeep + kWide / 2 * kDeep);
      CHECK(count_of(*code, "LDGSTS.E.BYPASS.128 ") == kSlices * kCopied);
    }
  }
}
