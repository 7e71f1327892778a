#include "lower/place_fragments.h"

#include <algorithm>

#include "ir/intrinsics.h"
#include "lower/names.h"
#include "lower/rewrite_exprs.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::lower {

using ir::Affine;
using ir::Index;
using ir::LoopKind;
using ir::Stmt;

namespace {

// How a buffer is spread: of its dimensions, those of the tile.
struct Placement {
  ir::Fragment fragment;
  std::vector<std::size_t> dimensions;
  std::vector<std::int64_t> extents;
};
using Placements = std::map<std::string, Placement>;

const ir::Intrinsic* warp_row(const Stmt& s) {
  const auto* tensorized = std::get_if<ir::Tensorized>(&s->op);
  const ir::Intrinsic* row = tensorized ? ir::find_intrinsic(tensorized->intrinsic) : nullptr;
  return row && ir::is_of_warps(row->scope) ? row : nullptr;
}

// A buffer is spread as the instructions say that use it. Which dimensions of it are the tile is
// found from their subscripts (ir::fragment_dimensions), not from its shape.
Placements placements_of(const ir::LoopProgram& program) {
  std::set<std::string> registers;
  Placements result;
  ir::for_each_stmt(program.body, [&](const Stmt& s) {
    const auto* alloc = std::get_if<ir::Alloc>(&s->op);
    if (alloc && alloc->buffer.memory == ir::Memory::Register) registers.insert(alloc->buffer.name);
    const ir::Intrinsic* row = warp_row(s);
    if (!row) return;
    const auto match = ir::match_warp(*row, std::get<ir::Tensorized>(s->op).body);
    POLYTE_CHECK(match, row->name + ": " + (match ? "" : match.error().difference));
    for (std::size_t n = 0; n < match->operands.size(); ++n) {
      if (!registers.contains(match->operands[n].buffer)) continue;
      const auto dimensions = ir::fragment_dimensions(*row, *match, n);
      POLYTE_CHECK(dimensions,
                   row->name + ": " + (dimensions ? "" : dimensions.error().difference));
      Placement placement{row->fragments[n], *dimensions, {}};
      for (const std::size_t loop : ir::loops_of_operand(*row, n))
        placement.extents.push_back(match->extents[loop]);
      result.emplace(match->operands[n].buffer, std::move(placement));
    }
  });
  return result;
}

// A loop along one dimension of a tile that lanes share, and its part of the register's number.
struct Role {
  const Placement* placement = nullptr;
  int dimension = 0;
  Affine reg = 0;  // its part of the register's number
};

class FragmentPlacer {
 public:
  FragmentPlacer(const ir::LoopProgram& program, Placements placements)
      : names_(program, true), placements_(std::move(placements)) {}

  // `in_warp`: outside of lanes.
  Stmt visit(const Stmt& s, bool in_warp) {
    if (warp_row(s)) return placed_in_instruction(s);
    if (in_warp && is_shared_by_lanes(s)) return shared(s);
    if (const auto* store = std::get_if<ir::Store>(&s->op))
      POLYTE_CHECK(
          placed_accesses(*store).empty(),
          "what touches '" + store->buffer + "' takes elements of registers that lanes share");
    const auto* loop = std::get_if<ir::For>(&s->op);
    const bool inside =
        loop && ir::is_of_threads(loop->kind) ? loop->kind == LoopKind::Warp : in_warp;
    Stmt below = ir::rewrite_children(s, [&](const Stmt& child) { return visit(child, inside); });
    const auto* alloc = std::get_if<ir::Alloc>(&below->op);
    return alloc && placements_.contains(alloc->buffer.name) ? allocation(*alloc) : below;
  }

 private:
  Names names_;
  Placements placements_;
  std::map<std::string, Role> roles_;  // of loops that are being shared
  std::string lane_;

  // --- which nests

