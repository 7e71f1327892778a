#include "schedule/proof/cell_iteration.h"

#include <isl/aff.h>
#include <isl/map.h>

#include <algorithm>

#include "schedule/proof/subscript_value.h"
#include "support/error.h"

namespace polyte::schedule {
namespace {

struct AccessBelow {
  const IslStatement* statement = nullptr;
  const IslAccess* access = nullptr;
  const ir::Affine* row = nullptr;  // of the loop
};

std::vector<AccessBelow> accesses_below(const IslModel& model, int buffer, const Loop& loop) {
  std::vector<AccessBelow> found;
  for (const std::string& name : statements_below(model.state->tree, loop.id)) {
    const IslStatement& s =
        model.statements[static_cast<std::size_t>(statement_index(model, name))];
    for (const IslAccess& access : s.accesses) {
      if (access.buffer == buffer) found.push_back({&s, &access, &row_at(*s.statement, loop.name)});
    }
  }
  return found;
}

// By arithmetic on the expressions alone, without a set (subscript_value.h).
bool is_said_by_subscripts(const std::vector<AccessBelow>& accesses) {
  std::vector<ValueAtAccess> values;
  for (const AccessBelow& a : accesses) values.push_back({&a.access->text, *a.row});
  return is_value_of_element(values);
}

// { cell -> iteration : some access below the loop touches the cell in that iteration },
// single-valued.
bool is_function_of_cell(const std::vector<AccessBelow>& accesses, int depth) {
  std::optional<isl::map> iterations;
  for (const AccessBelow& a : accesses) {
    isl_map* row = isl_map_from_aff(a.statement->time[static_cast<std::size_t>(depth)].copy());
    isl::map here = a.access->cells.reverse().apply_range(isl::manage(row));
    iterations = iterations ? iterations->unite(here) : here;
  }
  return isl_map_is_single_valued(iterations->get()) == isl_bool_true;
}

}  // namespace

bool cell_fixes_iteration(const IslModel& model, int buffer, LoopId loop_id) {
  const Loop* loop = find_loop(model.state->tree, loop_id);
  POLYTE_CHECK(loop != nullptr,
               "loop " + std::to_string(static_cast<int>(loop_id)) + " is not in the tree");
  const std::vector<AccessBelow> accesses = accesses_below(model, buffer, *loop);
  return accesses.empty() || is_said_by_subscripts(accesses) ||
         is_function_of_cell(accesses, model.depth_of_loop.at(loop_id));
}

}  // namespace polyte::schedule
