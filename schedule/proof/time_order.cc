// Which of two instances comes first: their time vectors compared, dimension by dimension.
#include <isl/aff.h>
#include <isl/map.h>
#include <isl/val.h>

#include "schedule/proof/isl_bridge.h"

namespace polyte::schedule {
namespace {

isl_pw_aff* as_piece(const isl::aff& aff) { return isl_pw_aff_from_aff(aff.copy()); }

}  // namespace

std::optional<int> constant_order(const isl::aff& a, const isl::aff& b) {
  if (!a.is_cst() || !b.is_cst()) return std::nullopt;
  const isl::val x = a.constant_val(), y = b.constant_val();
  return x.lt(y) ? -1 : x.gt(y) ? 1 : 0;
}

// source < sink, lexicographically, fails for a pair at the first dimension d in which they differ,
// if it is later there:
//
//   x_0 = y_0, .., x_(d-1) = y_(d-1), x_d > y_d
//
// `pairs` shrinks to those that are equal so far. A pair that is equal in all dimensions runs at
// one time: also backwards.
std::optional<BackwardPairs> find_backwards(const IslModel& model, int a, int b, isl::map pairs) {
  const IslStatement& source = model.statements[static_cast<std::size_t>(a)];
  const IslStatement& sink = model.statements[static_cast<std::size_t>(b)];
  if (pairs.is_empty()) return std::nullopt;
  const int dims = static_cast<int>(source.time.size());
  for (int d = 0; d < dims; ++d) {
    const isl::aff &x = source.time[static_cast<std::size_t>(d)],
                   &y = sink.time[static_cast<std::size_t>(d)];
    if (std::optional<int> order = constant_order(x, y)) {
      if (*order < 0) return std::nullopt;
      if (*order > 0) return BackwardPairs{d, pairs};
      continue;
    }
    isl::map late =
        isl::manage(isl_map_intersect(pairs.copy(), isl_pw_aff_gt_map(as_piece(x), as_piece(y))));
    if (!late.is_empty()) return BackwardPairs{d, late};
    pairs = isl::manage(
        isl_map_intersect(pairs.release(), isl_pw_aff_eq_map(as_piece(x), as_piece(y))));
    if (pairs.is_empty()) return std::nullopt;
  }
  return BackwardPairs{dims, pairs};
}

// A dimension whose times are constants decides for all pairs at once, so that most pairs of
// statements need no set.
isl::map forward_pairs(const IslModel& model, int a, int b, isl::map pairs) {
  const IslStatement& source = model.statements[static_cast<std::size_t>(a)];
  const IslStatement& sink = model.statements[static_cast<std::size_t>(b)];
  isl::map forwards = isl::manage(isl_map_empty(isl_map_get_space(pairs.get())));
  for (std::size_t d = 0; d < source.time.size() && !pairs.is_empty(); ++d) {
    const isl::aff &x = source.time[d], &y = sink.time[d];
    if (std::optional<int> order = constant_order(x, y)) {
      if (*order < 0) return forwards.unite(pairs);
      if (*order > 0) return forwards;
      continue;
    }
    isl::map early =
        isl::manage(isl_map_intersect(pairs.copy(), isl_pw_aff_lt_map(as_piece(x), as_piece(y))));
    if (!early.is_empty()) forwards = forwards.unite(early);
    pairs = isl::manage(
        isl_map_intersect(pairs.release(), isl_pw_aff_eq_map(as_piece(x), as_piece(y))));
  }
  return forwards;
}

// Decided from constants alone, without a set: the statements part in a sequence, and the sink's
// branch comes first.
bool is_never_before(const IslModel& model, int a, int b) {
  const std::vector<isl::aff>& source = model.statements[static_cast<std::size_t>(a)].time;
  const std::vector<isl::aff>& sink = model.statements[static_cast<std::size_t>(b)].time;
  for (std::size_t d = 0; d < source.size(); ++d) {
    const std::optional<int> order = constant_order(source[d], sink[d]);
    if (!order || *order != 0) return order.value_or(-1) > 0;
  }
  return true;
}

}  // namespace polyte::schedule
