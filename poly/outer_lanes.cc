#include "poly/outer_lanes.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>

#include "ir/contraction.h"
#include "ir/relations.h"
#include "poly/order_price.h"
#include "schedule/cost/lanes.h"
#include "schedule/cost/threads.h"
#include "schedule/proof/prover.h"

namespace polyte::poly {
namespace {

using schedule::LoopKind;
using schedule::NestTree;
using schedule::tiles_of;
using schedule::within_tile;

// Vectors of a strip: as many as a step's result takes to come, and whole lines where all of
// them lie along its lanes.
constexpr std::int64_t kStripVectors = 2, kWideStripVectors = 4;

// What all statements of the loop call it; nullopt: a row is more than an iterator.
std::optional<std::string> name_of(const OrderLoop& loop) {
  std::optional<std::string> name;
  for (const auto& [statement, row] : loop.rows) {
    const auto symbol = row.as_symbol();
    if (!symbol || (name && *name != *symbol)) return std::nullopt;
    name = symbol;
  }
  return name;
}

// Whether some loop below has iterations that wait for each other.
bool holds_chain(const OrderTree& tree) {
  if (const auto* sequence = std::get_if<OrderSequence>(&tree->op))
    return std::ranges::any_of(sequence->children, holds_chain);
  const auto* band = std::get_if<OrderBand>(&tree->op);
  return band &&
         (!std::ranges::all_of(band->loops, &OrderLoop::coincident) || holds_chain(band->child));
}

// The dimension of the tensor along which the lanes lie, if it is the same in all accesses of these
// statements.
std::optional<std::size_t> lane_dimension(const std::vector<const ir::Statement*>& statements,
                                          const std::string& tensor, const std::string& lane) {
  std::optional<std::size_t> found;
  bool is_one = true;
  const auto see = [&](const std::string& buffer, const std::vector<ir::Index>& indices) {
    if (buffer != tensor) return;
    std::optional<std::size_t> here;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      if (indices[d].indirect) is_one = false;
      if (!indices[d].affine.uses(lane)) continue;
      is_one = is_one && !here && indices[d].affine.as_symbol() == lane;
      here = d;
    }
    is_one = is_one && here && (!found || found == here);
    found = here;
  };
  for (const ir::Statement* s : statements) {
    for (const ir::Access& write : s->writes) see(write.buffer, write.indices);
    for (const ir::Load* load : ir::reads_of(*s)) see(load->buffer, load->indices);
  }
  return is_one ? found : std::nullopt;
}

void move_last(std::vector<ir::Index>& indices, std::size_t dimension) {
  const auto at = indices.begin() + static_cast<std::ptrdiff_t>(dimension);
  std::rotate(at, at + 1, indices.end());
}

// The tree is walked once, from the outside in, planning and pricing at the same time. The first
// parallel loop around a recurrence is cut into strips of vectors; the lanes go innermost, around
// single statements, and everything between runs per strip:
//
//   i coincident > t > { A; B }     i.o > t > { <i.i> > A; <i.i> > B }
//
// A step of the recurrence then is a vector operation, where along t there would be none.
class OuterLanes {
 public:
  OuterLanes(const ir::Program& program, const schedule::State& reference, const Machine& machine)
      : program_(program),
        machine_(machine),
        reference_(reference),
        prover_(reference.reference),
        priced_(program) {}

  std::optional<OrderPlan> run(const std::string& name, const OrderTree& tree) {
    auto nest = visit(tree, {});
    if (!nest || plan_.splits.empty()) return std::nullopt;
    plan_.tree = *std::move(nest);
    OrderPlan plan{.name = name + ", lanes outside", .nest = std::move(plan_), .cycles = cycles_};
    plan.has_jams = false;
    plan.lanes_outside = true;
    say_by_model(plan);
    return plan;
  }

 private:
  struct Step {  // of a path
    std::string loop;
    double tile = 0;  // a strip
  };
  using Path = std::vector<Step>;
  // The strips that are open: a nest has one loop of lanes at a time.
  struct Lane {
    std::string loop;  // iterator
    std::string name;  // of the loop
    std::int64_t vectors = kStripVectors;
    std::size_t shared = 0;  // loops down to its strips
    double entries = 1;      // of the loop over these
    std::vector<const ir::Statement*> statements = {};
    StatementPrice::References warm = {};
  };

  const ir::Program& program_;
  const Machine& machine_;
  const schedule::State& reference_;
  schedule::Prover prover_;
  ir::Program priced_;  // what a strip turns lies so, and is no larger than it
  std::deque<StatementPrice> prices_;
  std::optional<Lane> lane_;
  std::set<std::string> names_;  // of loops that were renamed
  schedule::NestPlan plan_;
  double cycles_ = 0;

