#include "poly/blocked_steps.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "poly/loop_extents.h"
#include "poly/order_price.h"
#include "poly/price_rates.h"
#include "poly/product_tile.h"
#include "poly/step_parts.h"
#include "poly/step_products.h"
#include "schedule/cost/threads.h"
#include "schedule/script/nest_pattern.h"

namespace polyte::poly {
namespace {

using schedule::LoopKind;
using schedule::NestPath;
using schedule::NestTree;
using schedule::tiles_of;
using schedule::within_tile;

constexpr std::int64_t kSteps[] = {24, 32, 48, 64, 72, 96};  // of a panel
constexpr std::int64_t kPanels[] = {1, 4, 8, 12};            // of a block
constexpr std::int64_t kLeastPanels = 4;                     // fewer are hardly worth it
constexpr double kCopiedAcross = 2;                          // cycles of an element that is packed
// Bytes per cycle of what a tile adds to, read and written. Measured: lu of 2000 x 2000 in blocks
// of 24 to 120 steps.
constexpr double kTilesFromMemory = 5;

// Two levels of blocks of steps: panels, within which terms are added step by step, and blocks of
// several panels, whose products fetch each element behind them once per block.
struct Blocks {
  std::int64_t steps = 0;            // of a panel
  schedule::RegisterTile tile = {};  // of the products
  double tiled = 0;                  // cycles of a step of an element, in these tiles
  std::int64_t panels = 1;           // of a block; 1: there are no blocks but panels

  std::int64_t all_steps() const { return panels * steps; }  // of a block
};

class BlockedStepsPlanner {
 public:
  BlockedStepsPlanner(const ir::Program& program, const schedule::State& reference,
                      const OrderBand& band, const Machine& machine)
      : program_(program),
        reference_(reference),
        machine_(machine),
        products_(products_of(program, band)) {
    for (const Product& p : products_) {
      std::vector<ir::Affine> rows;
      for (const OrderLoop& loop : band.loops) rows.push_back(loop.rows.at(p.sum->name));
      extents_.emplace_back(program, *p.sum, rows);
    }
  }

  const Roles& roles() const { return products_.front().roles; }

  // The tiles of the panel's size that divide it and cost least; nullopt: none, or there are
  // too few panels.
  std::optional<Blocks> panels_of(std::int64_t steps) const {
    const Product& first = products_.front();
    if (2 * longest() < static_cast<double>(kLeastPanels * steps)) return std::nullopt;
    const std::set<std::string> packed =
        first.across ? std::set{first.across->buffer} : std::set<std::string>{};
    const auto best = product_tile(program_, *first.sum, {first.row, first.lane, first.step}, steps,
                                   packed, machine_);
    if (!best) return std::nullopt;
    return Blocks{steps, best->tile, best->cycles};
  }

  // Of a recurrence, in the mean of its elements.
  double longest() const { return extents_.front().extent(roles().step); }

  // The plan of a step at a time becomes one of blocks.
  OrderPlan plan(ShapedPlan shaped, const Blocks& blocks, bool rows_in_blocks) {
    rows_in_blocks_ = rows_in_blocks;
    loops_ = std::move(shaped.loops);
    plan_ = std::move(shaped.plan);
    blocks_ = blocks;
    for (std::size_t i = 0; i < products_.size(); ++i) {
      const Product& p = products_[i];
      const StepParts& parts = parts_[&p] =
          parts_of_steps(p, reference_, blocks.steps, blocks.panels);
      std::ranges::copy(parts.apart, std::back_inserter(plan_.nest.apart));
      std::ranges::copy(parts.cuts, std::back_inserter(plan_.nest.cuts));
      plan_.cycles += price(p, extents_[i], shaped.cycles.at(p.sum->name));
    }
    const double count = longest() / static_cast<double>(blocks.steps);
    has_threads_ = schedule::is_worth_threads(machine_, tiled_cycles_ / count);
    map_parts();
    for (const Product& p : products_) split(p);
    plan_.nest.tree = with_products(plan_.nest.tree);
    if (blocks_.panels > 1) std::ranges::move(panel_splits_, std::back_inserter(plan_.nest.splits));
    if (rows_in_blocks_) part_rows();
    for (const Product& p : products_) finish(p);
    plan_.nest.is_one_step = true;
    plan_.has_jams = false;
    if (has_threads_ && rows_in_blocks_)
      plan_.for_threads.emplace_back(
          schedule::PlannedBind{of(products_.front()).near.back().statement + ".below",
                                tiles_of(row()) + ".below", LoopKind::Parallel});
    return std::move(plan_);
  }

