#include "poly/order_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <span>

#include "poly/loop_names.h"
#include "poly/placed_costs.h"
#include "schedule/cost/threads.h"
#include "support/stable_sort.h"

namespace polyte::poly {
namespace {

using schedule::NestPath;
using schedule::NestTree;

constexpr const char* kEarlyFirst = ", early ones first";
constexpr double kWorthAFront = 0.8;     // of the cycles without it: its ends are idle
constexpr std::size_t kMostLaidOut = 2;  // plans that are kept of those with layouts for lanes

struct Tiling {
  ShapeRules shapes = {};
  bool early_first = false;  // statements of isl's last loop in the order in which they are in it
  LaneLayouts layouts = {};
};

class Planner {
 public:
  Planner(const ir::Program& program, const schedule::State& reference, const Machine& machine,
          const OrderTree& tree, Tiling tiling, bool keep_order)
      : program_(program),
        reference_(reference),
        machine_(machine),
        tiling_(std::move(tiling)),
        costs_(program, tree, machine, keep_order, tiling_.layouts) {
    choose_shapes(tree, {});
    names_ = loop_names(program, tree, in_tiles_);
    NestTree nest = visit(tree, {});
    plan_.nest.maps = maps();
    if (!tiled_.loops.empty()) plan_.nest.tile = tiled_;
    plan_.nest.tree = std::move(nest);
    plan_.nest.stages = stages_of(program, tiling_.layouts);
    plan_.cycles += cycles_of_copies(program, tiling_.layouts);
    plan_.nest.is_one_step = !plan_.nest.maps.empty();
    plan_.nest.tree_by =
        follows_isl() ? schedule::Provenance::Isl : schedule::Provenance::TileModel;
  }

  OrderPlan run() { return std::move(plan_); }
  // Statements of isl's last loop could come otherwise.
  bool has_other_turn() const { return has_other_turn_; }
  const std::map<std::string, double>& cycles() const { return cycles_; }
  const std::string& name_of(const OrderLoop& loop) const { return names_.at(&loop); }

  // The last loops of permutable bands that have others.
  std::set<const OrderLoop*> last_loops() const {
    std::set<const OrderLoop*> last;
    for (const auto& [band, shape] : shapes_)
      if (band->permutable && band->loops.size() > 1)
        last.insert(&band->loops[shape.points.back()]);
    return last;
  }

 private:
  const ir::Program& program_;
  const schedule::State& reference_;
  const Machine& machine_;
  const Tiling tiling_;
  const PlacedCosts costs_;
  OrderPlan plan_;
  std::map<std::string, double> cycles_;  // by statement
  bool has_other_turn_ = false;
  schedule::PlannedTile tiled_;
  std::map<const OrderLoop*, std::string> names_;
  // Innermost loops of one iteration, by statement.
  std::set<std::pair<std::string, const OrderLoop*>> dropped_;

  // --- shapes of the bands

  std::map<const OrderBand*, BandShape> shapes_;
  std::set<const OrderLoop*> in_tiles_;

  void choose_shapes(const OrderTree& tree, const Placed& around) {
    if (const auto* sequence = std::get_if<OrderSequence>(&tree->op)) {
      for (const OrderTree& child : sequence->children) choose_shapes(child, around);
    } else if (const auto* band = std::get_if<OrderBand>(&tree->op)) {
      const BandShape& shape = shapes_[band] = best_shape(*band, around, costs_, tiling_.shapes);
      for (const std::size_t m : shape.tiles) in_tiles_.insert(&band->loops[m]);
      choose_shapes(band->child, within(around, *band, shape));
    }
  }

  bool is_fixed() const { return tiling_.shapes.how == ShapeRules::How::Fixed; }

  // Whether all loops are in isl's order; tiles of the same order count as that where nothing
  // was priced.
  bool follows_isl() const {
    return std::ranges::all_of(shapes_, [&](const auto& entry) {
      const BandShape& shape = entry.second;
      return std::ranges::is_sorted(shape.points) && !shape.is_last_sunk &&
             (is_fixed() || shape.tiles.empty());
    });
  }

  // --- maps: one for statements of the same loops, none where the reference has the rows so named

