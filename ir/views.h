// Views: a tensor seen with more dimensions than it was declared with, or with fewer, every element
// in its place.
// Row-major order makes one dimension of C into two where the lower digit of each subscript stays
// below the extent of the new one:
//
//   C: f32[4032]     C[63*m + n]    for m in 0..64, n in 0..63
//   as [64, 63]
//   C: f32[64, 63]   C[m, n]
//
// Then a box of loops is a box of elements. Staging, packing and prices all work on the
// dimensions of a tensor, so a Program that is written with flat subscripts gets the same
// schedules and prices as one that is not. The other way round, neighbouring dimensions become
// one, which makes rows as long as possible.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "support/result.h"

namespace polyte::ir {

using Extents = std::vector<std::int64_t>;

struct View {
  std::string buffer;
  Extents shape;  // in elements, outermost first
};

// Whether the extents of `seen` are, in order, factors of those of `stored`, or products of
// neighbours among them.
bool is_view_of(const Extents& stored, const Extents& seen);

// The Program, or one statement of it, with the buffer in this shape; declines where the new
// extents are no factors or products of the old ones in order, or an access is not shown to keep
// to its digits: where its instance runs, and its guard holds.
Result<Program> with_view(const Program& program, const View& view);
Result<Statement> with_view(const Program& program, const Statement& statement, const View& view);

// The same accesses, of a statement of the Program, in the shape that the buffer is stored in;
// `seen` is a view of it.
void undo_view(const Program& program, Statement& statement, const std::string& buffer,
               const Extents& stored, const Extents& seen);

// Views, at most one per buffer, in which iterators that a subscript adds up in digits are
// subscripts of their own. Rows shorter than a cache line stay as they are: no tile cuts them.
std::vector<View> digits_apart(const Program& program);

}  // namespace polyte::ir
