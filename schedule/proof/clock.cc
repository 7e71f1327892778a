#include "schedule/proof/clock.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/val.h>

#include <algorithm>

#include "schedule/proof/cell_iteration.h"

namespace polyte::schedule {
namespace {

isl::map in_phase(isl_map* time, int position) {
  time = isl_map_insert_dims(time, isl_dim_out, 0, 1);
  return isl::manage(isl_map_fix_si(time, isl_dim_out, 0, position));
}

bool accesses(const IslStatement& s, int buffer) {
  return std::ranges::any_of(s.accesses, [&](const IslAccess& a) { return a.buffer == buffer; });
}

// The value of a constant; none for any other.
std::optional<std::int64_t> constant_of(const isl::aff& value) {
  if (!value.is_cst()) return std::nullopt;
  return value.constant_val().num_si();
}

}  // namespace

// A time vector less what the cell decides. Of two accesses of one cell
//
//   dimensions down to the scope   are equal, as they are coordinates of the cell
//   a loop that the cell fixes     is equal too: its value is replaced by 0
//
// isl's dataflow doubles its cases with each dimension in which the order is open, so each
// one less counts.
std::vector<isl::aff> Clock::full_time(int statement, int buffer,
                                       std::map<LoopId, bool>& fixed) const {
  const IslStatement& s = model_.statements[static_cast<std::size_t>(statement)];
  std::vector<isl::aff> values = s.time;
  const LoopId scope = model_.buffers[static_cast<std::size_t>(buffer)].scope_loop;
  // Dimensions that are the cells' own.
  const int outside = scope != kKernel ? model_.depth_of_loop.at(scope) + 1 : 0;
  for (const Loop* loop : path_to(model_.state->tree, s.statement->body.name)) {
    const int depth = model_.depth_of_loop.at(loop->id);
    if (depth < outside) continue;
    auto [known, fresh] = fixed.try_emplace(loop->id);
    if (fresh) known->second = cell_fixes_iteration(model_, buffer, loop->id);
    if (!known->second) continue;
    isl::aff& value = values[static_cast<std::size_t>(depth)];
    value = isl::manage(isl_aff_zero_on_domain(isl_aff_get_domain_local_space(value.get())));
  }
  values.erase(values.begin(), values.begin() + outside);
  return values;
}

const Clock::Times& Clock::times_of(int buffer) {
  auto [slot, fresh] = times_.try_emplace(buffer);
  if (!fresh) return slot->second;
  std::map<int, std::vector<isl::aff>> full;
  std::map<LoopId, bool> fixed;  // by loop
  for (std::size_t i = 0; i < model_.statements.size(); ++i) {
    if (!accesses(model_.statements[i], buffer)) continue;
    full[static_cast<int>(i)] = full_time(static_cast<int>(i), buffer, fixed);
    slot->second[static_cast<int>(i)];
  }
  const std::size_t dimensions = full.empty() ? 0 : full.begin()->second.size();
  for (std::size_t d = 0; d < dimensions; ++d) {
    const std::optional<std::int64_t> first = constant_of(full.begin()->second[d]);
    const auto same = [&](const auto& entry) {
      return first && constant_of(entry.second[d]) == first;
    };
    if (std::ranges::all_of(full, same)) continue;
    for (auto& [statement, values] : full) slot->second[statement].push_back(values[d]);
  }
  return slot->second;
}

isl::map Clock::of_statement(int statement, int buffer) {
  const isl::set& domain = model_.statements[static_cast<std::size_t>(statement)].domain;
  isl::multi_aff time = to_multi_aff(domain.get_space(), "", times_of(buffer).at(statement));
  return in_phase(isl_map_intersect_domain(isl_map_from_multi_aff(time.release()), domain.copy()),
                  0);
}

// One leading dimension, the phase: IN -1, statements 0, OUT 1.
isl::map Clock::of_virtual(const isl::set& cells, int buffer, int position) {
  const Times& times = times_of(buffer);
  const auto dimensions = static_cast<unsigned>(times.empty() ? 0 : times.begin()->second.size());
  isl_space* range =
      isl_space_add_unnamed_tuple_ui(isl_space_params(isl_set_get_space(cells.get())), dimensions);
  isl_map* time = isl_map_from_domain_and_range(cells.copy(), isl_set_universe(range));
  for (unsigned d = 0; d < dimensions; ++d) time = isl_map_fix_si(time, isl_dim_out, d, 0);
  return in_phase(time, position);
}

}  // namespace polyte::schedule
