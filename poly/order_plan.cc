#include "poly/order_plan.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <numeric>
#include <ranges>
#include <set>
#include <span>

#include "poly/order_price.h"
#include "poly/row_span.h"
#include "schedule/cost/threads.h"
#include "support/checked.h"

namespace polyte::poly {
namespace {

using schedule::NestPath;
using schedule::NestTree;

constexpr double kTileSizes[] = {0, 8, 16, 32, 64, 256};  // 0: no tile
constexpr double kFewTileSizes[] = {0, 8, 32, 128};       // of bands with more loops than are tried in any order
constexpr double kWorthAFront = 0.8;                      // of the cycles without it: its ends are idle
constexpr std::size_t kAllOrders = 3;                     // loops of a band that are tried in any order

// How a band runs: loops over tiles, then loops within them; of a loop that is not tiled the latter alone.
struct BandShape {
  std::vector<std::size_t> tiles, points;  // loops of the band, outermost first
  std::vector<double> sizes;               // by loop; 0: not tiled
};

enum class Tiling { Best, None, Fixed };
constexpr double kFixedTile = 32;

class Planner {
 public:
  Planner(const ir::Program& program, const schedule::State& reference, const Machine& machine, const OrderTree& tree,
          Tiling tiling, bool keep_order)
      : program_(program), reference_(reference), machine_(machine), tiling_(tiling) {
    for (const ir::Statement& s : program.statements) loops_[s.name];
    collect_rows(tree);
    for (const ir::Statement& s : program.statements) {
      const bool may_reorder = !keep_order || schedule::is_reorderable(s);
      prices_.emplace(s.name, StatementPrice(program, s, rows_[s.name], machine, may_reorder));
    }
    statements_ = statements_below(tree);
    choose_shapes(tree, {});
    choose_names(tree);
    NestTree nest = visit(tree, {}, false);
    plan_.nest.maps = maps();
    if (!tiled_.loops.empty()) plan_.nest.tile = tiled_;
    plan_.nest.tree = std::move(nest);
    plan_.nest.is_one_step = !plan_.nest.maps.empty();
    plan_.nest.tree_by = follows_isl() ? schedule::Provenance::Isl : schedule::Provenance::TileModel;
  }

  OrderPlan run() { return std::move(plan_); }

 private:
  const ir::Program& program_;
  const schedule::State& reference_;
  const Machine& machine_;
  const Tiling tiling_;
  OrderPlan plan_;
  schedule::PlannedTile tiled_;
  std::map<std::string, std::int64_t> tile_sizes_;              // of loops over tiles
  std::vector<std::string> statements_;                         // in the order of the tree
  std::map<std::string, std::vector<ir::Affine>> rows_;         // by statement, outermost first
  std::map<std::string, std::vector<const OrderLoop*>> loops_;  // the same
  std::map<std::string, StatementPrice> prices_;
  std::map<const OrderLoop*, std::string> names_;
  std::set<std::pair<std::string, const OrderLoop*>> dropped_;  // innermost loops of one iteration, by statement

  void collect_rows(const OrderTree& tree) {
    if (const auto* band = std::get_if<OrderBand>(&tree->op)) {
      for (const OrderLoop& loop : band->loops)
        for (const auto& [statement, row] : loop.rows) {
          rows_[statement].push_back(row);
          loops_[statement].push_back(&loop);
        }
      collect_rows(band->child);
    } else if (const auto* sequence = std::get_if<OrderSequence>(&tree->op)) {
      for (const OrderTree& child : sequence->children) collect_rows(child);
    }
  }

  // --- shapes of the innermost bands

  std::map<const OrderBand*, BandShape> shapes_;
  std::set<const OrderLoop*> in_tiles_;

  void choose_shapes(const OrderTree& tree, std::vector<const OrderLoop*> around) {
    if (const auto* sequence = std::get_if<OrderSequence>(&tree->op)) {
      for (const OrderTree& child : sequence->children) choose_shapes(child, around);
    } else if (const auto* band = std::get_if<OrderBand>(&tree->op)) {
      if (is_innermost(*band)) {
        const BandShape& shape = shapes_[band] = best_shape(*band, around);
        for (const std::size_t m : shape.tiles) in_tiles_.insert(&band->loops[m]);
        return;
      }
      for (const OrderLoop& loop : band->loops) around.push_back(&loop);
      choose_shapes(band->child, std::move(around));
    }
  }

