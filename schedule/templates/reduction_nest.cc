#include "schedule/templates/reduction_nest.h"

#include <algorithm>

#include "ir/contraction.h"
#include "ir/relations.h"
#include "schedule/cost/lanes.h"
#include "support/checked.h"

namespace polyte::schedule {

ReductionNest::ReductionNest(const KernelSoFar& kernel, const StatementGroup& group)
    : program_(&kernel.program),
      machine_(&kernel.machine),
      group_(group),
      facts_(facts_of(kernel.reference, *group.update)),
      dtype_(program_->buffer(group.update->writes[0].buffer).dtype) {}

std::vector<const ir::Statement*> ReductionNest::statements() const {
  std::vector<const ir::Statement*> all;
  if (group_.init) all.push_back(group_.init);
  all.push_back(group_.update);
  all.insert(all.end(), group_.epilogue.begin(), group_.epilogue.end());
  return all;
}

// The question in the cost model's words: all loops with their extents, the free ones as
// candidates for lanes and rows, and what is read besides the update at a finished sum.
TileChoice ReductionNest::choose(const TileForm* form) const {
  TileQuestion question{.program = program_, .main = group_.update, .form = form};
  for (const ir::Statement* s : statements())
    if (s != group_.update) question.others.push_back(s);
  for (const IteratorFacts& fact : facts_) {
    question.loops.push_back({fact.name, fact.extent, fact.reduction});
    if (!fact.reduction) question.candidates.push_back(fact.name);
    if (turns(fact)) question.turned.push_back(fact.name);
  }
  return choose_tile(question, *machine_);
}

// Whether the loop can carry lanes by transposing squares in registers: what is read strides along
// it and lies along the innermost reduction loop, and both are at least a vector long.
bool ReductionNest::turns(const IteratorFacts& fact) const {
  const std::int64_t lanes = machine_->lanes(dtype_);
  if (fact.reduction || fact.extent < lanes || group_.update->reductions.empty()) return false;
  const auto suits = [&](const ir::Statement* s) {
    return write_stride(*program_, *s, fact.name) == 1 && can_carry_lanes(*program_, *s, fact.name);
  };
  const std::string& last = group_.update->reductions.back();
  return std::ranges::all_of(statements(), suits) && extent(last) >= lanes &&
         turning_loop(*program_, *group_.update, fact.name) == last;
}

// Never more than the loop has: a tile wider than its loop would count bytes that nobody reads.
std::int64_t TiledSum::lanes() const {
  return std::min(nest_.extent(choice_.lane),
                  std::int64_t{choice_.tile.vectors} * nest_.machine().lanes(nest_.dtype()));
}

// Tiles, a cut one at the end included.
std::int64_t TiledSum::trips(const std::string& role) const {
  if (role == "lane")
    return choice_.lane.empty() ? 1 : ceil_div(nest_.extent(choice_.lane), lanes());
  if (role == "row") return ceil_div(nest_.extent(choice_.row), choice_.tile.rows);
  if (role == "outer_row")
    return ceil_div(nest_.extent(choice_.outer_row), choice_.tile.outer_rows);
  return choice_.block.empty() ? 1 : ceil_div(nest_.extent(choice_.block), choice_.block_size);
}

std::int64_t TiledSum::trips_of(const std::string& loop) const {
  return loop == tiles_of(choice_.outer_row) ? trips("outer_row") : nest_.extent(loop);
}

std::map<std::string, std::vector<std::string>> TiledSum::free_loops() const {
  std::map<std::string, std::vector<std::string>> loops{
      {"free", {}}, {"batch", {}}, {"lane_free", {}}, {"row_free", {}}};
  for (const IteratorFacts& fact : nest_.iterators()) {
    if (fact.reduction || fact.name == choice_.lane || fact.name == choice_.row) continue;
    const std::string loop = fact.name == choice_.outer_row ? tiles_of(fact.name) : fact.name;
    loops["free"].push_back(loop);
    loops[side_of(fact.name)].push_back(loop);
  }
  return loops;
}

// A load whose stride is not linear counts as moving.
bool TiledSum::moves(const ir::Load& load, const std::string& loop) const {
  return !loop.empty() && ir::stride_of(nest_.program(), load, loop).value_or(1) != 0;
}

// For `lanes`, whether the operand moves along the lanes and not along the rows; otherwise, along
// the rows and not along the lanes. Without rows only the lanes count.
bool TiledSum::is_along(const ir::Load& load, bool lanes) const {
  const bool along_lanes = moves(load, choice_.lane);
  const bool along_rows = choice_.row.empty() ? !along_lanes : moves(load, choice_.row);
  return along_lanes == lanes && along_rows != lanes;
}

// A free loop outside the tile belongs to the operands that move with it: to those along the lanes
// or along the rows, whose panels it then chooses. `batch` where both move, or neither.
const char* TiledSum::side_of(const std::string& loop) const {
  bool with_lanes = false, with_rows = false;
  for (const ir::Load* load : ir::reads_of(*nest_.group().update)) {
    if (!moves(*load, loop)) continue;
    with_lanes = with_lanes || is_along(*load, true);
    with_rows = with_rows || is_along(*load, false);
  }
  if (with_lanes == with_rows) return "batch";
  return with_lanes ? "lane_free" : "row_free";
}

// Bytes of the operands along the lanes (or the rows) that one iteration of the batch loops reads,
// each tensor once and at most whole.
std::int64_t TiledSum::bytes_along(bool lanes, const std::vector<std::string>& batch) const {
  std::int64_t bytes = 0;
  std::set<std::string> seen;
  for (const ir::Load* load : ir::reads_of(*nest_.group().update)) {
    if (!is_along(*load, lanes) || !seen.insert(load->buffer).second) continue;
    std::int64_t elements = 1;
    for (const IteratorFacts& fact : nest_.iterators())
      if (moves(*load, fact.name) && std::ranges::find(batch, fact.name) == batch.end())
        elements *= std::max<std::int64_t>(1, fact.extent);
    const ir::Buffer& buffer = nest_.program().buffer(load->buffer);
    bytes += std::min(elements, checked_product(ir::constant_shape(buffer))) *
             size_in_bytes(buffer.dtype);
  }
  return bytes;
}

std::int64_t TiledSum::product_of(const std::vector<std::string>& loops) const {
  std::int64_t product = 1;
  for (const std::string& loop : loops) product *= std::max<std::int64_t>(1, trips_of(loop));
  return product;
}

// For conditions of templates.table (docs/templates.md lists them). With the operands A along the
// rows and B along the lanes of C[m, n] += A[m, k] * B[k, n]:
//
//   lane_bytes   bytes of B in one iteration of the batch loops     row_bytes   of A
//   lane_lines   iterations of free loops that move B alone: one of them reads a line of B
//   lane_panels  lines times tiles along the lanes: how often A is read if lanes are outside
//   lane_fits    B stays in two thirds of the second cache, lane_line_fits: a line of it does
std::map<std::string, std::int64_t> TiledSum::facts() const {
  std::map<std::string, std::int64_t> facts = machine_facts(nest_.machine(), nest_.dtype());
  facts["Mr"] = choice_.tile.rows;
  facts["Nr"] = lanes();
  facts["Kc"] = choice_.block.empty() ? 0 : choice_.block_size;
  facts["Tb"] =
      !choice_.lane.empty() && choice_.in_blocks == choice_.lane ? choice_.block_tiles : 0;
  facts["turned"] = choice_.turned > 0 && choice_.row.empty();
  facts["steps"] = 1;
  for (const std::string& loop : nest_.group().update->reductions)
    facts["steps"] *= std::max<std::int64_t>(1, nest_.extent(loop));
  auto loops = free_loops();
  const std::int64_t far = nest_.machine().l2.bytes * 2 / 3;  // beside what passes by
  for (const bool of_lanes : {true, false}) {
    const std::string side = of_lanes ? "lane" : "row";
    const std::int64_t bytes = bytes_along(of_lanes, loops["batch"]),
                       lines = product_of(loops[side + "_free"]);
    facts[side + "_lines"] = lines;
    facts[side + "_panels"] = lines * trips(side);
    facts[side + "_bytes"] = bytes;
    facts[side + "_fits"] = bytes <= far;
    facts[side + "_line_fits"] = ceil_div(bytes, lines) <= far;
  }
  return facts;
}

}  // namespace polyte::schedule
