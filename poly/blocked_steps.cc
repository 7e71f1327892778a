#include "poly/blocked_steps.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "poly/loop_extents.h"
#include "poly/order_price.h"
#include "poly/price_rates.h"
#include "poly/product_subscripts.h"
#include "poly/product_tile.h"
#include "schedule/cost/threads.h"

namespace polyte::poly {
namespace {

using schedule::LoopKind;
using schedule::NestPath;
using schedule::NestTree;
using schedule::tiles_of;
using schedule::within_tile;

constexpr std::int64_t kBlocks[] = {24, 32, 48, 64, 72, 96};  // steps of a block
constexpr std::int64_t kLeastBlocks = 4;                      // fewer are hardly worth it
constexpr double kCopiedAcross = 2;                           // cycles of an element that is packed
// Bytes per cycle of what a tile adds to, read and written. Measured: lu of 2000 x 2000 in blocks
// of 24 to 120 steps.
constexpr double kTilesFromMemory = 5;

// Loops of the band by what they are for the sum: its steps, and its element's rows and columns,
// which are lanes.
struct Roles {
  std::size_t step = 0, row = 0, lane = 0;
  bool operator==(const Roles&) const = default;
};

struct Product {
  const ir::Statement* sum = nullptr;
  std::string step = {}, row = {}, lane = {};  // iterators
  std::string bound = {};                      // the one of row and lane that its steps stay below
  // Of the diagonal: -1 lanes below rows, 1 rows up to lanes, 0 both.
  int side = 0;
  Roles roles = {};
  // What lies across the lanes, A[lane, step], and is packed; null: all lies along them.
  const ir::Load* across = nullptr;

  std::string near() const { return sum->name + ".near"; }
  std::string far() const { return sum->name + ".far"; }
};

// A matrix of lanes and steps, each a subscript of its own.
bool is_across(const ir::Load& load, const std::string& lane, const std::string& step) {
  return load.indices.size() == 2 && !load.otherwise && !load.indices[0].indirect &&
         !load.indices[1].indirect && load.indices[0].affine.as_symbol() == lane &&
         load.indices[1].affine.as_symbol() == step;
}

// Whether the operands suit the lanes, one of them packed where it has to be.
bool find_lanes(Product& product) {
  for (const ir::Expr& value : product.sum->values)
    for (const ir::Load* load : ir::loads_of(value)) {
      if (lies_along(*load, product.lane)) continue;
      if (product.across || !is_across(*load, product.lane, product.step)) return false;
      product.across = load;
    }
  return true;
}

std::optional<Product> product_of(const ir::Statement& s, const OrderBand& band) {
  if (s.combiner != ir::Combiner::Sum || s.writes.size() != 1 || s.guard || band.loops.size() != 3)
    return std::nullopt;
  Product product{.sum = &s};
  std::vector<std::string> element;
  for (const ir::Index& index : s.writes.front().indices) {
    const auto it = index.affine.as_symbol();
    if (index.indirect || !it) return std::nullopt;
    element.push_back(*it);
  }
  if (element.size() != 2) return std::nullopt;
  product.row = element[0], product.lane = element[1];
  int found = 0;
  for (std::size_t l = 0; l < 3; ++l) {
    const auto row = band.loops[l].rows.at(s.name).as_symbol();
    if (!row) return std::nullopt;
    if (*row == product.row)
      product.roles.row = l, found |= 1;
    else if (*row == product.lane)
      product.roles.lane = l, found |= 2;
    else if (std::ranges::find(s.reductions, *row) != s.reductions.end())
      product.step = *row, product.roles.step = l, found |= 4;
  }
  if (found != 7 || !find_lanes(product)) return std::nullopt;
  for (const std::string& it : {product.row, product.lane})
    if (least_above(s, it, product.step)) product.bound = it;
  if (product.bound.empty()) return std::nullopt;
  if (least_above(s, product.row, product.lane)) product.side = -1;
  if (least_above(s, product.lane, product.row)) product.side = 1;
  return product;
}

// The sums of the band that are such products, all with the same roles of its loops.
std::vector<Product> products_of(const ir::Program& program, const OrderBand& band) {
  std::vector<Product> products;
  for (const std::string& name : statements_below(band.child)) {
    auto product = product_of(program.statement(name), band);
    if (product && (products.empty() || products.front().roles == product->roles))
      products.push_back(*std::move(product));
  }
  return products;
}

// The first band with such sums, outermost: it holds all that a step does.
const OrderBand* band_of_steps(const ir::Program& program, const OrderTree& tree) {
  if (const auto* sequence = std::get_if<OrderSequence>(&tree->op)) {
    for (const OrderTree& child : sequence->children)
      if (const OrderBand* band = band_of_steps(program, child)) return band;
    return nullptr;
  }
  const auto* band = std::get_if<OrderBand>(&tree->op);
  const bool is_one =
      band && band->permutable && is_innermost(*band) && !products_of(program, *band).empty();
  return is_one ? band : nullptr;
}

struct Blocks {
  std::int64_t steps = 0;            // of a block
  schedule::RegisterTile tile = {};  // of the products
  double far = 0;                    // cycles of a step of an element, in these tiles
};

class BlockedStepsPlanner {
 public:
  BlockedStepsPlanner(const ir::Program& program, const OrderBand& band, const Machine& machine)
      : program_(program), machine_(machine), products_(products_of(program, band)) {
    for (const Product& p : products_) {
      std::vector<ir::Affine> rows;
      for (const OrderLoop& loop : band.loops) rows.push_back(loop.rows.at(p.sum->name));
      extents_.emplace_back(program, *p.sum, rows);
    }
  }

