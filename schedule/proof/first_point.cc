// The point that a counterexample shows: the first of a set.
#include <isl/aff.h>
#include <isl/ilp.h>
#include <isl/local_space.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#include "schedule/proof/isl_bridge.h"
#include "support/error.h"

namespace polyte::schedule {
namespace {

// The least value of a coordinate, if it has one.
std::optional<isl::val> least_value(const isl::set& part, unsigned dimension) {
  const isl::aff coordinate = isl::manage(isl_aff_var_on_domain(
      isl_local_space_from_space(isl_set_get_space(part.get())), isl_dim_set, dimension));
  isl::val least = part.min_val(coordinate);
  if (!least.is_int()) return std::nullopt;
  return least;
}

// The lexicographically first point of a set without parameters; a dimension without a least value
// has any. One integer program per dimension and basic set: isl_set_lexmin has all other dimensions
// in its context, and took minutes where divisions are many. (isl_set_min_val takes 0 for the least
// value of an empty part of a union.)
isl::point lexmin_point(const isl::set& set) {
  std::vector<isl::set> parts;
  set.foreach_basic_set([&](const isl::basic_set& part) {
    if (!part.is_empty()) parts.emplace_back(part);
  });
  POLYTE_CHECK(!parts.empty(), "the first point of an empty set");
  const isl_size dims = isl_set_dim(set.get(), isl_dim_set);
  for (unsigned i = 0; i < static_cast<unsigned>(dims); ++i) {
    std::vector<std::optional<isl::val>> values;
    isl::val least;  // null: none
    for (const isl::set& part : parts) {
      values.push_back(least_value(part, i));
      if (values.back() && (least.is_null() || values.back()->lt(least))) least = *values.back();
    }
    if (least.is_null()) continue;
    std::vector<isl::set> rest;
    for (std::size_t k = 0; k < parts.size(); ++k)
      if (values[k] && values[k]->eq(least))
        rest.push_back(isl::manage(isl_set_fix_val(parts[k].copy(), isl_dim_set, i, least.copy())));
    parts = std::move(rest);
  }
  return parts.front().sample_point();
}

}  // namespace

Point first_point(const isl::set& set, const std::vector<std::string>& params) {
  isl_set* smallest = set.copy();
  isl_size dims = isl_set_dim(smallest, isl_dim_set);
  isl_size param_count = isl_set_dim(smallest, isl_dim_param);
  // Parameters become leading dimensions: the smallest sizes come first.
  smallest = isl_set_reset_tuple_id(isl_set_flatten(isl_set_reset_tuple_id(smallest)));
  smallest = isl_set_move_dims(smallest, isl_dim_set, 0, isl_dim_param, 0,
                               static_cast<unsigned>(param_count));
  const isl::point point = lexmin_point(isl::manage(smallest));
  auto coordinate = [&](isl_size i) -> std::int64_t {
    return isl::manage(isl_point_get_coordinate_val(point.get(), isl_dim_set, static_cast<int>(i)))
        .num_si();
  };
  Point result;
  for (isl_size i = 0; i < param_count; ++i) {
    const char* name =
        isl_space_get_dim_name(set.get_space().get(), isl_dim_param, static_cast<unsigned>(i));
    result.params[name ? name : params.at(static_cast<std::size_t>(i))] = coordinate(i);
  }
  for (isl_size i = 0; i < dims; ++i) result.values.push_back(coordinate(param_count + i));
  return result;
}

isl::set only_point(const isl::space& space, std::span<const std::int64_t> values,
                    const ir::Values& params) {
  isl_set* point = isl_set_universe(space.copy());
  const auto fix = [&](isl_dim_type type, isl_size d, std::int64_t value) {
    point = isl_set_fix_val(point, type, static_cast<unsigned>(d),
                            isl_val_int_from_si(isl_set_get_ctx(point), value));
  };
  for (isl_size d = 0; d < isl_set_dim(point, isl_dim_set); ++d)
    fix(isl_dim_set, d, values[static_cast<std::size_t>(d)]);
  for (isl_size d = 0; d < isl_set_dim(point, isl_dim_param); ++d) {
    const char* name = isl_set_get_dim_name(point, isl_dim_param, static_cast<unsigned>(d));
    const auto value = name ? params.find(name) : params.end();
    if (value != params.end()) fix(isl_dim_param, d, value->second);
  }
  return isl::manage(point);
}

}  // namespace polyte::schedule
