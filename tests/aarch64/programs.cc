#include "tests/aarch64/programs.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "ir/program_text.h"

namespace polyte::driver::testing {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<fs::path> files_in(const std::string& folder, const std::string& extension) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == extension) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::vector<NamedProgram> programs_in(const std::vector<std::string>& folders, std::int64_t size) {
  std::vector<NamedProgram> result;
  for (const std::string& folder : folders)
    for (const fs::path& file : files_in(folder, ".program"))
      for (const ir::Program& program : ir::parse_programs(read_file(file), file.string())) {
        ir::Values sizes;
        for (const std::string& param : program.params) sizes[param] = size;
        result.push_back({folder, std::make_shared<const ir::Program>(ir::bind(program, sizes))});
      }
  return result;
}

KernelOptions unproved(Arm arm) {
  KernelOptions options;
  options.arm = arm;
  options.proof = schedule::ProofLevel::Off;
  options.second_judge = false;
  return options;
}

}  // namespace polyte::driver::testing
