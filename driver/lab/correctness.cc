#include "driver/lab/correctness.h"

#include <algorithm>
#include <cstdio>

#include "driver/compile/execution_check.h"
#include "runtime/artifact.h"
#include "runtime/compare.h"
#include "support/error.h"

namespace polyte::lab {
namespace {

constexpr std::int64_t kMostSteps = 2'000'000;  // of the interpreter, about a second

// Sums that are added in another order differ by more than their last bit; a wrong schedule by far more than this.
double tolerance_of(const Plan& plan, DType type) {
  if (plan.tolerance > 0) return plan.tolerance;
  switch (type) {
    case DType::F64:
      return 1e-9;
    case DType::F32:
      return 1e-4;
    case DType::F16:
    case DType::BF16:
      return 2e-2;
    default:
      return 0;
  }
}

Verdict compare_all(const Plan& plan, const Interface& interface, const std::vector<runtime::Tensor>& got,
                    const std::vector<runtime::Tensor>& expected, const std::string& what) {
  Verdict verdict{true, "same bits as " + what};
  for (std::size_t i = 0; i < interface.size(); ++i) {
    if (!interface[i].is_written() || runtime::compare_bits(got[i], expected[i]).equal) continue;
    const double most = tolerance_of(plan, got[i].dtype());
    const runtime::Comparison c = runtime::compare(got[i], expected[i], {most, most});
    if (!c.equal) return {false, "'" + interface[i].name + "' differs from " + what + ": " + c.message};
    char text[64];
    std::snprintf(text, sizeof text, "within %g of ", most);
    verdict.text = text + what;
  }
  return verdict;
}

// 5, 6, 7, .. but never more than the row has.
ir::Values small_sizes(const Row& row, std::int64_t first, bool different) {
  ir::Values sizes;
  for (const auto& [name, value] : row.sizes) sizes[name] = std::min(value, different ? first++ : first);
  return sizes;
}

// Null where a condition of the Program forbids these sizes.
std::shared_ptr<const ir::Program> bound_at(const ir::Program& open, const ir::Values& sizes) {
  try {
    return std::make_shared<const ir::Program>(ir::bind(open, sizes));
  } catch (const UserError&) {
    return nullptr;
  }
}

// The first of a few choices that the Program's conditions allow, else the row's own sizes.
std::shared_ptr<const ir::Program> shrunk(const Workshop& workshop, std::string& sizes_text) {
  if (!workshop.open) return workshop.program;
  for (const auto& [first, different] : {std::pair{5, true}, {8, false}, {16, false}, {32, false}}) {
    const ir::Values sizes = small_sizes(workshop.row, first, different);
    std::shared_ptr<const ir::Program> program = bound_at(*workshop.open, sizes);
    if (!program) continue;
    for (const auto& [name, value] : sizes)
      sizes_text += (sizes_text.empty() ? "" : " ") + name + "=" + std::to_string(value);
    return program;
  }
  return workshop.program;
}

}  // namespace

Reference make_reference(const Workshop& workshop) {
  Reference reference;
  Prepared prepared = prepare_strict(workshop, workshop.program);
  reference.name = "C with its order kept";
  if (!prepared.contender) {
    reference.name = "the arm naive";
    PlannedArm naive{{"naive", ArmSpec::Kind::Scheduler, "naive", {}}, "", ""};
    prepared = prepare(workshop, naive, workshop.program);
  }
  if (!prepared.contender) return {"", prepared.reason, {}};
  reference.tensors = run_once(workshop, *prepared.contender);
  return reference;
}

std::vector<runtime::Tensor> run_once(const Workshop& workshop, Contender& contender) {
  std::vector<runtime::Tensor> tensors = filled_tensors(workshop.interface, workshop.row.fill);
  contender.clear_sets();
  contender.add_set(tensors);
  contender.run(0);
  contender.clear_sets();
  return tensors;
}

std::string digest_of_outputs(const Interface& interface, const std::vector<runtime::Tensor>& tensors) {
  std::string digests;
  for (std::size_t i = 0; i < interface.size(); ++i)
    if (interface[i].is_written()) digests += runtime::digest_of(tensors[i].raw());
  return runtime::digest_of(runtime::as_bytes(digests));
}

Verdict check_real(const Workshop& workshop, const std::vector<runtime::Tensor>& got, const Reference& reference) {
  return compare_all(workshop.plan, workshop.interface, got, reference.tensors, reference.name);
}

SmallProgram make_small(const Workshop& workshop) {
  SmallProgram small;
  if (!workshop.program) {
    small.problem = "a model";
    return small;
  }
  try {
    small.program = shrunk(workshop, small.sizes);
    small.inputs = driver::small_integer_environment(*small.program, workshop.plan.seed);
    small.expected = small.inputs;
    ir::InterpretOptions options;
    options.max_steps = kMostSteps;
    ir::interpret(*small.program, small.expected, options);
  } catch (const UserError& e) {
    small.program = nullptr;
    small.problem = e.status() == ExitStatus::ResourceLimit
                        ? "the interpreter would take too long: the program's sizes are fixed"
                        : e.what();
  }
  return small;
}

Verdict check_small(const Workshop& workshop, const PlannedArm& arm, const SmallProgram& small) {
  if (!small.program) return {true, "not run: " + small.problem};
  const Prepared prepared = prepare(workshop, arm, small.program);
  if (!prepared.contender) return {true, "not run at small sizes: " + prepared.status + ", " + prepared.reason};
  std::vector<runtime::Tensor> tensors = driver::make_tensors(*small.program), expected;
  const std::vector<const ir::Buffer*> interface = small.program->interface();
  for (std::size_t i = 0; i < interface.size(); ++i) {
    const auto given = small.inputs.find(interface[i]->name);
    if (interface[i]->role != ir::Role::Out && given != small.inputs.end())
      tensors[i] = driver::to_tensor(given->second);
    expected.push_back(driver::to_tensor(small.expected.at(interface[i]->name)));
  }
  prepared.contender->add_set(tensors);
  prepared.contender->run(0);
  const std::string where = small.sizes.empty() ? "" : " at " + small.sizes;
  return compare_all(workshop.plan, interface_of(*small.program), tensors, expected, "the interpreter" + where);
}

}  // namespace polyte::lab