 private:
  const ir::Program& program_;
  const schedule::State& reference_;
  const Machine& machine_;
  const std::vector<Product> products_;
  std::vector<LoopExtents> extents_;  // of each
  std::map<const Product*, StepParts> parts_;
  std::vector<std::string> loops_;  // of the band
  Blocks blocks_;
  bool rows_in_blocks_ = false;  // all steps of a panel for as many rows, then for the next
  double tiled_cycles_ = 0;      // of all products
  bool has_threads_ = false;     // they share the rows that a block or panel is subtracted from
  std::vector<schedule::PlannedSplit> panel_splits_ = {};
  OrderPlan plan_;

  const std::string& step() const { return loops_[roles().step]; }
  const std::string& row() const { return loops_[roles().row]; }
  const std::string& lane() const { return loops_[roles().lane]; }
  bool has_panels() const { return blocks_.panels > 1; }
  const StepParts& of(const Product& p) const { return parts_.at(&p); }
  // The loop over the steps of a panel.
  std::string steps() const {
    const std::string block = within_tile(step());
    return has_panels() ? within_tile(block) : block;
  }

  // What the sum costs in blocks more than `cycles`, step by step: below 0.
  double price(const Product& p, const LoopExtents& extents, double cycles) {
    const double size = static_cast<double>(blocks_.steps), points = extents.points();
    const double block = static_cast<double>(blocks_.all_steps());
    const double rows = extents.extent(p.roles.row), lanes = extents.extent(p.roles.lane);
    const double steps =
        std::max(1.0, extents.extent(p.roles.step, {{p.roles.row}, {p.roles.lane}}));
    const auto within = [&](double so_many) { return points * std::min(1.0, so_many / 2 / steps); };
    const double near = within(size), tiled = points - near;
    const double far = has_panels() ? points - within(block) : tiled;
    const double edge = p.side == 0 ? 0 : tiled * std::min(1.0, size / lanes);  // of each row
    const double bytes = size_in_bytes(program_.buffer(p.sum->writes.front().buffer).dtype);
    const bool is_cached = rows * lanes * bytes < kUsable * static_cast<double>(machine_.l3.bytes);
    // Each element once per block, in tiles whose first lines nothing has fetched; those of the
    // block itself once per panel, from a cache.
    const double stored =
        2 * bytes *
        (far / block / (is_cached ? kLevel3 : kTilesFromMemory) + (tiled - far) / size / kLevel3);
    const double copied = p.across ? kCopiedAcross * tiled / rows : 0;
    tiled_cycles_ += (tiled - edge) * blocks_.tiled;
    const bool has_rows_of_block = p.bound == p.row || rows_in_blocks_;
    return near * cycles_in_block(*p.sum, p, has_rows_of_block ? size : rows,
                                  p.bound == p.lane ? size : lanes) +
           edge * cycles_in_block(with_packed(p), p, size, size) + (tiled - edge) * blocks_.tiled +
           stored + copied - cycles;
  }

  // The sum with the operand that lies across the lanes along them.
  static ir::Statement with_packed(const Product& p) {
    ir::Statement sum = *p.sum;
    for (ir::Expr& value : sum.values)
      value = ir::rewrite(value, [&](const ir::Expr& e) {
        const auto* load = std::get_if<ir::Load>(&e->op);
        if (!p.across || !load || !is_across(*load, p.lane, p.step)) return e;
        return ir::make_load(e->type, load->buffer, {load->indices[1], load->indices[0]});
      });
    return sum;
  }

  // Of a step of an element, step by step, where all of a block of so many rows and lanes runs.
  double cycles_in_block(ir::Statement box, const Product& p, double rows, double lanes) const {
    box.domain.clear();
    const auto bound = [&](const std::string& it, double extent) {
      box.domain.push_back(ir::at_least(ir::Affine::symbol(it), 0));
      box.domain.push_back(ir::less_than(ir::Affine::symbol(it), std::llround(extent)));
    };
    const double steps = static_cast<double>(blocks_.steps);
    bound(p.step, steps), bound(p.row, rows), bound(p.lane, lanes);
    const std::vector<ir::Affine> order = {ir::Affine::symbol(p.step), ir::Affine::symbol(p.row),
                                           ir::Affine::symbol(p.lane)};
    const StatementPrice price(program_, box, order, machine_, false);
    return price.cost({{0}, {1}, {2}}).cycles / (steps * rows * lanes);
  }

