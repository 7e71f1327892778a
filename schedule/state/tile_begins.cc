#include "schedule/state/tile_begins.h"

#include <algorithm>
#include <numeric>

#include "ir/affine_system.h"

namespace polyte::schedule {
namespace {

constexpr std::int64_t kLineBytes = 64;
// A row of at least so many cache lines is long: one more, shorter vector counts little there
// (kLongRow), or one more tile that is cut (kLongRowOfTiles).
constexpr std::int64_t kLongRow = 12, kLongRowOfTiles = 32;

ir::Interval range_of(const ir::Statement& s, const std::string& iterator) {
  ir::Ranges ranges;
  ir::tighten(ranges, ir::inequalities_of(s.domain));
  const auto own = ranges.find(iterator);
  return own == ranges.end() ? ir::Interval{} : own->second;
}

// Whether all rows begin at one place: no lower bound depends on other iterators.
bool has_one_begin(const ir::Statement& s, const std::string& iterator) {
  return std::ranges::none_of(s.domain, [&](const ir::Constraint& c) {
    const std::int64_t factor = c.expr.coefficient(iterator);
    return factor > 0 && !(c.expr - ir::Affine::symbol(iterator) * factor).is_constant();
  });
}

// Whether each row begins where other loops say, and there alone, as in a triangle.
bool has_own_begins(const ir::Statement& s, const std::string& iterator) {
  return std::ranges::none_of(s.domain, [&](const ir::Constraint& c) {
    const std::int64_t factor = c.expr.coefficient(iterator);
    return factor > 0 && (c.expr - ir::Affine::symbol(iterator) * factor).is_constant();
  });
}

// Elements of a cache line, where iteration n of the loop writes the n-th element of a long row
// that begins with a line; 1: elsewhere. Where rows begin at other places each has a short vector
// first, wherever tiles count from; a tile that is whole for all of them would be cut. There is
// none in a triangle: its first tiles begin with a line, as panels of what is read do.
std::int64_t line_of(const ir::Program& program, const ir::Statement& s,
                     const std::string& iterator, const ir::Interval& range, Lanes lanes) {
  const ir::Access& write = s.writes.front();
  if (lanes == Lanes::OfTile && has_own_begins(s, iterator))
    return kLineBytes / size_in_bytes(program.buffer(write.buffer).dtype);
  if (lanes == Lanes::None || write.indices.empty() || write.indices.back().indirect ||
      (lanes == Lanes::OfTile && !has_one_begin(s, iterator)))
    return 1;
  const ir::Buffer& buffer = program.buffer(write.buffer);
  const std::int64_t line = kLineBytes / size_in_bytes(buffer.dtype);
  const std::int64_t least = lanes == Lanes::OfTile ? kLongRowOfTiles : kLongRow;
  if (!range.max || *range.max - *range.min < line * least) return 1;
  const ir::Affine& row = buffer.shape.back();
  const bool begins_lines =
      buffer.shape.size() == 1 || (row.is_constant() && row.constant() % line == 0);
  const ir::Affine beside = write.indices.back().affine - ir::Affine::symbol(iterator);
  return begins_lines && beside.is_constant() && beside.constant() % line == 0 ? line : 1;
}

}  // namespace

std::optional<std::int64_t> first_value(const ir::Statement& s, const std::string& iterator) {
  return range_of(s, iterator).min;
}

std::optional<std::int64_t> first_of_tiles(const ir::Program& program,
                                           std::span<const ir::Statement* const> statements,
                                           const std::string& iterator, Lanes lanes) {
  std::optional<std::int64_t> least;
  std::int64_t line = 0;
  for (const ir::Statement* s : statements) {
    if (std::ranges::find(s->iterators, iterator) == s->iterators.end()) continue;
    const ir::Interval range = range_of(*s, iterator);
    if (!range.min) return std::nullopt;
    least = std::min(least.value_or(*range.min), *range.min);
    // The shortest line of all (they are powers of two), and 1 as soon as one statement has no
    // long rows. gcd(0, n) is n.
    line = std::gcd(line, line_of(program, *s, iterator, range, lanes));
  }
  // The last multiple of a line at or before the first value; C++'s % may be negative.
  return least ? *least - ((*least % line) + line) % line : least;
}

}  // namespace polyte::schedule
