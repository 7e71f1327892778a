#include "schedule/script/primitives/padding.h"

#include <algorithm>

#include "ir/relations.h"
#include "schedule/script/primitives/lift.h"

namespace polyte::schedule {

namespace {

using ir::Affine;
using ir::Constraint;

Affine coordinate(std::size_t dimension) { return Affine::symbol(coordinate_name(dimension)); }

// A guard over the reader's iterators as one over the coordinates $0, $1, .. of the element that is
// read: 0 <= i + r - 1 of x[i + r - 1] is 0 <= $0. Nothing where it is about no single subscript.
std::optional<Constraint> over_coordinates(const Constraint& guard,
                                           const std::vector<ir::Index>& indices) {
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const Affine up = guard.expr - indices[d].affine, down = guard.expr + indices[d].affine;
    if (indices[d].indirect) continue;
    if (up.is_constant()) return Constraint{coordinate(d) + up, guard.equality};
    if (down.is_constant()) return Constraint{down - coordinate(d), guard.equality};
  }
  return std::nullopt;
}

// A guard that only asks whether the element exists.
bool is_bounds_test(const Constraint& guard, const std::vector<Affine>& shape) {
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (guard == ir::at_least(coordinate(d), 0) || guard == ir::less_than(coordinate(d), shape[d]))
      return true;
  return false;
}

std::vector<const ir::Load*> guarded_loads(const ScheduledStatement& s, const std::string& buffer) {
  std::vector<const ir::Load*> loads;
  for (const ir::Load* load : ir::reads_of(s.body))
    if (load->buffer == buffer && load->otherwise) loads.push_back(load);
  return loads;
}

// Adds one guarded read to the padding, and returns its guard over coordinates, sorted. All reads
// have to find the same constant outside.
Result<std::vector<Constraint>, Refusal> add_read(const ir::Load& load, const std::string& reader,
                                                  Padding& padding) {
  std::vector<Constraint> guard;
  for (const Constraint& c : load.guard) {
    const auto own = over_coordinates(c, load.indices);
    if (!own)
      return conservative("the guard " + ir::to_string(c) + " of " + reader +
                          " is not about one index of " + load.buffer);
    guard.push_back(*own);
  }
  if (padding.otherwise && !ir::equal(padding.otherwise, load.otherwise))
    return conservative("guarded reads of " + load.buffer + " have different values outside");
  if (!std::holds_alternative<ir::Literal>(load.otherwise->op))
    return conservative("the value outside " + load.buffer + " is not a constant");
  padding.otherwise = load.otherwise;
  std::ranges::sort(guard, std::less<>());
  for (const Constraint& c : guard)
    if (std::ranges::find(padding.guard, c) == padding.guard.end()) padding.guard.push_back(c);
  return guard;
}

}  // namespace

std::string coordinate_name(std::size_t dimension) { return "$" + std::to_string(dimension); }

// Different guards are fine if all only ask whether the element exists: the copy can ask the
// same for every element. Otherwise a value outside for one reader may be an element for
// another.
Result<Padding, Refusal> padding_of(const State& state, const std::string& buffer,
                                    const std::vector<std::string>& users) {
  Padding padding;
  const bool written = std::ranges::any_of(
      users, [&](const std::string& user) { return writes(state.at(user), buffer); });
  if (written) return padding;
  std::vector<std::vector<Constraint>> guards;
  for (const std::string& user : users)
    for (const ir::Load* load : guarded_loads(state.at(user), buffer)) {
      const auto guard = add_read(*load, user, padding);
      if (!guard) return guard.error();
      guards.push_back(*guard);
    }
  const std::vector<Affine> shape = state.shape_of(buffer);
  const bool all_bounds = std::ranges::all_of(
      padding.guard, [&](const Constraint& c) { return is_bounds_test(c, shape); });
  for (const auto& guard : guards)
    if (!all_bounds && guard != guards.front())
      return conservative("reads of " + buffer + " have different guards");
  return padding;
}

}  // namespace polyte::schedule
