// Random matrix products by instructions of warpgroups: types, columns, layouts of both operands,
// warps, sizes that cut the sum or the columns short, pipelines. And what becomes of the kernel
// that the guide shows.
#include <doctest/doctest.h>

#include "codegen/nvptx/assembler.h"
#include "lower/lower.h"
#include "support/error.h"
#include "tests/gpu/drawn.h"
#include "tests/sweep.h"

using namespace polyte;
using namespace polyte::gpu::testing;

namespace {

constexpr int kLine = 64;  // elements of 16 bits in 128 bytes

std::string text_of(int n) { return std::to_string(n); }

// An operand of `side` by k: in lines of 64 of k, or in lines of 64 of the side.
struct Operand {
  std::string name, side;
  int length;     // of the side, in a block
  bool k_inmost;  // in the caller's memory and here
  std::string rows() const { return name + (k_inmost ? "." + side : ".k"); }
  std::string columns() const { return name + (k_inmost ? ".k" : "." + side); }
  bool is_cut() const { return !k_inmost && length > kLine; }
};

std::string staged(const Operand& x, int threads, bool padded) {
  const std::string copy = x.name + ".in";
  const std::string lines = x.columns() + ".o",
                    line = x.is_cut() ? x.columns() + ".i" : x.columns();
  std::string text = "stage " + x.name + " at acc.update:k.o in shared";
  if (x.is_cut()) text += " layout (k, " + x.side + ") [" + x.side + "//64, k, " + x.side + "%64]";
  text +=
      " copy " + x.rows() + (x.is_cut() ? " > " + lines : "") + " > " + line + " > " + copy + "\n";
  if (padded) {
    text += "pad " + x.name + ": " + x.name + "." + x.side + " to " + text_of(x.length) + "\n";
    text += "pad " + x.name + ": " + x.name + ".k to 64\n";
  }
  text += "swizzle " + x.name + " by 8\n";
  text += "split " + copy + ": " + line + " by 8\n";
  if (x.is_cut()) text += "fuse " + copy + ": " + lines + ", " + line + ".o as c\n";
  text += "fuse " + copy + ": " + x.rows() + ", " + (x.is_cut() ? "c" : line + ".o") + " as e\n";
  text += "split " + copy + ": e by " + text_of(threads) + "\n";
  text += "vectorize " + copy + ": " + line + ".i\n";
  return text + "bind " + copy + ": e.i to thread\n";
}

KernelFile drawn_group(unsigned seed) {
  Draw draw(seed);
  const std::string type = draw.of<std::string>({"bf16", "f16"});
  const int columns = draw.of({64, 64, 128, 256}), warps = draw.of({4, 8});
  const int across = columns == 64 ? draw.of({1, 2}) : 1;  // instructions side by side
  const Operand x{"x", "m", 16 * warps, draw.chance(60)},
      w{"w", "n", columns * across, draw.chance(40)};
  const bool whole = draw.chance(50);
  const auto size = [&](int tile) { return whole ? tile : 1 + draw.below(tile); };
  KernelFile file;
  file.sizes = {{{"M", x.length}, {"N", size(w.length)}, {"K", size(64) + 64 * draw.below(2)}}};
  file.program = "program mm(M, N, K)\n  in  x: " + type + (x.k_inmost ? "[M, K]" : "[K, M]") +
                 "\n  in  w: " + type + (w.k_inmost ? "[N, K]" : "[K, N]") +
                 "\n  in  b: f32[N]\n  out y: f32[M, N]\n" + "  acc[m, n] = sum[k] f32(" +
                 (x.k_inmost ? "x[m, k]" : "x[k, m]") + ") * f32(" +
                 (w.k_inmost ? "w[n, k]" : "w[k, n]") + ")\n  y[m, n] = max(acc[m, n] + b[n], 0)\n";
  const std::string nest = "m.i.o > [n.i.o] > m.i.i > n.i.i > ";
  std::string text = "schedule gpu/1 for mm  f32  reassoc k\n";
  text += "split m by " + text_of(x.length) + ", n by " + text_of(w.length) + ", k by 64\n";
  text += "split m.i by 16, n.i by " + text_of(columns) + ", k.i by 16\n";
  text += "nest block m.o > block n.o > { " + nest + "acc.init; k.o > m.i.o > " +
          draw.of<std::string>({"[k.i.o] > [n.i.o]", "k.i.o > [n.i.o]", "[n.i.o] > [k.i.o]"}) +
          " > m.i.i > n.i.i > k.i.i > acc.update; " + nest + "y }\n";
  text += "stage acc at n.o in register\n";
  text += staged(x, 32 * warps, !whole) + staged(w, 32 * warps, !whole);
  for (const char* statement : {"acc.init", "acc.update", "y"})
    text += std::string("bind ") + statement + ": m.i.o to warp\n";
  if (draw.chance(60))
    text += "pipeline x, w at acc.update:k.o depth " + draw.of<std::string>({"2", "3"}) + "\n";
  text += "tensorize acc.update: m.i.i with wgmma_" + type + "_m64n" + text_of(columns) + "k16\n";
  file.script = text;
  return file;
}

}  // namespace

