#include "schedule/cost/operand_staging.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "ir/contraction.h"
#include "ir/domain.h"
#include "ir/facts.h"
#include "ir/relations.h"
#include "schedule/cost/threads.h"
#include "schedule/state/dimension_names.h"
#include "schedule/state/tile_begins.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

constexpr double kCopiedBytes = 4;  // a cycle, read or written
// Four are loaded and put together in as many instructions as a square of them takes.
constexpr int kLeastLanesOfSquare = 8;

// Whether each subscript is a constant or an iterator that no other subscript has.
bool plain_subscripts(const ir::Load& load) {
  std::set<std::string> seen;
  return std::ranges::all_of(load.indices, [&](const ir::Index& index) {
    const std::optional<std::string> name = index.affine.as_symbol();
    return !index.indirect && (index.affine.is_constant() || (name && seen.insert(*name).second));
  });
}

std::vector<const ir::Load*> loads_of(const ir::Program& program, const std::string& buffer) {
  std::vector<const ir::Load*> found;
  for (const ir::Statement& s : program.statements)
    for (const ir::Load* load : ir::reads_of(s))
      if (load->buffer == buffer) found.push_back(load);
  return found;
}

// A copy with a border stands for guarded reads where every part of the guards bounds one subscript
// (a stride's remainder, of a transposed convolution, asks for holes inside), if all reads of an
// input find the same outside.
bool wants_padded_copy(const ir::Program& program, const ir::Load& load) {
  const ir::Role role = program.buffer(load.buffer).role;
  if ((role != ir::Role::In && role != ir::Role::Const) || !has_border(load)) return false;
  return std::ranges::all_of(loads_of(program, load.buffer), [&](const ir::Load* other) {
    return has_border(*other) && ir::equal(other->otherwise, load.otherwise);
  });
}

std::string panel_iterator(const ir::Load& load, const std::string& lane, const std::string& row) {
  for (const std::string& candidate : {lane, row}) {
    const bool indexed = std::ranges::any_of(load.indices, [&](const ir::Index& index) {
      return index.affine.as_symbol() == candidate;
    });
    if (!candidate.empty() && indexed) return candidate;
  }
  return "";
}

// Where a part of the operand is copied: below the outermost loops, as far as each alone is a
// subscript of the load, so that no part is copied twice and each is small. Empty: below none. A
// loop of open size has no bound for a copy around it, so that the copy goes inside, and may be
// made several times.
std::string copy_site(const TiledReduction& r, const ir::Load& load) {
  const auto uses = [&](const std::string& iterator) {
    return std::ranges::count_if(load.indices,
                                 [&](const ir::Index& i) { return i.affine.uses(iterator); });
  };
  const auto owns = [&](const std::string& iterator) {
    return std::ranges::count_if(
        load.indices, [&](const ir::Index& i) { return i.affine.as_symbol() == iterator; });
  };
  std::size_t sites = 0;
  const auto is_site = [&](const PlannedLoop& loop) {
    // Tiles leave the rest of the iterator inside.
    const bool is_whole = loop.name == loop.iterator;
    return is_whole && uses(loop.iterator) == 1 && owns(loop.iterator) == 1;
  };
  while (sites < r.order.size() && is_site(r.order[sites])) ++sites;
  for (std::size_t i = sites; i < r.order.size(); ++i) {
    const std::string& iterator = r.order[i].iterator;
    if (r.program->open.contains(iterator) && uses(iterator) > 0) sites = i + 1;
  }
  return sites == 0 ? "" : r.order[sites - 1].name;
}

// Where panels are copied: as above, but for the whole kernel where threads share a loop inside the
// site, as one thread would copy for all, and where several statements read the operand, as each
// would copy.
std::string panel_site(const TiledReduction& r, const ir::Load& load) {
  const std::string site = copy_site(r, load);
  const auto at = std::ranges::find(r.order, site, &PlannedLoop::name);
  const bool is_shared = std::any_of(at == r.order.end() ? at : std::next(at), r.order.end(),
                                     [&](const PlannedLoop& l) { return l.name == r.threads; });
  return is_shared || loads_of(*r.program, load.buffer).size() > 1 ? "" : site;
}

// Whether the loop is the one that a copy stands in, or one around it: the copy has one value of
// it.
bool stands_outside(const TiledReduction& r, const std::string& loop, const std::string& site) {
  const auto at = std::ranges::find(r.order, site, &PlannedLoop::name);
  const auto end = at == r.order.end() ? at : std::next(at);
  return std::any_of(r.order.begin(), end,
                     [&](const PlannedLoop& l) { return l.iterator == loop; });
}

