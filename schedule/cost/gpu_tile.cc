#include "schedule/cost/gpu_tile.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "ir/contraction.h"
#include "ir/loop_program.h"
#include "schedule/cost/copy_threads.h"
#include "schedule/cost/device_memory.h"
#include "schedule/cost/gpu_price.h"
#include "schedule/cost/warp_access.h"
#include "support/checked.h"
#include "support/stable_sort.h"

namespace polyte::schedule {
namespace {

constexpr std::int64_t kFewestThreads = 32, kMostThreads = 256;
constexpr std::int64_t kMostSums = 64;            // of a thread
constexpr std::int64_t kRegistersBeside = 40;     // addresses, loop counters, what is being copied
constexpr std::int64_t kSharedBytes = 48 * 1024;  // that a launch has without asking
constexpr std::int64_t kMostDepth = 3;
constexpr std::size_t kMostAxes = 3;                    // of a grid
constexpr std::int64_t kVector = 4, kVectorBytes = 16;  // a thread's widest access
// The least bytes of an element that can be copied while threads compute.
constexpr std::int64_t kAsyncBytes = 4;
constexpr double kCopyInstructions = 6;  // an element: addresses, load, store
// Cycles of a stage that other blocks hide: two barriers, one load.
constexpr double kStageLatency = 900;
constexpr double kBarrier = 40;      // of a stage whose copies were begun before
constexpr double kStepLatency = 30;  // of a load from shared memory, which other warps hide

// The wanted lengths, each made as short as it can be for the same number of tiles: of 100 with 64
// wanted, two tiles of 50.
std::vector<std::int64_t> lengths(std::int64_t extent, std::initializer_list<std::int64_t> wanted) {
  std::set<std::int64_t> found;
  for (const std::int64_t length : wanted) found.insert(ceil_div(extent, ceil_div(extent, length)));
  return {found.begin(), found.end()};
}

std::vector<std::int64_t> divisors(std::int64_t of, std::int64_t most) {
  std::vector<std::int64_t> found;
  for (std::int64_t d = 1; d <= std::min(of, most); ++d)
    if (of % d == 0) found.push_back(d);
  return found;
}

class GpuTileSearch {
 public:
  GpuTileSearch(const GpuTileQuestion& question, const Machine& machine)
      : question_(question),
        gpu_(*machine.gpu),
        accesses_(
            nest_accesses(*question.program, *question.update, question.others, question.loops)) {
    for (const PricedLoop& loop : accesses_.loops)
      extents_.push_back(std::max<std::int64_t>(1, loop.extent));
    for (const NestAccess& access : accesses_.all)
      (access.each_step ? operands_ : results_).push_back(&access);
    std::erase_if(operands_, [](const NestAccess* access) { return access->load == nullptr; });
    is_async_ = question.free.size() <= kMostAxes &&
                std::ranges::all_of(operands_, [](const NestAccess* operand) {
                  return operand->element_bytes >= kAsyncBytes && !operand->load->otherwise;
                });
    has_vectors_ = std::ranges::all_of(operands_, [](const NestAccess* operand) {
      return operand->element_bytes * kVector == kVectorBytes && !operand->load->otherwise;
    });
    if (std::ranges::all_of(results_,
                            [](const NestAccess* access) { return access->load != nullptr; }))
      results_.push_back(&accesses_.accumulator);
  }

  GpuTile run() {
    std::vector<std::string> free = question_.free;
    sort_stably(free, std::greater(), [&](const std::string& loop) { return write_stride(loop); });
    if (free.empty() || operands_.size() < 2) return {};
    const std::string lane = free.back();
    free.pop_back();
    for (const std::int64_t length : lengths(extent(lane), {128, 64, 32, 16, 8}))
      for (std::size_t a = 0; a < free.size(); ++a) {
        with_sides({{free[a]}, {lane, length}});
        for (std::size_t b = a + 1; b < free.size(); ++b)
          with_sides({{free[a]}, {free[b]}, {lane, length}});
      }
    return std::move(best_);
  }

 private:
  const GpuTileQuestion& question_;
  const Gpu& gpu_;
  NestAccesses accesses_;
  std::vector<std::int64_t> extents_;  // by loop
  // Read in each step; read or written once per point.
  std::vector<const NestAccess*> operands_, results_;
  // Copies can go on while threads compute. Not of what has a border: where it is and which copy a
  // step reads are too many cases for the proof. Nor below blocks that are digits of one number.
  bool is_async_ = false;
  bool has_vectors_ = false;  // elements of 4 bytes, side by side along the lanes
  mutable std::map<TurnedCopy, std::int64_t> conflicts_;
  GpuTile best_;

