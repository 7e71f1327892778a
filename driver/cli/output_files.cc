#include "driver/cli/output_files.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace polyte::cli {
namespace {

namespace fs = std::filesystem;

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return fs::equivalent(a, b, error) && !error;
}

// Why a file cannot appear at `path`, or nothing.
std::string problem_of(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return "is a folder, expected a file";
  // A pipe or a terminal is written directly.
  if (fs::exists(status) && !fs::is_regular_file(status))
    return access(path.c_str(), W_OK) == 0 ? "" : std::strerror(errno);
  const fs::path parent = fs::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  return access(folder.c_str(), W_OK | X_OK) == 0
             ? ""
             : "folder '" + folder + "': " + std::strerror(errno);
}

}  // namespace

// Also by another name or a link: an output that is an input would be gone before it is read.
void check_output_file(const std::string& option, const std::string& path,
                       const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    if (input != path && !is_same_file(input, path)) continue;
    const std::string which = input == path ? "is" : "is the same file as '" + input + "',";
    throw UserError(ExitStatus::Usage,
                    option + ": " + which + " read by this command, expected another file");
  }
  const std::string problem = problem_of(path);
  if (!problem.empty())
    throw UserError(ExitStatus::InvalidInput, option + ": cannot be written: " + problem);
}

void add_files(const DataOptions& options, std::vector<std::string>& files) {
  for (const std::string& item : options.inputs) {
    const std::size_t at = item.find("=@");
    files.push_back(at == std::string::npos ? item : item.substr(at + 2));
  }
  if (!options.expect.empty()) files.push_back(options.expect);
}

void add_files(const ScheduleOptions& options, std::vector<std::string>& files) {
  files.insert(files.end(), options.scripts.begin(), options.scripts.end());
}

void check_output(const DataOptions& options, std::vector<std::string> files) {
  if (options.output.empty()) return;
  add_files(options, files);
  check_output_file("-o " + options.output, options.output, files);
}

}  // namespace polyte::cli
