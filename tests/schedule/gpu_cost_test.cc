// What the schedulers ask before they write for a GPU: how threads share a copy, which tile is
// cheapest; and what the proof sees in subscripts alone.
#include <doctest/doctest.h>

#include "ir/program_text.h"
#include "ir/relations.h"
#include "schedule/cost/copy_threads.h"
#include "schedule/cost/device_memory.h"
#include "schedule/cost/gpu_tile.h"
#include "schedule/cost/launch_price.h"
#include "schedule/cost/warp_access.h"
#include "schedule/proof/subscript_value.h"
#include "support/gpu_machines.h"

namespace polyte::schedule::gpu_cost_test {
namespace {

using ir::Affine;

std::string said(const CopyThreads& shared) {
  std::string text = shared.cut.empty() ? "" : shared.cut + " by " + std::to_string(shared.size);
  for (const std::string& loop : shared.inner) text += (text.empty() ? "" : ", ") + loop;
  return text;
}

ir::Program product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return ir::bind(
      ir::parse_program(
          "program mm(M, N, K)\n  in a: f32[M, K]\n  in b: f32[K, N]\n  out c: f32[M, N]\n"
          "  c[m, n] = sum[k] a[m, k] * b[k, n]\n",
          "test"),
      {{"M", m}, {"N", n}, {"K", k}});
}

GpuTile tile_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  const ir::Program program = product(m, n, k);
  const ir::Statement& update = program.statements[1];
  const ir::Statement* init = &program.statements[0];
  return choose_gpu_tile({&program,
                          &update,
                          {&init, 1},
                          {{"m", m}, {"n", n}, {"k", k, true}},
                          ir::free_iterators(update)},
                         *gpu_machine("h100"));
}

// Of m x n x k in blocks of 64 x 64, rows outside or columns, one block per multiprocessor.
double megabytes(std::int64_t m, std::int64_t n, std::int64_t k,
                 const std::vector<std::size_t>& grid) {
  const ir::Program program = product(m, n, k);
  const NestAccesses nest =
      nest_accesses(program, program.statements[1], {}, {{"m", m}, {"n", n}, {"k", k, true}});
  return device_memory_bytes(nest, {{64, 64, k}, grid, 1}, *gpu_machine("h100")->gpu) / 1e6;
}

Affine symbol(const char* name) { return Affine::symbol(name); }

ir::Access access(std::vector<Affine> indices) {
  ir::Access result{"x", {}};
  for (Affine& index : indices) result.indices.emplace_back(std::move(index));
  return result;
}

}  // namespace

TEST_CASE("threads share a copy so that their places are the same in every turn") {
  CHECK(said(share_copy({{"a", 8}, {"b", 4}, {"c", 30}}, 256)) == "a by 2, b, c");
  CHECK(said(share_copy({{"a", 16}, {"b", 600}}, 256)) == "b by 200");
  CHECK(said(share_copy({{"a", 4}, {"b", 8}}, 256)) == "a, b");
  CHECK(said(share_copy({{"a", 5}, {"b", 200}}, 256)) == "b");
  CHECK(said(share_copy({{"a", 1000}}, 32)) == "a by 32");
}

TEST_CASE("a warp's sectors: neighbours, strides, one element for all") {
  const ir::Program program = product(64, 64, 64);
  const ir::Statement& update = program.statements[1];
  CHECK(sectors_a_warp(program, update, "n", 64) == 4 + 1 + 4);  // c, a, b
  CHECK(sectors_a_warp(program, update, "m", 64) > 3 * sectors_a_warp(program, update, "n", 64));
}

TEST_CASE("blocks that run together fetch a box from memory once, those of the next turn again") {
  // 64 x 64 blocks, 132 at a time: all 64 sets of columns and 3 of rows, in 4096 / 132 turns;
  // 268 MB of results.
  const double boxes = 4096.0 / 132 * (64 + 3) * 64 * 8192 * 4 / 1e6;
  CHECK(megabytes(4096, 4096, 8192, {0, 1}) == doctest::Approx(boxes + 4096.0 * 4096 * 4 / 1e6));
  // The second cache keeps what is small: operands come once, results stay.
  CHECK(megabytes(1024, 1024, 1024, {0, 1}) == doctest::Approx(2 * 1024.0 * 1024 * 4 / 1e6));
  // Rows that all blocks read come once, wherever they are in the grid; of columns 2000 sets.
  CHECK(megabytes(64, 128000, 4096, {0, 1}) ==
        doctest::Approx(megabytes(64, 128000, 4096, {1, 0})));
  // Neighbours that share the longer operand leave it in the cache for one another.
  CHECK(megabytes(64 * 4, 128000, 4096, {1, 0}) < 0.5 * megabytes(64 * 4, 128000, 4096, {0, 1}));
}

TEST_CASE("the order of a grid: by bytes, where a grid has room") {
  const auto lanes_are_last = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return tile_of(m, n, k).grid.back() == "n";
  };
  CHECK(lanes_are_last(4096, 4096, 4096));
  CHECK(lanes_are_last(65536, 256, 1024));
  CHECK_FALSE(lanes_are_last(256, 65536, 1024));
  CHECK_FALSE(lanes_are_last(20'000'000, 64, 64));
}

