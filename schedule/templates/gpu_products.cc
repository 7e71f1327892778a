// Holes and roles of the template for tensor cores, which compute a tile of a product by one
// instruction of a warp. Three levels of tiles:
//
//   block        Bm x Bn     of the result; a slice of Kc steps of both operands in shared memory
//   warp         Wm x Wn     accumulators of a warp, in registers from the first step to the last
//   instruction  tile_rows x tile_lanes x tile_steps, such as 16 x 8 x 16
//
// Sizes follow rules of thumb: the largest tile that the file allows and that leaves every
// multiprocessor a block.
#include <algorithm>
#include <bit>

#include "ir/loop_program.h"
#include "ir/relations.h"
#include "schedule/cost/copy_threads.h"
#include "schedule/cost/nest_accesses.h"
#include "schedule/cost/operand_staging.h"
#include "schedule/cost/warp_tile.h"
#include "schedule/templates/nests.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

constexpr std::int64_t kShortestTensorSide = 8;  // of a tile that is worth tensor cores
constexpr std::int64_t kSliceBytes = 64;         // of a row of a slice
constexpr std::int64_t kRowBytes = 16;           // of ldmatrix

class GpuProduct {
 public:
  GpuProduct(const KernelSoFar& kernel, const StatementGroup& group, bool keep_order)
      : kernel_(kernel),
        group_(group),
        statements_(statements_of(group)),
        products_(group.init
                      ? warp_products(kernel.program, *group.update, kernel.machine, keep_order)
                      : std::vector<WarpProduct>{}) {
    for (const IteratorFacts& fact : facts_of(kernel.reference, update()))
      loops_.push_back({fact.name, std::max<std::int64_t>(1, fact.extent), fact.reduction});
    inlined_ = inner_definitions(program(), statements_);
    // What has been inlined is computed where it is read, and is no statement of the nest any
    // more.
    for (const ir::Statement* s : inlined_)
      std::erase(statements_, s), std::erase(group_.epilogue, s);
  }

  Result<Filling> fill(const TemplateFile& file) {
    if (products_.empty()) return Decline{"no instruction of a warp computes " + update().name};
    // A block's box in shared memory, and what is filled behind the tensor, are constants.
    if (!program().open.empty()) return Decline{"sizes are open"};
    if (!has_plain_sums()) return Decline{"sums of " + update().name + " do not stay in registers"};
    choose_loops();
    const WarpProduct& product = tile_.product;
    if (std::min(extent(product.row.loop), extent(product.lane.loop)) < kShortestTensorSide)
      return Decline{"rows or lanes are few"};
    choose_sizes(file);
    filling_.staged = kernel_.staged;
    names();
    sizes();
    for (const ir::Load* load : ir::reads_of(update())) add_operand(*load);
    if (product.instruction->rounds)
      filling_.reassociated.insert(update().reductions.begin(), update().reductions.end());
    return std::move(filling_);
  }

 private:
  const KernelSoFar& kernel_;
  StatementGroup group_;
  std::vector<const ir::Statement*> statements_, inlined_;
  std::vector<WarpProduct> products_;
  std::vector<PricedLoop> loops_;
  WarpTile tile_;
  Filling filling_;

  const ir::Program& program() const { return kernel_.program; }
  const ir::Statement& update() const { return *group_.update; }
  const std::string& sum() const { return update().writes[0].buffer; }
  std::int64_t extent(const std::string& loop) const {
    return std::ranges::find(loops_, loop, &PricedLoop::name)->extent;
  }
  std::int64_t slices() const { return ceil_div(extent(tile_.product.step.loop), tile_.steps); }

  // An instruction's accumulators are registers from the first step to the last, and each operand
  // has one copy in shared memory.
  bool has_plain_sums() const {
    std::set<std::string> operands;
    for (const ir::Load* load : ir::reads_of(update()))
      if (!operands.insert(load->buffer).second) return false;
    return std::ranges::all_of(update().writes[0].indices,
                               [](const ir::Index& index) {
                                 return !index.indirect &&
                                        (index.affine.as_symbol() || index.affine.is_constant());
                               }) &&
           can_stage_accumulator(program(), update(), statements_, false);
  }

