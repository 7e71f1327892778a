#include "poly/rows_ahead.h"

#include <algorithm>

#include "poly/loop_extents.h"
#include "poly/order_price.h"
#include "poly/price_rates.h"
#include "poly/product_subscripts.h"
#include "poly/product_tile.h"
#include "schedule/cost/threads.h"

namespace polyte::poly {
namespace {

using schedule::LoopKind;
using schedule::tiles_of;
using schedule::within_tile;

struct RowsAhead {
  const ir::Statement* sum = nullptr;
  std::vector<const ir::Statement*> after = {};  // definitions of the row's elements
  std::string row = {}, lane = {}, step = {};
};

bool writes_element_of(const ir::Statement& s, const std::string& row, const std::string& lane) {
  const auto is = [](const ir::Index& index, const std::string& name) {
    return !index.indirect && index.affine.as_symbol() == name;
  };
  return s.writes.size() == 1 && s.writes[0].indices.size() == 2 &&
         is(s.writes[0].indices[0], row) && is(s.writes[0].indices[1], lane);
}

// Finds the form: one loop over rows i, in it a sum over rows ahead, k > i, whose operands lie
// along the lanes, then definitions of the row's elements.
std::optional<RowsAhead> rows_ahead(const ir::Program& program) {
  if (program.order.size() != 1 || !program.open.empty()) return std::nullopt;
  const auto* region = std::get_if<ir::Region>(&program.order[0]);
  if (!region || region->step != 1) return std::nullopt;
  RowsAhead found;
  found.row = region->iterator;
  for (const ir::Item& item : region->body) {
    const auto* index = std::get_if<std::size_t>(&item);
    if (!index) return std::nullopt;
    const ir::Statement& s = program.statements[*index];
    if (s.guard) return std::nullopt;
    if (s.combiner == ir::Combiner::None && found.sum) {
      found.after.push_back(&s);
    } else if (s.combiner == ir::Combiner::Sum && !found.sum && s.reductions.size() == 1 &&
               s.iterators.size() == 3) {
      found.sum = &s;
    } else {
      return std::nullopt;
    }
  }
  if (!found.sum) return std::nullopt;
  found.step = found.sum->reductions[0];
  for (const std::string& it : found.sum->iterators)
    if (it != found.row && it != found.step) found.lane = it;
  const auto along = [&](const ir::Load* load) { return lies_along(*load, found.lane); };
  const bool is_product = writes_element_of(*found.sum, found.row, found.lane) &&
                          least_above(*found.sum, found.step, found.row).value_or(0) >= 1 &&
                          std::ranges::all_of(ir::loads_of(found.sum->values[0]), along);
  for (const ir::Statement* s : found.after)
    if (!writes_element_of(*s, found.row, found.lane) || s->iterators.size() != 2)
      return std::nullopt;
  return is_product ? std::optional(found) : std::nullopt;
}

class RowsAheadPlanner {
 public:
  RowsAheadPlanner(const ir::Program& program, const Machine& machine, RowsAhead found)
      : program_(program),
        machine_(machine),
        found_(std::move(found)),
        buffer_(program.buffer(found_.sum->writes[0].buffer)),
        lanes_(machine.lanes(buffer_.dtype)),
        extents_(program, *found_.sum,
                 {ir::Affine::symbol(found_.row), ir::Affine::symbol(found_.lane),
                  ir::Affine::symbol(found_.step)}) {}

  std::optional<OrderPlan> run() {
    const auto tile = product_tile(program_, *found_.sum, {found_.row, found_.lane, found_.step},
                                   kCube, {}, machine_);
    if (!tile) return std::nullopt;
    rows_ = tile->tile.rows, vectors_ = tile->tile.vectors, far_ = tile->cycles;
    // As many lanes of all rows that are read as stay in half of the second cache.
    const double row =
        extents_.extent(0) * static_cast<double>(size_in_bytes(buffer_.dtype) * vectors_ * lanes_);
    tiles_ = std::clamp(static_cast<std::int64_t>(static_cast<double>(machine_.l2.bytes) / 2 / row),
                        std::int64_t{1}, kMostTiles);
    price();
    OrderPlan plan{
        .name = "rows in blocks, those ahead in tiles", .nest = nest(), .cycles = cycles_};
    plan.has_jams = false;
    return plan;
  }

 private:
  // Rows, lanes and steps for which tiles are priced.
  static constexpr std::int64_t kCube = 96;
  static constexpr double kNearVector = 3;       // cycles of a step in a block: two loads, a store
  static constexpr std::int64_t kMostTiles = 8;  // of lanes, side by side

  const ir::Program& program_;
  const Machine& machine_;
  RowsAhead found_;
  const ir::Buffer& buffer_;
  std::int64_t lanes_;
  LoopExtents extents_;
  std::int64_t rows_ = 0, vectors_ = 0, tiles_ = 1;  // of a tile; tiles of lanes side by side
  double far_ = 0, cycles_ = 0;                      // a step of an element; all

