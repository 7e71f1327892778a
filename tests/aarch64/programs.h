// The Programs of the suites and examples, their open sizes bound.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "driver/compile/build_kernel.h"
#include "ir/program.h"

namespace polyte::driver::testing {

struct NamedProgram {
  std::string folder;
  std::shared_ptr<const ir::Program> program;
};

std::string read_file(const std::filesystem::path& path);
std::vector<std::filesystem::path> files_in(const std::string& folder, const std::string& extension);  // sorted

// Of these folders, relative to the root of the tree; every open size is `size`.
std::vector<NamedProgram> programs_in(const std::vector<std::string>& folders, std::int64_t size);

// Schedules are judged by other tests.
KernelOptions unproved(Arm arm);

}  // namespace polyte::driver::testing