  // In this order: lanes that lie along the result's memory, operands that move by one along the
  // steps (ldmatrix reads them row by row), the longest rows, lanes and steps.
  void choose_loops() {
    const auto worth = [&](const WarpProduct& product) {
      const bool is_along = write_stride(program(), update(), product.lane.loop) == 1;
      const bool in_rows = std::ranges::all_of(ir::reads_of(update()), [&](const ir::Load* load) {
        return std::ranges::all_of(load->indices, [&](const ir::Index& index) {
          return !index.affine.uses(product.step.loop) || product.moves_by_one(index.affine);
        });
      });
      return std::tuple(is_along, in_rows, extent(product.row.loop), extent(product.lane.loop),
                        extent(product.step.loop));
    };
    tile_.product = *std::ranges::max_element(products_, {}, worth);
  }

  // The shortest of the file's sizes that covers `most` iterations, or the longest where none does.
  // Multiples of the instruction's tile alone count; without any it is that tile.
  std::int64_t longest(const TemplateFile& file, const char* param, std::int64_t tile,
                       std::int64_t most) const {
    std::int64_t best = 0;
    for (const std::int64_t value : allowed_values(file, param, kernel_.machine, DType::F32))
      if (value % tile == 0 && (best == 0 || best < most)) best = value;
    return best == 0 ? tile : best;
  }

  void choose_sizes(const TemplateFile& file) {
    const auto& [row, lane, step] =
        std::tie(tile_.product.row, tile_.product.lane, tile_.product.step);
    std::int64_t rows = extent(row.loop), lanes = extent(lane.loop), others = 1;
    for (const PricedLoop& loop : loops_)
      if (!loop.reduction && loop.name != row.loop && loop.name != lane.loop) others *= loop.extent;
    // Halve the longer side of the tile until every multiprocessor has a block, or the tile is two
    // instructions by four.
    for (;;) {
      tile_.block_rows = longest(file, "Bm", row.tile, rows);
      tile_.block_lanes = longest(file, "Bn", lane.tile, lanes);
      const std::int64_t blocks = others * ceil_div(extent(row.loop), tile_.block_rows) *
                                  ceil_div(extent(lane.loop), tile_.block_lanes);
      const bool is_small = tile_.block_rows <= 2 * row.tile && tile_.block_lanes <= 4 * lane.tile;
      if (blocks >= kernel_.machine.gpu->multiprocessors || is_small) break;
      (tile_.block_rows >= tile_.block_lanes ? rows : lanes) =
          std::max(tile_.block_rows, tile_.block_lanes) / 2;
    }
    tile_.warp_rows = std::min(tile_.block_rows, longest(file, "Wm", row.tile, tile_.block_rows));
    tile_.warp_lanes =
        std::min(tile_.block_lanes, longest(file, "Wn", lane.tile, tile_.block_lanes));
    const std::int64_t bytes =
        size_in_bytes(program().buffer(ir::reads_of(update()).front()->buffer).dtype);
    // A row of a slice is at most 64 bytes, four chunks of ldmatrix.
    tile_.steps = longest(file, "Kc", step.tile, std::min(extent(step.loop), kSliceBytes / bytes));
    tile_.depth = std::min<std::int64_t>(longest(file, "Depth", 1, kSliceBytes), slices());
  }