  std::string near() const { return found_.sum->name + ".near"; }
  std::string far() const { return found_.sum->name + ".far"; }

  // A row has on average half a block of near steps, each two loads and a store per vector; far
  // steps run at the rate of the register tile.
  void price() {
    const double points = extents_.points(),
                 steps = points / (extents_.extent(0) * extents_.extent(1));
    const double near =
        points * std::min(1.0, static_cast<double>(rows_) / 2 / std::max(1.0, steps));
    cycles_ = (points - near) * far_ + near * kNearVector / static_cast<double>(lanes_);
    const std::vector<ir::Affine> order = {ir::Affine::symbol(found_.row),
                                           ir::Affine::symbol(found_.lane)};
    for (const ir::Statement* s : found_.after)
      cycles_ += StatementPrice(program_, *s, order, machine_, false).cost({{0}, {1}}).cycles;
  }

  schedule::NestPlan nest() const {
    schedule::NestPlan plan;
    const ir::Affine row = ir::Affine::symbol(found_.row), lane = ir::Affine::symbol(found_.lane),
                     step = ir::Affine::symbol(found_.step);
    // Steps inside the row's block of `rows_` rows are near, those from its end on far:
    //
    //   near: k < floor(i / rows) * rows + rows
    plan.cuts.push_back({{found_.sum->name, found_.step},
                         ir::floor_div(row, rows_) * rows_ + rows_,
                         found_.step + ".near",
                         found_.step + ".far",
                         schedule::Provenance::TileModel});
    // One map for all statements: they share rows and lanes. A definition has no steps; its value
    // for that loop is the row itself.
    schedule::PlannedMap map{{{near(), {row, lane, step}}, {far(), {row, lane, step}}},
                             {found_.row, found_.lane, found_.step},
                             schedule::Provenance::TileModel};
    std::vector<std::string> all = {near(), far()};
    for (const ir::Statement* s : found_.after) {
      map.items.push_back({s->name, {row, lane, row}});
      all.push_back(s->name);
    }
    plan.maps.push_back(std::move(map));
    const auto split = [&](const std::string& statement, const std::string& loop,
                           schedule::TileSize size) {
      plan.splits.emplace_back(schedule::PlannedSplit{statement, loop, size});
    };
    for (const std::string& statement : all) {
      split(statement, found_.row, schedule::Elements{rows_});
      split(statement, found_.lane, schedule::Vectors{tiles_ * vectors_});
    }
    const std::string lanes = within_tile(found_.lane);
    split(far(), lanes, schedule::Vectors{vectors_});
    plan.tree = tree();
    plan.is_one_step = true;
    plan.steps.emplace_back(
        schedule::PlannedBind{far(), within_tile(found_.row), LoopKind::Unrolled});
    plan.steps.emplace_back(schedule::PlannedStage{.tensor = buffer_.name,
                                                   .at = schedule::LoopName{far(), tiles_of(lanes)},
                                                   .memory = schedule::Memory::Register,
                                                   .updates_only = true});
    return plan;
  }

  // j.o > i.o > { near; far; definitions }, as drawn in the header. Near before far keeps the order
  // of an element's terms. A step k reads row k before anything is added to it, which only later
  // steps and later blocks do.
  schedule::NestTree tree() const {
    const std::string rows = within_tile(found_.row), lanes = within_tile(found_.lane);
    const auto definition = [&](const ir::Statement* s) {
      return schedule::nest_path({{rows}, {lanes, LoopKind::Vector}},
                                 schedule::nest_statement(s->name));
    };
    std::vector<schedule::NestTree> parts;
    parts.push_back(schedule::nest_path({{found_.step}, {rows}, {lanes, LoopKind::Vector}},
                                        schedule::nest_statement(near())));
    parts.push_back(schedule::nest_path(
        {{tiles_of(lanes)}, {found_.step}, {rows}, {within_tile(lanes), LoopKind::Vector}},
        schedule::nest_statement(far())));
    std::ranges::transform(found_.after, std::back_inserter(parts), definition);
    const bool has_threads = machine_.cores > 1 && schedule::is_worth_threads(machine_, cycles_);
    return schedule::nest_path(
        {{tiles_of(found_.lane), has_threads ? LoopKind::Parallel : LoopKind::Serial},
         {tiles_of(found_.row)}},
        schedule::nest_sequence(std::move(parts)));
  }
};

}  // namespace

std::optional<OrderPlan> plan_of_rows_ahead(const ir::Program& program, const Machine& machine) {
  std::optional<RowsAhead> found = rows_ahead(program);
  if (!found) return std::nullopt;
  return RowsAheadPlanner(program, machine, *std::move(found)).run();
}

}  // namespace polyte::poly
