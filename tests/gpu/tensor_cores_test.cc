// Random matrix products on tensor cores: types, layouts, sizes that tiles divide or not, tiles, warps, operands from
// memory or through shared memory (padded, swizzled, pipelined), nests in other orders. Each is proved, interpreted as
// loops after every pass, and emulated; all sums are of small whole numbers, so that every bit is the reference's.
#include <doctest/doctest.h>

#include <random>

#include "codegen/nvptx/assembler.h"
#include "ir/program_text.h"
#include "lower/lower.h"
#include "tests/gpu/emulate.h"
#include "tests/schedule/execute_state.h"

using namespace polyte;
using namespace polyte::gpu::testing;

namespace {

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  T of(std::initializer_list<T> all) {
    return all.begin()[below(static_cast<int>(all.size()))];
  }

 private:
  std::mt19937 random_;
};

struct Type {
  const char *element, *sum, *instruction;
  int k, bytes;
};
constexpr Type kTypes[] = {{"bf16", "f32", "mma_bf16_m16n8k16", 16, 2},
                           {"f16", "f32", "mma_f16_m16n8k16", 16, 2},
                           {"i8", "i32", "mma_s8_m16n8k32", 32, 1}};

std::string number(int n) { return std::to_string(n); }

// "x at acc.update:k.o in shared ..", copied by `threads` threads; empty: read where it is.
std::string staged(Draw& draw, const Type& type, const std::string& name, const std::string& rows,
                   const std::string& columns, int row_count, int column_count, int threads) {
  const std::string copy = name + ".in", row = name + "." + rows, column = name + "." + columns;
  std::string text =
      "stage " + name + " at acc.update:k.o in shared copy " + row + " > " + column + " > " + copy + "\n";
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
  const Type& type = kTypes[draw.below(3)];
  const bool whole = draw.chance(40), x_turned = draw.chance(30), w_turned = draw.chance(50);
  const int m_tiles = draw.of({1, 2}), n_tiles = draw.of({1, 2, 4}), k_tiles = draw.of({1, 2});  // of a warp
  const int m_warps = draw.of({1, 2}), n_warps = draw.of({1, 2});
  const int wm = 16 * m_tiles, wn = 8 * n_tiles, bm = wm * m_warps, bn = wn * n_warps, bk = type.k * k_tiles;
  const auto size = [&](int tile) { return whole ? tile * (1 + draw.below(2)) : 1 + draw.below(2 * tile); };
  KernelFile file;
  file.name = "seed " + std::to_string(seed);
  file.sizes = {{{"M", size(bm)}, {"N", size(bn)}, {"K", size(bk) + (whole ? 2 * bk : 0)}}};
  const std::string element = type.element, sum = type.sum;
  file.program = "program mm(M, N, K)\n  in  x: " + element + (x_turned ? "[K, M]" : "[M, K]") +
                 "\n  in  w: " + element + (w_turned ? "[N, K]" : "[K, N]") + "\n  in  b: " + sum +
                 "[N]\n  out y: " + sum + "[M, N]\n" + "  acc[m, n] = sum[k] " + sum +
                 (x_turned ? "(x[k, m])" : "(x[m, k])") + " * " + sum + (w_turned ? "(w[n, k])" : "(w[k, n])") +
                 "\n  y[m, n] = max(acc[m, n] + b[n], 0)\n";
  const std::string points = draw.chance(80) ? "m.i.i.i > n.i.i.i" : "n.i.i.i > m.i.i.i";
  const std::string unrolled = draw.chance(85) ? "[m.i.i.o] > [n.i.i.o]" : "m.i.i.o > [n.i.i.o]";
  const std::string nest = "m.i.o > n.i.o > " + unrolled + " > " + points + " > ";
  std::string text = "schedule gpu/1 for mm  " + sum + "  " + (type.bytes == 1 ? "exact" : "reassoc k") + "\n";
  text += "split m by " + number(bm) + ", n by " + number(bn) + ", k by " + number(bk) + "\n";
  text += "split m.i by " + number(wm) + ", n.i by " + number(wn) + "\n";
  text += "split m.i.i by 16, n.i.i by 8, k.i by " + number(type.k) + "\n";
  text += "nest block m.o > block n.o > { " + nest + "acc.init; k.o > m.i.o > n.i.o > " +
          draw.of<std::string>({"[k.i.o] > [m.i.i.o] > [n.i.i.o]", "k.i.o > [n.i.i.o] > [m.i.i.o]"}) + " > " +
          draw.of<std::string>({"m.i.i.i > n.i.i.i > k.i.i", "k.i.i > m.i.i.i > n.i.i.i"}) + " > acc.update; " + nest +
          "y }\n";
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
          std::string(text.find("k.i.i > m.i.i.i >") != std::string::npos ? "k.i.i" : "m.i.i.i") + " with " +
          type.instruction + "\n";
  file.script = text;
  return file;
}

