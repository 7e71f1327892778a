// The sizes that a kernel leaves open: their ranges, what the shapes of a call's tensors say of
// them, and the shapes that follow. Values are one per parameter of the Program, in its order.
//
//   C[M, N] = sum[K] A[M, K] * B[K, N]
//   A [5, 7], B [7, 3]   ->   M = 5, N = 3, K = 7   ->   C [5, 3]
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "driver/api/polyte.h"

namespace polyte::api {

using SizeValues = std::vector<std::int64_t>;
using Shapes = std::map<std::string, std::vector<std::int64_t>>;  // of tensors by name

// The Program with `sizes` bound; those of `open` stay, and its context says their ranges from then
// on. UserError(Usage) with every size that is unknown, given twice or of an impossible range and,
// where none may stay open unnamed, missing.
enum class Unbound { Refused, Open };
std::shared_ptr<const ir::Program> bind_sizes(const Program& program, const CompileOptions& options,
                                              Unbound unbound = Unbound::Refused);
// What schedulers choose for, of such a Program.
SizeValues typical_sizes(const ir::Program& bound, const CompileOptions& options);

std::vector<SizeInfo> infos_of(const ir::Program& program);

// UserError(InvalidInput) where a value is out of range or against the context, or an extent
// is negative.
void check_values(const ir::Program& program, std::span<const std::int64_t> values);
// Of the interface; the values are checked.
std::vector<std::vector<std::int64_t>> shapes_at(const ir::Program& program,
                                                 std::span<const std::int64_t> values);
// Checked values. UserError(InvalidInput) with all shapes that do not fit each other, and the
// sizes that none says.
SizeValues values_by(const ir::Program& program, const Shapes& shapes, const Sizes& given);

}  // namespace polyte::api
