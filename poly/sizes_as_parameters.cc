#include "poly/sizes_as_parameters.h"

#include <algorithm>
#include <cstdlib>

namespace polyte::poly {
namespace {

constexpr std::int64_t kLeast = 17;    // of a size that becomes a parameter
constexpr std::int64_t kDistance = 8;  // of a constant to the size that it is written by

class Rewriter {
 public:
  explicit Rewriter(const ir::Program& bound) : program_(bound) {
    // A small constant is more often a number of the algorithm, such as a window's width, than a
    // size.
    for (const auto& [name, value] : bound.sizes)
      if (value >= kLeast) sizes_.emplace_back(name, value);
  }

  ir::Program run() {
    for (ir::Statement& s : program_.statements)
      for (ir::Constraint& constraint : s.domain) constraint.expr = rewritten(constraint.expr);
    for (ir::Buffer& buffer : program_.buffers)
      for (ir::Affine& extent : buffer.shape) extent = rewritten(extent);
    for (ir::Item& item : program_.order) rewrite(item);
    for (const auto& [name, value] : sizes_) {
      program_.params.push_back(name);
      program_.context.push_back(ir::at_least(ir::Affine::symbol(name), kLeast));
    }
    return std::move(program_);
  }

 private:
  ir::Program program_;
  std::vector<std::pair<std::string, std::int64_t>> sizes_;

  // A constant near a size is taken to come from it: 999 of N = 1000 is N - 1. Two sizes that are
  // nearly equal may be confused; that costs a worse schedule and no wrong one, for the Script is
  // proved on the Program as it is.
  ir::Affine rewritten(const ir::Affine& e) const {
    for (const auto& [name, value] : sizes_)
      for (const std::int64_t sign : {1, -1})
        if (std::abs(e.constant() - sign * value) <= kDistance)
          return e + ir::Affine::symbol(name) * sign - sign * value;
    return e;
  }

  void rewrite(ir::Item& item) const {
    auto* region = std::get_if<ir::Region>(&item);
    if (!region) return;
    region->begin = rewritten(region->begin);
    region->end = rewritten(region->end);
    for (ir::Item& inner : region->body) rewrite(inner);
  }
};

}  // namespace

ir::Program with_sizes_as_parameters(const ir::Program& bound) { return Rewriter(bound).run(); }

}  // namespace polyte::poly