  // The loops of a statement in the nest: those around it of which a row is new, or that
  // others share.
  std::vector<const OrderLoop*> kept_loops(const std::string& statement) const {
    std::vector<const OrderLoop*> kept = costs_.loops_of(statement);
    std::erase_if(kept,
                  [&](const OrderLoop* loop) { return dropped_.contains({statement, loop}); });
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
      if (same == all.end())
        same = all.insert(all.end(), schedule::PlannedMap{.items = {}, .loops = loops});
      same->items.push_back(std::move(item));
    }
    return all;
  }

  // --- the nest

  struct Around {
    Placed loops;
    NestPath path;           // the same as the nest has them
    bool is_shared = false;  // by threads
    // The loop that each statement has below those of its own; null: none.
    const OrderLoop* sunk = nullptr;
    NestPath sunk_path = {};
  };

  NestTree visit(const OrderTree& tree, const Around& around) {
    if (around.sunk && is_told(tree, *around.sunk)) return beside_sunk(tree, around);
    if (const auto* sequence = std::get_if<OrderSequence>(&tree->op)) {
      std::vector<NestTree> children;
      for (const OrderTree& child :
           around.sunk ? in_turn(*sequence, *around.sunk) : sequence->children)
        children.push_back(visit(child, around));
      return schedule::nest_sequence(std::move(children));
    }
    if (const auto* leaf = std::get_if<OrderLeaf>(&tree->op)) {
      add_cost(leaf->statement, schedule::joined(around.path, around.sunk_path),
               costs_.cost_of(leaf->statement, around.loops));
      return schedule::nest_path(around.sunk_path, schedule::nest_statement(leaf->statement));
    }
    return visit_band(std::get<OrderBand>(tree->op), around);
  }

  // Statements whose other loops say which iteration of the sunk one they are in: once, outside of
  // their own loops.
  NestTree beside_sunk(const OrderTree& tree, Around around) {
    const OrderLoop* sunk = std::exchange(around.sunk, nullptr);
    const NestPath path = std::exchange(around.sunk_path, {});
    if (in_tiles_.contains(sunk)) {
      around.path = schedule::joined(around.path, path);
      return schedule::nest_path(path, visit(tree, around));
    }
    for (const std::string& statement : statements_below(tree)) dropped_.insert({statement, sunk});
    return visit(tree, around);
  }

  // By the middle of their values in the sunk loop, as if that were distributed: what is read by
  // later iterations comes first. Neighbours that need no loop of it are one child.
  std::vector<OrderTree> in_turn(const OrderSequence& sequence, const OrderLoop& sunk) const {
    std::vector<OrderTree> children = sequence.children, merged;
    sort_stably(children, {}, [&](const OrderTree& child) {
      return costs_.middle(statements_below(child).front(), sunk);
    });
    for (const OrderTree& child : children) {
      if (!merged.empty() && is_told(child, sunk) && is_told(merged.back(), sunk))
        merged.back() = order_sequence({merged.back(), child});
      else
        merged.push_back(child);
    }
    return merged;
  }

  // Whether of all statements the other loops say which iteration of this one they are in.
  bool is_told(const OrderTree& tree, const OrderLoop& loop) const {
    return std::ranges::all_of(statements_below(tree), [&](const std::string& statement) {
      return costs_.is_told_by_others(statement, loop);
    });
  }

