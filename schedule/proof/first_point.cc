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
  isl_aff* coordinate = isl_aff_var_on_domain(
      isl_local_space_from_space(isl_set_get_space(part.get())), isl_dim_set, dimension);
  isl::val least = isl::manage(isl_set_min_val(part.get(), coordinate));
  isl_aff_free(coordinate);
  if (isl_val_is_int(least.get()) != isl_bool_true) return std::nullopt;
  return least;
}

// The lexicographically first point of a set without parameters; a dimension without a least value
// has any. One integer program a dimension and basic set: isl_set_lexmin has all other dimensions
// in its context, and took minutes where divisions are many. (isl_set_min_val takes 0 for the least
// value of an empty part of a union.)
isl_point* lexmin_point(const isl::set& set) {
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
  return isl_set_sample_point(parts.front().release());
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
  isl_point* point = lexmin_point(isl::manage(smallest));
  auto coordinate = [&](isl_size i) {
    isl_val* value = isl_point_get_coordinate_val(point, isl_dim_set, static_cast<int>(i));
    std::int64_t number = isl_val_get_num_si(value);
    isl_val_free(value);
    return number;
  };
  Point result;
  for (isl_size i = 0; i < param_count; ++i) {
    const char* name =
        isl_space_get_dim_name(set.get_space().get(), isl_dim_param, static_cast<unsigned>(i));
    result.params[name ? name : params.at(static_cast<std::size_t>(i))] = coordinate(i);
  }
  for (isl_size i = 0; i < dims; ++i) result.values.push_back(coordinate(param_count + i));
  isl_point_free(point);
  return result;
}

}  // namespace polyte::schedule
