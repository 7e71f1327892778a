// A folder of a test's own, removed with everything in it; and whole files as bytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace polyte::testing {

class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::vector<std::byte> read_file(const std::string& path);
void write_file(const std::string& path, const std::vector<std::byte>& bytes);
std::vector<std::byte> to_bytes(const std::string& text);

}  // namespace polyte::testing
