// A script that a scheduler of ours begins: for which Program, processor and threads, under which contract.
#pragma once

#include <set>
#include <string>

#include "schedule/script/script.h"
#include "support/machine.h"

namespace polyte::schedule {

// Without directives. `arm`: "template", as in the header; `reassociated`: loops whose terms change places.
Script own_script(const ir::Program& program, const std::string& arm, const Machine& machine,
                  const std::set<std::string>& reassociated = {});

}  // namespace polyte::schedule
