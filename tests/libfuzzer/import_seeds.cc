// Writes the first corpus of the importer's fuzzer: random models, the hostile ones, and ONNX's own
// cases where they are installed.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "driver/judge/fuzz/fuzz_import.h"
#include "tests/conformance/suites.h"
#include "tests/frontend/hostile_models.h"

namespace {

namespace fs = std::filesystem;
constexpr std::uintmax_t kMostBytes = 16384;

void copy_models(const fs::path& from, const fs::path& to, const std::string& prefix) {
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    const fs::path& file = entry.path();
    if (file.extension() != ".onnx" || fs::file_size(file) > kMostBytes) continue;
    const std::string name = prefix + fs::relative(file, from).parent_path().filename().string();
    fs::copy_file(file, to / (name + "-" + file.filename().string()),
                  fs::copy_options::overwrite_existing);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: polyte_libfuzzer_seeds DIR\n";
    return 2;
  }
  const fs::path folder = argv[1];
  fs::create_directories(folder);
  for (std::uint64_t run = 0; run < 300; ++run) {
    polyte::fuzz::Random random(1, run);
    std::ofstream(folder / ("random-" + std::to_string(run)), std::ios::binary)
        << polyte::fuzz::random_model(random);
  }
  const fs::path hostile = fs::temp_directory_path() / "polyte-libfuzzer-hostile";
  fs::create_directories(hostile);
  polyte::testing::write_hostile_models(hostile);
  copy_models(hostile, folder, "hostile-");
  fs::remove_all(hostile);
  for (const std::string& suite : polyte::testing::suites())
    copy_models(suite, folder, fs::path(suite).filename().string() + "-");
  return 0;
}