struct Panels {
  std::vector<std::string> dimensions;
  std::vector<LayoutIndex> layout;
  std::vector<CountedLoop> loops;  // of the copy, without that of the lanes
};

// Panels hold elements in the order of their use: tiles of the side, then dimensions of loops
// around, then steps of the sum, then the elements of the side's tile.
//
//   w[k, n], lanes n   ->   [n.o, k, n.i]
Panels panels_of(const TiledReduction& r, const ir::Load& load, const TiledReduction::Side& side) {
  const std::vector<std::int64_t> shape = ir::constant_shape(r.program->buffer(load.buffer));
  const std::vector<std::string>& reductions = r.update->reductions;
  Panels panels;
  std::vector<CountedLoop> between, steps(reductions.size());
  for (std::size_t d = 0; d < load.indices.size(); ++d) {
    const std::string name = load.indices[d].affine.as_symbol().value_or("at" + std::to_string(d));
    panels.dimensions.push_back(name);
    const auto step = std::ranges::find(reductions, name);
    if (step != reductions.end())
      steps[static_cast<std::size_t>(step - reductions.begin())] = {name, shape[d]};
    else if (name != side.loop)
      between.push_back({name, shape[d]});
  }
  std::erase_if(steps, [](const CountedLoop& step) { return step.name.empty(); });
  between.insert(between.end(), steps.begin(), steps.end());
  panels.layout.push_back({side.loop, LayoutIndex::Part::Tile, side.size});
  for (const CountedLoop& loop : between) panels.layout.push_back({loop.name});
  panels.layout.push_back({side.loop, LayoutIndex::Part::WithinTile, side.size});
  panels.loops = {{tiles_of(side.loop), side.panels, true, side.loop}};
  panels.loops.insert(panels.loops.end(), between.begin(), between.end());
  return panels;
}

// The loops of a padded copy without the innermost, which is in vectors.
std::vector<CountedLoop> padded_loops(const TiledReduction& r, const std::string& buffer) {
  const std::vector<std::int64_t> shape = ir::constant_shape(r.program->buffer(buffer));
  const std::vector<std::string> names =
      dimension_names(*r.program, buffer, std::vector<std::string>(shape.size()));
  std::vector<CountedLoop> loops;
  for (std::size_t d = 0; d + 1 < shape.size(); ++d) loops.push_back({names[d], shape[d]});
  return loops;
}

// The loop of a copy for the whole kernel that threads share; empty: one thread copies.
std::string loop_of_copy(const TiledReduction& r, const std::string& buffer,
                         const std::vector<CountedLoop>& loops) {
  const ir::Buffer& copied = r.program->buffer(buffer);
  const double bytes = static_cast<double>(checked_product(ir::constant_shape(copied))) *
                       static_cast<double>(size_in_bytes(copied.dtype));
  return loop_for_threads(*r.machine, 2 * bytes / kCopiedBytes, loops, r.program->open);
}

}  // namespace

bool has_border(const ir::Load& load) {
  const auto bounds_a_subscript = [&](const ir::Constraint& guard) {
    return std::ranges::any_of(load.indices, [&](const ir::Index& index) {
      if (index.indirect) return false;
      return (guard.expr - index.affine).is_constant() || (guard.expr + index.affine).is_constant();
    });
  };
  return load.otherwise && std::holds_alternative<ir::Literal>(load.otherwise->op) &&
         std::ranges::none_of(load.indices,
                              [](const ir::Index& index) { return index.indirect != nullptr; }) &&
         std::ranges::all_of(load.guard, bounds_a_subscript);
}

std::string square_loop(const ir::Program& program, const ir::Statement& update,
                        const Machine& machine, const ir::Load& load, const std::string& side) {
  const ir::Buffer& copied = program.buffer(load.buffer);
  if (copied.dtype != update.values.front()->type) return "";
  const int lanes = machine.lanes(copied.dtype);
  const std::optional<std::string> last = load.indices.back().affine.as_symbol();
  const bool is_across = last && *last != side;
  return is_across && lanes >= kLeastLanesOfSquare && ir::constant_shape(copied).back() >= lanes
             ? *last
             : "";
}

