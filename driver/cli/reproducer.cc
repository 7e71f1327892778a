#include "driver/cli/reproducer.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace polyte::cli {
namespace {

namespace fs = std::filesystem;

// Larger files, weights above all, are named by the command alone.
constexpr std::uintmax_t kLargestCopy = std::uintmax_t{64} << 20U;

// For a POSIX shell: between single quotes only the quote is special, so each one closes the
// text, stands escaped, and opens it again.
std::string quoted(const std::string& argument) {
  std::string text = "'";
  for (const char c : argument) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// `x.npy` of `image=@x.npy`; other arguments as they are.
std::string file_of(const std::string& argument) {
  const std::size_t at = argument.find("=@");
  return at == std::string::npos ? argument : argument.substr(at + 2);
}

// The command as a shell takes it, and the files that its words name.
std::string write_folder(const std::vector<std::string>& arguments, const std::string& message) {
  std::string folder = (fs::temp_directory_path() / "polyte_reproducer_XXXXXX").string();
  if (!mkdtemp(folder.data()))
    return "none, no folder can be made in " + fs::temp_directory_path().string();
  std::string command = "polyte";
  for (const std::string& argument : arguments) {
    command += " " + quoted(argument);
    const fs::path file = file_of(argument);
    std::error_code ignored;  // a file that cannot be copied is still named by the command
    if (fs::is_regular_file(file, ignored) && fs::file_size(file, ignored) <= kLargestCopy)
      fs::copy_file(file, fs::path(folder) / file.filename(), ignored);
  }
  std::ofstream(fs::path(folder) / "command.txt") << command << "\n";
  std::ofstream(fs::path(folder) / "message.txt") << message << "\n";
  return folder;
}

}  // namespace

std::string write_reproducer(const std::vector<std::string>& arguments,
                             const std::string& message) noexcept {
  try {
    return write_folder(arguments, message);
  } catch (const std::exception& e) {
    return std::string("none, ") + e.what();
  }
}

}  // namespace polyte::cli
