// Identifiers of C for the names of loop IR, which may hold dots, be keywords, or be
// what <math.h> declares.
#pragma once

#include <map>
#include <set>
#include <string>

namespace polyte::codegen {

bool is_c_keyword(const std::string& name);  // of C or of C++

class CNames {
 public:
  std::string of(const std::string& name);  // the same for the same name
  // Unlike all others, also where a buffer has the name.
  std::string function(const std::string& name);

 private:
  std::map<std::string, std::string> given_;
  std::set<std::string> used_;

  std::string identifier(const std::string& name);
};

}  // namespace polyte::codegen
