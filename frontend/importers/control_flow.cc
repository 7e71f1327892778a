// If. A condition known when compiling chooses a branch, and the other one is not looked at. Else
// both are computed and the condition selects; where one of them cannot be, or their results differ
// in type, the condition must have a value.
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

struct Branch {
  std::vector<ValueId> results;
  std::string problem;   // why there are none
  bool invalid = false;  // the problem; else what is not supported
};

// A node is reported as invalid if anything about it is, even if something else is unsupported.
[[noreturn]] void refuse(const std::string& problem, bool invalid) {
  if (invalid) throw Invalid{problem};
  throw Unsupported{problem};
}

Branch branch_of(NodeContext& c, const std::string& name) {
  try {
    return {c.body(name), {}, false};
  } catch (const Unsupported& problem) {
    return {{}, problem.reason, false};
  } catch (const Invalid& problem) {
    return {{}, problem.reason, true};
  }
}

// The condition chooses, for `why` its branches cannot both be computed.
void choose_branch(NodeContext& c, const Branch& yes, const Branch& no, const std::string& why) {
  const Branch& chosen = is_true(c.constant(0, ("the condition, " + why).c_str())) ? yes : no;
  if (!chosen.problem.empty()) refuse(chosen.problem, chosen.invalid);
  finish_branch(c, chosen.results);
}

}  // namespace

static void import_if(NodeContext& c) {
  // The branch that is not chosen is never read, and would count as unknown.
  c.ignore("then_branch");
  c.ignore("else_branch");
  const ValueId condition = c.input(0);
  if (c.is_constant(0)) {
    const bool chosen = is_true(c.constant(0, "the condition"));
    return finish_branch(c, c.body(chosen ? "then_branch" : "else_branch"));
  }
  const Branch yes = branch_of(c, "then_branch"), no = branch_of(c, "else_branch");
  if (!yes.problem.empty() && !no.problem.empty())
    refuse(yes.problem == no.problem ? yes.problem : yes.problem + "; " + no.problem,
           yes.invalid || no.invalid);
  if (!yes.problem.empty())
    return choose_branch(c, yes, no, "as then_branch cannot be computed: " + yes.problem);
  if (!no.problem.empty())
    return choose_branch(c, yes, no, "as else_branch cannot be computed: " + no.problem);
  if (yes.results.size() != no.results.size())
    throw Invalid{"the branches have " + std::to_string(yes.results.size()) + " and " +
                  std::to_string(no.results.size()) + " outputs"};
  bool equal_types = true;
  for (std::size_t i = 0; i < yes.results.size(); ++i)
    equal_types = equal_types && c.type(yes.results[i]) == c.type(no.results[i]);
  if (!equal_types) return choose_branch(c, yes, no, "as its branches differ");
  if (c.type(condition).dtype != DType::Bool || graph::element_count(c.type(condition).shape) != 1)
    throw Invalid{"the condition is " + to_string(c.type(condition)) + ", expected one bool"};
  const ValueId scalar = c.reshape(condition, {});
  std::vector<ValueId> results;
  for (std::size_t i = 0; i < yes.results.size(); ++i)
    results.push_back(Build(c).where(scalar, yes.results[i], no.results[i]));
  finish_branch(c, results);
}

Rows control_flow_rows() {
  static constexpr Row kRows[] = {
      {"If", 1, import_if,
       "branches of equal types, or a condition that is a constant or given with --value"},
  };
  return kRows;
}

}  // namespace polyte::frontend
