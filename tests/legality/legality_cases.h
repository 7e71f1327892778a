// Labelled schedules read from text; README.md has the format.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace polyte::legality {

enum class Label { Legal, Illegal, Unknown, Malformed };

struct LegalityCase {
  std::string file;
  int line = 0;
  std::string name;
  Label label = Label::Legal;
  std::string contract = "exact";
  std::string program;            // its text
  std::vector<ir::Values> sizes;  // the first is proved
  std::string script;             // without its header
};

// All files of a folder, in the order of their names. Throws std::runtime_error where the format
// is broken.
std::vector<LegalityCase> read_cases(const std::string& folder);

}  // namespace polyte::legality