namespace {

// Whether the iterations leave out elements between those that they write: 8*i + j, j in 0..6.
bool leaves_gaps(const ir::Statement& statement, const ir::Affine& subscript) {
  if (subscript.terms().size() < 2) return false;
  ir::Facts facts;
  const ir::DomainBounds bounds = ir::bounds_of(statement.domain, statement.iterators);
  for (std::size_t i = 0; i < statement.iterators.size(); ++i) {
    std::vector<ir::Affine> beyond;
    for (const ir::Affine& last : bounds.of[i].upper) beyond.push_back(last + 1);
    facts.bind(statement.iterators[i], bounds.of[i].lower, beyond);
  }
  std::vector<ir::Term> terms = subscript.terms();
  std::ranges::sort(terms, {}, [](const ir::Term& t) { return std::abs(t.coefficient); });
  std::int64_t together = 1;  // elements side by side that the terms so far reach
  for (const ir::Term& term : terms) {
    const ir::Interval values = facts.range(ir::Affine::symbol(term.atom.symbol));
    if (!values.min || !values.max || *values.min >= *values.max) continue;
    const std::int64_t step = std::abs(term.coefficient);
    if (step > together) return true;
    together += (*values.max - *values.min) * step;
  }
  return false;
}

// Whether the box of a copy would hold elements that nothing has written: gaps between those of the
// update, in a tensor without a value from outside.
bool has_unwritten_elements(const ir::Program& program, const ir::Statement& update) {
  const ir::Access& own = update.writes[0];
  const ir::Role role = program.buffer(own.buffer).role;
  return (role == ir::Role::Out || role == ir::Role::Temp) &&
         std::ranges::any_of(own.indices, [&](const ir::Index& index) {
           return !index.indirect && leaves_gaps(update, index.affine);
         });
}

}  // namespace

bool can_stage_accumulator(const ir::Program& program, const ir::Statement& update,
                           std::span<const ir::Statement* const> nest, bool for_whole_kernel) {
  const ir::Access& own = update.writes[0];
  const auto at_own_elements = [&](const ir::Statement* s) {
    return ir::reads_apart(*s, update) &&
           std::ranges::all_of(s->writes, [&](const ir::Access& write) {
             return ir::is_apart_or_same(write, own);
           });
  };
  const auto is_gathered = [&](const auto& access) {
    return access.buffer == own.buffer &&
           std::ranges::any_of(access.indices,
                               [](const ir::Index& index) { return index.indirect != nullptr; });
  };
  const auto is_divided = [](const ir::Index& index) { return index.affine.has_division(); };
  if (std::ranges::any_of(own.indices, is_divided) || !std::ranges::all_of(nest, at_own_elements) ||
      has_unwritten_elements(program, update))
    return false;
  for (const ir::Load* load : ir::reads_of(update))
    if (load->buffer == own.buffer) return false;
  for (const ir::Statement& s : program.statements) {
    const bool is_elsewhere = for_whole_kernel && std::ranges::find(nest, &s) == nest.end();
    for (const ir::Access& write : s.writes)
      if (is_gathered(write) || ((s.guard || is_elsewhere) && write.buffer == own.buffer))
        return false;
    for (const ir::Load* load : ir::reads_of(s))
      if (is_gathered(*load) || (for_whole_kernel && load->buffer == own.buffer && load->otherwise))
        return false;
  }
  return true;
}

namespace {

bool is_result(const ir::Program& program, const ir::Load& load) {
  const ir::Role role = program.buffer(load.buffer).role;
  return role == ir::Role::Out || role == ir::Role::InOut;
}

// Whether a subscript has a loop of open size: no box is large enough for a copy of the whole.
bool has_open_size(const ir::Program& program, const ir::Load& load) {
  return std::ranges::any_of(program.open, [&](const std::string& iterator) {
    return std::ranges::any_of(load.indices,
                               [&](const ir::Index& index) { return index.affine.uses(iterator); });
  });
}

}  // namespace

bool can_pack(const ir::Program& program, const ir::Statement& update, const ir::Load& load,
              const std::string& lane, const std::string& row) {
  const bool moves = std::ranges::any_of(update.reductions, [&](const std::string& loop) {
    return ir::stride_of(program, load, loop).value_or(0) != 0;
  });
  if (!moves || has_open_size(program, load) || panel_iterator(load, lane, row).empty())
    return false;
  // A read with a guard would leave the panels.
  const auto is_plain = [](const ir::Load* read) {
    return !read->otherwise && plain_subscripts(*read);
  };
  if (!is_result(program, load))
    return std::ranges::all_of(loads_of(program, load.buffer), is_plain);
  const bool are_loops = std::ranges::all_of(
      load.indices, [](const ir::Index& index) { return index.affine.as_symbol().has_value(); });
  return is_plain(&load) && are_loops && update.region_depth == 0;
}

