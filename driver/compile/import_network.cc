#include "driver/compile/import_network.h"

#include <algorithm>

#include "support/nearest_word.h"

namespace polyte::driver {
namespace {

OpenSymbol symbol_named(const std::string& name, const std::vector<OpenSymbol>& ranges) {
  const auto range = std::ranges::find(ranges, name, &OpenSymbol::name);
  if (range != ranges.end()) return *range;
  OpenSymbol symbol;
  symbol.name = name;
  return symbol;
}

void check_used(const std::vector<OpenSymbol>& ranges, const std::vector<std::string>& open) {
  std::string known;
  for (const std::string& name : open) known += (known.empty() ? "" : ", ") + name;
  std::vector<std::string> problems;
  for (const OpenSymbol& range : ranges)
    if (std::ranges::find(open, range.name) == open.end())
      problems.push_back("--shape " + range.name +
                         " is a range, but no open symbol has this name (open are " +
                         (known.empty() ? "none" : known) + ")" + did_you_mean(range.name, open));
  if (!problems.empty()) throw UserError(ExitStatus::Usage, problems);
}

// Values that are only thought of may be larger than memory.
constexpr std::int64_t kMostTensorBytes = std::int64_t{1} << 55;

// A graph is made per point of sizes, the ends of the ranges included; nothing is ever run at
// those.
graph::Graph graph_at(const std::filesystem::path& file, frontend::ImportOptions import,
                      const ir::Values& sizes) {
  std::string where;
  for (const auto& [name, value] : sizes) {
    import.shapes[name] = {value};
    where += (where.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  }
  import.max_tensor_bytes = kMostTensorBytes;
  try {
    return frontend::import_onnx(file, import).graph;
  } catch (const UserError& error) {
    std::vector<std::string> problems{
        "open sizes: where " + where +
        ", the network is not valid; give sizes, or other ranges, with --shape"};
    problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    throw UserError(error.status(), problems);
  }
}

}  // namespace

ImportedNetwork import_network(const std::filesystem::path& file,
                               const frontend::ImportOptions& import,
                               const std::vector<OpenSymbol>& ranges) {
  // The first import, at the typical sizes, is only to learn which symbols the file leaves open:
  // where it leaves none it is the network.
  frontend::ImportOptions first = import;
  first.extent_of = [&](const std::string& name) { return symbol_named(name, ranges).typical; };
  frontend::Imported imported = frontend::import_onnx(file, first);
  check_used(ranges, imported.open);
  if (imported.open.empty()) return {std::move(imported.graph), std::move(imported.notes)};
  std::vector<OpenSymbol> symbols;
  for (const std::string& name : imported.open) symbols.push_back(symbol_named(name, ranges));
  return {Network(std::move(symbols),
                  [&](const ir::Values& sizes) { return graph_at(file, import, sizes); }),
          std::move(imported.notes)};
}

}  // namespace polyte::driver
