// A script that a scheduler of ours begins: for which Program, processor and threads, under
// which contract.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "schedule/script/script.h"
#include "support/machine.h"
#include "support/result.h"

namespace polyte::schedule {

// Without directives. `arm`: "template", as in the header; `reassociated`: loops whose
// terms change places.
Script own_script(const ir::Program& program, const std::string& arm, const Machine& machine,
                  const std::set<std::string>& reassociated = {});

// The script of a scheduler that meets a Program in better words: flat subscripts told apart by
// views (ir/views.h), and values of sums computed before them (schedule/cost/kept_values.h); then
// what `schedule` writes for the Program that these directives make, and the statements in it that
// compute values before.
using Precomputing = std::vector<std::string>;
Result<Script> scheduled_reworded(
    const ir::Program& program, const Machine& machine,
    const std::function<Result<Script>(const ir::Program& seen, const Precomputing& statements)>&
        schedule);

}  // namespace polyte::schedule
