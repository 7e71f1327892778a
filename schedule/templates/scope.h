// What the roles of a template stand for in one nest.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace polyte::schedule {

struct Scope {
  // Role -> a name; empty: the nest has none.
  std::map<std::string, std::string> names;
  std::map<std::string, std::vector<std::string>> lists;  // role -> loops, or subscripts, in order
  std::map<std::string, std::vector<Scope>> groups;       // `each GROUP:`
};

}  // namespace polyte::schedule
