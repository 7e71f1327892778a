// Where Debian's libonnx-testdata keeps ONNX's own cases.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace polyte::testing {

// The folders of the suites; empty if the package is not installed.
inline std::vector<std::string> suites() {
  const std::filesystem::path data = "/usr/share/libonnx-testdata/data";
  std::vector<std::string> folders;
  for (const char* suite : {"node", "pytorch-converted", "pytorch-operator", "simple"}) {
    if (std::filesystem::is_directory(data / suite)) folders.push_back((data / suite).string());
  }
  return folders;
}

}  // namespace polyte::testing
