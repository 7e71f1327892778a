#include "schedule/cost/warp_tile.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/loop_program.h"
#include "ir/relations.h"
#include "schedule/cost/copy_threads.h"
#include "schedule/cost/device_memory.h"
#include "schedule/cost/gpu_price.h"
#include "schedule/cost/warp_access.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

constexpr std::int64_t kMostSide = 256, kMostOfWarp = 64;  // of a block, a warp
constexpr std::int64_t kMostWarps = 8, kMostDepth = 4;
constexpr std::int64_t kLineBytes = 128;       // of shared memory's banks together
constexpr std::int64_t kTurnedBytes = 2;       // of elements that ldmatrix turns
constexpr std::int64_t kWordBytes = 4;         // of a register, and the longest that ldmatrix takes
constexpr std::int64_t kRegistersBeside = 48;  // addresses, loop counters
// Rows of what a warp loads at once, and columns of a result's tile.
constexpr std::int64_t kMatrix = 8;
// Quarters of a multiprocessor, each of which issues an instruction of a warp per cycle.
constexpr double kQuarters = 4;
constexpr double kWarpsWanted = 2;       // of a quarter: one multiplies while one loads
constexpr double kCopyInstructions = 4;  // of a thread's copy: addresses, the copy
constexpr double kMatrixWavefronts = 4;  // of 16 x 16 elements of 2 bytes
// That a lane has of these, an element a load where they are no rows; twice of 16 x 8 elements
// of 8 bytes.
constexpr double kSquareBytes = 16;
constexpr double kCopyLatency = 900;  // cycles from a copy's begin to its use
constexpr double kBarrier = 40;       // cycles of a slice in which all warps wait

double product(const std::vector<std::int64_t>& factors) {
  return std::accumulate(factors.begin(), factors.end(), 1.0, std::multiplies<>());
}

// Iterations of a loop of the sum while one slice runs.
std::int64_t points_of(const PricedLoop& loop, const WarpTile& tile) {
  if (loop.name == tile.product.row.loop) return tile.block_rows;
  if (loop.name == tile.product.lane.loop) return tile.block_lanes;
  if (loop.name == tile.product.step.loop) return tile.steps;
  return loop.reduction && tile.steps_inside ? std::max<std::int64_t>(1, loop.extent) : 1;
}

class WarpTileSearch {
 public:
  WarpTileSearch(const WarpTileQuestion& question, const Machine& machine)
      : question_(question),
        gpu_(*machine.gpu),
        accesses_(
            nest_accesses(*question.program, *question.update, question.others, question.loops)),
        operands_(ir::reads_of(*question.update)) {
    for (const NestAccess& access : accesses_.all)
      if (!access.each_step) results_.push_back(&access);
    if (std::ranges::all_of(results_,
                            [](const NestAccess* access) { return access->load != nullptr; }))
      results_.push_back(&accesses_.accumulator);
  }

  std::optional<WarpTile> run(std::span<const WarpProduct> products) {
    for (const WarpProduct& product : products)
      for (const bool inside : {false, true}) {
        if (inside && question_.update->reductions.size() == 1) continue;
        WarpTile tile{.product = product, .steps_inside = inside};
        with_sums(tile);
      }
    return best_;
  }

 private:
  const WarpTileQuestion& question_;
  const Gpu& gpu_;
  NestAccesses accesses_;
  std::vector<const ir::Load*> operands_;
  std::vector<const NestAccess*> results_;  // read or written once per point
  std::optional<WarpTile> best_;

  std::int64_t extent(const std::string& loop) const {
    return std::max<std::int64_t>(1, accesses_.extent(loop));
  }

  // --- candidates

  // The instruction's tile and its doubles, until the loop ends.
  static std::vector<std::int64_t> doubles(std::int64_t tile, std::int64_t most,
                                           std::int64_t extent) {
    std::vector<std::int64_t> found;
    for (std::int64_t length = tile; length <= most; length *= 2) {
      found.push_back(length);
      if (length >= extent) break;
    }
    return found;
  }