  std::optional<NestTree> visit(const OrderTree& tree, const Path& path) {
    if (const auto* leaf = std::get_if<OrderLeaf>(&tree->op)) return at_leaf(leaf->statement, path);
    if (const auto* band = std::get_if<OrderBand>(&tree->op)) return in_band(*band, 0, path);
    std::vector<NestTree> children;
    for (const OrderTree& child : std::get<OrderSequence>(tree->op).children) {
      auto nest = visit(child, path);
      if (!nest) return std::nullopt;
      children.push_back(*std::move(nest));
    }
    return schedule::nest_sequence(std::move(children));
  }

  std::optional<NestTree> in_band(const OrderBand& band, std::size_t from, Path path) {
    if (from == band.loops.size()) return visit(band.child, path);
    const auto name = name_of(band.loops[from]);
    if (!name) return std::nullopt;
    path.push_back({*name});
    if (!lane_ && is_lane_loop(band, from, *name)) return in_strips(band, from, path);
    auto rest = in_band(band, from + 1, path);
    if (!rest) return std::nullopt;
    return schedule::nest_path({{*name}}, *std::move(rest));
  }

  // A parallel loop with a recurrence inside, every statement of which can run in lanes along it
  // and writes elements of the lane's own.
  bool is_lane_loop(const OrderBand& band, std::size_t at, const std::string& name) const {
    const bool is_chain_below =
        std::ranges::any_of(band.loops.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                            band.loops.end(), [](const OrderLoop& l) { return !l.coincident; }) ||
        holds_chain(band.child);
    const std::vector<std::string> below = statements_below(band.child);
    const auto waits = [&](const std::string& s) {
      return waits_for_itself(program_.statement(s));
    };
    if (!band.loops[at].coincident || !is_chain_below || std::ranges::none_of(below, waits))
      return false;
    return std::ranges::all_of(below, [&](const std::string& each) {
      const ir::Statement& s = program_.statement(each);
      const auto moves = [&](const ir::Access& write) {
        return std::ranges::any_of(write.indices,
                                   [&](const ir::Index& index) { return index.affine.uses(name); });
      };
      return !s.guard && std::ranges::all_of(s.writes, moves) &&
             schedule::can_carry_lanes(program_, s, name);
    });
  }

  std::int64_t lanes_of(const ir::Statement& s) const {
    return machine_.lanes(program_.buffer(s.writes.front().buffer).dtype);
  }

  // Strips of lanes around the rest of the band. Temporaries of the strips are staged with lanes
  // innermost, and priced so; their shapes are restored afterwards for what is outside.
  std::optional<NestTree> in_strips(const OrderBand& band, std::size_t from, Path path) {
    lane_ = Lane{.loop = path.back().loop, .name = path.back().loop, .shared = path.size()};
    for (const std::string& each : statements_below(band.child))
      lane_->statements.push_back(&program_.statement(each));
    const Turned turned = turned_in_strips();
    if (lies_along_lanes(turned)) lane_->vectors = kWideStripVectors;
    const std::int64_t strip = lane_->vectors * lanes_of(*lane_->statements.front());
    path.back().tile = static_cast<double>(strip);
    split_strips();
    const std::string tiles = tiles_of(lane_->name);
    std::vector<schedule::PlannedStep> steps;
    for (const auto& [tensor, dimension] : turned) {
      steps.emplace_back(stage_of(program_.buffer(tensor), dimension));
      turn(tensor, dimension, strip);
    }
    // What the loop of strips costs per entry decides about threads.
    const double before = cycles_;
    auto rest = in_band(band, from + 1, path);
    if (!rest) return std::nullopt;
    plan_.steps.insert(plan_.steps.end(), steps.begin(), steps.end());
    for (const auto& [tensor, dimension] : turned) shape_of(tensor) = program_.buffer(tensor).shape;
    const bool has_threads =
        schedule::is_worth_threads(machine_, (cycles_ - before) / lane_->entries);
    lane_.reset();
    return schedule::nest_path({{tiles, has_threads ? LoopKind::Parallel : LoopKind::Serial}},
                               *std::move(rest));
  }