  NestTree visit_band(const OrderBand& band, const Around& around) {
    const BandShape& shape = shapes_.at(&band);
    const Placed inside = within(around.loops, band, shape);
    NestPath path;
    for (const std::size_t m : shape.tiles) {
      tiled_.loops.push_back(names_.at(&band.loops[m]));
      tiled_.sizes.push_back(static_cast<std::int64_t>(shape.sizes[m]));
      path.push_back({schedule::tiles_of(names_.at(&band.loops[m]))});
    }
    for (const std::size_t m : shape.points) {
      const std::string& name = names_.at(&band.loops[m]);
      path.push_back({shape.sizes[m] > 0 ? schedule::within_tile(name) : name});
    }
    // Its last loop stands once for each statement.
    const bool is_inmost = is_innermost(band);
    NestPath last;
    if (is_inmost || shape.is_last_sunk) last = {path.back()}, path.pop_back();
    Around here{inside, schedule::joined(around.path, path), around.is_shared, around.sunk,
                around.sunk_path};
    if (shape.is_last_sunk) here.sunk = inside.back().loop, here.sunk_path = last;
    if (!around.is_shared && share(path, around.loops, inside, costs_.cycles_of(band, inside))) {
      here.is_shared = true;
      if (band.permutable) {
        const auto shared =
            std::ranges::find(path, schedule::LoopKind::Parallel, &schedule::NestLoop::kind);
        std::rotate(path.begin(), shared, std::next(shared));  // threads are sent out once
      }
      here.path = schedule::joined(around.path, path);
    } else if (!around.is_shared && add_front(band, around.loops, inside)) {
      here.is_shared = true;
    }
    if (!is_inmost) return schedule::nest_path(path, visit(band.child, here));
    std::vector<NestTree> leaves;
    last = schedule::joined(last, around.sunk_path);
    const NestPath whole = schedule::joined(here.path, last);
    const OrderLoop& innermost = band.loops[shape.points.back()];
    for (const std::string& statement : in_turn(band, shape.points.back())) {
      add_cost(statement, whole, costs_.cost_of(statement, inside));
      const NestTree leaf = schedule::nest_statement(statement);
      const bool is_needless =
          !in_tiles_.contains(&innermost) && costs_.is_told_by_others(statement, innermost);
      if (is_needless) dropped_.insert({statement, &innermost});
      leaves.push_back(is_needless ? leaf : schedule::nest_path(last, leaf));
    }
    return schedule::nest_path(path, schedule::nest_sequence(std::move(leaves)));
  }

  // The order of the statements at the innermost loop, which each has for itself: isl's, or, where
  // another loop of the band has become the last one, by the middle of their values in it: a sum
  // comes before what is made of it. Of one middle, those at a step come before those behind.
  std::vector<std::string> in_turn(const OrderBand& band, std::size_t last) {
    std::vector<std::string> as_isl_says = statements_below(band.child);
    std::vector<std::string> by_place = as_isl_says;
    const OrderLoop* loop = &band.loops[last];
    sort_stably(by_place, {}, [&](const std::string& statement) {
      return std::pair(costs_.middle(statement, *loop),
                       !costs_.is_told_by_others(statement, *loop));
    });
    if (last + 1 < band.loops.size() || tiling_.early_first) return by_place;
    if (by_place == as_isl_says) return as_isl_says;
    has_other_turn_ = true;
    if (costs_.is_told_by_others(by_place.front(), *loop)) plan_.is_unlikely = true;
    return as_isl_says;
  }

  // Makes one loop of `path` parallel, where threads are worth it; false: none. `inside`: the loops
  // of `around`, then those of `path`.
  bool share(NestPath& path, const Placed& around, const Placed& inside, double cycles) const {
    if (path.empty() || is_fixed()) return false;
    std::vector<schedule::CountedLoop> counted;
    for (std::size_t i = 0; i < around.size() + path.size(); ++i) {
      if (inside[i].is_sunk) continue;
      const auto& [loop, tile, is_sunk] = inside[i];
      const std::string& statement = loop->rows.begin()->first;
      const double extent = std::ceil(costs_.extent(statement, *loop) / std::max(1.0, tile));
      const bool is_own = i >= around.size();
      counted.push_back({is_own ? path[i - around.size()].name : names_.at(loop),
                         std::max<std::int64_t>(1, static_cast<std::int64_t>(extent)),
                         is_own && loop->coincident, names_.at(loop)});
    }
    const std::string chosen = schedule::loop_for_threads(machine_, cycles, counted, program_.open);
    const auto found = std::ranges::find(path, chosen, &schedule::NestLoop::name);
    if (found == path.end()) return false;
    found->kind = schedule::LoopKind::Parallel;
    return true;
  }

  // In a permutable band the tiles (a, b) of its two outermost loops with equal a + b are
  // independent, a front (`wavefront`). There are about as many fronts as tiles along both loops
  // together.
  bool add_front(const OrderBand& band, const Placed& around, const Placed& inside) {
    const BandShape& shape = shapes_.at(&band);
    if (!band.permutable || shape.tiles.size() < 2 || is_fixed() || tiling_.shapes.given.band)
      return false;
    const OrderLoop &outer = band.loops[shape.tiles[0]], &inner = band.loops[shape.tiles[1]];
    const std::size_t n = around.size();
    std::string statement;  // that is in most tiles
    double tiles = 0;
    for (const auto& [name, row] : outer.rows)
      if (const double own = costs_.iterations(name, inside, n + 2); own > tiles)
        statement = name, tiles = own;
    const auto tiles_along = [&](std::size_t t) {
      return costs_.extent(statement, band.loops[shape.tiles[t]]) / shape.sizes[shape.tiles[t]];
    };
    const schedule::FrontsOfTiles fronts{
        .tiles = tiles,
        .fronts = costs_.iterations(statement, inside, n) * (tiles_along(0) + tiles_along(1))};
    if (!schedule::are_worth_threads(machine_, costs_.cycles_of(band, inside), fronts))
      return false;
    plan_.for_threads.emplace_back(
        schedule::PlannedWavefront{unused_name("w"), schedule::tiles_of(names_.at(&outer)),
                                   schedule::tiles_of(names_.at(&inner))});
    return true;
  }