std::string differences(const ir::Program& program, const ir::Environment& expected, const ir::Environment& got) {
  std::string names;
  for (const ir::Buffer* buffer : program.interface())
    if (expected.at(buffer->name).bytes != got.at(buffer->name).bytes) names += buffer->name + " ";
  return names;
}

}  // namespace

TEST_CASE("tensor cores: random products, proved, interpreted after every pass, emulated") {
  const char* const count = std::getenv("POLYTE_SEEDS");
  const char* const first = std::getenv("POLYTE_FIRST_SEED");
  const unsigned begin = first ? static_cast<unsigned>(std::stoul(first)) : 1;
  const unsigned seeds = count ? static_cast<unsigned>(std::stoul(count)) : 12;
  const Machine machine = polyte::gpu::testing::gpu("h100").machine;
  int instructions = 0;
  for (unsigned seed = begin; seed < begin + seeds; ++seed) {
    const KernelFile file = drawn(seed);
    CAPTURE(file.name);
    CAPTURE(file.program);
    CAPTURE(file.script);
    std::string sizes;
    for (const auto& [name, value] : file.sizes.front()) sizes += name + "=" + std::to_string(value) + " ";
    CAPTURE(sizes);
    const schedule::State state = scheduled(file, file.sizes.front(), machine);
    const ir::Environment inputs = schedule::make_inputs(*state.reference, static_cast<int>(seed));
    ir::Environment expected = inputs;
    ir::interpret(*state.reference, expected, {});
    const auto interpreted = [&](const lower::PassRun& pass) {
      if (!pass.changed && pass.name != "build loops") return;
      CAPTURE(pass.name);
      CAPTURE(ir::print(*pass.program));
      ir::Environment got = inputs;
      ir::interpret(*pass.program, got, {});
      CHECK(differences(*state.reference, expected, got) == "");
    };
    const ir::LoopProgram loops = lower::lower(state, {.machine = machine, .on_pass = interpreted});
    ir::for_each_stmt(loops.body, [&](const ir::Stmt& s) {
      const auto* tensorized = std::get_if<ir::Tensorized>(&s->op);
      instructions += tensorized && tensorized->intrinsic.starts_with("mma_") ? 1 : 0;
    });
    CAPTURE(ir::print(loops));
    const Emulated got =
        emulate(loops, inputs, {},
                {.order = seed % 2 != 0 ? runtime::ThreadOrder::Backward : runtime::ThreadOrder::Random,
                 .late_copies = seed % 3 == 0});
    std::string faults;
    for (const std::string& fault : got.faults) faults += fault + "\n";
    REQUIRE(faults == "");
    CHECK(differences(*state.reference, expected, got.buffers) == "");
  }
  CHECK(instructions > 0);
}

namespace {

KernelFile kernel_named(const std::string& name) {
  for (const KernelFile& file : kernel_files())
    if (file.name == name) return file;
  FAIL("no kernel ", name);
  return {};
}

int count(const std::string& text, const std::string& word) {
  int found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

}  // namespace

// Both kernels: warps of 64 by 32, two steps of the instruction in each step of k.
TEST_CASE("tensor cores: as many instructions as the tiles say, in portable PTX that newer GPUs' assemblers take") {
  constexpr int kTall = 64 / 16, kWide = 32 / 8, kDeep = 2;
  const codegen::Target target = polyte::gpu::testing::gpu("a100");
  for (const char* name : {"mma_pipeline", "mma_bytes"}) {
    CAPTURE(name);
    const KernelFile file = kernel_named(name);
    ir::Values sizes = {{"M", 1024}, {"N", 1024}, {"K", 1024}};
    const schedule::State state = scheduled(file, sizes, target.machine);
    const codegen::Kernel kernel{lower::lower(state, {.machine = target.machine}), {}};
    const std::string ptx = codegen::compile({&kernel, 1}, target).device;
    CHECK(count(ptx, "mma.sync.aligned") == kTall * kWide * kDeep);
    CHECK(count(ptx, "ldmatrix.sync.aligned.m8n8.x4") == kTall * kDeep + kWide / 2 * kDeep);
    CHECK(count(ptx, "ldmatrix") == count(ptx, "ldmatrix.sync.aligned.m8n8.x4"));
    CHECK(count(ptx, "cp.async.cg.shared.global") == 4);  // two tiles, ahead of the loop and in it
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
    }
  }
}