namespace {

// The read that decides the panels of a buffer that is read several times: one along the lanes if
// there is one, else one along the rows.
const ir::Load* panel_load(const TiledReduction& r, const ir::Load* first) {
  for (const std::string& iterator : {r.lane.loop, r.row.loop})
    for (const ir::Expr& value : r.update->values)
      for (const ir::Load* load : ir::loads_of(value))
        if (load->buffer == first->buffer && panel_iterator(*load, iterator, "") == iterator)
          return load;
  return first;
}

std::optional<PlannedStage> padded_copy(const TiledReduction& r, const ir::Load& load,
                                        std::set<std::string>& whole) {
  if (r.in_place.contains(load.buffer) || !wants_padded_copy(*r.program, load)) return std::nullopt;
  PlannedStage stage{.tensor = load.buffer};
  if (const std::string site = copy_site(r, load); !site.empty()) {
    stage.at = {r.update->name, site};
    return stage;
  }
  if (has_open_size(*r.program, load) || !whole.insert(load.buffer).second) return std::nullopt;
  stage.shared_loop = loop_of_copy(r, load.buffer, padded_loops(r, load.buffer));
  return stage;
}

// Whether panels of the lanes serve reads along the rows as well: panels of all that is read begin
// where tiles do.
bool serves_both(const TiledReduction& r, const ir::Load& along_lanes) {
  bool has_rows = false;
  for (const ir::Load* load : ir::reads_of(*r.update))
    has_rows = has_rows || (load->buffer == along_lanes.buffer &&
                            panel_iterator(*load, "", r.row.loop) == r.row.loop);
  const ir::Statement* update[] = {r.update};
  const auto row = first_value(*r.update, r.row.loop),
             lane = first_of_tiles(*r.program, update, r.lane.loop, Lanes::OfTile);
  return has_rows && panel_iterator(along_lanes, r.lane.loop, "") == r.lane.loop && lane && row &&
         *lane <= *row;
}

// A result of other nests: only the update reads panels, which are copied when the nest begins.
PlannedStage packed_read(const TiledReduction& r, const ir::Load& load) {
  const bool is_lane = panel_iterator(load, r.lane.loop, r.row.loop) == r.lane.loop;
  const Panels panels = panels_of(r, load, is_lane ? r.lane : r.row);
  PlannedStage stage{.tensor = load.buffer,
                     .dimensions = panels.dimensions,
                     .layout = panels.layout,
                     .reader = r.update->name};
  if (!serves_both(r, load)) stage.subscripts = panels.dimensions;
  return stage;
}

// A constant is copied before the first run. A temporary is not: what defines it writes where it
// lies.
std::optional<PlannedStage> packed_copy(const TiledReduction& r, const ir::Load& load,
                                        std::set<std::string>& whole) {
  if (!r.packed.contains(load.buffer) || whole.contains(load.buffer)) return std::nullopt;
  const ir::Load* along = panel_load(r, &load);
  const bool is_lane = panel_iterator(*along, r.lane.loop, r.row.loop) == r.lane.loop;
  const TiledReduction::Side& side = is_lane ? r.lane : r.row;
  const Panels panels = panels_of(r, *along, side);
  PlannedStage stage{
      .tensor = load.buffer, .dimensions = panels.dimensions, .layout = panels.layout};
  const ir::Role role = r.program->buffer(load.buffer).role;
  stage.when_compile = role == ir::Role::Const;
  if (role == ir::Role::In) {
    stage.square_loop = square_loop(*r.program, *r.update, *r.machine, *along, side.loop);
    if (const std::string site = panel_site(r, *along); !site.empty()) {
      stage.at = {r.update->name, site};
      if (stands_outside(r, stage.square_loop, site)) stage.square_loop.clear();
      return stage;
    }
    stage.shared_loop = loop_of_copy(r, load.buffer, panels.loops);
  }
  whole.insert(load.buffer);
  return stage;
}

}  // namespace

std::vector<PlannedStage> operand_stages(const TiledReduction& r, std::set<std::string>& whole) {
  std::vector<PlannedStage> stages;
  std::set<std::string> seen;
  std::set<std::vector<ir::Affine>> read;  // of results
  for (const ir::Expr& value : r.update->values) {
    for (const ir::Load* load : ir::loads_of(value)) {
      if (is_result(*r.program, *load)) {
        const ir::Load& along = serves_both(r, *panel_load(r, load)) ? *panel_load(r, load) : *load;
        std::vector<ir::Affine> at{ir::Affine::symbol(load->buffer)};
        for (const ir::Index& index : along.indices) at.push_back(index.affine);
        if (r.packed.contains(load->buffer) && read.insert(at).second)
          stages.push_back(packed_read(r, along));
        continue;
      }
      if (!seen.insert(load->buffer).second) continue;
      auto stage = load->otherwise ? padded_copy(r, *load, whole) : packed_copy(r, *load, whole);
      if (stage) stages.push_back(std::move(*stage));
    }
  }
  return stages;
}

}  // namespace polyte::schedule