  void with_sums(WarpTile& tile) {
    const auto& [row, lane, step] =
        std::tie(tile.product.row, tile.product.lane, tile.product.step);
    for (const std::int64_t rows : doubles(row.tile, kMostSide, extent(row.loop)))
      for (const std::int64_t lanes : doubles(lane.tile, kMostSide, extent(lane.loop)))
        for (const std::int64_t own_rows : doubles(row.tile, kMostOfWarp, rows))
          for (const std::int64_t own_lanes : doubles(lane.tile, kMostOfWarp, lanes)) {
            tile.block_rows = rows, tile.block_lanes = lanes;
            tile.warp_rows = own_rows, tile.warp_lanes = own_lanes;
            if (tile.warps() > kMostWarps) continue;
            for (const std::int64_t steps : doubles(step.tile, most_steps(), extent(step.loop)))
              with_depths(tile, steps);
          }
  }

  // Bytes of an element of the operands, of the longer where they differ.
  std::int64_t element_bytes() const {
    std::int64_t bytes = 1;
    for (const ir::Load* load : operands_)
      bytes = std::max<std::int64_t>(bytes,
                                     size_in_bytes(question_.program->buffer(load->buffer).dtype));
    return bytes;
  }
  // A row of a slice is at most as long as a line of shared memory.
  std::int64_t most_steps() const { return kLineBytes / element_bytes(); }

  void with_depths(WarpTile& tile, std::int64_t steps) {
    if (tile.product.step.loop == question_.whole && extent(question_.whole) % steps != 0) return;
    tile.steps = steps;
    const std::int64_t slices = ceil_div(extent(tile.product.step.loop), steps);
    for (tile.depth = 1; tile.depth <= std::min(kMostDepth, slices); ++tile.depth) {
      const double cycles = price(tile);
      if (cycles < 0 || (best_ && best_->cycles <= cycles)) continue;
      best_ = tile;
      best_->cycles = cycles;
    }
  }

  // --- price

  // What a block does in one slice of the sum, the steps whose operands are in shared memory
  // together.
  struct Slice {
    double bytes = 0, copies = 0;            // into shared memory; by threads
    double wavefronts = 0, loads = 0;        // of shared memory; of warps
    double multiplications = 0, blocks = 1;  // instructions of warps; of the launch
    double slices = 1;                       // of a block
  };

  Slice slice_of(const WarpTile& tile) const {
    Slice slice;
    double instructions = 1;  // along the steps
    for (const PricedLoop& loop : accesses_.loops) {
      const std::int64_t points = points_of(loop, tile),
                         turns = ceil_div(extent(loop.name), points);
      if (loop.reduction) instructions *= static_cast<double>(points);
      (loop.reduction ? slice.slices : slice.blocks) *= static_cast<double>(turns);
    }
    instructions /= static_cast<double>(tile.product.step.tile);
    const auto warps = static_cast<double>(tile.warps());
    for (const ir::Load* load : operands_) {
      const auto bytes =
          static_cast<double>(size_in_bytes(question_.program->buffer(load->buffer).dtype));
      const WarpOperand operand = warp_operand(*question_.program, *load, tile, accesses_.loops);
      const bool is_row = std::ranges::any_of(load->indices, [&](const ir::Index& index) {
        return index.affine.uses(tile.product.row.loop);
      });
      slice.bytes += product(operand.box) * bytes;
      slice.copies += product(operand.box) / static_cast<double>(operand.vector);
      const double side =
          static_cast<double>(is_row ? tile.warp_rows : tile.warp_lanes) / (2 * kMatrix);
      const double squares = warps * instructions * side;
      const double words = bytes > kWordBytes ? 2 : 1,
                   loads = operand.in_rows ? 1 : kSquareBytes * words / bytes;
      slice.loads += squares * loads;
      slice.wavefronts += squares * std::max(loads * words, kMatrixWavefronts);
    }
    const std::int64_t down = tile.warp_rows / tile.product.row.tile,
                       across = tile.warp_lanes / tile.product.lane.tile;
    slice.multiplications = warps * instructions * static_cast<double>(down * across);
    slice.wavefronts += slice.bytes / kLineBytes;
    return slice;
  }

