// A point nest as an instruction of the catalogue is compared with it (ir/intrinsics.h): loops that
// always run the same number of times, around one statement.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/intrinsics.h"

namespace polyte::ir {

struct NestLoop {
  std::string var, shown;
  Affine lower;
  std::int64_t extent = 0;
};

// Loops around one statement, which may stand under conditions.
struct PointNest {
  std::vector<NestLoop> loops;  // outermost first
  const Store* store = nullptr;
  std::vector<Constraint> conditions;  // of the store
};

// A Mismatch names what else the statement contains.
Result<PointNest, Mismatch> point_nest(const Stmt& s);

// Coefficient of a loop in a subscript; nullopt where it stands inside a division.
std::optional<std::int64_t> step_of(const Index& index, const std::string& var);

}  // namespace polyte::ir