  struct Placed {
    const Placement* placement;
    const std::vector<Index>* indices;
  };
  std::vector<Placed> placed_accesses(const ir::Store& store) const {
    std::vector<Placed> all;
    const auto add = [&](const std::string& buffer, const std::vector<Index>& indices) {
      const auto at = placements_.find(buffer);
      if (at != placements_.end()) all.push_back({&at->second, &indices});
    };
    add(store.buffer, store.indices);
    for (const ir::Load* load : ir::loads_of(store.value)) add(load->buffer, load->indices);
    return all;
  }

  // The loop that runs along one dimension of a tile: the one that moves it by one.
  static std::string loop_along(const Affine& subscript, std::int64_t extent,
                                const std::set<std::string>& loops) {
    for (const std::string& loop : loops)
      if (ir::tile_base(subscript, loop, extent)) return loop;
    return "";
  }

  // The loops below s of the tiles that its stores touch.
  std::map<std::string, Role> roles_in(const Stmt& s) const {
    std::set<std::string> loops;
    ir::for_each_stmt(s, [&](const Stmt& each) {
      if (const auto* loop = std::get_if<ir::For>(&each->op)) loops.insert(loop->var);
    });
    std::map<std::string, Role> roles;
    ir::for_each_stmt(s, [&](const Stmt& each) {
      const auto* store = std::get_if<ir::Store>(&each->op);
      for (const Placed& access : store ? placed_accesses(*store) : std::vector<Placed>{})
        for (std::size_t i = 0; i < access.placement->dimensions.size(); ++i) {
          const Affine& subscript = (*access.indices)[access.placement->dimensions[i]].affine;
          const std::string loop = loop_along(subscript, access.placement->extents[i], loops);
          if (!loop.empty()) roles[loop] = {access.placement, static_cast<int>(i), 0};
        }
    });
    return roles;
  }

  // Every store below is in loops along all dimensions of one tile. Instructions and loops of
  // threads are left to visits further in.
  bool is_shared_by_lanes(const Stmt& s) const {
    bool has_instruction = false;
    ir::for_each_stmt(s, [&](const Stmt& each) {
      const auto* loop = std::get_if<ir::For>(&each->op);
      has_instruction =
          has_instruction || warp_row(each) || (loop && ir::is_of_threads(loop->kind));
    });
    if (has_instruction) return false;
    const std::map<std::string, Role> roles = roles_in(s);
    return !roles.empty() && has_all_loops(s, roles, 0);
  }
  static bool has_all_loops(const Stmt& s, const std::map<std::string, Role>& roles,
                            std::size_t open) {
    if (std::holds_alternative<ir::Store>(s->op))
      return open >= roles.begin()->second.placement->dimensions.size();
    if (const auto* loop = std::get_if<ir::For>(&s->op)) open += roles.contains(loop->var) ? 1 : 0;
    bool all = true;
    ir::rewrite_children(s, [&](const Stmt& child) {
      all = all && has_all_loops(child, roles, open);
      return child;
    });
    return all;
  }

  // --- sharing them

  Stmt shared(const Stmt& s) {
    roles_ = roles_in(s);
    lane_ = names_.fresh("lane");
    Stmt body = distributed(s);
    roles_.clear();
    return ir::make_for({lane_, {0}, {ir::kLanes}, LoopKind::Lane, lane_, std::move(body)});
  }

  Stmt distributed(const Stmt& s) {
    const auto* loop = std::get_if<ir::For>(&s->op);
    if (loop && roles_.contains(loop->var)) return digits_of(*loop);
    if (std::holds_alternative<ir::Store>(s->op))
      return with_accesses(
          s, [&](const Placement& placement, std::vector<Index>& indices,
                 std::vector<std::int64_t>& lanes) { place_shared(placement, indices, lanes); });
    return ir::rewrite_children(s, [&](const Stmt& child) { return distributed(child); });
  }

