#include "schedule/cost/warp_access.h"

#include <algorithm>
#include <cstdlib>

#include "ir/contraction.h"
#include "ir/loop_program.h"
#include "ir/relations.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

template <class Access>
double sectors(const ir::Program& program, const Access& access, const std::string& loop,
               std::int64_t extent) {
  // A loop shorter than a warp gives it several rows of the loop.
  const std::int64_t lanes = std::clamp<std::int64_t>(extent, 1, ir::kLanes);
  const double rows = static_cast<double>(ceil_div(std::int64_t{ir::kLanes}, lanes));
  const std::optional<std::int64_t> stride = ir::stride_of(program, access, loop);
  if (stride == 0) return rows;
  const int element_bytes = size_in_bytes(program.buffer(access.buffer).dtype);
  const std::int64_t bytes =
      std::min(std::abs(stride.value_or(kSectorBytes)) * element_bytes, kSectorBytes);
  // Lanes that stride by a sector or more have one each; closer ones share them: 32 floats side by
  // side are 4 sectors.
  return rows * static_cast<double>(ceil_div(bytes * lanes, kSectorBytes));
}

}  // namespace

double sectors_a_warp(const ir::Program& program, const ir::Statement& statement,
                      const std::string& loop, std::int64_t extent) {
  double all = 0;
  for (const ir::Access& write : statement.writes) all += sectors(program, write, loop, extent);
  for (const ir::Load* load : ir::reads_of(statement)) all += sectors(program, *load, loop, extent);
  return all;
}

double sectors_a_warp(const ir::Program& program, const ir::Load& load, const std::string& loop,
                      std::int64_t extent) {
  return sectors(program, load, loop, extent);
}

}  // namespace polyte::schedule
