#include "frontend/import_problems.h"

#include <algorithm>

#include "frontend/names.h"

namespace polyte::frontend {

void ImportProblems::invalid(const std::string& what) {
  invalid_.push_back(plain(file_ + ": " + what));
}

void ImportProblems::unsupported(const std::string& what) { unsupported_.push_back(plain(what)); }

void ImportProblems::report(const UserError& error, const std::string& who) {
  for (const std::string& problem : error.problems()) {
    const std::string text = who + " " + problem;
    if (error.status() == ExitStatus::ResourceLimit)
      over_limit_.push_back(plain(file_ + ": " + text));
    else if (error.status() == ExitStatus::Unsupported)
      unsupported(text);
    else
      invalid(text);
  }
}

void ImportProblems::report_node(std::size_t node, const UserError& error, const std::string& who) {
  report(error, who);
  reported_nodes_.insert(node);
}

void ImportProblems::throw_if_invalid(std::span<const NodeCoverage> rows) const {
  if (has_invalid()) throw_all(rows);
}

void ImportProblems::throw_if_any(std::span<const NodeCoverage> rows) const {
  if (has_invalid() || !unsupported_lines(rows).empty()) throw_all(rows);
}

void ImportProblems::throw_all(std::span<const NodeCoverage> rows) const {
  std::vector<std::string> lines = invalid_;
  lines.insert(lines.end(), over_limit_.begin(), over_limit_.end());
  const std::vector<std::string> unsupported = unsupported_lines(rows);
  lines.insert(lines.end(), unsupported.begin(), unsupported.end());
  // A model that is wrong is reported as wrong, whatever else it lacks.
  const ExitStatus status = !invalid_.empty()      ? ExitStatus::InvalidInput
                            : !over_limit_.empty() ? ExitStatus::ResourceLimit
                                                   : ExitStatus::Unsupported;
  throw UserError(status, std::move(lines));
}

// A heading, then a line per problem in two columns.
std::vector<std::string> ImportProblems::unsupported_lines(
    std::span<const NodeCoverage> rows) const {
  std::vector<std::pair<std::string, std::string>> table;
  // A node whose own problem is listed already is not counted as unsupported once more.
  for (std::size_t n = 0; n < rows.size(); ++n) {
    const NodeCoverage& row = rows[n];
    if (row.supported || reported_nodes_.contains(n)) continue;
    table.emplace_back(
        named(row.name) + " (" + printable(row.op) + ", opset " + std::to_string(row.opset) + ")",
        row.reason);
  }
  std::vector<std::string> lines;
  for (const std::string& problem : unsupported_) lines.push_back(file_ + ": " + problem);
  if (table.empty()) return lines;
  const std::string count = std::to_string(table.size()) + " of " + std::to_string(rows.size());
  lines.push_back(file_ + ": " + count + (rows.size() == 1 ? " node is" : " nodes are") +
                  " not supported");
  std::size_t width = 0;
  for (const auto& [who, reason] : table) width = std::max(width, who.size());
  for (const auto& [who, reason] : table)
    lines.push_back("  " + who + std::string(width - std::min(width, who.size()) + 4, ' ') +
                    reason);
  return lines;
}

}  // namespace polyte::frontend
