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
  std::string name;  // "suites/gemm_odd@67": its folder's, its own, and what is bound
  std::shared_ptr<const ir::Program> program;
};

std::string read_file(const std::filesystem::path& path);
// Sorted.
std::vector<std::filesystem::path> files_in(const std::string& folder,
                                            const std::string& extension);

// Of these folders, relative to the root of the tree. One with open sizes comes once for each of
// `sizes`, to which all of them are bound.
std::vector<NamedProgram> programs_in(const std::vector<std::string>& folders,
                                      const std::vector<std::int64_t>& sizes);

// Schedules are judged by other tests.
KernelOptions unproved(Scheduler scheduler);

}  // namespace polyte::driver::testing
