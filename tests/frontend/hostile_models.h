// Models made to break an importer, each with the exit status that it must get. Written to a
// folder, so that the command line can be tried on the same files: `polyte_hostile_models DIR`
// writes them and DIR/expected.txt.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "support/error.h"

namespace polyte::testing {

struct HostileModel {
  std::string name;  // DIR/<name>.onnx
  ExitStatus expected = ExitStatus::InvalidInput;
};

// Writes every model (and what it refers to) beneath `folder`.
std::vector<HostileModel> write_hostile_models(const std::filesystem::path& folder);

}  // namespace polyte::testing