  std::string unused_name(const std::string& wanted) const {
    const auto is_used = [&](const std::string& name) {
      return std::ranges::any_of(names_, [&](const auto& entry) { return entry.second == name; });
    };
    std::string name = wanted;
    for (int i = 2; is_used(name); ++i) name = wanted + std::to_string(i);
    return name;
  }

  // The loop around the innermost one; of a sum that around all innermost loops which add up its
  // terms. Empty: none.
  std::string around_innermost(const std::string& statement, const NestPath& path,
                               bool is_sum) const {
    const auto is_of_sum = [&](const std::string& name) {
      const auto& loops = costs_.loops_of(statement);
      const auto loop = std::ranges::find_if(
          loops, [&](const OrderLoop* each) { return names_.at(each) == name; });
      return loop != loops.end() && costs_.is_of_sum(statement, **loop);
    };
    for (std::size_t l = path.size() - 1; l-- > 0;)
      if (!is_sum || !is_of_sum(path[l].name)) return path[l].name;
    return "";
  }

  // `path`: the loops of the statement as the nest has them.
  void add_cost(const std::string& statement, const NestPath& path,
                const StatementPrice::Cost& cost) {
    plan_.cycles += cost.cycles;
    cycles_[statement] = cost.cycles;
    if (cost.inner == StatementPrice::Inner::Serial) return;
    auto& kind = cost.inner == StatementPrice::Inner::Vector ? plan_.in_vectors : plan_.in_parts;
    const bool is_sum = cost.inner == StatementPrice::Inner::Parts;
    kind[statement] = {path.back().name, around_innermost(statement, path, is_sum), cost.cycles,
                       cost.serial, cost.vectors};
  }
};

}  // namespace

void say_by_model(OrderPlan& plan) {
  plan.nest.tree_by = schedule::Provenance::TileModel;
  for (schedule::PlannedMap& map : plan.nest.maps) map.by = schedule::Provenance::TileModel;
}

OrderPlan plan_as_isl_says(const ir::Program& program, const schedule::State& reference,
                           const std::string& name, const OrderTree& tree, const Machine& machine) {
  OrderPlan plan = plan_of_shape(program, reference, name, tree, machine, {}, true);
  plan.name = name;
  return plan;
}

OrderPlan plan_of_shape(const ir::Program& program, const schedule::State& reference,
                        const std::string& name, const OrderTree& tree, const Machine& machine,
                        const FixedShape& shape, bool keep_order) {
  OrderPlan plan =
      Planner(program, reference, machine, tree, {{ShapeRules::How::Fixed, shape}}, keep_order)
          .run();
  plan.name = name + ", tiles of " + std::to_string(static_cast<int>(shape.tile)) + ", " +
              std::to_string(shape.turned) + " from the end last";
  return plan;
}

std::vector<ShapedPlan> plans_of_band(const ir::Program& program, const schedule::State& reference,
                                      const OrderTree& tree, const Machine& machine,
                                      const ShapedBand& given, bool keep_order) {
  std::vector<ShapedPlan> plans;
  for (const bool early_first : {false, true}) {
    Planner planner(program, reference, machine, tree, {{.given = given}, early_first}, keep_order);
    ShapedPlan shaped{{}, {}, planner.cycles()};
    for (const OrderLoop& loop : given.band->loops) shaped.loops.push_back(planner.name_of(loop));
    shaped.plan = planner.run();
    if (early_first) shaped.plan.name = kEarlyFirst;
    plans.push_back(std::move(shaped));
    if (!planner.has_other_turn()) break;
  }
  return plans;
}

