// Whether integers can satisfy affine constraints: the question behind a barrier, asked by `lower`
// of loops that no State describes any more.
//
//   Feasibility question;
//   question.holds({t < 64, u < 64, 4 * t == 4 * u + 2})     // false
#pragma once

#include <memory>
#include <vector>

#include "ir/affine.h"

namespace polyte::schedule {

class IslContext;

class Feasibility {
 public:
  Feasibility();
  ~Feasibility();
  Feasibility(const Feasibility&) = delete;
  Feasibility& operator=(const Feasibility&) = delete;

  // True where some integer values of the symbols satisfy all of them. Too hard a question
  // (more than a million steps of isl) counts as true.
  bool holds(const std::vector<ir::Constraint>& all);

 private:
  std::unique_ptr<IslContext> context_;
};

}  // namespace polyte::schedule
