// The dependences of a Program as text and as JSON: of `polyte deps`, and of Python's
// Program.dependences().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schedule/proof/dependence_report.h"

namespace polyte::cli {

struct DependenceQuery {
  std::vector<std::string> statements = {};  // only what is between these; none: all
  bool all = false;  // every pair that touches one element, not only those without a write between
};
// UserError(Usage) where the Program has no such statement.
schedule::DependenceReport dependences_of(const std::shared_ptr<const ir::Program>& program,
                                          const DependenceQuery& query);
std::string dependence_text(const schedule::DependenceReport& report);
// A line for each pair of statements and tensor: "S4 after S3, through R: flow (k, j): (0, 0)".
std::vector<std::string> dependence_pairs(const schedule::DependenceReport& report);
std::string dependence_json(const schedule::DependenceReport& report);

// The Program with a small number for each size that is open: for a picture.
std::shared_ptr<const ir::Program> small_case(const std::shared_ptr<const ir::Program>& program);
// A small case in reference order, as SVG: of `statements`, one or two; none: two that depend on
// each other.
std::string reference_picture(const std::shared_ptr<const ir::Program>& program,
                              const std::vector<std::string>& statements);

}  // namespace polyte::cli
