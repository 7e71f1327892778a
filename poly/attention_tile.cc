#include "poly/attention_tile.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "ir/loop_program.h"
#include "support/checked.h"

namespace polyte::poly {
namespace {

using schedule::AttentionTile;
using schedule::WarpAttentionTile;

constexpr std::int64_t kTermBytes = 4;    // of a number
constexpr std::int64_t kTensorBytes = 2;  // of one that tensor cores take
// Numbers behind rows in shared memory, for vectors without conflicts.
constexpr std::int64_t kPad = 4;
constexpr std::int64_t kFewestThreads = 64, kMostThreads = 256, kMostSums = 64;
constexpr double kRegistersBeside = 48;  // addresses, loop counters, what is being copied
constexpr double kSchedulers = 4;        // of a multiprocessor: warp instructions per cycle
constexpr double kExp = 20;              // instructions
constexpr double kCopyInstructions = 6;  // an element: addresses, load, store
constexpr double kBarriers = 5;          // of a tile of keys
// Cycles from a barrier to the next busy step, which other blocks hide.
constexpr double kLatency = 120;
constexpr double kStepLatency = 30;   // of a load from shared memory, which other warps hide
constexpr double kLaunch = 4000;      // cycles of any launch
constexpr double kSecondCache = 1.8;  // times the rate of memory, that of the second cache
constexpr double kOverlap = 0.25;     // of what is not the bottleneck

double second_cache(const Gpu& gpu) {  // bytes per cycle, of a multiprocessor
  return gpu.memory_gb_a_second * kSecondCache / gpu.clock_ghz / gpu.multiprocessors;
}

double multiply_adds(const AttentionSizes& s) {
  return static_cast<double>(s.batches) * static_cast<double>(s.rows) *
         static_cast<double>(s.keys) * static_cast<double>(s.steps + s.columns);
}

double busiest(std::initializer_list<double> all) {
  double sum = 0, most = 0;
  for (const double each : all) sum += each, most = std::max(most, each);
  return most + kOverlap * (sum - most);
}

// Scores and sums that a thread holds.
struct Own {
  double rows, keys, columns;
  double scores() const { return rows * keys; }
  double sums() const { return rows * columns; }
};
Own own_of(const AttentionTile& t, const AttentionSizes& s) {
  return {static_cast<double>(t.thread_rows), static_cast<double>(ceil_div(t.keys, t.lanes)),
          static_cast<double>(ceil_div(s.columns, t.lanes))};
}

// Below 0: it does not fit.
double price(const AttentionTile& t, const AttentionSizes& s, const Gpu& gpu) {
  const Own own = own_of(t, s);
  const auto threads = static_cast<double>(t.threads()),
             bytes = static_cast<double>(t.shared_bytes(s));
  // Scores and the weights made of them, sums, and the operands of one step: a value per row, and
  // one per key or per column, whichever are more.
  const double registers =
      kRegistersBeside + 2 * own.scores() + own.sums() + own.rows + std::max(own.keys, own.columns);
  // Blocks that fit on a multiprocessor at once, by registers, threads and shared memory.
  const double most =
      std::min({std::floor(gpu.registers_a_multiprocessor / (registers * threads)),
                std::floor(gpu.threads_a_multiprocessor / threads),
                std::floor(static_cast<double>(gpu.shared_multiprocessor_bytes) / bytes)});
  const bool is_large =
      own.scores() > kMostSums || own.sums() > kMostSums || registers > gpu.registers_a_thread;
  if (is_large || most < 1 || t.shared_bytes(s) > gpu.shared_block_bytes) return -1;
  const auto tiles = static_cast<double>(ceil_div(s.keys, t.keys));
  const auto blocks = static_cast<double>(s.batches * ceil_div(s.rows, t.rows));
  const auto steps = static_cast<double>(s.steps), keys = static_cast<double>(t.keys);
  const double warps = threads / ir::kLanes,
               copied = keys * static_cast<double>(s.steps + s.columns);
  // Per thread and tile of keys. A step of the scores loads its rows in vectors of kPad numbers and
  // its keys one by one; a key of the product its rows and columns alike. Wavefronts are counted
  // per number: a vector of four takes four.
  const double loads =
      steps * (own.rows / kPad + own.keys) + keys * (own.rows / kPad + own.columns);
  const double waves = steps * (own.rows + own.keys) + keys * (own.rows + own.columns);
  // Multiply-adds; then exponentials of the scores and, for the scale, of each row.
  const double sums = steps * own.scores() + keys * own.sums();
  const double issued = sums + loads + own.scores() * kExp + own.rows * kExp;
  // Blocks that a multiprocessor runs in all, and at the same time.
  const double turns = std::ceil(blocks / gpu.multiprocessors), at_once = std::min(most, turns);
  // Per tile of keys and block, what each unit is busy for: multiply-adds, wavefronts of shared
  // memory, instructions over the schedulers (those of copies with them), bytes from the second
  // cache.
  const double tile =
      busiest({sums * threads / gpu.f32_fma_a_cycle, warps * waves,
               (warps * issued + copied / ir::kLanes * kCopyInstructions) / kSchedulers,
               copied * kTermBytes / second_cache(gpu)});
  // A block alone waits for its own instructions and loads; blocks that run at once hide each
  // other's. Without a tile that is copied ahead the copy is waited for as well.
  const double alone = issued + (steps + keys) * kStepLatency;
  const double waits = (kBarriers + (t.depth > 1 ? 0 : 4)) * kLatency;
  // Once per block: queries in, results out.
  const double ends =
      static_cast<double>(t.rows * (s.steps + s.columns)) * kTermBytes / second_cache(gpu);
  return kLaunch + turns * (tiles * (std::max(tile, alone / at_once) + waits / at_once) + ends);
}

// Below 0: it does not fit. Of a warp's lane: a half of a row of scores, 16 columns of sums
// per matrix.
double price(const WarpAttentionTile& t, const AttentionSizes& s, std::int64_t score_bytes,
             const Gpu& gpu) {
  constexpr double kHalf = 2, kTurn = 16 * 16, kLineBytes = 128, kFragments = 24;
  const auto warps = static_cast<double>(t.warps()), rows = static_cast<double>(t.rows);
  const auto keys = static_cast<double>(t.keys), columns = static_cast<double>(s.columns);
  const double bytes = static_cast<double>(t.shared_bytes(s, score_bytes)),
               threads = warps * ir::kLanes;
  // Scores and weights; sums.
  const double registers = kRegistersBeside + kFragments + keys + columns / kHalf;
  const double most =
      std::min({std::floor(gpu.registers_a_multiprocessor / (registers * threads)),
                std::floor(gpu.threads_a_multiprocessor / threads),
                std::floor(static_cast<double>(gpu.shared_multiprocessor_bytes) / bytes)});
  if (registers > gpu.registers_a_thread || most < 1 ||
      bytes > static_cast<double>(gpu.shared_block_bytes))
    return -1;
  const double width = static_cast<double>(s.steps + s.columns);
  const double products = rows * keys * width, matrices = 2 * products / rows / kTurn;  // of a warp
  const double copied = keys * width * kTensorBytes;
  const double traffic =
      rows * keys * static_cast<double>(3 * score_bytes + 2 * kTensorBytes) / kLineBytes;
  const double issued = 3 * matrices + keys / kHalf * (kExp + 8) + columns / kHalf + 12 * kExp;
  const double turns =
      std::ceil(static_cast<double>(s.batches * ceil_div(s.rows, t.rows)) / gpu.multiprocessors);
  const double at_once = std::min(most, turns),
               tiles = static_cast<double>(ceil_div(s.keys, t.keys));
  const double tile =
      busiest({products / gpu.bf16_tensor_fma_a_cycle, traffic + 2 * warps * matrices,
               (warps * issued + copied / 16 / ir::kLanes * kCopyInstructions) / kSchedulers,
               copied / second_cache(gpu)});
  const double waits = (2 * kBarriers + (t.depth > 1 ? 0 : 4)) * kLatency;
  const double ends = rows * width * kTensorBytes / second_cache(gpu);
  return kLaunch + turns * (tiles * (std::max(tile, issued / at_once) + waits / at_once) + ends);
}

}  // namespace

PricedWarpAttentionTile choose_warp_attention_tile(const AttentionSizes& sizes,
                                                   std::int64_t score_bytes, const Gpu& gpu) {
  PricedWarpAttentionTile best;
  for (const std::int64_t rows : {16, 32, 64, 128})
    for (const std::int64_t keys : {16, 32, 64, 128})
      for (const std::int64_t depth : {1, 2, 3}) {
        PricedWarpAttentionTile tile{{rows, keys, depth}, 0};
        if ((rows > 16 && rows / 2 >= sizes.rows) || sizes.keys % keys != 0 ||
            depth > sizes.keys / keys)
          continue;
        tile.cycles = price(tile, sizes, score_bytes, gpu);
        if (tile.cycles > 0 && (best.rows == 0 || tile.cycles < best.cycles)) best = tile;
      }
  return best;
}

PricedAttentionTile choose_attention_tile(const AttentionSizes& sizes, const Gpu& gpu) {
  PricedAttentionTile best;
  for (const std::int64_t rows : {16, 32, 64, 128})
    for (const std::int64_t keys : {16, 32, 64})
      for (const std::int64_t own : {4, 8})
        for (const std::int64_t lanes : {8, 16})
          for (const std::int64_t depth : {1, 2}) {
            PricedAttentionTile tile{{rows, keys, own, lanes, depth}, 0};
            const bool is_longer =
                (rows > 16 && rows / 2 >= sizes.rows) || (keys > 16 && keys / 2 >= sizes.keys);
            if (tile.threads() < kFewestThreads || tile.threads() > kMostThreads || is_longer)
              continue;
            if (depth > 1 && keys >= sizes.keys) continue;
            tile.cycles = price(tile, sizes, gpu);
            if (tile.cycles > 0 && (best.rows == 0 || tile.cycles < best.cycles)) best = tile;
          }
  return best;
}

double row_cycles(const AttentionSizes& s, const Gpu& gpu) {
  std::int64_t threads = ir::kLanes;
  while (threads < kMostThreads && threads * kPad < s.keys) threads *= 2;
  // Rows of one multiprocessor.
  const double rows = std::ceil(static_cast<double>(s.batches * s.rows) / gpu.multiprocessors);
  const double terms = static_cast<double>(s.keys * (s.steps + s.columns));
  // An element per term.
  const double busy =
      busiest({terms / gpu.f32_fma_a_cycle, terms * kTermBytes / second_cache(gpu)});
  const std::int64_t steps =
      ceil_div(s.keys, threads) * s.steps + ceil_div(s.columns, threads) * s.keys;
  const std::int64_t room = gpu.threads_a_multiprocessor / threads;
  const double at_once = std::min(rows, static_cast<double>(room));
  return kLaunch + rows * std::max(busy, static_cast<double>(steps) * kStepLatency / at_once);
}

double least_launch_cycles(const AttentionSizes& s, const Gpu& gpu, double fma_a_cycle,
                           double bytes) {
  const double scores = static_cast<double>(s.batches * s.rows * s.keys) * bytes;
  const bool stays_near = scores < static_cast<double>(gpu.l2_bytes) / 2;
  const double rate = second_cache(gpu) / (stays_near ? 1 : kSecondCache);
  // Each of the two.
  const double product = std::max(multiply_adds(s) / 2 / fma_a_cycle, scores / rate);
  return 3 * kLaunch + (2 * product + 2 * scores / rate) / gpu.multiprocessors;
}

}  // namespace polyte::poly