  const Roles& roles() const { return products_.front().roles; }

  // The tiles of the block's size that divide it and cost least; nullopt: none, or the block
  // is too large.
  std::optional<Blocks> blocks_of(std::int64_t steps) const {
    const Product& first = products_.front();
    const double longest = extents_.front().extent(first.roles.step);
    if (2 * longest < static_cast<double>(kLeastBlocks * steps)) return std::nullopt;
    const std::set<std::string> packed =
        first.across ? std::set{first.across->buffer} : std::set<std::string>{};
    const auto best = product_tile(program_, *first.sum, {first.row, first.lane, first.step}, steps,
                                   packed, machine_);
    if (!best) return std::nullopt;
    return Blocks{steps, best->tile, best->cycles};
  }

  // The plan of a step at a time becomes one of blocks.
  OrderPlan plan(ShapedPlan shaped, const Blocks& blocks, bool rows_in_blocks) {
    rows_in_blocks_ = rows_in_blocks;
    loops_ = std::move(shaped.loops);
    plan_ = std::move(shaped.plan);
    blocks_ = blocks;
    for (std::size_t i = 0; i < products_.size(); ++i) {
      cut_steps(products_[i]);
      plan_.cycles += price(products_[i], extents_[i], shaped.cycles.at(products_[i].sum->name));
    }
    const double count = extents_.front().extent(roles().step) / static_cast<double>(blocks.steps);
    has_threads_ = schedule::is_worth_threads(machine_, far_cycles_ / count);
    map_parts();
    for (const Product& p : products_) split(p);
    plan_.nest.tree = with_products(plan_.nest.tree);
    if (rows_in_blocks_) part_rows();
    for (const Product& p : products_) finish(p);
    plan_.nest.is_one_step = true;
    plan_.has_jams = false;
    if (has_threads_ && rows_in_blocks_)
      plan_.for_threads.emplace_back(schedule::PlannedBind{
          products_.front().near() + ".below", tiles_of(row()) + ".below", LoopKind::Parallel});
    return std::move(plan_);
  }

 private:
  const ir::Program& program_;
  const Machine& machine_;
  const std::vector<Product> products_;
  std::vector<LoopExtents> extents_;  // of each
  std::vector<std::string> loops_;    // of the band
  Blocks blocks_;
  bool rows_in_blocks_ = false;  // all steps of a block for as many rows, then for the next
  double far_cycles_ = 0;        // of all products
  bool has_threads_ = false;     // they share the rows that a block of steps is subtracted from
  OrderPlan plan_;

