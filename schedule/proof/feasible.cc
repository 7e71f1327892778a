#include "schedule/proof/feasible.h"

#include <set>

#include "schedule/proof/isl_bridge.h"
#include "schedule/proof/isl_faults.h"

namespace polyte::schedule {

Feasibility::Feasibility() : context_(std::make_unique<IslContext>()) {}
Feasibility::~Feasibility() = default;

// One isl set over the symbols as dimensions, and whether it is empty: integer programming, exact.
// Whoever asks wants to leave a barrier out, so "do not know" has to count as feasible.
bool Feasibility::holds(const std::vector<ir::Constraint>& all) {
  constexpr std::uint64_t kSteps = 1'000'000;
  std::set<std::string> symbols;
  for (const ir::Constraint& c : all) c.expr.collect_symbols(symbols);
  context_->limit(kSteps);
  try {
    const isl::space space = set_space(*context_, {}, "P", symbols.size());
    return !to_set(space, {symbols.begin(), symbols.end()}, {}, all).is_empty();
  } catch (const isl::exception& e) {
    if (!is_quota(*context_, e)) throw_isl_fault(*context_, e, "lowering");
    return true;
  }
}

}  // namespace polyte::schedule
