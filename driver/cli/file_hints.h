// What a file is that is not what was expected, and which file may have been meant: for messages.
#pragma once

#include <string>
#include <vector>

namespace polyte::cli {

// Nothing where `path` is a file that can be read; else ": there is no such file, did you mean
// 'mm.program'?", ": is a folder, expected " + what.
std::string file_problem(const std::string& path, const std::string& what);
// UserError(InvalidInput) with all of them that cannot be read, each behind its option.
struct NamedFile {
  std::string option, path, what;
};
void require_files(const std::vector<NamedFile>& files);
// UserError(InvalidInput) where `path` is known to be neither a model nor an artifact, with the
// verb that takes it.
void require_model_file(const std::string& path);

}  // namespace polyte::cli
