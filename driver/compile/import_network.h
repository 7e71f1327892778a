// From an ONNX file to what the driver compiles, with the symbols of its shapes that nothing
// binds left open.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "driver/compile/network.h"
#include "frontend/onnx_import.h"

namespace polyte::driver {

struct ImportedNetwork {
  Network network;
  std::vector<std::string> notes;
};

// `ranges`: of open symbols, by name; others have OpenSymbol's own. UserErrors of import_onnx and
// of Network; UserError(Usage) where a range is of no symbol that is open.
ImportedNetwork import_network(const std::filesystem::path& file,
                               const frontend::ImportOptions& import,
                               const std::vector<OpenSymbol>& ranges = {});

}  // namespace polyte::driver
