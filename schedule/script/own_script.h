// A script that a scheduler of ours begins: for which Program, processor and threads, under
// which contract.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "ir/precompute.h"
#include "schedule/script/refused_script.h"
#include "schedule/script/script.h"
#include "support/machine.h"
#include "support/result.h"

namespace polyte::schedule {

// Without directives. `writer`: "template", as in the header; `reassociated`: loops whose
// terms change places.
Script own_script(const ir::Program& program, const std::string& writer, const Machine& machine,
                  const std::set<std::string>& reassociated = {});

// Schedules a Program in a simpler form than its own. Flat subscripts are split into dimensions
// by views (ir/views.h); then the values that `kept` names, given the Program seen so, are
// computed in front of the statements that have them; where there is neither, dimensions that
// are walked together become one (ir/merged_dimensions.h, CPUs only). The script begins with
// these directives, and `schedule` writes the rest for the Program that they make; `statements`
// are those that compute kept values. If its script for merged dimensions is refused for the
// Program as it is, that script goes to `refused` (null: nobody asks), and `schedule` is called
// again, for the plain Program.
using Precomputing = std::vector<std::string>;
Result<Script> scheduled_reworded(
    const ir::Program& program, const Machine& machine,
    const std::function<std::vector<ir::Precomputed>(const ir::Program& seen)>& kept,
    const std::function<Result<Script>(const ir::Program& seen, const Precomputing& statements)>&
        schedule,
    std::vector<RefusedScript>* refused);

}  // namespace polyte::schedule