  // Bytes of the sectors that the tile's results touch, with what is read beside them.
  double result_bytes(const WarpTile& tile) const {
    double bytes = 0;
    for (const NestAccess* access : results_) {
      std::int64_t stride = 0;
      for (const std::string& loop : {tile.product.row.loop, tile.product.lane.loop})
        if (const std::int64_t here = access->strides[accesses_.loop_number(loop)]; here != 0)
          stride = stride == 0 ? here : std::min(stride, here);
      const std::int64_t sectors =
          std::min(kMatrix, ceil_div(kMatrix * stride * access->element_bytes, kSectorBytes));
      const std::int64_t lines = tile.block_rows * tile.block_lanes / kMatrix;
      bytes += static_cast<double>(lines * sectors * kSectorBytes);
    }
    return bytes;
  }

  // Blocks that a multiprocessor has at once; 0: the tile does not fit.
  double at_once(const WarpTile& tile, double bytes) const {
    const std::int64_t words = element_bytes() > kWordBytes ? 2 : 1;
    const std::int64_t sums = tile.warp_rows * tile.warp_lanes / ir::kLanes * words;
    // Words per lane; elements shorter than a word are packed, two per word in most types.
    const std::int64_t operands = (tile.warp_rows + tile.warp_lanes) * tile.product.step.tile /
                                  ir::kLanes * words * words / 2;
    const std::int64_t registers = sums + operands + kRegistersBeside;
    const double shared = bytes * static_cast<double>(tile.depth);
    if (registers > gpu_.registers_a_thread ||
        shared > static_cast<double>(gpu_.shared_block_bytes))
      return 0;
    const auto threads = static_cast<double>(tile.warps() * ir::kLanes);
    return std::min(
        {std::floor(gpu_.registers_a_multiprocessor / (static_cast<double>(registers) * threads)),
         std::floor(gpu_.threads_a_multiprocessor / threads),
         std::floor(static_cast<double>(gpu_.shared_multiprocessor_bytes) / shared)});
  }

  // The grid's last loops are rows and lanes.
  double memory_bytes(WarpTile& tile, double under_way) const {
    BlocksOfLaunch blocks{.at_once = under_way};
    for (std::size_t loop = 0; loop < accesses_.loops.size(); ++loop) {
      const PricedLoop& each = accesses_.loops[loop];
      blocks.tile.push_back(each.reduction ? extent(each.name) : points_of(each, tile));
      if (!each.reduction && !tile.product.has(each.name)) blocks.grid.push_back(loop);
    }
    const std::size_t rows = accesses_.loop_number(tile.product.row.loop);
    blocks.grid.insert(blocks.grid.end(), {rows, accesses_.loop_number(tile.product.lane.loop)});
    const double bytes = order_grid(accesses_, blocks, 2, gpu_);
    tile.rows_inside = blocks.grid.back() == rows;
    return bytes;
  }