  // A loop of a tile as loops over the digits of its subscript that are registers; the lane has the
  // others. Of the rows of c, i = 8*a + lane//4 with a in 0..2; of its columns, j = 2*(lane%4) + b
  // with b in 0..2:
  //
  //   for j in 0..min(8, N - 8*q)     ->     vector b in 0..min(2, N - 8*q - 2*(lane%4))
  //
  // Where the tile is cut short, the digit of single steps takes the bound, as b here. Without such
  // a digit the bound becomes a condition.
  Stmt digits_of(const ir::For& loop) {
    Role& role = roles_.at(loop.var);
    std::vector<ir::FragmentDigit> registers;
    Affine value = 0, outer = 0;  // of the loop's variable; without the digit of single steps
    for (const ir::FragmentDigit& digit : role.placement->fragment.digits) {
      if (digit.dimension != role.dimension) continue;
      if (digit.of_lane) {
        const Affine part =
            ir::mod(ir::floor_div(Affine::symbol(lane_), digit.weight), digit.extent);
        // The uppermost digit of a lane needs no remainder.
        const bool is_top = digit.weight * digit.extent == ir::kLanes;
        value = value +
                (is_top ? ir::floor_div(Affine::symbol(lane_), digit.weight) : part) * digit.stride;
      } else {
        registers.push_back(digit);
      }
    }
    // Coarse digits outside: the digit of single steps, along which memory is contiguous, is
    // innermost.
    std::ranges::sort(registers, {}, [](const ir::FragmentDigit& d) { return -d.stride; });
    std::vector<std::string> vars;
    for (const ir::FragmentDigit& digit : registers) {
      vars.push_back(names_.fresh(loop.var));
      if (digit.stride == 1) outer = value;
      value = value + Affine::symbol(vars.back()) * digit.stride;
      role.reg = role.reg + Affine::symbol(vars.back()) * digit.weight;
    }
    const bool has_steps = !registers.empty() && registers.back().stride == 1;
    const std::int64_t extent = role.placement->extents[static_cast<std::size_t>(role.dimension)];
    std::vector<ir::Constraint> guard;
    std::vector<Affine> most;  // of the digit of single steps
    for (const Affine& low : loop.lower)
      if (low != Affine(0)) guard.push_back(ir::at_least(value, low));
    for (const Affine& high : loop.upper) {
      if (high.is_constant() && high.constant() >= extent) continue;
      if (has_steps) {
        most.push_back(high - outer);
      } else {
        guard.push_back(ir::less_than(value, high));
      }
    }
    Stmt body = ir::substitute(distributed(loop.body), {{loop.var, value}});
    if (!guard.empty()) body = ir::make_if({std::move(guard), nullptr, std::move(body)});
    const bool is_innermost = !has_roles_below(loop.body);
    for (std::size_t i = registers.size(); i-- > 0;) {
      std::vector<Affine> upper = {registers[i].extent};
      const bool steps = registers[i].stride == 1;
      if (steps) upper.insert(upper.end(), most.begin(), most.end());
      const LoopKind kind = steps && is_innermost ? LoopKind::Vector : LoopKind::Unrolled;
      body = ir::make_for({vars[i], {0}, std::move(upper), kind, loop.loop, std::move(body)});
    }
    return body;
  }

  bool has_roles_below(const Stmt& s) const {
    bool found = false;
    ir::for_each_stmt(s, [&](const Stmt& each) {
      const auto* loop = std::get_if<ir::For>(&each->op);
      found = found || (loop && roles_.contains(loop->var));
    });
    return found;
  }

  // --- accesses

  // Subscripts of the tiles, by the loops along them: 16*p + i of a tile of 16 rows becomes p, and
  // i is returned as the loop along it.
  static std::vector<std::string> to_tiles(const Placement& placement, std::vector<Index>& indices,
                                           const std::set<std::string>& loops) {
    std::vector<std::string> along;
    for (std::size_t i = 0; i < placement.dimensions.size(); ++i) {
      Affine& subscript = indices[placement.dimensions[i]].affine;
      along.push_back(loop_along(subscript, placement.extents[i], loops));
      POLYTE_CHECK(!along.back().empty(),
                   "subscript " + ir::to_string(subscript) + " of a tile that lanes share");
      subscript = ir::floor_div(*ir::tile_base(subscript, along.back(), placement.extents[i]),
                                placement.extents[i]);
    }
    return along;
  }

