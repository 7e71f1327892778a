#include "driver/lab/shared_files.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace polyte::lab {

std::vector<std::string> shared_folders(const char* variable, const std::string& relative) {
  namespace fs = std::filesystem;
  std::vector<std::string> candidates, found;
  if (const char* given = std::getenv(variable)) {
    std::istringstream folders(given);
    for (std::string folder; std::getline(folders, folder, ':');)
      if (!folder.empty()) candidates.push_back(folder);
  }
  std::error_code none;
  const fs::path binary = fs::read_symlink("/proc/self/exe", none);
  // Of a build beside the binary, of an installation beside bin/.
  for (const char* up : {".", ".."})
    if (!none)
      candidates.push_back(
          (binary.parent_path() / up / "share/polyte" / relative).lexically_normal().string());
  for (const std::string& one : candidates)
    if (fs::is_directory(one, none)) found.push_back(one);
  return found;
}

}  // namespace polyte::lab