  // All parts of a sum have the rows that it had.
  void map_parts() {
    for (const Product& p : products_) {
      schedule::PlannedMap* map = map_of(p.sum->name);
      if (!map) map = &add_map(p);
      const auto whole =
          std::ranges::find(map->items, p.sum->name, &schedule::PlannedMap::Item::statement);
      const std::vector<ir::Affine> rows = whole->values;
      map->items.erase(whole);
      for (const StepPart& part : of(p).near) map->items.push_back({part.statement, rows});
      for (const std::string& part : of(p).tiled()) map->items.push_back({part, rows});
    }
  }

  schedule::PlannedMap* map_of(const std::string& statement) {
    for (schedule::PlannedMap& map : plan_.nest.maps)
      if (std::ranges::find(map.items, statement, &schedule::PlannedMap::Item::statement) !=
          map.items.end())
        return &map;
    return nullptr;
  }

  schedule::PlannedMap& add_map(const Product& p) {
    schedule::PlannedMap::Item item{p.sum->name, {ir::Affine(), ir::Affine(), ir::Affine()}};
    item.values[p.roles.step] = ir::Affine::symbol(p.step);
    item.values[p.roles.row] = ir::Affine::symbol(p.row);
    item.values[p.roles.lane] = ir::Affine::symbol(p.lane);
    return plan_.nest.maps.emplace_back(schedule::PlannedMap{{std::move(item)}, loops_});
  }

  void split(const Product& p) {
    const auto add = [&](const std::string& statement, const std::string& loop,
                         schedule::TileSize size) {
      plan_.nest.splits.emplace_back(schedule::PlannedSplit{statement, loop, size});
    };
    const schedule::Elements panel{blocks_.steps};
    for (const std::string& part : of(p).tiled()) {
      if (!rows_in_blocks_) add(part, row(), panel);
      add(part, lane(), panel);
      add(part, within_tile(row()), schedule::Elements{blocks_.tile.rows});
      add(part, within_tile(lane()), schedule::Vectors{blocks_.tile.vectors});
    }
    for (const StepPart& part : of(p).near)
      if (part.has_panels_of_lanes) add(part.statement, lane(), panel);
    for (const StepPart& part : of(p).mid)
      add(part.statement, bounded(p, part), schedule::Elements{blocks_.panels});
  }

  // The loop over panels of what is in the block of the steps.
  std::string bounded(const Product& p, const StepPart& part) const {
    return tiles_of(part.bound == p.row ? row() : lane());
  }

  NestTree with_products(const NestTree& tree) {
    if (const auto* sequence = std::get_if<schedule::NestSequence>(&tree->op)) {
      std::vector<NestTree> children;
      for (const NestTree& child : sequence->children) children.push_back(with_products(child));
      return schedule::nest_sequence(std::move(children));
    }
    const auto* loop = std::get_if<schedule::NestLoop>(&tree->op);
    if (!loop) return tree;
    if (const auto* leaf = std::get_if<schedule::NestLeaf>(&loop->body->op)) {
      const auto p = std::ranges::find(products_, leaf->statement,
                                       [](const Product& each) { return each.sum->name; });
      return p == products_.end() ? tree : near_nest(*p, *loop);
    }
    const bool is_steps = loop->name == within_tile(step());
    NestTree body = with_products(loop->body);
    if (is_steps && has_panels()) split_steps(body);
    if (loop->name == tiles_of(step())) body = block_of_steps(std::move(body));
    return schedule::nest_path({{is_steps ? steps() : loop->name, loop->kind}}, std::move(body));
  }

  // All that runs step by step counts the steps of a panel.
  void split_steps(const NestTree& body) {
    const auto add = [&](const std::string& statement) {
      panel_splits_.push_back({statement, within_tile(step()), schedule::Elements{blocks_.steps}});
    };
    std::ranges::for_each(schedule::statements_in(body), add);
    for (const Product& p : products_)
      for (const StepPart& part : of(p).mid) add(part.statement);
  }