  std::size_t number(const std::string& loop) const { return accesses_.loop_number(loop); }
  std::int64_t extent(const std::string& loop) const { return extents_[number(loop)]; }
  std::int64_t write_stride(const std::string& loop) const {
    return std::abs(ir::stride_of(*question_.program, question_.update->writes[0], loop)
                        .value_or(kUnknownStride));
  }

  // --- candidates

  void with_sides(std::vector<GpuTileSide> sides) {
    if (!shares_operands(sides)) return;
    for (const std::int64_t first : lengths(extent(sides[0].loop), {128, 64, 32, 16, 8, 4})) {
      sides[0].block = first;
      if (sides.size() == 2) {
        with_threads(sides, 0);
        continue;
      }
      for (const std::int64_t second : lengths(extent(sides[1].loop), {1, 2, 4, 8, 16})) {
        sides[1].block = second;
        with_threads(sides, 0);
      }
    }
  }

  // Every operand is read by several threads: along some side it does not move.
  bool shares_operands(const std::vector<GpuTileSide>& sides) const {
    return std::ranges::all_of(operands_, [&](const NestAccess* operand) {
      return std::ranges::any_of(
          sides, [&](const GpuTileSide& s) { return !operand->moves_with(number(s.loop)); });
    });
  }

  void with_threads(std::vector<GpuTileSide>& sides, std::size_t side) {
    if (side < sides.size()) {
      for (const std::int64_t own :
           divisors(sides[side].block, side == 1 && sides.size() == 3 ? 4 : 8)) {
        sides[side].thread = own;
        with_threads(sides, side + 1);
      }
      return;
    }
    GpuTile tile{.sides = sides, .step = ""};
    std::int64_t sums = 1;
    for (const GpuTileSide& s : sides) sums *= s.thread;
    if (sums > kMostSums || tile.threads() < kFewestThreads || tile.threads() > kMostThreads)
      return;
    with_steps(tile);
    tile.vector = kVector;
    if (has_vectors_ && sides.back().thread % kVector == 0) with_steps(tile);
  }

  void with_steps(GpuTile tile) {
    consider(tile);
    for (const std::string& loop : question_.update->reductions) {
      if (extent(loop) <= 4) continue;
      tile.step = loop;
      for (const std::int64_t steps : lengths(extent(loop), {4, 8, 16, 32})) {
        if (loop == question_.whole && extent(loop) % steps != 0) continue;
        tile.steps = steps;
        const std::int64_t most =
            is_async_ ? std::min(kMostDepth, ceil_div(extent(loop), steps)) : 1;
        for (tile.depth = 1; tile.depth <= most; ++tile.depth) consider(tile);
      }
    }
  }

  void consider(GpuTile tile) {
    const double cycles = price(tile);
    if (cycles < 0 || (!best_.sides.empty() && best_.cycles <= cycles)) return;
    best_ = std::move(tile);
    best_.cycles = cycles;
  }

  // --- price

  // Elements that a block reads of the operand while its tile and so many steps run.
  double box(const NestAccess& operand, const std::vector<std::int64_t>& points) const {
    double elements = 1;
    for (const std::vector<std::int64_t>& coefficients : operand.subscripts)
      elements *= static_cast<double>(width(coefficients, points));
    return elements;
  }

  // Bytes of the sectors that the tile's results touch, with what is read beside them: a warp has
  // as many neighbours in memory as threads lie along the lanes.
  double result_bytes(const GpuTile& tile, double sums) const {
    const GpuTileSide& lanes = tile.sides.back();
    const std::int64_t run = std::min<std::int64_t>(lanes.threads(), ir::kLanes);
    double bytes = 0;
    for (const NestAccess* access : results_) {
      const std::int64_t stride = access->strides[number(lanes.loop)];
      if (stride == 0) continue;
      const std::int64_t sectors =
          std::min(run, ceil_div(run * stride * access->element_bytes, kSectorBytes));
      bytes += sums / static_cast<double>(run) * static_cast<double>(sectors * kSectorBytes);
    }
    return bytes;
  }

  // What a block does in one slice of the sum, the steps whose operands are in shared memory
  // together.
  struct Slice {
    double sums = 1, own = 1;        // of a block, of a thread
    double steps = 1, slices = 1;    // of the sum: in a slice; slices of a block
    double blocks = 1;               // of the launch
    double copied = 0, bytes = 0;    // elements that come into shared memory
    double fetched = 0, writes = 0;  // their sectors' bytes, and wavefronts of shared memory
    double values = 0, reads = 0;    // that a thread has from there in a step; by so many accesses
  };