TEST_CASE("warpgroups: random products, proved, interpreted after every pass, emulated") {
  // Every choice that drawn_group has comes up in four of them.
  const std::vector<unsigned> some = {1, 2, 3, 5}, all = {1, 2, 3, 4, 5, 6};
  CHECK(check_drawn(test::takes_all() ? all : some, drawn_group, "wgmma_") > 0);
}

TEST_CASE(
    "warpgroups: instructions, fences and waits as the tiles say, no spills, no messages of the "
    "assembler") {
  const codegen::Target target = polyte::gpu::testing::gpu("h100");
  for (const auto& [name, most] : {std::pair{"wgmma_pipeline", 128}, {"wgmma_wide", 232}}) {
    CAPTURE(name);
    const KernelFile file = kernel_named(name);
    const schedule::State state = scheduled(file, {{"M", 1024}, {"N", 1024}, {"K", 1024}},
                                            target.machine, schedule::ProofLevel::Off);
    const codegen::Kernel kernel{lower::lower(state, {.machine = target.machine}), {}};
    const std::string ptx = codegen::compile({&kernel, 1}, target).device;
    CHECK(count_of(ptx, "wgmma.mma_async.sync.aligned") == 4);
    CHECK(count_of(ptx, "wgmma.fence.sync.aligned") == 1);
    CHECK(count_of(ptx, "wgmma.commit_group.sync.aligned") == 1);
    CHECK(count_of(ptx, "wgmma.wait_group.sync.aligned 0") == 1);
    CHECK(count_of(ptx, "fence.proxy.async") == 2);  // at the barriers ahead of the loop and in it
    CHECK(count_of(ptx, "ldmatrix") == 0);
    if (!codegen::has_assembler()) continue;
    const codegen::DeviceBinary binary = codegen::assemble_ptx(ptx, target.machine);
    CHECK(joined(binary.messages) == "");
    for (const codegen::DeviceBinary::Kernel& each : binary.kernels) {
      CHECK(each.registers <= most);
      CHECK(each.spill_store_bytes + each.spill_load_bytes == 0);
    }
  }
}

TEST_CASE("warpgroups: no other GPU has them") {
  const KernelFile file = kernel_named("wgmma_pipeline");
  for (const char* name : {"a100", "sm_90"}) {
    CAPTURE(name);
    const codegen::Target target = polyte::gpu::testing::gpu(name);
    const schedule::State state =
        scheduled(file, file.sizes.front(), target.machine, schedule::ProofLevel::Off);
    const codegen::Kernel kernel{lower::lower(state, {.machine = target.machine}), {}};
    CHECK_THROWS_WITH_AS(codegen::compile({&kernel, 1}, target),
                         doctest::Contains("tensorize with wgmma_bf16_m64n128k16 needs sm_90"),
                         UserError);
  }
}