  void names() {
    const WarpProduct& product = tile_.product;
    Scope& scope = filling_.scope;
    scope.names = {{"row", product.row.loop},
                   {"lane", product.lane.loop},
                   {"step", product.step.loop},
                   {"slices", tile_.depth > 1 ? product.step.loop : ""},
                   {"tile_rows", std::to_string(product.row.tile)},
                   {"tile_lanes", std::to_string(product.lane.tile)},
                   {"tile_steps", std::to_string(product.step.tile)},
                   {"instruction", product.instruction->name},
                   {"sum", sum()},
                   {"init", group_.init->name},
                   {"update", update().name}};
    for (const char* list : {"free", "outer", "dims"}) scope.lists[list];
    for (const PricedLoop& loop : loops_)
      if (loop.name != product.row.loop && loop.name != product.lane.loop &&
          loop.name != product.step.loop)
        scope.lists[loop.reduction ? "outer" : "free"].push_back(loop.name);
    for (const char* group : {"inner", "after", "result", "statement", "operand"})
      scope.groups[group];
    for (const ir::Statement* s : inlined_)
      scope.groups["inner"].push_back({{{"inner", s->writes[0].buffer}}, {}, {}});
    for (const ir::Statement* s : group_.epilogue)
      scope.groups["after"].push_back({{{"after", s->name}}, {}, {}});
    for (const ir::Statement* s : statements_)
      scope.groups["statement"].push_back({{{"statement", s->name}}, {}, {}});
    std::vector<const ir::Statement*> others = inlined_;
    std::ranges::copy_if(statements_, std::back_inserter(others),
                         [&](const ir::Statement* s) { return s != group_.update; });
    Scope result;
    const std::vector<ir::Index>& element = update().writes[0].indices;
    for (std::size_t d = 0; d < element.size(); ++d) {
      scope.lists["dims"].push_back(sum() + std::to_string(d));
      if (element[d].affine.as_symbol() == product.row.loop)
        result.names["rows"] = scope.lists["dims"].back();
      if (element[d].affine.as_symbol() == product.lane.loop)
        result.names["lanes"] = scope.lists["dims"].back();
    }
    if (!stays_inside(program(), sum(), update(), others))
      scope.groups["result"].push_back(std::move(result));
  }

  void sizes() {
    filling_.values = {{"Bm", std::to_string(tile_.block_rows)},
                       {"Bn", std::to_string(tile_.block_lanes)},
                       {"Wm", std::to_string(tile_.warp_rows)},
                       {"Wn", std::to_string(tile_.warp_lanes)},
                       {"Kc", std::to_string(tile_.steps)}};
    if (tile_.depth > 1) filling_.values["Depth"] = std::to_string(tile_.depth);
  }

  // Whether some tile of the operand ends behind the tensor: the copy has zeros there, which add
  // nothing to the sums.
  bool is_cut_short(const ir::Load& load) const {
    const auto& [row, lane, step] =
        std::tie(tile_.product.row, tile_.product.lane, tile_.product.step);
    const std::pair<std::string, std::int64_t> sides[] = {
        {row.loop, tile_.block_rows}, {lane.loop, tile_.block_lanes}, {step.loop, tile_.steps}};
    return std::ranges::any_of(sides, [&](const auto& side) {
      return extent(side.first) % side.second != 0 &&
             std::ranges::any_of(load.indices, [&](const ir::Index& index) {
               return index.affine.uses(side.first);
             });
    });
  }

  void add_operand(const ir::Load& load) {
    const WarpOperand read = warp_operand(program(), load, tile_, loops_);
    Scope& operand = filling_.scope.groups["operand"].emplace_back();
    std::vector<CopyLoop> copies;
    for (const char* list : {"dims", "rest"}) operand.lists[list];
    operand.groups["filled"];
    for (std::size_t d = 0; d < read.box.size(); ++d) {
      const std::string name = load.buffer + std::to_string(d);
      operand.lists["dims"].push_back(name);
      if (d != read.inmost) operand.lists["rest"].push_back(name);
      if (is_cut_short(load) && read.box[d] > 1)
        operand.groups["filled"].push_back(
            {{{"filled", name}, {"size", std::to_string(read.box[d])}}, {}, {}});
      copies.push_back({name, read.box[d]});
    }
    const std::int64_t bytes = size_in_bytes(program().buffer(load.buffer).dtype);
    // The swizzle exchanges chunks by an exclusive or of their numbers, which stays within a row
    // only where its length is a power of two.
    const bool is_even = std::has_single_bit(static_cast<std::uint64_t>(read.box[read.inmost]));
    operand.names = {{"inmost", operand.lists["dims"][read.inmost]},
                     {"swizzled", is_even ? load.buffer : ""},
                     {"chunk", std::to_string(kRowBytes / bytes)}};
    add_copy(operand, load.buffer, std::move(copies), read.vector, tile_.warps() * ir::kLanes);
  }
};

}  // namespace

OpenNest open_gpu_product(const KernelSoFar& kernel, const StatementGroup& group, bool keep_order) {
  const auto product = std::make_shared<GpuProduct>(kernel, group, keep_order);
  return {"gpu_product", machine_facts(kernel.machine, DType::F32),
          [product](const TemplateFile& file) { return product->fill(file); }};
}

}  // namespace polyte::schedule
