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

// Words of a Program that a scheduler does not have to meet: flat subscripts are told apart by
// views (ir/views.h), then the `kept` values of the Program seen so are computed before what has
// them; where there are neither, dimensions that are gone through together are one
// (ir/merged_dimensions.h, on CPUs). The script begins with these directives; `schedule` writes the
// rest, for the Program that they make and the statements in it that compute values before. It is
// called once more where its script for merged dimensions is none of the Program as it is: that one
// goes to `refused` (null: nobody asks).
using Precomputing = std::vector<std::string>;
Result<Script> scheduled_reworded(
    const ir::Program& program, const Machine& machine,
    const std::function<std::vector<ir::Precomputed>(const ir::Program& seen)>& kept,
    const std::function<Result<Script>(const ir::Program& seen, const Precomputing& statements)>&
        schedule,
    std::vector<RefusedScript>* refused);

}  // namespace polyte::schedule