  // Whether all loops are in isl's order; tiles of the same order count as that where nothing was priced.
  bool follows_isl() const {
    return std::ranges::all_of(shapes_, [&](const auto& entry) {
      const BandShape& shape = entry.second;
      return std::ranges::is_sorted(shape.points) && (tiling_ == Tiling::Fixed || shape.tiles.empty());
    });
  }

  // --- names

  std::set<std::string> reserved_, names_of_tiled_;

  // An iterator's own where that is the row of some statement, its capital where the row only brings it in. `tile`
  // means all loops of a name, so that no other loop has that of a tiled one; else a name is used once on a path.
  void choose_names(const OrderTree& tree) {
    for (const ir::Buffer& buffer : program_.buffers) reserved_.insert(buffer.name);
    for (const std::string& param : program_.params) reserved_.insert(param);
    for (const auto& [size, value] : program_.sizes) reserved_.insert(size);
    name_below(tree, true, {});
    reserved_.insert(names_of_tiled_.begin(), names_of_tiled_.end());
    name_below(tree, false, {});
  }

  void name_below(const OrderTree& tree, bool tiled, std::set<std::string> on_path) {
    if (const auto* sequence = std::get_if<OrderSequence>(&tree->op)) {
      for (const OrderTree& child : sequence->children) name_below(child, tiled, on_path);
    } else if (const auto* band = std::get_if<OrderBand>(&tree->op)) {
      for (const OrderLoop& loop : band->loops) {
        if (in_tiles_.contains(&loop) != tiled) continue;
        const std::string name =
            fresh(wanted_name(loop, statements_below(band->child)), tiled ? names_of_tiled_ : on_path);
        names_[&loop] = name;
        (tiled ? names_of_tiled_ : on_path).insert(name);
      }
      name_below(band->child, tiled, std::move(on_path));
    }
  }

  std::string wanted_name(const OrderLoop& loop, const std::vector<std::string>& statements) const {
    for (const std::string& statement : statements)
      if (const auto symbol = loop.rows.at(statement).as_symbol()) return *symbol;
    for (const std::string& statement : statements)
      for (const std::string& it : program_.statement(statement).iterators | std::views::reverse)
        if (loop.rows.at(statement).uses(it))
          return std::string(1, static_cast<char>(std::toupper(it[0]))) + it.substr(1);
    return "c";
  }

  std::string fresh(const std::string& wanted, const std::set<std::string>& taken) const {
    std::string name = wanted;
    for (int i = 2; reserved_.contains(name) || taken.contains(name); ++i) name = wanted + std::to_string(i);
    return name;
  }

  // --- maps: one for statements of the same loops, none for those whose rows the reference has under these names

  // The loops of a statement in the nest: those around it of which a row is new, or that others share.
  std::vector<const OrderLoop*> kept_loops(const std::string& statement) const {
    std::vector<const OrderLoop*> kept = loops_.at(statement);
    std::erase_if(kept, [&](const OrderLoop* loop) { return dropped_.contains({statement, loop}); });
    return kept;
  }

  bool has_rows_of_reference(const std::string& statement) const {
    const auto& have = reference_.at(statement).rows;
    const auto want = kept_loops(statement);
    if (have.size() != want.size()) return false;
    return std::ranges::all_of(have, [&](const schedule::LoopRow& row) {
      const auto is_it = [&](const OrderLoop* loop) { return names_.at(loop) == row.loop; };
      const auto found = std::ranges::find_if(want, is_it);
      return found != want.end() && (*found)->rows.at(statement) == row.value;
    });
  }

  std::vector<schedule::PlannedMap> maps() const {
    std::vector<schedule::PlannedMap> all;
    for (const ir::Statement& s : program_.statements) {
      if (has_rows_of_reference(s.name)) continue;
      std::vector<std::string> loops;
      schedule::PlannedMap::Item item{s.name, {}};
      for (const OrderLoop* loop : kept_loops(s.name)) {
        loops.push_back(names_.at(loop));
        item.values.push_back(loop->rows.at(s.name));
      }
      auto same = std::ranges::find(all, loops, &schedule::PlannedMap::loops);
      if (same == all.end()) same = all.insert(all.end(), schedule::PlannedMap{.items = {}, .loops = loops});
      same->items.push_back(std::move(item));
    }
    return all;
  }

  // --- the nest

