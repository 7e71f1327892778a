#include "schedule/operand_staging.h"

#include <algorithm>
#include <set>

#include "ir/contraction.h"

namespace polyte::schedule {
namespace {

constexpr std::int64_t kFarStride = 64;  // elements: beyond this, every step touches another line and often a page
constexpr std::int64_t kShortReduction = 32;
constexpr std::int64_t kFewUses = 4;

// Each an iterator of its own, or a number.
bool plain_subscripts(const ir::Load& load) {
  std::set<std::string> seen;
  return std::ranges::all_of(load.indices, [&](const ir::Index& index) {
    const std::optional<std::string> name = index.affine.as_symbol();
    return !index.indirect && (index.affine.is_constant() || (name && seen.insert(*name).second));
  });
}

bool has_border(const ir::Load& load) {
  const auto bounds_a_subscript = [&](const ir::Constraint& guard) {
    return std::ranges::any_of(load.indices, [&](const ir::Index& index) {
      if (index.indirect) return false;
      return (guard.expr - index.affine).is_constant() || (guard.expr + index.affine).is_constant();
    });
  };
  return load.otherwise && std::holds_alternative<ir::Literal>(load.otherwise->op) &&
         std::ranges::none_of(load.indices, [](const ir::Index& index) { return index.indirect != nullptr; }) &&
         std::ranges::all_of(load.guard, bounds_a_subscript);
}

std::vector<const ir::Load*> loads_of(const ir::Program& program, const std::string& buffer) {
  std::vector<const ir::Load*> found;
  for (const ir::Statement& s : program.statements)
    for (const ir::Expr& value : s.values)
      for (const ir::Load* load : ir::loads_of(value))
        if (load->buffer == buffer) found.push_back(load);
  return found;
}

// A copy with a border stands for guarded reads where every part of the guards bounds one subscript (a stride's
// remainder, of a transposed convolution, asks for holes inside), if all reads of an input find the same outside.
bool wants_padded_copy(const ir::Program& program, const ir::Load& load) {
  const ir::Role role = program.buffer(load.buffer).role;
  if ((role != ir::Role::In && role != ir::Role::Const) || !has_border(load)) return false;
  return std::ranges::all_of(loads_of(program, load.buffer), [&](const ir::Load* other) {
    return has_border(*other) && ir::equal(other->otherwise, load.otherwise);
  });
}

std::string panel_iterator(const TiledReduction& r, const ir::Load& load) {
  for (const std::string& candidate : {r.lane, r.row}) {
    const bool indexed = std::ranges::any_of(
        load.indices, [&](const ir::Index& index) { return index.affine.as_symbol() == candidate; });
    if (!candidate.empty() && indexed) return candidate;
  }
  return "";
}

// Packing pays where a step of the reduction jumps far, or the rows of a tile fall into few sets of L1, and the
// operand is used often enough; a constant is packed at no cost.
bool wants_packing(const TiledReduction& r, const ir::Load& load, const std::string& panel, const Machine& machine) {
  const ir::Buffer& buffer = r.program->buffer(load.buffer);
  std::int64_t step = 0;
  for (const std::string& loop : r.update->reductions) {
    step = std::max(step, std::abs(ir::stride_of(*r.program, load, loop).value_or(0)));
  }
  if (step == 0 || r.steps < kShortReduction) return false;
  if (buffer.role == ir::Role::Const) return true;
  const std::int64_t stride_bytes = ir::stride_of(*r.program, load, panel).value_or(0) * size_in_bytes(buffer.dtype);
  const bool crowded = panel == r.row && conflicts_in_cache(machine, stride_bytes, r.tile.rows);
  std::int64_t uses = panel == r.lane ? r.row_trips : r.lane_trips;
  for (const auto& [loop, extent] : r.others) {
    if (ir::stride_of(*r.program, load, loop) == 0) uses *= std::max<std::int64_t>(1, extent);
  }
  return (step >= kFarStride || crowded) && uses >= kFewUses;
}

std::string panel_layout(const TiledReduction& r, const ir::Load& load, const std::string& panel) {
  const std::string size = panel == r.lane ? r.lane_size : r.row_size;
  std::string names, middle;
  for (std::size_t d = 0; d < load.indices.size(); ++d) {
    const std::string name = load.indices[d].affine.as_symbol().value_or("at" + std::to_string(d));
    names += (names.empty() ? "" : ", ") + name;
    if (name != panel) middle += name + ", ";
  }
  return "(" + names + ") [" + panel + "//" + size + ", " + middle + panel + "%" + size + "]";
}

}  // namespace

bool can_stage_accumulator(const ir::Program& program, const ir::Statement& update, bool for_whole_kernel) {
  if (update.guard) return false;
  return !for_whole_kernel || std::ranges::none_of(loads_of(program, update.writes[0].buffer),
                                                   [](const ir::Load* load) { return load->otherwise != nullptr; });
}

std::vector<std::string> operand_stages(const TiledReduction& r, const Machine& machine) {
  std::vector<std::string> lines;
  std::set<std::string> seen;
  for (const ir::Expr& value : r.update->values) {
    for (const ir::Load* load : ir::loads_of(value)) {
      const ir::Role role = r.program->buffer(load->buffer).role;
      if (role == ir::Role::Out || role == ir::Role::InOut || !seen.insert(load->buffer).second) continue;
      if (load->otherwise) {
        if (wants_padded_copy(*r.program, *load)) lines.push_back("stage " + load->buffer);
        continue;
      }
      const std::string panel = panel_iterator(r, *load);
      if (panel.empty() || !plain_subscripts(*load) || !wants_packing(r, *load, panel, machine)) continue;
      lines.push_back("stage " + load->buffer + " layout " + panel_layout(r, *load, panel) +
                      (role == ir::Role::Const ? " when compile" : ""));
    }
  }
  return lines;
}

}  // namespace polyte::schedule
