// The register-tiled micro-kernel that the schedulers aim at, written by hand: it must not spill,
// on any target. The last case prints its speed beside the FMA peak measured in the same process;
// it asserts no time.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <sstream>

#include "codegen/cpu/link.h"
#include "tests/codegen/native.h"

using namespace polyte;
using namespace polyte::codegen;
using namespace polyte::codegen::testing;

namespace {

struct Tile {
  int rows, vectors, depth, lanes;
};

std::string vector_at(const std::string& buffer, const std::string& index, int lanes) {
  return buffer + "[" + index + "; " + std::to_string(lanes) + " by 1]";
}

// c[rows, vectors * lanes] = packed a[depth, rows] * packed b[depth, vectors * lanes], `steps`
// k a loop iteration.
std::string micro_kernel(const Tile& t, int steps) {
  const int columns = t.vectors * t.lanes;
  std::ostringstream text;
  text << "loops micro\n  in a: f32[" << t.depth * t.rows << "]\n  in b: f32[" << t.depth * columns
       << "]\n  out c: f32[" << t.rows * columns << "]\n\n  alloc r: f32[" << t.rows * columns
       << "] in register\n";
  const auto cell = [&](int row, int v) {
    return vector_at("r", std::to_string(row * columns + v * t.lanes), t.lanes);
  };
  for (int row = 0; row < t.rows; ++row) {
    for (int v = 0; v < t.vectors; ++v)
      text << "    " << cell(row, v) << " = x" << t.lanes << "(f32(0))\n";
  }
  text << "    for k in 0.." << t.depth / steps << "\n";
  for (int step = 0; step < steps; ++step) {
    if (step > 0) text << "      fence\n";
    for (int row = 0; row < t.rows; ++row) {
      for (int v = 0; v < t.vectors; ++v) {
        const std::string a =
            std::to_string(t.rows * steps) + "*k + " + std::to_string(step * t.rows + row);
        const std::string b = std::to_string(columns * steps) + "*k + " +
                              std::to_string(step * columns + v * t.lanes);
        text << "      " << cell(row, v) << " = fma(a[" << a << "; " << t.lanes << " by 0], "
             << vector_at("b", b, t.lanes) << ", " << cell(row, v) << ")\n";
      }
    }
  }
  for (int row = 0; row < t.rows; ++row) {
    for (int v = 0; v < t.vectors; ++v) {
      text << "    " << vector_at("c", std::to_string(row * columns + v * t.lanes), t.lanes)
           << " = " << cell(row, v) << "\n";
    }
  }
  return text.str();
}

// Independent chains r = fma(r, x, y), as many as hide the latency.
std::string peak_kernel(int lanes, int chains, int trips) {
  std::ostringstream text;
  text << "loops peak\n  in x: f32[2]\n  out c: f32[" << chains * lanes << "]\n\n  alloc r: f32["
       << chains * lanes << "] in register\n";
  const auto cell = [&](int i) { return vector_at("r", std::to_string(i * lanes), lanes); };
  for (int i = 0; i < chains; ++i) text << "    " << cell(i) << " = x[0; " << lanes << " by 0]\n";
  text << "    for t in 0.." << trips << "\n";
  for (int i = 0; i < chains; ++i) {
    text << "      " << cell(i) << " = fma(" << cell(i) << ", x[0; " << lanes << " by 0], x[1; "
         << lanes << " by 0])\n";
  }
  for (int i = 0; i < chains; ++i)
    text << "    " << vector_at("c", std::to_string(i * lanes), lanes) << " = " << cell(i) << "\n";
  return text.str();
}

Kernel parsed_kernel(const std::string& text) { return {ir::parse_loop_program(text, "test"), {}}; }

int spills(const std::string& assembly) {
  std::istringstream lines(assembly);
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool vector = line.find("mm") != std::string::npos;
    count += vector &&
             (line.find("(%rsp)") != std::string::npos || line.find("(%rbp)") != std::string::npos);
  }
  return count;
}

int occurrences(const std::string& text, const std::string& word) {
  int count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++count;
  return count;
}

double best_seconds(const polyte_kernel& kernel, const void* const* buffers, int trials) {
  double best = 1e9;
  for (int i = 0; i < trials; ++i) {
    const auto start = std::chrono::steady_clock::now();
    kernel(buffers, nullptr, nullptr);
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

}  // namespace

TEST_CASE("micro-kernels do not spill") {
  struct Case {
    const char* cpu;
    Tile tile;
  };
  for (const auto& [cpu, tile] :
       {Case{"znver5", {14, 2, 384, 16}}, Case{"znver4", {6, 4, 384, 16}},
        Case{"sapphirerapids", {12, 2, 384, 16}}, Case{"x86-64-v4", {8, 3, 384, 16}},
        Case{"x86-64-v3", {6, 2, 384, 8}}, Case{"haswell", {4, 3, 384, 8}}}) {
    for (const int steps : {1, 2}) {
      CAPTURE(cpu);
      CAPTURE(steps);
      const Kernel kernel = parsed_kernel(micro_kernel(tile, steps));
      const std::string assembly = emit_asm({&kernel, 1}, target_for_cpu(cpu));
      CHECK(spills(assembly) == 0);
      CHECK(occurrences(assembly, "vfmadd") == tile.rows * tile.vectors * steps);
    }
  }
}

TEST_CASE("the micro-kernel computes the product") {
  const int lanes = detect_host().machine.lanes(DType::F32);
  const Tile tile{4, 2, 48, lanes};
  const ir::Environment inputs = {{"a", filled(DType::F32, {48 * 4}, 21)},
                                  {"b", filled(DType::F32, {48 * 2 * lanes}, 22)}};
  for (const int steps : {1, 3})
    CHECK(against_interpreter(micro_kernel(tile, steps), inputs) == "");
}

TEST_CASE("bench: the micro-kernel beside the FMA peak") {
  const Target host = detect_host();
  if (!host.machine.has_fma) return;
  const int lanes = host.machine.lanes(DType::F32);
  const Tile tile{host.machine.vector_registers == 32 ? 14 : 6, 2, 384, lanes};
  const int trips = 4096, chains = 12;
  const Kernel kernels[] = {parsed_kernel(micro_kernel(tile, 1)),
                            parsed_kernel(peak_kernel(lanes, chains, trips))};
  const auto start = std::chrono::steady_clock::now();
  const ObjectCode object = compile(kernels, host);
  const double compile_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const Library library(link({&object.bytes, 1}));
  std::vector<float> a(static_cast<std::size_t>(384 * tile.rows), 1.0F),
      b(static_cast<std::size_t>(384 * 2 * lanes), 1.0F);
  std::vector<float> c(static_cast<std::size_t>(chains * tile.rows * 2 * lanes)), x = {1.0F, 0.0F};
  const void* micro_buffers[] = {a.data(), b.data(), c.data()};
  const void* peak_buffers[] = {x.data(), c.data()};
  const double micro = best_seconds(library.kernel("micro"), micro_buffers, 2000);
  const double peak = best_seconds(library.kernel("peak"), peak_buffers, 500);
  const double micro_rate = 2.0 * tile.rows * tile.vectors * lanes * tile.depth / micro * 1e-9;
  const double peak_rate = 2.0 * chains * lanes * trips / peak * 1e-9;
  MESSAGE("micro-kernel " << micro_rate << " GF/s, peak " << peak_rate << " GF/s, share "
                          << micro_rate / peak_rate << "; both compiled in " << compile_ms
                          << " ms");
  CHECK(c.front() == c.front());
}
