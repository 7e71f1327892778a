#include "tests/runtime/temp_dir.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>

namespace polyte::testing {

TempDir::TempDir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "polyte-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return to_bytes(text);
}

void write_file(const std::string& path, const std::vector<std::byte>& bytes) {
  // A file that is truncated and written again is flushed to the disk by some file systems.
  std::filesystem::remove(path);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

std::vector<std::byte> to_bytes(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace polyte::testing
