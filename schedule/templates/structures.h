// What the templates are for: structures of a nest, never operators. Of each, the holes that the
// cost model can fill.
#pragma once

#include <string>
#include <vector>

namespace polyte::schedule {

struct Structure {
  const char* name;
  const char* what;                 // it is, for people
  std::vector<std::string> loops;   // holes: loop lane = ?
  std::vector<std::string> params;  // holes: param Mr = ?
};

const std::vector<Structure>& structures();

}  // namespace polyte::schedule
