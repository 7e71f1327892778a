// A folder that goes when its owner does.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

namespace polyte::testing {

struct TemporaryFolder {
  std::filesystem::path path;
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "polyte-test-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path(std::exchange(other.path, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    if (!path.empty()) std::filesystem::remove_all(path);
  }
};

}  // namespace polyte::testing