  // Cuts the lane loop into strips. If each statement has its own loop, each is split by its name.
  // A shared loop is split by a directive for all statements with a loop of that name; where others
  // have one, too, the shared loop is renamed first.
  void split_strips() {
    std::set<schedule::LoopId> own;
    bool is_only = true;
    for (const ir::Statement* s : lane_->statements) own.insert(loop_of(*s)->id);
    for (const schedule::Loop* loop : schedule::all_loops(reference_.tree))
      if (loop->name == lane_->loop && !own.contains(loop->id)) is_only = false;
    const auto add = [&](const std::string& statement) {
      plan_.splits.emplace_back(
          schedule::PlannedSplit{statement, lane_->name, schedule::Vectors{lane_->vectors}});
    };
    if (own.size() == lane_->statements.size()) {
      for (const ir::Statement* s : lane_->statements) add(s->name);
      return;
    }
    if (!is_only) {
      lane_->name = fresh(lane_->loop);
      plan_.splits.emplace_back(
          schedule::PlannedRename{lane_->statements.front()->name, lane_->loop, lane_->name});
    }
    add("");
  }

  const schedule::Loop* loop_of(const ir::Statement& s) const {
    const std::vector<const schedule::Loop*> path = schedule::path_to(reference_.tree, s.name);
    return *std::ranges::find(path, lane_->loop, &schedule::Loop::name);
  }

  std::string fresh(const std::string& loop) {
    int number = 2;
    const auto is_taken = [&](const std::string& name) {
      return names_.contains(name) ||
             std::ranges::any_of(schedule::all_loops(reference_.tree),
                                 [&](const schedule::Loop* each) { return each->name == name; });
    };
    while (is_taken(loop + std::to_string(number))) ++number;
    return *names_.insert(loop + std::to_string(number)).first;
  }

  using Turned = std::map<std::string, std::size_t>;  // tensors, and the dimension of the lanes

  // Temporaries that only the strip itself uses, and in which its lanes are not neighbours: each
  // strip keeps a copy with the lanes last.
  Turned turned_in_strips() {
    Turned turned;
    for (const ir::Buffer& buffer : program_.buffers) {
      if (buffer.role != ir::Role::Temp || !writer_of(buffer.name)) continue;
      const auto dimension = lane_dimension(lane_->statements, buffer.name, lane_->loop);
      if (dimension && *dimension + 1 < buffer.shape.size() && stays_in_strips(buffer.name))
        turned.emplace(buffer.name, *dimension);
    }
    return turned;
  }

  const ir::Statement* writer_of(const std::string& tensor) const {
    const auto writer = std::ranges::find_if(lane_->statements, [&](const ir::Statement* s) {
      return s->writes.front().buffer == tensor;
    });
    return writer == lane_->statements.end() ? nullptr : *writer;
  }

  // Whether lanes of every other tensor are neighbours, or all the same element.
  bool lies_along_lanes(const Turned& turned) const {
    const auto lies = [&](const auto& access) {
      const auto stride = ir::stride_of(program_, access, lane_->loop);
      return turned.contains(access.buffer) || stride == 0 || stride == 1;
    };
    return std::ranges::all_of(lane_->statements, [&](const ir::Statement* s) {
      return std::ranges::all_of(s->writes, lies) &&
             std::ranges::all_of(ir::reads_of(*s),
                                 [&](const ir::Load* load) { return lies(*load); });
    });
  }

  // Whether no value of the tensor is written inside the strips and read outside, or the other way
  // round: a copy for one strip is then enough.
  bool stays_in_strips(const std::string& tensor) {
    schedule::ValueEnds out, in;
    for (const ir::Statement& s : program_.statements) {
      const bool is_inside = std::ranges::find(lane_->statements, &s) != lane_->statements.end();
      (is_inside ? in.readers : out.readers).insert(s.name);
      (is_inside ? out.writers : in.writers).insert(s.name);
    }
    return !prover_.takes_values(reference_, tensor, out) &&
           !prover_.takes_values(reference_, tensor, in);
  }

  schedule::PlannedStage stage_of(const ir::Buffer& buffer, std::size_t dimension) const {
    schedule::PlannedStage stage{
        .tensor = buffer.name,
        .at = schedule::LoopName{writer_of(buffer.name)->name, tiles_of(lane_->name)}};
    for (std::size_t d = 0; d < buffer.shape.size(); ++d)
      stage.dimensions.push_back("d" + std::to_string(d));
    for (std::size_t d = 0; d < buffer.shape.size(); ++d)
      if (d != dimension) stage.layout.push_back({stage.dimensions[d]});
    stage.layout.push_back({stage.dimensions[dimension]});
    return stage;
  }

