#include "driver/cli/reproducer.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "runtime/signature.h"

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

// A reproducer is sent to others, a secret key never.
bool is_secret_key(const fs::path& file) {
  std::string line;
  std::ifstream stream(file, std::ios::binary);
  return std::getline(stream, line) && line == runtime::kSecretKeyHeader;
}

// x.npy, or 2-x.npy where a file of this name is there already.
std::string free_name(const fs::path& folder, const std::string& name) {
  std::string free = name;
  for (int i = 2; fs::exists(folder / free); ++i) free = std::to_string(i) + "-" + name;
  return free;
}

// The files that these words name, each once. Returns a line for each whose copy has another name.
std::string copy_files(const std::vector<std::string>& arguments, const fs::path& folder) {
  std::string renamed;
  std::set<std::string> copied;
  for (const std::string& argument : arguments) {
    const fs::path file = file_of(argument);
    std::error_code ignored;  // a file that cannot be copied is still named by the command
    if (!fs::is_regular_file(file, ignored) || fs::file_size(file, ignored) > kLargestCopy ||
        is_secret_key(file) || !copied.insert(file.string()).second)
      continue;
    const std::string name = free_name(folder, file.filename().string());
    fs::copy_file(file, folder / name, ignored);
    if (name != file.filename().string())
      renamed += "# " + name + " is " + quoted(file.string()) + "\n";
  }
  return renamed;
}

// The command as a shell takes it, the message, and the files.
std::string write_folder(const std::vector<std::string>& arguments, const std::string& message) {
  std::string folder = (fs::temp_directory_path() / "polyte_reproducer_XXXXXX").string();
  if (!mkdtemp(folder.data()))
    return "none, no folder can be made in " + fs::temp_directory_path().string();
  std::string command = "polyte";
  for (const std::string& argument : arguments) command += " " + quoted(argument);
  // Written first: a file of such a name must not take their place.
  std::ofstream(fs::path(folder) / "command.txt") << command << "\n";
  std::ofstream(fs::path(folder) / "message.txt") << message << "\n";
  const std::string renamed = copy_files(arguments, folder);
  std::ofstream(fs::path(folder) / "command.txt", std::ios::app) << renamed;
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