  // The steps of a block; what they are subtracted from in its other panels, once a panel is
  // finished; and in other blocks, once it is.
  NestTree block_of_steps(NestTree body) const {
    if (has_panels()) {
      std::vector<NestTree> panel{std::move(body)};
      for (const Product& p : products_)
        for (const StepPart& part : of(p).mid) panel.push_back(mid_nest(p, part));
      body = schedule::nest_path({{tiles_of(within_tile(step()))}},
                                 schedule::nest_sequence(std::move(panel)));
    }
    std::vector<NestTree> parts{std::move(body)};
    for (const Product& p : products_)
      parts.push_back(tile_nest({{tiles_of(row()), shared()}, {tiles_of(lane())}},
                                within_tile(step()), of(p).far));
    return schedule::nest_sequence(std::move(parts));
  }

  // A loop that ends where a block does is split by blocks: in one of these it has no end to look
  // for. It is one vector loop: with groups of vectors, a masked store at the end of one would
  // reach into the next, whose load then waits for it.
  NestTree near_nest(const Product& p, const schedule::NestLoop& loop) {
    std::optional<OrderPlan::Inner> inner;
    if (const auto priced = plan_.in_vectors.find(p.sum->name); priced != plan_.in_vectors.end()) {
      inner = priced->second;
      plan_.in_vectors.erase(priced);
    }
    std::vector<NestTree> parts;
    for (const auto& [part, bound, has_panels] : of(p).near) {
      NestPath path{{loop.name, loop.kind}};
      if (has_panels) path = {{tiles_of(loop.name)}, {within_tile(loop.name), loop.kind}};
      if (inner) {
        OrderPlan::Inner& own = plan_.in_vectors[part] = *inner;
        own.loop = path.back().name;
        if (has_panels) own.vectors = 1;
      }
      parts.push_back(schedule::nest_path(path, schedule::nest_statement(part)));
    }
    return schedule::nest_sequence(std::move(parts));
  }

  LoopKind shared() const { return has_threads_ ? LoopKind::Parallel : LoopKind::Serial; }

  NestTree mid_nest(const Product& p, const StepPart& part) const {
    const std::string blocks = tiles_of(bounded(p, part)), panels = within_tile(bounded(p, part));
    const NestPath path = part.bound == p.row
                              ? NestPath{{blocks}, {panels, shared()}, {tiles_of(lane())}}
                              : NestPath{{blocks}, {tiles_of(row()), shared()}, {panels}};
    return tile_nest(path, steps(), part.statement);
  }

  NestTree tile_nest(NestPath path, const std::string& steps, const std::string& part) const {
    const std::string rows = within_tile(row()), lanes = within_tile(lane());
    const NestPath tile = {{tiles_of(rows)},
                           {tiles_of(lanes)},
                           {steps},
                           {within_tile(rows)},
                           {within_tile(lanes), LoopKind::Vector}};
    std::ranges::copy(tile, std::back_inserter(path));
    return schedule::nest_path(path, schedule::nest_statement(part));
  }

  // Rows of the panel itself, which are finished in it, then those below, of which none is.
  void part_rows() {
    const std::string blocks = tiles_of(row()), panels = tiles_of(within_tile(step()));
    ir::Affine panel = ir::Affine::symbol(tiles_of(step())) * blocks_.panels;
    if (has_panels()) panel = panel + ir::Affine::symbol(panels);
    plan_.last_steps.emplace_back(
        schedule::PlannedCut{{of(products_.front()).near.front().statement, blocks},
                             panel + 1,
                             blocks + ".own",
                             blocks + ".below"});
  }

  // What lies across, once its steps are finished, in panels of the tile's lanes.
  schedule::PlannedStage packed(const Product& p, const std::string& part,
                                const std::string& loop) const {
    const schedule::TileSize lanes = schedule::Vectors{blocks_.tile.vectors};
    using Part = schedule::LayoutIndex::Part;
    return {.tensor = p.across->buffer,
            .at = schedule::LoopName{part, loop},
            .dimensions = {p.lane, p.step},
            .layout = {{p.lane, Part::Tile, lanes}, {p.step}, {p.lane, Part::WithinTile, lanes}},
            .reader = part,
            .subscripts = {p.lane, p.step}};
  }