  Slice slice_of(const GpuTile& tile) const {
    Slice slice;
    std::vector<std::int64_t> points(extents_.size(), 1), thread(extents_.size(), 1);
    for (const GpuTileSide& side : tile.sides) {
      points[number(side.loop)] = side.block;
      thread[number(side.loop)] = side.thread;
      slice.sums *= static_cast<double>(side.block);
      slice.own *= static_cast<double>(side.thread);
    }
    bool is_inside = tile.step.empty();  // of a slice of the sum: behind the loop that is cut
    for (std::size_t loop = 0; loop < extents_.size(); ++loop) {
      const bool is_sum = accesses_.loops[loop].reduction,
                 is_step = accesses_.loops[loop].name == tile.step;
      is_inside = is_inside || is_step;
      if (is_sum && is_inside) points[loop] = is_step ? tile.steps : extents_[loop];
      if (is_sum) slice.steps *= static_cast<double>(points[loop]);
      (is_sum ? slice.slices : slice.blocks) *=
          static_cast<double>(ceil_div(extents_[loop], points[loop]));
    }
    for (const NestAccess* operand : operands_) {
      const double elements = box(*operand, points);
      slice.copied += elements;
      slice.bytes += elements * static_cast<double>(operand->element_bytes);
      add_copy(*operand, tile, points, slice);
      const double values = box(*operand, thread);
      slice.values += values;
      slice.reads += values / static_cast<double>(tile.read_at_once(side_of(*operand, tile)));
    }
    return slice;
  }

  static std::int64_t width(const std::vector<std::int64_t>& coefficients,
                            const std::vector<std::int64_t>& points) {
    std::int64_t width = 1;
    for (std::size_t loop = 0; loop < coefficients.size(); ++loop)
      width += coefficients[loop] * (points[loop] - 1);
    return width;
  }

  // Rows of the operand in memory; in shared memory they may be transposed.
  void add_copy(const NestAccess& operand, const GpuTile& tile,
                const std::vector<std::int64_t>& points, Slice& slice) const {
    const double elements = box(operand, points);
    const std::int64_t row = width(operand.subscripts.back(), points);
    const std::int64_t sectors = ceil_div(row * operand.element_bytes, kSectorBytes);
    slice.fetched +=
        elements / static_cast<double>(row) * static_cast<double>(sectors * kSectorBytes);
    const GpuTileSide& side = side_of(operand, tile);
    // Dimensions of the operand from the last one out, until that which lies along the side:
    // `neighbours` elements lie side by side in memory and go to rows of the copy, `along` of each.
    std::int64_t neighbours = 1, along = 1;
    for (auto subscript = operand.subscripts.rbegin(); subscript != operand.subscripts.rend();
         ++subscript) {
      along = width(*subscript, points);
      if ((*subscript)[number(side.loop)] != 0) break;
      neighbours *= neighbours == 1 ? tile.turned_at_once(along, side) : along;
    }
    const std::int64_t met =
        neighbours == 1
            ? 1
            : conflicts({along, neighbours, operand.element_bytes, tile.read_at_once(side)});
    slice.writes += elements / ir::kLanes * static_cast<double>(met);
  }

  std::int64_t conflicts(const TurnedCopy& copy) const {
    const auto [known, is_new] = conflicts_.try_emplace(copy, 1);
    if (is_new) known->second = bank_padding(copy).wavefronts;
    return known->second;
  }

  // The side along which the operand lies in shared memory: that of the lanes, if it moves with
  // them.
  const GpuTileSide& side_of(const NestAccess& operand, const GpuTile& tile) const {
    const auto moves = [&](const GpuTileSide& side) {
      return operand.moves_with(number(side.loop));
    };
    const auto side = std::find_if(tile.sides.rbegin(), tile.sides.rend(), moves);
    return side == tile.sides.rend() ? tile.sides.front() : *side;
  }

  // Blocks that a multiprocessor has at once; 0: the tile does not fit.
  double at_once(const GpuTile& tile, const Slice& slice) const {
    const double registers = slice.own + slice.values + kRegistersBeside;
    const double shared = slice.bytes * static_cast<double>(tile.depth);
    const std::int64_t most_shared = tile.depth == 1 ? kSharedBytes : gpu_.shared_block_bytes;
    if (registers > gpu_.registers_a_thread || shared > static_cast<double>(most_shared)) return 0;
    const auto threads = static_cast<double>(tile.threads());
    return std::min({std::floor(gpu_.registers_a_multiprocessor / (registers * threads)),
                     std::floor(gpu_.threads_a_multiprocessor / threads),
                     std::floor(static_cast<double>(gpu_.shared_multiprocessor_bytes) / shared)});
  }

