#include "schedule/operand_staging.h"

#include <algorithm>
#include <set>

#include "ir/contraction.h"

namespace polyte::schedule {
namespace {

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

std::string panel_iterator(const ir::Load& load, const std::string& lane, const std::string& row) {
  for (const std::string& candidate : {lane, row}) {
    const bool indexed = std::ranges::any_of(
        load.indices, [&](const ir::Index& index) { return index.affine.as_symbol() == candidate; });
    if (!candidate.empty() && indexed) return candidate;
  }
  return "";
}

// The last of the outermost loops that each own a subscript of the load: a part copied there is copied once, and is
// small. Empty: none.
std::string copy_site(const TiledReduction& r, const ir::Load& load) {
  std::string site;
  for (const std::string& loop : r.order) {
    const auto uses = [&](const ir::Index& index) { return index.affine.uses(loop); };
    const auto owns = [&](const ir::Index& index) { return index.affine.as_symbol() == loop; };
    if (std::ranges::count_if(load.indices, uses) != 1 || std::ranges::count_if(load.indices, owns) != 1) break;
    site = loop;
  }
  return site;
}

// Elements in the order of their use: what the loops around hold first, then the steps of the reduction.
std::string panel_layout(const TiledReduction& r, const ir::Load& load, const std::string& panel) {
  const std::string size = panel == r.lane ? r.lane_size : r.row_size;
  std::string names, around, steps;
  const std::vector<std::string>& reductions = r.update->reductions;
  for (std::size_t d = 0; d < load.indices.size(); ++d) {
    const std::string name = load.indices[d].affine.as_symbol().value_or("at" + std::to_string(d));
    names += (names.empty() ? "" : ", ") + name;
    if (name != panel && std::ranges::find(reductions, name) == reductions.end()) around += name + ", ";
  }
  for (const std::string& loop : reductions)
    if (std::ranges::any_of(load.indices, [&](const ir::Index& index) { return index.affine.as_symbol() == loop; }))
      steps += loop + ", ";
  return "(" + names + ") [" + panel + "//" + size + ", " + around + steps + panel + "%" + size + "]";
}

}  // namespace

bool can_stage_accumulator(const ir::Program& program, const ir::Statement& update, bool for_whole_kernel) {
  if (update.guard) return false;
  return !for_whole_kernel || std::ranges::none_of(loads_of(program, update.writes[0].buffer),
                                                   [](const ir::Load* load) { return load->otherwise != nullptr; });
}

bool can_pack(const ir::Program& program, const ir::Statement& update, const ir::Load& load, const std::string& lane,
              const std::string& row) {
  const ir::Role role = program.buffer(load.buffer).role;
  const bool is_result = role == ir::Role::Out || role == ir::Role::InOut;
  const bool moves = std::ranges::any_of(
      update.reductions, [&](const std::string& loop) { return ir::stride_of(program, load, loop).value_or(0) != 0; });
  // A read with a guard would leave the panels.
  const bool all_plain = std::ranges::all_of(loads_of(program, load.buffer), [](const ir::Load* other) {
    return !other->otherwise && plain_subscripts(*other);
  });
  return !is_result && moves && all_plain && !panel_iterator(load, lane, row).empty();
}

namespace {

// Of several reads of a buffer the one along the lanes says how its panels run.
const ir::Load* panel_load(const TiledReduction& r, const ir::Load* first) {
  for (const ir::Expr& value : r.update->values)
    for (const ir::Load* load : ir::loads_of(value))
      if (load->buffer == first->buffer && panel_iterator(*load, r.lane, "") == r.lane) return load;
  return first;
}

}  // namespace

std::vector<std::string> operand_stages(const TiledReduction& r, std::set<std::string>& whole) {
  std::vector<std::string> lines;
  std::set<std::string> seen;
  for (const ir::Expr& value : r.update->values) {
    for (const ir::Load* load : ir::loads_of(value)) {
      const ir::Role role = r.program->buffer(load->buffer).role;
      if (role == ir::Role::Out || role == ir::Role::InOut || !seen.insert(load->buffer).second) continue;
      if (load->otherwise) {
        if (r.in_place.contains(load->buffer) || !wants_padded_copy(*r.program, *load)) continue;
        const std::string site = copy_site(r, *load);
        if (site.empty() && !whole.insert(load->buffer).second) continue;
        lines.push_back("stage " + load->buffer + (site.empty() ? "" : " at " + r.update->name + ":" + site));
      } else if (r.packed.contains(load->buffer) && whole.insert(load->buffer).second) {
        const ir::Load* panels = panel_load(r, load);
        lines.push_back("stage " + load->buffer + " layout " +
                        panel_layout(r, *panels, panel_iterator(*panels, r.lane, r.row)) +
                        (role == ir::Role::Const ? " when compile" : ""));
      }
    }
  }
  return lines;
}

}  // namespace polyte::schedule
