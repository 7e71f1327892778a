// Names: fresh names for loop variables and allocations, unique in a LoopProgram.
//   Names names(program);  names.fresh("m.i")   // m.i, then m.i_1, m.i_2 ...
#pragma once

#include <map>
#include <set>
#include <string>

#include "ir/loop_program.h"

namespace polyte::lower {

class Names {
 public:
  Names() = default;
  // Parameters, interface buffers and allocations are taken; loop variables too, where `loops`
  // says so.
  explicit Names(const ir::LoopProgram& program, bool loops = false);

  std::string fresh(const std::string& name);

 private:
  std::set<std::string> taken_;
  std::map<std::string, int> last_;  // of each base name
};

}  // namespace polyte::lower
