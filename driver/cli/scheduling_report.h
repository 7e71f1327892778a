// Who scheduled what is reported: the fields that every verb's JSON has for it, and the name
// of a column or row.
//
//   "scheduler_asked": "poly", "scheduler_used": "naive", "identical_to": null,
//   "declined": {"reason": "isl skews a loop of 'S0'", "where": "poly, program 'f'"}
#pragma once

#include <nlohmann/json.hpp>

#include <span>
#include <string>
#include <vector>

#include "driver/compile/model.h"
#include "runtime/artifact.h"
#include "runtime/manifest.h"

namespace polyte::cli {

struct GroupScheduling {
  std::string group;
  runtime::StepScheduling how;
};
using Scheduling = std::vector<GroupScheduling>;  // of all kernels of a piece of work

Scheduling scheduling_of(const driver::BuiltKernel& kernel);
// Of those of an artifact that say it.
Scheduling scheduling_of(std::span<const runtime::StepSpec> steps);

// Adds scheduler_asked, scheduler_used, declined (null: nothing was) and identical_to
// (null: of no other scheduler known). Of several kernels the names that differ are joined by '+',
// and "groups_declined" lists each.
nlohmann::ordered_json scheduling_json(const Scheduling& scheduling,
                                       const std::string& identical_to);

// "poly", "poly (declined: reference order)", "poly (2 of 9 kernels declined: reference order)".
std::string scheduler_title(const std::string& asked, const Scheduling& scheduling);

// The loops of all kernels as one text of a few characters: equal where two schedulers decided the
// same.
std::string loops_digest(std::span<const driver::BuiltKernel> kernels);

}  // namespace polyte::cli
