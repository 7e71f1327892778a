#include "tests/golden/programs.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "ir/program_text.h"

namespace polyte::driver::testing {

namespace fs = std::filesystem;

namespace {

std::vector<std::pair<std::string, std::shared_ptr<const ir::Program>>> bound_to(
    const ir::Program& program, const std::vector<std::int64_t>& sizes) {
  if (program.params.empty()) return {{"", std::make_shared<const ir::Program>(program)}};
  std::vector<std::pair<std::string, std::shared_ptr<const ir::Program>>> result;
  for (const std::int64_t size : sizes) {
    ir::Values values;
    for (const std::string& param : program.params) values[param] = size;
    result.emplace_back("@" + std::to_string(size),
                        std::make_shared<const ir::Program>(ir::bind(program, values)));
  }
  return result;
}

}  // namespace

std::string read_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<fs::path> files_in(const std::string& folder, const std::string& extension) {
  std::vector<fs::path> files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == extension) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::vector<NamedProgram> programs_in(const std::vector<std::string>& folders,
                                      const std::vector<std::int64_t>& sizes) {
  std::vector<NamedProgram> result;
  for (const std::string& folder : folders)
    for (const fs::path& file : files_in(folder, ".program"))
      for (const ir::Program& program : ir::parse_programs(read_file(file), file.string()))
        for (auto& [size, bound] : bound_to(program, sizes))
          result.push_back(
              {fs::path(folder).filename().string() + "/" + program.name + size, std::move(bound)});
  return result;
}

KernelOptions unproved(Scheduler scheduler) {
  KernelOptions options;
  options.scheduler = scheduler;
  options.proof = schedule::ProofLevel::Off;
  options.second_judge = false;
  return options;
}

}  // namespace polyte::driver::testing
