// Scripts in files: what `include` may reach, and values for holes.
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "schedule/script/script.h"
#include "schedule/script/script_text.h"
#include "support/error.h"
#include "support/file_kind.h"

namespace polyte::schedule {

namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path, const std::string& shown) {
  constexpr std::uintmax_t kLimit = 16U << 20U;
  std::error_code error;
  if (!fs::exists(path, error))
    throw UserError(ExitStatus::InvalidInput, shown + ": there is no such file");
  std::ifstream file(path, std::ios::binary);
  if (fs::is_directory(path, error) || !file)
    throw UserError(ExitStatus::InvalidInput, shown + ": cannot be read");
  std::string text;  // of a pipe too, which has no size
  for (std::vector<char> piece(1U << 16U);
       file.read(piece.data(), static_cast<std::streamsize>(piece.size())), file.gcount() > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > kLimit)
      throw UserError(ExitStatus::ResourceLimit, shown + ": more than 16 MiB of text");
  }
  return text;
}

// Whether the path is below `folder` once links and dots are resolved.
bool is_inside(const fs::path& path, const fs::path& folder) {
  const fs::path relative = fs::weakly_canonical(fs::absolute(path))
                                .lexically_relative(fs::weakly_canonical(fs::absolute(folder)));
  return !relative.empty() && *relative.begin() != "..";
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

// A script may come from elsewhere: what it includes stays below its own folder, whatever `..`
// and links say.
IncludedText included(const std::string& name, const std::string& from, const fs::path& root) {
  const fs::path path = (folder_of(from) / name).lexically_normal();
  if (fs::path(name).is_absolute() || !is_inside(path, root))
    throw UserError(ExitStatus::InvalidInput,
                    "include \"" + name + "\" leaves the folder of the script");
  return {path.string(), read_file(path, "include \"" + name + "\"")};
}

std::string names_of(const Script& script) {
  std::string names;
  for (const Directive& directive : script.directives) {
    const SetParam* param = std::get_if<SetParam>(&directive.operation);
    const Let* let = std::get_if<Let>(&directive.operation);
    if (param || let) names += (names.empty() ? "" : ", ") + (param ? param->name : let->name);
  }
  return names;
}

bool fill_one(Script& script, const std::string& name, const std::string& value) {
  bool found = false;
  for (Directive& directive : script.directives) {
    if (SetParam* param = std::get_if<SetParam>(&directive.operation); param && param->name == name)
      param->value.text = value, found = true;
    if (Let* let = std::get_if<Let>(&directive.operation); let && let->name == name)
      let->text = value, found = true;
  }
  return found;
}

}  // namespace

namespace {

// One line in place of one for each line of a file that is something else.
void require_script(const std::string& path) {
  const std::optional<KnownFile> known = file_kind(path);
  if (known && known->kind != FileKind::Script)
    throw UserError(ExitStatus::InvalidInput,
                    path + ": is " + known->text + ", expected a script, which begins with " +
                        "schedule NAME/1 for PROGRAM; polyte op --emit script prints one");
}

}  // namespace

Script read_script(const std::string& path) {
  if (fs::is_regular_file(path)) require_script(path);
  const fs::path root = folder_of(path);
  const Includer includer = [&](const std::string& name, const std::string& from) {
    return included(name, from, root);
  };
  return parse_script(read_file(path, path), path, includer);
}

void fill(Script& script, const std::map<std::string, std::string>& values) {
  std::vector<std::string> problems;
  for (const auto& [name, value] : values) {
    if (fill_one(script, name, value)) continue;
    const std::string names = names_of(script);
    problems.push_back("--param " + name + "=" + value + ": the script has no param or let '" +
                       name + "'" + (names.empty() ? "" : " (it has " + names + ")"));
  }
  if (!problems.empty()) throw UserError(ExitStatus::Usage, problems);
}

}  // namespace polyte::schedule