  // The grid's last loops are those of the sides.
  double memory_bytes(GpuTile& tile, double under_way) const {
    BlocksOfLaunch blocks{.tile = std::vector<std::int64_t>(extents_.size(), 1),
                          .at_once = under_way};
    const auto is_side = [&](const std::string& loop) {
      return std::ranges::find(tile.sides, loop, &GpuTileSide::loop) != tile.sides.end();
    };
    for (std::size_t loop = 0; loop < extents_.size(); ++loop) {
      if (accesses_.loops[loop].reduction)
        blocks.tile[loop] = extents_[loop];
      else if (!is_side(accesses_.loops[loop].name))
        blocks.grid.push_back(loop);
    }
    for (const GpuTileSide& side : tile.sides) {
      blocks.tile[number(side.loop)] = side.block;
      blocks.grid.push_back(number(side.loop));
    }
    const double bytes = order_grid(accesses_, blocks, tile.sides.size(), gpu_);
    tile.grid.clear();
    for (const std::size_t loop : std::span(blocks.grid).last(tile.sides.size()))
      tile.grid.push_back(accesses_.loops[loop].name);
    return bytes;
  }

  // Cycles of the launch; below 0: the tile does not fit, or is no better than the best even before
  // its memory traffic, the expensive part of the price, is counted. Orders the grid.
  double price(GpuTile& tile) const {
    const Slice slice = slice_of(tile);
    const double most = at_once(tile, slice);
    if (most < 1) return -1;
    const double turns = std::ceil(slice.blocks / gpu_.multiprocessors),
                 under_way = std::min(most, turns);
    const double cycles = turns * turn(tile, slice, under_way);
    if (!best_.sides.empty() && kLaunch + cycles >= best_.cycles) return -1;
    return kLaunch + with_device_memory(cycles, memory_bytes(tile, under_way), gpu_);
  }

  // Cycles that a block costs its multiprocessor while `under_way` of them run there at once. A
  // slice takes as long as the busiest unit, but no less than one warp's instructions and waits,
  // which the other blocks hide. With one buffer (depth 1) a block copies and computes in turn;
  // with more, a copy has depth - 1 slices until it is needed.
  double turn(const GpuTile& tile, const Slice& slice, double under_way) const {
    const double second_cache = second_cache_bytes_a_cycle(gpu_);
    const double warps = std::ceil(static_cast<double>(tile.threads()) / ir::kLanes);
    const double adding = slice.steps * slice.sums / gpu_.f32_fma_a_cycle;
    // A warp's read of a value is one wavefront: lanes read neighbours, or all the same.
    const double reading = slice.steps * warps * slice.values;
    const double writing = slice.copied / ir::kLanes + slice.writes;
    const double instructions = slice.steps * warps * (slice.own + slice.reads) / kSchedulers;
    const double copies = slice.copied / ir::kLanes * kCopyInstructions / kSchedulers;
    const double one_warp = slice.steps * (slice.own + slice.reads + kStepLatency);
    const double fetching = slice.fetched / second_cache;
    const double stage =
        std::max(busiest({adding, reading + writing, instructions + copies, fetching}),
                 one_warp / under_way);
    const double copying = kStageLatency + std::max({copies, writing, fetching});
    const double ending = result_bytes(tile, slice.sums) / second_cache;
    if (tile.depth == 1) {  // a block copies or computes
      const double computing = std::max(busiest({adding, reading, instructions}), one_warp);
      return slice.slices *
                 (std::max(stage, (computing + copying) / under_way) + 2 * kBarrier / under_way) +
             ending;
    }
    const double ahead = under_way * static_cast<double>(tile.depth - 1);
    return slice.slices * (std::max(stage, copying / ahead) + kBarrier / under_way) +
           copying / under_way + ending;
  }
};

}  // namespace

std::int64_t GpuTile::threads() const {
  std::int64_t product = 1;
  for (const GpuTileSide& side : sides) product *= side.threads();
  return product;
}

std::int64_t GpuTile::read_at_once(const GpuTileSide& side) const {
  if (&side == &sides.back()) return vector;
  const bool is_whole = side.thread % kVector == 0 && side.block % kVector == 0;
  return vector > 1 && is_whole ? kVector : 1;
}

std::int64_t GpuTile::turned_at_once(std::int64_t row, const GpuTileSide& side) const {
  constexpr std::int64_t kSector = kSectorBytes * kVector / kVectorBytes;  // elements
  return read_at_once(side) > 1 && row % kSector == 0 ? kSector : row;
}

GpuTile choose_gpu_tile(const GpuTileQuestion& question, const Machine& machine) {
  return GpuTileSearch(question, machine).run();
}

}  // namespace polyte::schedule