TEST_CASE(
    "a tile fits the machine, leaves it no multiprocessor empty where it can, and has lanes last") {
  for (const std::int64_t n : {64, 100, 1024, 4096}) {
    const GpuTile tile = tile_of(n, n, n);
    CAPTURE(n);
    REQUIRE(tile.sides.size() == 2);
    CHECK(tile.sides.back().loop == "n");
    CHECK(tile.threads() >= 32);
    CHECK(tile.threads() <= 256);
    for (const GpuTileSide& side : tile.sides) CHECK(side.block % side.thread == 0);
  }
  const GpuTile small = tile_of(256, 256, 256), large = tile_of(4096, 4096, 4096);
  CHECK(small.sides[0].block * small.sides[1].block < large.sides[0].block * large.sides[1].block);
  CHECK(large.sides[0].thread * large.sides[1].thread >= 32);
  CHECK(large.cycles > small.cycles);
}

TEST_CASE("what an element says of the iteration that touches it") {
  const Affine f = symbol("f"), q = symbol("q"), t = symbol("t");
  const ir::Access plain = access({f, q + 3}), other = access({t, f});
  const Affine block = ir::floor_div(f, 64) * 2 + ir::floor_div(q, 28);
  CHECK(is_value_of_element({{&plain, block}}));
  CHECK(is_value_of_element({{&plain, f}, {&other, t}}));
  // Each says its own, of another dimension.
  CHECK_FALSE(is_value_of_element({{&plain, f}, {&other, f}}));
  CHECK_FALSE(is_value_of_element({{&plain, block + t}}));  // t is in no subscript
  const Affine digit = ir::mod(q, 14), rows = ir::floor_div(f, 8) - ir::floor_div(f, 64) * 8;
  const ir::Access digits = access({rows, digit, ir::mod(f, 8), ir::floor_div(q, 14)});
  CHECK(is_value_of_element({{&digits, rows * 14 + digit + 5}}));
  CHECK_FALSE(is_value_of_element({{&digits, ir::floor_div(f, 4)}}));
  // One element, two values.
  CHECK_FALSE(is_value_of_element({{&digits, rows}, {&digits, rows + 1}}));
  const ir::Access row = access({f + q});
  CHECK_FALSE(is_value_of_element({{&row, f}}));
  CHECK(is_value_of_element({{&row, (f + q) * 3}}));
}

TEST_CASE("the price of a launch: what takes longest, and never less than the rates allow") {
  const Gpu gpu = *gpu_machine("h100")->gpu;
  const double products = 4096.0 * 4096 * 4096;
  PricedLaunch product{{.blocks = 1056,
                        .instructions = products / 32,
                        .chained = products / 32,
                        .requests = products / 32 / 16},
                       256,
                       32768,
                       128};
  const LaunchPrice whole = price_of(product, gpu);
  CHECK(std::string(whole.bound) == "instructions");
  CHECK(whole.seconds >=
        products / (gpu.multiprocessors * gpu.f32_fma_a_cycle * gpu.clock_ghz * 1e9));

  PricedLaunch few = product;  // on a quarter of the multiprocessors
  few.work.blocks = 33;
  CHECK(price_of(few, gpu).seconds == doctest::Approx(4 * whole.seconds).epsilon(0.02));
  PricedLaunch narrow = product;  // a warp at a time hides nothing
  narrow.threads = 32;
  narrow.registers = 255;
  narrow.shared_bytes = gpu.shared_multiprocessor_bytes;
  CHECK(std::string(price_of(narrow, gpu).bound) == "multiply-adds");
  CHECK(price_of(narrow, gpu).seconds > 4 * whole.seconds);
  PricedLaunch conflicts = product;
  conflicts.work.wavefronts = 32 * product.work.requests;
  CHECK(std::string(price_of(conflicts, gpu).bound) == "shared memory");

  PricedLaunch often = product;  // the same work by one launch in each step of a loop
  often.work.launches = 1024;
  CHECK(price_of(often, gpu).seconds > 5 * whole.seconds);

  const double bytes = 1e9;
  PricedLaunch copy{
      {.blocks = 1e5, .requests = bytes / 128, .sectors = bytes / 32}, 256, 0, 16, bytes};
  CHECK(std::string(price_of(copy, gpu).bound) == "memory");
  CHECK(price_of(copy, gpu).seconds >= bytes / (gpu.memory_gb_a_second * 1e9));
  PricedLaunch strided = copy;  // a sector for each thread
  strided.work.sectors *= 8;
  CHECK(std::string(price_of(strided, gpu).bound) == "second cache");
  CHECK(
      std::string(
          price_of({{.blocks = 1, .instructions = 10, .requests = 2, .sectors = 8}, 32, 0, 16, 256},
                   gpu)
              .bound) == "launch");
}

}  // namespace polyte::schedule::gpu_cost_test
