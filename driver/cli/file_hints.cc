#include "driver/cli/file_hints.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "support/error.h"
#include "support/file_kind.h"
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
  const std::optional<KnownFile> known = file_kind(path);
  // What is not recognized goes on to whoever reads it, whose message is exact.
  if (!known || known->kind == FileKind::Onnx || known->kind == FileKind::Artifact) return;
  // An archive that is cut off has no names at its end.
  if (known->kind == FileKind::Zip) return;
  std::string next = export_hint(known->kind);
  if (known->kind == FileKind::Program || known->kind == FileKind::C) next = "; polyte op takes it";
  if (known->kind == FileKind::Script) next = "; it is given with --script";
  if (known->kind == FileKind::Image || known->kind == FileKind::Array ||
      known->kind == FileKind::Arrays)
    next = "; an input is given with -i";
  throw UserError(ExitStatus::InvalidInput,
                  path + ": is " + known->text + ", expected an ONNX model or an artifact" + next);
}

}  // namespace polyte::cli