  // Below 0: it does not fit, or is no better before its memory is counted. Orders the grid.
  double price(WarpTile& tile) const {
    const Slice slice = slice_of(tile);
    const double most = at_once(tile, slice.bytes);
    if (most < 1) return -1;
    const double second_cache = second_cache_bytes_a_cycle(gpu_);
    const auto& [row, lane, step] =
        std::tie(tile.product.row, tile.product.lane, tile.product.step);
    // An instruction's registers along the steps are as many bytes for every type, and take as
    // long, but those of f64.
    const double as_short = element_bytes() > kWordBytes ? static_cast<double>(step.tile) * 16 : 16;
    const double fma_a_step = static_cast<double>(row.tile * lane.tile) * as_short;
    const double turns = std::ceil(slice.blocks / gpu_.multiprocessors);
    const double under_way = std::min(most, turns);
    // Each quarter of a multiprocessor has tensor cores of its own, and warps to take turns.
    const double busy =
        std::min(1.0, under_way * static_cast<double>(tile.warps()) / (kQuarters * kWarpsWanted));
    const double instructions =
        slice.multiplications + slice.loads + slice.copies / ir::kLanes * kCopyInstructions;
    const double stage =
        kBarrier +
        busiest({slice.multiplications * fma_a_step / gpu_.bf16_tensor_fma_a_cycle / busy,
                 slice.wavefronts, instructions / kQuarters / busy, slice.bytes / second_cache});
    const double waiting = (kCopyLatency + stage) / (under_way * static_cast<double>(tile.depth));
    const double ending = result_bytes(tile) / second_cache;
    const double cycles =
        turns * (slice.slices * std::max(stage, waiting) + kCopyLatency / under_way + ending);
    if (best_ && kLaunch + cycles >= best_->cycles) return -1;
    return kLaunch + with_device_memory(cycles, memory_bytes(tile, under_way), gpu_);
  }
};

}  // namespace

WarpOperand warp_operand(const ir::Program& program, const ir::Load& load, const WarpTile& tile,
                         const std::vector<PricedLoop>& loops) {
  const std::int64_t bytes = size_in_bytes(program.buffer(load.buffer).dtype);
  const std::string& step = tile.product.step.loop;
  const std::size_t last = load.indices.size() - 1;
  WarpOperand operand;
  operand.inmost = last;
  for (std::size_t d = 0; d <= last; ++d) {
    std::int64_t moving = 1, whole = 1, resting = 1;
    for (const PricedLoop& loop : loops) {
      const std::int64_t step_by = std::abs(load.indices[d].affine.coefficient(loop.name));
      const std::int64_t points = points_of(loop, tile),
                         all = std::max<std::int64_t>(1, loop.extent);
      moving += step_by * (points - 1);
      whole += step_by * (all - 1);
      resting += step_by * (std::max(points, all) - 1);
    }
    operand.box.push_back(moving > whole ? resting : moving);
    if (load.indices[d].affine.uses(step)) operand.inmost = d;
  }
  operand.in_rows =
      bytes <= kWordBytes && tile.product.moves_by_one(load.indices[operand.inmost].affine);
  // Neighbours in memory stay neighbours in shared memory where a fragment holds them side by side,
  // or where ldmatrix can transpose them on their way to it (2 bytes).
  const ir::Affine& neighbours = load.indices[last].affine;
  const auto along = std::ranges::find_if(loops, [&](const PricedLoop& loop) {
    return tile.product.has(loop.name) && neighbours.coefficient(loop.name) == 1 &&
           points_of(loop, tile) == operand.box[last] && operand.box[last] > 1;
  });
  const bool is_turned = operand.inmost != last;
  const bool is_read_alone = bytes > kWordBytes;  // element by element, whichever way they lie
  if (along == loops.end() || (is_turned && bytes != kTurnedBytes && !is_read_alone))
    return operand;
  operand.inmost = last;
  operand.in_rows = !is_read_alone;
  std::vector<CopyRange> ranges;
  for (const PricedLoop& loop : loops)
    ranges.push_back({loop.name, loop.extent, points_of(loop, tile)});
  operand.vector = copy_vector(program, load, ranges);
  return operand;
}

std::optional<WarpTile> choose_warp_tile(const WarpTileQuestion& question,
                                         std::span<const WarpProduct> products,
                                         const Machine& machine) {
  return WarpTileSearch(question, machine).run(products);
}

}  // namespace polyte::schedule