  // `is_shared`: threads have a loop around already.
  NestTree visit(const OrderTree& tree, const std::vector<const OrderLoop*>& around, bool is_shared) {
    if (const auto* leaf = std::get_if<OrderLeaf>(&tree->op)) {
      NestPath path;
      for (const OrderLoop* loop : around) path.push_back({names_.at(loop)});
      add_cost(leaf->statement, path, cost_of(leaf->statement, around, {}, {}));
      return schedule::nest_statement(leaf->statement);
    }
    if (const auto* sequence = std::get_if<OrderSequence>(&tree->op)) {
      std::vector<NestTree> children;
      for (const OrderTree& child : sequence->children) children.push_back(visit(child, around, is_shared));
      return schedule::nest_sequence(std::move(children));
    }
    const auto& band = std::get<OrderBand>(tree->op);
    if (is_innermost(band)) return innermost(band, around, is_shared);
    std::vector<const OrderLoop*> here = around;
    NestPath path;
    double cycles = 0;
    for (const OrderLoop& loop : band.loops) {
      here.push_back(&loop);
      path.push_back({names_.at(&loop)});
    }
    for (const std::string& statement : statements_below(band.child)) cycles += cost_of(statement, here, {}, {}).cycles;
    std::vector<const OrderLoop*> own;
    for (const OrderLoop& loop : band.loops) own.push_back(&loop);
    is_shared = share(path, own, around, cycles, is_shared) || is_shared;
    return schedule::nest_path(path, visit(band.child, here, is_shared));
  }

  // One of the loops of a path for threads, where it is worth their while; `loops`: of which each counts tiles or
  // iterations. Whether there is one.
  bool share(NestPath& path, const std::vector<const OrderLoop*>& loops, const std::vector<const OrderLoop*>& around,
             double cycles, bool is_shared) const {
    if (is_shared || tiling_ == Tiling::Fixed) return false;
    const std::string statement = loops.front()->rows.begin()->first;
    const auto trips = [&](const OrderLoop* loop) {
      const auto row = row_of(statement, loop);
      return std::max<std::int64_t>(1, static_cast<std::int64_t>(prices_.at(statement).extent(row)));
    };
    std::vector<schedule::CountedLoop> counted;
    for (const OrderLoop* loop : around) counted.push_back({names_.at(loop), trips(loop), false});
    for (std::size_t i = 0; i < path.size(); ++i) {
      const auto size = tile_sizes_.find(path[i].name);
      const std::int64_t count = trips(loops[i]);
      counted.push_back({path[i].name, size == tile_sizes_.end() ? count : ceil_div(count, size->second),
                         loops[i]->coincident, names_.at(loops[i])});
    }
    const std::string chosen = schedule::loop_for_threads(machine_, cycles, counted, program_.open);
    const auto found = std::ranges::find(path, chosen, &schedule::NestLoop::name);
    if (found == path.end()) return false;
    found->kind = schedule::LoopKind::Parallel;
    return true;
  }

  // Whether the other loops of a statement say which iteration of this one it is in.
  bool is_told_by_others(const std::string& statement, const OrderLoop& loop) const {
    RowSpan others(program_.statement(statement).iterators);
    for (const OrderLoop* other : loops_.at(statement))
      if (other != &loop) others.add(other->rows.at(statement));
    return !others.add(loop.rows.at(statement));
  }

  // The number of a loop among the rows of a statement.
  std::size_t row_of(const std::string& statement, const OrderLoop* loop) const {
    const auto& loops = loops_.at(statement);
    return static_cast<std::size_t>(std::ranges::find(loops, loop) - loops.begin());
  }

  std::vector<PricedOrderLoop> priced_loops(const std::string& statement, const std::vector<const OrderLoop*>& around,
                                            std::span<const OrderLoop> band, const BandShape& shape) const {
    const StatementPrice& price = prices_.at(statement);
    std::vector<PricedOrderLoop> loops;
    for (const OrderLoop* loop : around) {
      const std::size_t row = row_of(statement, loop);
      loops.push_back({row, 1, price.extent(row)});
    }
    for (const std::size_t m : shape.tiles) {
      const std::size_t row = row_of(statement, &band[m]);
      loops.push_back({row, shape.sizes[m], std::ceil(price.extent(row) / shape.sizes[m])});
    }
    for (const std::size_t m : shape.points) {
      const std::size_t row = row_of(statement, &band[m]);
      const double extent = price.extent(row);
      loops.push_back({row, 1, shape.sizes[m] > 0 ? std::min(extent, shape.sizes[m]) : extent});
    }
    return loops;
  }

  StatementPrice::Cost cost_of(const std::string& statement, const std::vector<const OrderLoop*>& around,
                               std::span<const OrderLoop> band, const BandShape& shape) const {
    const std::vector<PricedOrderLoop> loops = priced_loops(statement, around, band, shape);
    return prices_.at(statement).cost(loops, warm_for(statement, around, band, shape));
  }

