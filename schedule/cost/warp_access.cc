#include "schedule/cost/warp_access.h"

#include <algorithm>
#include <cstdlib>

#include "ir/contraction.h"
#include "ir/loop_program.h"
#include "ir/relations.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

double sectors(std::optional<std::int64_t> stride, int element_bytes, std::int64_t lanes) {
  if (stride == 0) return 1;
  const std::int64_t bytes = std::min(std::abs(stride.value_or(kSectorBytes)) * element_bytes, kSectorBytes);
  return static_cast<double>(ceil_div(bytes * lanes, kSectorBytes));
}

}  // namespace

double sectors_a_warp(const ir::Program& program, const ir::Statement& statement, const std::string& loop,
                      std::int64_t extent) {
  // Of a short loop the warp runs along several of its rows.
  const std::int64_t lanes = std::clamp<std::int64_t>(extent, 1, ir::kLanes);
  const double rows = static_cast<double>(ceil_div(std::int64_t{ir::kLanes}, lanes));
  double all = 0;
  const auto add = [&](const auto& access) {
    const int bytes = size_in_bytes(program.buffer(access.buffer).dtype);
    all += rows * sectors(ir::stride_of(program, access, loop), bytes, lanes);
  };
  for (const ir::Access& write : statement.writes) add(write);
  for (const ir::Load* load : ir::reads_of(statement)) add(*load);
  return all;
}

}  // namespace polyte::schedule
