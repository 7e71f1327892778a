// A GPU's machine description as a file, for `--target cuda:FILE.json`: written where the GPU is
// (polyte doctor --machine-file), read wherever one compiles for it.
#pragma once

#include <string>

#include "support/machine.h"

namespace polyte::driver {

std::string machine_to_json(const Machine& machine);  // of a GPU
// UserError(InvalidInput) that lists what is missing, unknown or impossible.
Machine machine_from_file(const std::string& path);

}  // namespace polyte::driver