  const std::string& step() const { return loops_[roles().step]; }
  const std::string& row() const { return loops_[roles().row]; }
  const std::string& lane() const { return loops_[roles().lane]; }

  // Steps of blocks before that of its element, then those of its own.
  void cut_steps(const Product& p) {
    const ir::Affine block =
        ir::floor_div(ir::Affine::symbol(p.bound), blocks_.steps) * blocks_.steps;
    plan_.nest.cuts.push_back({{p.sum->name, p.step}, block, p.step + ".far", p.step + ".near"});
  }

  // What the sum costs in blocks more than `cycles`, step by step: below 0.
  double price(const Product& p, const LoopExtents& extents, double cycles) {
    const double size = static_cast<double>(blocks_.steps), points = extents.points();
    const double rows = extents.extent(p.roles.row), lanes = extents.extent(p.roles.lane);
    const double steps =
        std::max(1.0, extents.extent(p.roles.step, {{p.roles.row}, {p.roles.lane}}));
    const double near = points * std::min(1.0, size / 2 / steps), far = points - near;
    const double edge = p.side == 0 ? 0 : far * std::min(1.0, size / lanes);  // a block of each row
    const double bytes = size_in_bytes(program_.buffer(p.sum->writes.front().buffer).dtype);
    const bool is_cached = rows * lanes * bytes < kUsable * static_cast<double>(machine_.l3.bytes);
    // Each element once per block, in tiles whose first lines nothing has fetched.
    const double stored = 2 * bytes * far / size / (is_cached ? kLevel3 : kTilesFromMemory);
    const double copied = p.across ? kCopiedAcross * far / rows : 0;
    far_cycles_ += (far - edge) * blocks_.far;
    const bool has_rows_of_block = p.bound == p.row || rows_in_blocks_;
    return near * cycles_in_block(*p.sum, p, has_rows_of_block ? size : rows,
                                  p.bound == p.lane ? size : lanes) +
           edge * cycles_in_block(with_packed(p), p, size, size) + (far - edge) * blocks_.far +
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

  // Both parts of a sum have the rows that it had.
  void map_parts() {
    for (const Product& p : products_) {
      schedule::PlannedMap* map = map_of(p.sum->name);
      if (!map) map = &add_map(p);
      const auto whole =
          std::ranges::find(map->items, p.sum->name, &schedule::PlannedMap::Item::statement);
      schedule::PlannedMap::Item far{p.far(), whole->values};
      whole->statement = p.near();
      map->items.push_back(std::move(far));
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
    const schedule::Elements block{blocks_.steps};
    if (!rows_in_blocks_) add(p.far(), row(), block);
    add(p.far(), lane(), block);
    if (p.bound == p.lane) add(p.near(), lane(), block);
    add(p.far(), within_tile(row()), schedule::Elements{blocks_.tile.rows});
    add(p.far(), within_tile(lane()), schedule::Vectors{blocks_.tile.vectors});
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
    NestTree body = with_products(loop->body);
    if (loop->name == tiles_of(step())) {
      std::vector<NestTree> parts{std::move(body)};
      for (const Product& p : products_) parts.push_back(far_nest(p));
      body = schedule::nest_sequence(std::move(parts));
    }
    return schedule::nest_path({{loop->name, loop->kind}}, std::move(body));
  }

  // A loop that ends where a block does is split by blocks: in one of these it has no end to look
  // for. It is one vector loop: with groups of vectors, a masked store at the end of one would
  // reach into the next, whose load then waits for it.
  NestTree near_nest(const Product& p, const schedule::NestLoop& loop) {
    NestPath path{{loop.name, loop.kind}};
    if (p.bound == p.lane) path = {{tiles_of(loop.name)}, {within_tile(loop.name), loop.kind}};
    if (const auto priced = plan_.in_vectors.find(p.sum->name); priced != plan_.in_vectors.end()) {
      OrderPlan::Inner inner = priced->second;
      inner.loop = path.back().name;
      if (p.bound == p.lane) inner.vectors = 1;
      plan_.in_vectors.erase(priced);
      plan_.in_vectors.emplace(p.near(), std::move(inner));
    }
    return schedule::nest_path(path, schedule::nest_statement(p.near()));
  }

  NestTree far_nest(const Product& p) const {
    const std::string rows = within_tile(row()), lanes = within_tile(lane());
    return schedule::nest_path(
        {{tiles_of(row()), has_threads_ ? LoopKind::Parallel : LoopKind::Serial},
         {tiles_of(lane())},
         {tiles_of(rows)},
         {tiles_of(lanes)},
         {within_tile(step())},
         {within_tile(rows)},
         {within_tile(lanes), LoopKind::Vector}},
        schedule::nest_statement(p.far()));
  }

  // Rows of the block of steps itself, which are finished in it, then those below, of which none
  // is.
  void part_rows() {
    const std::string blocks = tiles_of(row());
    plan_.last_steps.emplace_back(schedule::PlannedCut{{products_.front().near(), blocks},
                                                       ir::Affine::symbol(tiles_of(step())) + 1,
                                                       blocks + ".own",
                                                       blocks + ".below"});
  }

  // The steps of a block of what lies across, in panels of the tile's lanes.
  schedule::PlannedStage packed(const Product& p) const {
    const schedule::TileSize lanes = schedule::Vectors{blocks_.tile.vectors};
    using Part = schedule::LayoutIndex::Part;
    return {.tensor = p.across->buffer,
            .at = schedule::LoopName{p.far(), tiles_of(step())},
            .dimensions = {p.lane, p.step},
            .layout = {{p.lane, Part::Tile, lanes}, {p.step}, {p.lane, Part::WithinTile, lanes}},
            .reader = p.far(),
            .subscripts = {p.lane, p.step}};
  }

  // Blocks that the diagonal cuts are loops of their own; of the others a tile stays in registers.
  void finish(const Product& p) {
    auto& steps = plan_.nest.steps;
    std::string whole = p.far();
    const std::string blocks = tiles_of(lane()), full = blocks + ".full", edge = blocks + ".edge";
    const ir::Affine diagonal = ir::Affine::symbol(tiles_of(row()));
    if (p.across) steps.emplace_back(packed(p));
    if (p.side < 0)
      steps.emplace_back(schedule::PlannedCut{{p.far(), blocks}, diagonal, full, edge});
    if (p.side > 0)
      steps.emplace_back(schedule::PlannedCut{{p.far(), blocks}, diagonal + 1, edge, full});
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
  for (const std::int64_t steps : kBlocks)
    for (const bool rows_in_blocks : {true, false}) {
      const BlockedStepsPlanner sizes(program, *band, machine);
      const auto blocks = sizes.blocks_of(steps);
      if (!blocks) continue;
      const Roles& roles = sizes.roles();
      BandShape shape{{roles.step}, {roles.step, roles.row, roles.lane}, {0, 0, 0}};
      shape.sizes[roles.step] = static_cast<double>(steps);
      if (rows_in_blocks) {
        shape.tiles.push_back(roles.row);
        shape.sizes[roles.row] = static_cast<double>(steps);
      }
      std::vector<OrderPlan> plans;
      for (ShapedPlan& shaped :
           plans_of_band(program, reference, tree, machine, {band, shape}, keep_order)) {
        const std::string turn = shaped.plan.name;
        plans.push_back(BlockedStepsPlanner(program, *band, machine)
                            .plan(std::move(shaped), *blocks, rows_in_blocks));
        plans.back().name =
            name + ", in blocks of steps" + (rows_in_blocks ? ", rows in blocks" : "") + turn;
        say_by_model(plans.back());
      }
      if (best.empty() || plans.front().cycles < best.front().cycles) best = std::move(plans);
    }
  return best;
}

}  // namespace polyte::poly