  void place_shared(const Placement& placement, std::vector<Index>& indices,
                    std::vector<std::int64_t>& lanes) const {
    std::set<std::string> loops;
    for (const auto& [loop, role] : roles_) loops.insert(loop);
    Affine reg = 0;
    for (const std::string& loop : to_tiles(placement, indices, loops))
      reg = reg + roles_.at(loop).reg;
    append(indices, lanes, reg, Affine::symbol(lane_));
  }

  static void append(std::vector<Index>& indices, std::vector<std::int64_t>& lanes,
                     const Affine& reg, const Affine& lane) {
    indices.push_back({reg, nullptr});
    indices.push_back({lane, nullptr});
    if (!lanes.empty()) lanes.insert(lanes.end(), {0, 0});
  }

  Stmt placed_in_instruction(const Stmt& s) {
    const auto& tensorized = std::get<ir::Tensorized>(s->op);
    std::set<std::string> loops;
    ir::for_each_stmt(tensorized.body, [&](const Stmt& each) {
      if (const auto* loop = std::get_if<ir::For>(&each->op)) loops.insert(loop->var);
    });
    const auto place = [&](const Placement& placement, std::vector<Index>& indices,
                           std::vector<std::int64_t>& lanes) {
      std::vector<Affine> within;
      for (const std::string& loop : to_tiles(placement, indices, loops))
        within.push_back(Affine::symbol(loop));
      append(indices, lanes, ir::register_of(placement.fragment, within),
             ir::lane_of(placement.fragment, within));
    };
    const std::function<Stmt(const Stmt&)> below = [&](const Stmt& each) -> Stmt {
      if (std::holds_alternative<ir::Store>(each->op)) return with_accesses(each, place);
      return ir::rewrite_children(each, below);
    };
    return ir::make_tensorized({tensorized.intrinsic, below(tensorized.body)});
  }

  template <class Place>
  Stmt with_accesses(const Stmt& s, const Place& place) const {
    Stmt result = map_own_exprs(s, [&](const ir::Expr& e) {
      return ir::rewrite(e, [&](const ir::Expr& leaf) -> ir::Expr {
        const auto* load = std::get_if<ir::Load>(&leaf->op);
        if (!load || !placements_.contains(load->buffer)) return leaf;
        ir::Load copy = *load;
        place(placements_.at(load->buffer), copy.indices, copy.lanes.strides);
        return std::make_shared<const ir::ExprNode>(
            ir::ExprNode{leaf->type, leaf->lanes, std::move(copy)});
      });
    });
    ir::Store copy = std::get<ir::Store>(result->op);
    if (!placements_.contains(copy.buffer)) return result;
    place(placements_.at(copy.buffer), copy.indices, copy.lanes.strides);
    return ir::make_store(std::move(copy));
  }

  Stmt allocation(const ir::Alloc& alloc) const {
    const Placement& placement = placements_.at(alloc.buffer.name);
    ir::Alloc copy = alloc;
    for (std::size_t i = 0; i < placement.dimensions.size(); ++i) {
      std::int64_t& extent = copy.buffer.shape[placement.dimensions[i]];
      extent = ceil_div(extent, placement.extents[i]);
    }
    copy.buffer.shape.push_back(ir::registers_of(placement.fragment));
    copy.buffer.shape.push_back(ir::kLanes);
    copy.buffer.of_lanes = true;
    return ir::make_alloc(std::move(copy));
  }
};

}  // namespace

ir::LoopProgram place_fragments(const ir::LoopProgram& program) {
  Placements placements = placements_of(program);
  if (placements.empty()) return program;
  ir::LoopProgram result = program;
  result.body = FragmentPlacer(program, std::move(placements)).visit(program.body, false);
  return result;
}

}  // namespace polyte::lower
