// The functions of a few lines that the text of write_c may need: floor division, minima,
// saturating casts.
#pragma once

#include <set>
#include <string>

#include "ir/expr.h"

namespace polyte::codegen {

std::string c_type(DType type);  // "double", "int32_t"; bool is a byte, "uint8_t"

// The functions a text has asked for, each once.
class CHelpers {
 public:
  const std::string& use(const std::string& name);  // "floor_div", "min_f64", "to_i32"; returns it
  std::string text() const;                         // their definitions
  std::string declarations() const;

 private:
  std::set<std::string> used_;
};

bool is_c_helper(const std::string& name);

}  // namespace polyte::codegen
