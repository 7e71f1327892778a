// If. A condition known when compiling chooses a branch; else both are computed and the condition selects, which needs
// results of equal types.
#include "frontend/importers/build.h"
#include "frontend/importers/table.h"

namespace polyte::frontend {

namespace {

bool is_true(const Tensor& condition) {
  if (condition.type.dtype != DType::Bool || graph::element_count(condition.type.shape) != 1)
    throw Invalid{"the condition is " + to_string(condition.type) + ", expected one bool"};
  return elements_as_int(condition)[0] != 0;
}

void finish_branch(NodeContext& c, const std::vector<ValueId>& results) {
  if (results.size() < c.output_count())
    throw Invalid{"a branch has " + std::to_string(results.size()) + " outputs, the node " +
                  std::to_string(c.output_count())};
  for (std::size_t i = 0; i < c.output_count(); ++i) {
    if (c.wants_output(i)) c.finish_output(i, results[i]);
  }
}

}  // namespace

void import_if(NodeContext& c) {
  c.ignore("then_branch");
  c.ignore("else_branch");
  const ValueId condition = c.input(0);
  if (c.is_constant(0)) {
    const bool chosen = is_true(c.constant(0, "the condition"));
    return finish_branch(c, c.body(chosen ? "then_branch" : "else_branch"));
  }
  const std::vector<ValueId> yes = c.body("then_branch"), no = c.body("else_branch");
  if (yes.size() != no.size())
    throw Invalid{"the branches have " + std::to_string(yes.size()) + " and " + std::to_string(no.size()) + " outputs"};
  bool equal_types = true;
  for (std::size_t i = 0; i < yes.size(); ++i) equal_types = equal_types && c.type(yes[i]) == c.type(no[i]);
  if (!equal_types) return finish_branch(c, is_true(c.constant(0, "the condition, as its branches differ")) ? yes : no);
  if (c.type(condition).dtype != DType::Bool || graph::element_count(c.type(condition).shape) != 1)
    throw Invalid{"the condition is " + to_string(c.type(condition)) + ", expected one bool"};
  const ValueId scalar = c.reshape(condition, {});
  std::vector<ValueId> results;
  for (std::size_t i = 0; i < yes.size(); ++i) results.push_back(Build(c).where(scalar, yes[i], no[i]));
  finish_branch(c, results);
}

}  // namespace polyte::frontend
