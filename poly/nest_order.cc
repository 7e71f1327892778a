#include "poly/nest_order.h"

#include <algorithm>
#include <iterator>

namespace polyte::poly {
namespace {

using schedule::Tree;

std::vector<Tree> top_level(const Tree& tree) {
  if (!tree) return {};
  const auto* sequence = std::get_if<schedule::Sequence>(&tree->op);
  return sequence ? sequence->children : std::vector<Tree>{tree};
}

std::map<std::string, std::size_t> nest_of_statement(const std::vector<Core>& nests) {
  std::map<std::string, std::size_t> numbers;
  for (std::size_t n = 0; n < nests.size(); ++n)
    for (const Cluster* cluster : clusters_of(nests[n]))
      for (const ir::Statement* s : cluster->statements) numbers[s->name] = n;
  return numbers;
}

}  // namespace

std::optional<schedule::NestPlan> order_of_nests(const schedule::State& reference,
                                                 const std::vector<Core>& nests) {
  const std::map<std::string, std::size_t> nest_of = nest_of_statement(nests);
  const std::vector<Tree> children = top_level(reference.tree);
  const auto number = [&](const Tree& child) {
    const auto found = nest_of.find(schedule::leaves_of(child).front()->statement);
    // isl leaves out what has no iterations.
    return found == nest_of.end() ? nests.size() : found->second;
  };
  // The reference's nests in text order, each with its place among isl's: in order unless some
  // place is less than the one before. What isl has left out comes last, in `nests.size()`.
  std::vector<std::size_t> numbers;
  for (const Tree& child : children) numbers.push_back(number(child));
  if (std::ranges::is_sorted(numbers)) return std::nullopt;
  std::vector<Tree> in_order;
  for (std::size_t n = 0; n <= nests.size(); ++n)
    std::ranges::copy_if(children, std::back_inserter(in_order),
                         [&](const Tree& child) { return number(child) == n; });
  return schedule::NestPlan{
      .tree = schedule::nest_of(schedule::make_sequence(in_order), reference.tree),
      .tree_by = schedule::Provenance::Isl};
}

}  // namespace polyte::poly
