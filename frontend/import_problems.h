// What is wrong with a model, collected while it is imported and thrown at once: what is invalid,
// what is over a limit, what is not supported, and the nodes among that as a table.
//
//   yolo.onnx: 3 of 241 nodes are not supported
//     'nms' (NonMaxSuppression, opset 13)    operator not supported
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "frontend/onnx_import.h"
#include "support/error.h"

namespace polyte::frontend {

class ImportProblems {
 public:
  explicit ImportProblems(std::string file) : file_(std::move(file)) {}

  const std::string& file() const { return file_; }
  void invalid(const std::string& what);
  void unsupported(const std::string& what);                    // but for nodes, whose rows say it
  void report(const UserError& error, const std::string& who);  // by its status
  // The problem of node number `node` is reported: its row is not listed as well.
  void report_node(std::size_t node, const UserError& error, const std::string& who);

  // Throws everything where something is invalid or over a limit; or where anything is wrong. Its
  // status is the worst's.
  void throw_if_invalid(std::span<const NodeCoverage> rows) const;
  void throw_if_any(std::span<const NodeCoverage> rows) const;
  const std::vector<std::string>& of_no_node() const { return unsupported_; }

 private:
  bool has_invalid() const { return !invalid_.empty() || !over_limit_.empty(); }
  std::vector<std::string> unsupported_lines(std::span<const NodeCoverage> rows) const;
  [[noreturn]] void throw_all(std::span<const NodeCoverage> rows) const;

  std::string file_;
  std::vector<std::string> invalid_, over_limit_, unsupported_;
  std::set<std::size_t> reported_nodes_;
};

}  // namespace polyte::frontend
