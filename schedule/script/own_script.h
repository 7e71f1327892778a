// A script that a scheduler of ours begins: for which Program, processor and threads, under which contract.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "schedule/script/script.h"
#include "support/machine.h"
#include "support/result.h"

namespace polyte::schedule {

// Without directives. `arm`: "template", as in the header; `reassociated`: loops whose terms change places.
Script own_script(const ir::Program& program, const std::string& arm, const Machine& machine,
                  const std::set<std::string>& reassociated = {});

// The script of a scheduler that meets flat subscripts told apart: views of the Program's tensors (ir/views.h), then
// what `schedule` writes for the Program that they make.
Result<Script> scheduled_in_views(const ir::Program& program,
                                  const std::function<Result<Script>(const ir::Program& seen)>& schedule);

}  // namespace polyte::schedule
