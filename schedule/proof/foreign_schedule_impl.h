// What a ForeignSchedule keeps. Internal to schedule/proof.
#pragma once

#include "schedule/proof/foreign_schedule.h"
#include "schedule/proof/isl_names.h"
#include "schedule/proof/isl_reader.h"
#include "schedule/proof/prover_impl.h"

namespace polyte::schedule {

struct ForeignSchedule::Impl {
  std::string origin;
  IslContext context;  // outlives everything below
  Basis basis;
  std::optional<IslNames> names;
  IslText text;  // as it was read
  // By statement: its tuple S<i> -> time, over the sizes that are open.
  std::vector<std::optional<isl::map>> written;
  std::vector<isl::map> times;  // the same on its instances alone, empty where the text has none
};

// Of a union map under the text's names; none where it does not have the statement. UserError where
// a name or length is not the Program's.
std::vector<std::optional<isl::map>> times_by_statement(const ForeignSchedule::Impl& impl,
                                                        const isl::union_map& times);

// Over iterators of these names and the sizes; none where it has a fraction outside of a division.
std::optional<ir::Affine> affine_of(const isl::aff& aff, const std::vector<std::string>& iterators);

}  // namespace polyte::schedule