  void finish(const Product& p) {
    const std::string lanes = tiles_of(lane());
    const ir::Affine row_panel = ir::Affine::symbol(tiles_of(row()));
    const StepParts& parts = of(p);
    if (p.across) plan_.nest.steps.emplace_back(packed(p, parts.far, tiles_of(step())));
    finish_tiles(p, parts.far, lanes, row_panel);
    for (const StepPart& part : parts.mid) {
      const std::string blocks = tiles_of(bounded(p, part)), panels = within_tile(bounded(p, part));
      const ir::Affine before = ir::Affine::symbol(blocks) * blocks_.panels;  // panels
      if (p.across) plan_.nest.steps.emplace_back(packed(p, part.statement, blocks));
      if (part.bound == p.row)
        finish_tiles(p, part.statement, lanes, before + ir::Affine::symbol(panels));
      else
        finish_tiles(p, part.statement, panels, row_panel - before);
    }
  }

  // Panels that the diagonal cuts are loops of their own; of the others a tile stays in registers.
  void finish_tiles(const Product& p, const std::string& part, const std::string& panels,
                    const ir::Affine& diagonal) {
    auto& steps = plan_.nest.steps;
    std::string whole = part;
    const std::string full = panels + ".full", edge = panels + ".edge";
    if (p.side < 0) steps.emplace_back(schedule::PlannedCut{{part, panels}, diagonal, full, edge});
    if (p.side > 0)
      steps.emplace_back(schedule::PlannedCut{{part, panels}, diagonal + 1, edge, full});
    if (p.side != 0) whole += ".full";
    steps.emplace_back(
        schedule::PlannedBind{whole, within_tile(within_tile(row())), LoopKind::Unrolled});
    steps.emplace_back(
        schedule::PlannedStage{.tensor = p.sum->writes.front().buffer,
                               .at = schedule::LoopName{whole, tiles_of(within_tile(lane()))},
                               .memory = schedule::Memory::Register,
                               .updates_only = true});
  }
};

}  // namespace

std::vector<OrderPlan> plans_in_blocks(const ir::Program& program, const schedule::State& reference,
                                       const std::string& name, const OrderTree& tree,
                                       const Machine& machine, bool keep_order) {
  const OrderBand* band = band_of_steps(program, tree);
  if (!band || !program.open.empty()) return {};
  std::vector<OrderPlan> best;
  const auto consider = [&](const Blocks& blocks, bool rows_in_blocks) {
    const BlockedStepsPlanner sizes(program, reference, *band, machine);
    if (blocks.panels > 1 && sizes.longest() < static_cast<double>(blocks.all_steps())) return;
    const Roles& roles = sizes.roles();
    BandShape shape{{roles.step}, {roles.step, roles.row, roles.lane}, {0, 0, 0}};
    shape.sizes[roles.step] = static_cast<double>(blocks.all_steps());
    if (rows_in_blocks) {
      shape.tiles.push_back(roles.row);
      shape.sizes[roles.row] = static_cast<double>(blocks.steps);
    }
    std::vector<OrderPlan> plans;
    for (ShapedPlan& shaped :
         plans_of_band(program, reference, tree, machine, {band, shape}, keep_order)) {
      const std::string turn = shaped.plan.name;
      plans.push_back(BlockedStepsPlanner(program, reference, *band, machine)
                          .plan(std::move(shaped), blocks, rows_in_blocks));
      plans.back().name = name + ", in blocks of " + std::to_string(blocks.all_steps()) + " steps" +
                          (blocks.panels > 1 ? ", panels of " + std::to_string(blocks.steps) : "") +
                          (rows_in_blocks ? ", rows in blocks" : "") + turn;
      say_by_model(plans.back());
    }
    if (best.empty() || plans.front().cycles < best.front().cycles) best = std::move(plans);
  };
  for (const std::int64_t steps : kSteps) {
    auto blocks = BlockedStepsPlanner(program, reference, *band, machine).panels_of(steps);
    if (!blocks) continue;
    consider(*blocks, false);
    for (const std::int64_t panels : kPanels) {
      blocks->panels = panels;
      consider(*blocks, true);
    }
  }
  return best;
}

}  // namespace polyte::poly