  // Changes the Program that is priced: the tensor is as large as one strip of lanes, and these are
  // its last dimension.
  void turn(const std::string& tensor, std::size_t dimension, std::int64_t strip) {
    std::vector<ir::Affine>& shape = shape_of(tensor);
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(dimension));
    shape.emplace_back(strip);
    for (const ir::Statement* s : lane_->statements) {
      ir::Statement& priced =
          priced_.statements[static_cast<std::size_t>(s - program_.statements.data())];
      for (ir::Access& write : priced.writes)
        if (write.buffer == tensor) move_last(write.indices, dimension);
      for (ir::Expr& value : priced.values)
        value = ir::rewrite(value, [&](const ir::Expr& e) {
          const auto* load = std::get_if<ir::Load>(&e->op);
          if (!load || load->buffer != tensor) return e;
          ir::Load moved = *load;
          move_last(moved.indices, dimension);
          return std::make_shared<const ir::ExprNode>(
              ir::ExprNode{e->type, e->lanes, std::move(moved)});
        });
    }
  }

  std::vector<ir::Affine>& shape_of(const std::string& tensor) {
    return std::ranges::find(priced_.buffers, tensor, &ir::Buffer::name)->shape;
  }

  std::optional<NestTree> at_leaf(const std::string& name, const Path& path) {
    const ir::Statement& s = priced_.statement(name);
    std::vector<ir::Affine> rows;
    std::vector<PlacedRow> placed;
    for (const Step& step : path) {
      placed.push_back({rows.size(), step.tile});
      rows.push_back(ir::Affine::symbol(step.loop));
    }
    if (lane_) placed.push_back({lane_->shared - 1, 0});
    const StatementPrice& price = prices_.emplace_back(priced_, s, rows, machine_, false);
    const StatementPrice::Loops loops = price.counted(placed);
    cycles_ += price.cost(loops, lane_ ? lane_->warm : StatementPrice::References{}).cycles;
    NestTree leaf = schedule::nest_statement(name);
    if (!lane_) return leaf;
    lane_->entries = 1;
    for (std::size_t outer = 0; outer + 1 < lane_->shared; ++outer)
      lane_->entries *= std::max(1.0, loops[outer].trips);
    std::ranges::copy(price.touched(loops, lane_->shared), std::back_inserter(lane_->warm));
    return schedule::nest_path({{within_tile(lane_->name), LoopKind::Vector}}, std::move(leaf));
  }
};

}  // namespace

bool waits_for_itself(const ir::Statement& statement) {
  return statement.combiner == ir::Combiner::None && !ir::stay_at_their_point(statement, statement);
}

OrderTree order_as_written(const ir::Program& program, const schedule::State& reference) {
  schedule::Prover prover(reference.reference);
  const auto is_independent = [&](const ir::Region& region) {
    const auto is_region = [](const ir::Item& item) {
      return std::holds_alternative<ir::Region>(item);
    };
    if (region.step != 1 || std::ranges::none_of(region.body, is_region)) return false;
    const std::size_t first = ir::statements_in(region.body).front();
    for (const schedule::Loop* loop :
         schedule::path_to(reference.tree, program.statements[first].name))
      if (loop->name == region.iterator) return !prover.check_independent(reference, loop->id);
    return false;
  };
  const auto loop_of = [](const std::string& iterator, const std::vector<std::string>& statements) {
    OrderLoop loop;
    for (const std::string& s : statements) loop.rows[s] = ir::Affine::symbol(iterator);
    return loop;
  };
  const std::function<OrderTree(const std::vector<ir::Item>&, const std::set<std::string>&)>
      tree_of = [&](const std::vector<ir::Item>& items, const std::set<std::string>& around) {
        std::vector<OrderTree> children;
        for (const ir::Item& item : items) {
          OrderBand band;
          if (const auto* region = std::get_if<ir::Region>(&item)) {
            std::set<std::string> inside = around;
            inside.insert(region->iterator);
            band.child = tree_of(region->body, inside);
            if (statements_below(band.child).empty()) continue;
            band.loops.push_back(loop_of(region->iterator, statements_below(band.child)));
            band.loops[0].coincident = is_independent(*region);
          } else {
            const ir::Statement& s = program.statements[std::get<std::size_t>(item)];
            band.child = order_leaf(s.name);
            for (const std::string& it : s.iterators)
              if (!around.contains(it)) band.loops.push_back(loop_of(it, {s.name}));
          }
          children.push_back(band.loops.empty() ? band.child : order_band(std::move(band)));
        }
        return order_sequence(std::move(children));
      };
  return tree_of(program.order, {});
}

std::optional<OrderPlan> plan_of_outer_lanes(const ir::Program& program,
                                             const schedule::State& reference,
                                             const std::string& name, const OrderTree& tree,
                                             const Machine& machine) {
  if (!program.open.empty()) return std::nullopt;
  return OuterLanes(program, reference, machine).run(name, tree);
}

}  // namespace polyte::poly
