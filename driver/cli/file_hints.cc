#include "driver/cli/file_hints.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "support/error.h"
#include "support/nearest_word.h"

namespace polyte::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMostEntries = 4096;  // of a folder, that are looked at for a near name

std::string near_file(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(parent.empty() ? "." : parent, error);
  for (int i = 0; !error && i < kMostEntries && entry != fs::directory_iterator();
       ++i, entry.increment(error))
    names.push_back((parent / entry->path().filename()).string());
  return did_you_mean(path, names);
}

struct Magic {
  std::string_view bytes;
  const char* kind;
};
constexpr Magic kMagics[] = {
    {std::string_view("\x89PNG", 4), "a PNG image"},
    {std::string_view("\xff\xd8\xff", 3), "a JPEG image"},
    {std::string_view("GIF8", 4), "a GIF image"},
    {std::string_view("\x93NUMPY", 6), "a NumPy array (.npy)"},
    {std::string_view("PK\x03\x04", 4), "a zip archive (an .npz, an artifact or a PyTorch file)"},
    {std::string_view("\x89HDF", 4), "an HDF5 file"},
    {std::string_view("\x7f"
                      "ELF",
                      4),
     "a program or an object (ELF)"},
    {std::string_view("\x1f\x8b", 2), "compressed by gzip"},
    {std::string_view("schedule ", 9), "a script"},
};

// As parsers see them: what a Program file may begin with.
// Comments and blank lines before the header are skipped.
bool begins_program(const std::string& begin) {
  std::size_t at = 0;
  while (at < begin.size() && (begin[at] == '\n' || begin[at] == ' ' || begin[at] == '#')) {
    if (begin[at] != '#') {
      ++at;
      continue;
    }
    at = std::min(begin.find('\n', at), begin.size());
  }
  return begin.compare(at, 8, "program ") == 0;
}

}  // namespace

std::string file_problem(const std::string& path, const std::string& what) {
  // From what is wrong with the path to what is wrong with the file: each test presumes those
  // before.
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return path + ": there is no such file" + near_file(path);
  if (fs::is_directory(status)) return path + ": is a folder, expected " + what;
  if (access(path.c_str(), R_OK) != 0) return path + ": cannot be read: " + std::strerror(errno);
  return "";
}

std::string kind_of_file(const std::string& path) {
  std::string begin(512, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(file.gcount()));
  if (begin.empty()) return "";
  for (const Magic& magic : kMagics)
    if (begin.starts_with(magic.bytes)) return magic.kind;
  if (begins_program(begin)) return "Program text";
  // ONNX is protobuf, which begins with no signature: only the name is left to go by.
  return path.ends_with(".onnx") ? "an ONNX model" : "";
}

void require_files(const std::vector<NamedFile>& files) {
  std::vector<std::string> problems;
  for (const NamedFile& file : files)
    if (const std::string problem = file_problem(file.path, file.what); !problem.empty())
      problems.push_back(file.option + " " + problem);
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
}

void require_model_file(const std::string& path) {
  if (const std::string problem = file_problem(path, "an ONNX model or an artifact");
      !problem.empty())
    throw UserError(ExitStatus::InvalidInput, problem);
  const std::string kind = kind_of_file(path);
  const bool is_zip = kind.starts_with("a zip");
  // What is not recognized goes on to whoever reads it, whose message is exact.
  if (kind.empty() || kind == "an ONNX model" || is_zip) return;
  std::string next;
  if (kind == "Program text") next = "; polyte op takes it";
  if (kind == "a script") next = "; it is given with --script";
  if (kind.ends_with("image") || kind.starts_with("a NumPy")) next = "; an input is given with -i";
  throw UserError(ExitStatus::InvalidInput,
                  path + ": is " + kind + ", expected an ONNX model or an artifact" + next);
}

}  // namespace polyte::cli
