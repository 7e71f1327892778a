#include "ir/point_nest.h"

namespace polyte::ir {

Result<PointNest, Mismatch> point_nest(const Stmt& s) {
  PointNest nest;
  const Stmt* at = &s;
  // The bounds may depend on outer loops (i0..i0 + 16): only their difference has to be a
  // number.
  while (const auto* loop = std::get_if<For>(&(*at)->op)) {
    const std::string& name = loop->loop.empty() ? loop->var : loop->loop;
    if (loop->kind != LoopKind::Serial) return Mismatch{"loop " + name + " is no plain loop"};
    if (loop->lower.size() != 1 || loop->upper.size() != 1 ||
        !(loop->upper[0] - loop->lower[0]).is_constant())
      return Mismatch{"loop " + name + " does not always run the same number of times"};
    nest.loops.push_back(
        {loop->var, name, loop->lower[0], (loop->upper[0] - loop->lower[0]).constant()});
    at = &loop->body;
  }
  // Affine conditions are a mask that some instructions have; one on data belongs to none.
  const auto* branch = std::get_if<If>(&(*at)->op);
  if (branch && !branch->condition) {
    nest.conditions = branch->conditions;
    at = &branch->body;
  }
  nest.store = std::get_if<Store>(&(*at)->op);
  if (!nest.store)
    return Mismatch{"there is more in the loops than one statement without a condition"};
  return nest;
}

// The coefficient is the whole of it only if the loop is nowhere else, as inside a division.
std::optional<std::int64_t> step_of(const Index& index, const std::string& var) {
  const std::int64_t step = index.affine.coefficient(var);
  if (index.indirect || (index.affine - Affine::symbol(var) * step).uses(var)) return std::nullopt;
  return step;
}

}  // namespace polyte::ir