namespace {

// The plan, and the same with statements of isl's last loop in turn, where that is another one.
std::vector<OrderPlan> both_turns(const ir::Program& program, const schedule::State& reference,
                                  const OrderTree& tree, const Machine& machine, Tiling tiling,
                                  bool keep_order, const std::string& name) {
  std::vector<OrderPlan> plans;
  for (const bool early_first : {false, true}) {
    tiling.early_first = early_first;
    Planner planner(program, reference, machine, tree, tiling, keep_order);
    plans.push_back(planner.run());
    plans.back().name = name + (early_first ? kEarlyFirst : "");
    if (!planner.has_other_turn()) break;
  }
  return plans;
}

// Lanes along each loop of a band that strides over arrays which are laid out for it, skewed no
// further than that takes.
std::vector<OrderPlan> plans_with_layouts(const ir::Program& program,
                                          const schedule::State& reference, const OrderTree& tree,
                                          const Machine& machine, bool keep_order,
                                          const std::string& name) {
  std::vector<OrderPlan> plans;
  const auto* whole = std::get_if<OrderBand>(&tree->op);
  for (std::size_t lanes = 0; whole && lanes < whole->loops.size(); ++lanes) {
    const std::size_t known = plans.size();
    for (const std::vector<OrderTree>& skewed : skewed_around(tree, lanes)) {
      for (const OrderTree& each : skewed) {
        const std::vector<OrderLoop>& loops = std::get<OrderBand>(each->op).loops;
        const auto layouts =
            PlacedCosts(program, each, machine, keep_order).layouts_for_lanes(loops[lanes]);
        if (!layouts || layouts->empty()) continue;
        Tiling tiling{.layouts = *layouts};
        for (std::size_t other = 0; other < loops.size(); ++other)
          if (other != lanes) tiling.shapes.not_last.insert(&loops[other]);
        for (OrderPlan& plan : both_turns(program, reference, each, machine, tiling, keep_order,
                                          name + ", laid out for lanes")) {
          say_by_model(plan);
          plans.push_back(std::move(plan));
        }
      }
      if (plans.size() > known) break;
    }
  }
  sort_stably(plans, {}, &OrderPlan::cycles);
  if (plans.size() > kMostLaidOut) plans.resize(kMostLaidOut);
  return plans;
}

}  // namespace

std::vector<OrderPlan> plans_of(const ir::Program& program, const schedule::State& reference,
                                const std::string& name, const OrderTree& tree,
                                const Machine& machine, bool keep_order) {
  std::vector<OrderPlan> plans;
  const auto add_all = [&](std::vector<OrderPlan> more) {
    std::ranges::move(more, std::back_inserter(plans));
  };
  std::set<const OrderLoop*> last;
  for (const ShapeRules::How how : {ShapeRules::How::Best, ShapeRules::How::Untiled}) {
    if (plans.empty())
      last = Planner(program, reference, machine, tree, {{how}}, keep_order).last_loops();
    if (!plans.empty() && !plans.front().nest.tile) break;
    auto turns = both_turns(program, reference, tree, machine, {{how}}, keep_order, name);
    for (OrderPlan& plan : turns) plan.name += plan.nest.tile ? ", tiled" : "";
    add_all(std::move(turns));
  }
  if (plans.front().nest.tile && !last.empty()) {
    add_all(both_turns(program, reference, tree, machine, {{.not_last = last}}, keep_order,
                       name + ", tiled, other loops last"));
  }
  sort_stably(plans, {}, &OrderPlan::cycles);
  if (std::ranges::none_of(program.statements,
                           [](const ir::Statement& s) { return s.region_depth > 0; }))
    return plans;
  const double least = plans.front().cycles;
  const auto add = [&](const OrderTree& changed, const char* how, double limit) {
    for (OrderPlan& plan :
         both_turns(program, reference, changed, machine, {}, keep_order, name + how)) {
      say_by_model(plan);
      if (plan.cycles <= limit) plans.push_back(std::move(plan));
    }
  };
  for (const OrderTree& front : wavefronts_of(tree))
    add(front, ", wavefront", kWorthAFront * least);
  for (OrderPlan& plan : plans_with_layouts(program, reference, tree, machine, keep_order, name))
    if (plan.cycles < kWorthAFront * least) plans.push_back(std::move(plan));
  for (const OrderTree& straight : straightened(tree, program))
    add(straight, ", straightened", least);
  sort_stably(plans, {}, &OrderPlan::cycles);
  return plans;
}

}  // namespace polyte::poly