  // What statements before this one read in the same iteration of the loops that both are in: all but the last of a
  // band, of different nests those around.
  StatementPrice::Reads warm_for(const std::string& statement, const std::vector<const OrderLoop*>& around,
                                 std::span<const OrderLoop> band, const BandShape& shape) const {
    StatementPrice::Reads warm;
    for (const std::string& other : statements_) {
      if (other == statement) break;
      const auto& loops = loops_.at(other);
      if (loops.empty()) continue;
      const StatementPrice& price = prices_.at(other);
      if (!band.empty() && std::ranges::find(loops, &band.front()) != loops.end()) {
        const std::vector<PricedOrderLoop> priced = priced_loops(other, around, band, shape);
        warm.merge(price.reads(priced, priced.size() - 1));
        continue;
      }
      std::vector<PricedOrderLoop> priced;
      for (std::size_t row = 0; row < loops.size(); ++row) priced.push_back({row, 1, price.extent(row)});
      warm.merge(
          price.reads(priced, static_cast<std::size_t>(std::ranges::mismatch(loops, around).in1 - loops.begin())));
    }
    return warm;
  }

  // `path`: the loops of the statement as the nest has them.
  void add_cost(const std::string& statement, const NestPath& path, const StatementPrice::Cost& cost) {
    plan_.cycles += cost.cycles;
    if (cost.inner == StatementPrice::Inner::Serial) return;
    auto& kind = cost.inner == StatementPrice::Inner::Vector ? plan_.in_vectors : plan_.in_parts;
    kind[statement] = {path.back().name, path.size() > 1 ? path[path.size() - 2].name : "", cost.cycles};
  }

  double cycles_of(const OrderBand& band, const std::vector<const OrderLoop*>& around, const BandShape& shape) const {
    double cycles = 0;
    for (const std::string& statement : statements_below(band.child))
      cycles += cost_of(statement, around, band.loops, shape).cycles;
    return cycles;
  }

  // Orders of n loops: all, or of many loops isl's with one of them moved to the end.
  static std::vector<std::vector<std::size_t>> orders_of(std::size_t n) {
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<std::vector<std::size_t>> all;
    if (n <= kAllOrders) {
      do all.push_back(order);
      while (std::ranges::next_permutation(order).found);
      return all;
    }
    for (std::size_t last = n; last-- > 0;) {
      all.push_back(order);
      std::erase(all.back(), last);
      all.back().push_back(last);
    }
    return all;
  }

  // The longest that a loop is for a statement of its band.
  double extent_of(const OrderBand& band, const OrderLoop& loop) const {
    double longest = 1;
    for (const std::string& statement : statements_below(band.child))
      longest = std::max(longest, prices_.at(statement).extent(row_of(statement, &loop)));
    return longest;
  }

  BandShape best_shape(const OrderBand& band, const std::vector<const OrderLoop*>& around) const {
    const std::size_t n = band.loops.size();
    BandShape best{{}, orders_of(1).front(), std::vector<double>(n, 0)};
    best.points.resize(n);
    std::iota(best.points.begin(), best.points.end(), std::size_t{0});
    if (!band.permutable) return best;
    if (tiling_ == Tiling::Fixed) {
      for (std::size_t m = 0; m < n && n > 1; ++m) {
        if (extent_of(band, band.loops[m]) <= kFixedTile) continue;
        best.tiles.push_back(m);
        best.sizes[m] = kFixedTile;
      }
      return best;
    }
    double least = std::numeric_limits<double>::infinity();
    const auto consider = [&](BandShape shape) {
      const double cycles = cycles_of(band, around, shape);
      if (cycles >= least) return;
      least = cycles;
      best = std::move(shape);
    };
    for (auto& points : orders_of(n)) consider({{}, points, std::vector<double>(n, 0)});
    if (tiling_ == Tiling::None || n < 2) return best;
    const std::vector<std::size_t> points = best.points;
    std::vector<double> sizes(n, 0);
    choose_sizes(0, sizes, [&] {
      for (std::size_t outer = 0; outer < n; ++outer) {
        if (sizes[outer] == 0) continue;
        BandShape shape{{outer}, points, sizes};
        for (std::size_t m = 0; m < n; ++m)
          if (m != outer && sizes[m] > 0) shape.tiles.push_back(m);
        consider(shape);
        for (std::size_t last = 0; n <= kAllOrders && last < n; ++last) {
          std::erase(shape.points, last);
          shape.points.push_back(last);
          consider(shape);
        }
      }
    });
    return best;
  }

  template <class Visit>
  static void choose_sizes(std::size_t from, std::vector<double>& sizes, const Visit& visit) {
    if (from == sizes.size()) return visit();
    const bool are_many = sizes.size() > kAllOrders;
    for (const double size : are_many ? std::span<const double>(kFewTileSizes) : std::span<const double>(kTileSizes)) {
      sizes[from] = size;
      choose_sizes(from + 1, sizes, visit);
    }
    sizes[from] = 0;
  }

  NestTree innermost(const OrderBand& band, const std::vector<const OrderLoop*>& around, bool is_shared) {
    const BandShape& shape = shapes_.at(&band);
    NestPath path;
    std::vector<const OrderLoop*> own;
    for (const std::size_t m : shape.tiles) {
      tiled_.loops.push_back(names_.at(&band.loops[m]));
      tiled_.sizes.push_back(static_cast<std::int64_t>(shape.sizes[m]));
      path.push_back({schedule::tiles_of(names_.at(&band.loops[m]))});
      tile_sizes_[path.back().name] = tiled_.sizes.back();
      own.push_back(&band.loops[m]);
    }
    const auto point = [&](std::size_t m) {
      const std::string& name = names_.at(&band.loops[m]);
      return shape.sizes[m] > 0 ? schedule::within_tile(name) : name;
    };
    for (std::size_t i = 0; i + 1 < shape.points.size(); ++i) {
      path.push_back({point(shape.points[i])});
      own.push_back(&band.loops[shape.points[i]]);
    }
    if (!path.empty() && share(path, own, around, cycles_of(band, around, shape), is_shared) && band.permutable) {
      const auto shared = std::ranges::find(path, schedule::LoopKind::Parallel, &schedule::NestLoop::kind);
      std::rotate(path.begin(), shared, std::next(shared));  // threads are sent out once
    }
    const NestPath last = {{point(shape.points.back())}};
    NestPath whole;
    for (const OrderLoop* loop : around) whole.push_back({names_.at(loop)});
    whole = schedule::joined(schedule::joined(whole, path), last);
    std::vector<NestTree> leaves;  // the last loop once for each
    const OrderLoop& innermost = band.loops[shape.points.back()];
    for (const std::string& statement : statements_below(band.child)) {
      add_cost(statement, whole, cost_of(statement, around, band.loops, shape));
      const NestTree leaf = schedule::nest_statement(statement);
      const bool is_needless = !in_tiles_.contains(&innermost) && is_told_by_others(statement, innermost);
      if (is_needless) dropped_.insert({statement, &innermost});
      leaves.push_back(is_needless ? leaf : schedule::nest_path(last, leaf));
    }
    return schedule::nest_path(path, schedule::nest_sequence(std::move(leaves)));
  }
};

}  // namespace

OrderPlan plan_as_isl_says(const ir::Program& program, const schedule::State& reference, const std::string& name,
                           const OrderTree& tree, const Machine& machine) {
  OrderPlan plan = Planner(program, reference, machine, tree, Tiling::Fixed, true).run();
  plan.name = name;
  return plan;
}

std::vector<OrderPlan> plans_of(const ir::Program& program, const schedule::State& reference, const std::string& name,
                                const OrderTree& tree, const Machine& machine, bool keep_order) {
  std::vector<OrderPlan> plans;
  for (const Tiling tiling : {Tiling::Best, Tiling::None}) {
    OrderPlan plan = Planner(program, reference, machine, tree, tiling, keep_order).run();
    plan.name = name + (plan.nest.tile ? ", tiled" : "");
    if (plans.empty() || plans.front().nest.tile) plans.push_back(std::move(plan));
  }
  std::ranges::sort(plans, {}, &OrderPlan::cycles);
  if (std::ranges::none_of(program.statements, [](const ir::Statement& s) { return s.region_depth > 0; })) return plans;
  const double least = kWorthAFront * plans.front().cycles;
  for (const OrderTree& front : wavefronts_of(tree)) {
    OrderPlan plan = Planner(program, reference, machine, front, Tiling::Best, keep_order).run();
    plan.name = name + ", wavefront";
    for (schedule::PlannedMap& map : plan.nest.maps) map.by = schedule::Provenance::TileModel;
    if (plan.cycles < least) plans.push_back(std::move(plan));
  }
  std::ranges::sort(plans, {}, &OrderPlan::cycles);
  return plans;
}

}  // namespace polyte::poly
