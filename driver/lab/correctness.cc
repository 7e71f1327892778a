#include "driver/lab/correctness.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>

#include "driver/compile/execution_check.h"
#include "driver/compile/flops.h"
#include "runtime/artifact.h"
#include "runtime/compare.h"
#include "support/error.h"

namespace polyte::lab {
namespace {

constexpr std::int64_t kMostSteps = 2'000'000;  // of the interpreter, about a second
constexpr double kMostFlopsOfC = 4e9;           // of a GPU's row, on one thread: some seconds

// Sums that are added in another order differ by more than their last bit; a wrong schedule by
// far more than this.
double tolerance_of(const Plan& plan, DType type) {
  if (plan.tolerance > 0) return plan.tolerance;
  // The bound for n terms in another order is about n * u of their sum of magnitudes: the numbers
  // are about 9 million u of f64, 1,700 of f32, 40 of f16 and 5 of bf16.
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

// Each number up by so many units in its last place, equal ones to equal ones: their order stays,
// and a step (floor, a comparison with a number) that one lies on is crossed whatever the amount.
constexpr int kNudges[] = {4, 33};
template <class T>
void nudge(std::span<T> values, int units) {
  for (T& value : values)
    value += std::abs(value) * std::numeric_limits<T>::epsilon() * static_cast<T>(units);
}

void nudge(runtime::Tensor& tensor, int units) {
  if (tensor.dtype() == DType::F64) nudge(tensor.as<double>(), units);
  if (tensor.dtype() == DType::F32) nudge(tensor.as<float>(), units);
}

// The outputs of a reference whose inputs are nudged.
using Nudged = std::function<std::vector<runtime::Tensor>(int units)>;

// Elements that are rounding alone get the reference's value: those that it computes as three
// numbers, apart by more than a part of the tolerance, of the inputs as they are and nudged
// by two amounts. All three have to be apart: an element that a step lies on jumps once, to the
// same value for both nudges, and stays compared.
constexpr double kPart = 1.0 / 16;
template <class T>
std::int64_t take_rounding(std::span<T> got, std::span<const T> expected, std::span<const T> little,
                           std::span<const T> more, double most) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double least = kPart * most * (1 + std::abs(static_cast<double>(expected[i])));
    const auto are_apart = [&](T a, T b) {
      return std::abs(static_cast<double>(a) - static_cast<double>(b)) > least;
    };
    if (!are_apart(little[i], expected[i]) || !are_apart(more[i], expected[i]) ||
        !are_apart(little[i], more[i]))
      continue;
    got[i] = expected[i];
    ++count;
  }
  return count;
}

std::int64_t take_rounding(runtime::Tensor& got, const runtime::Tensor& expected,
                           const runtime::Tensor& little, const runtime::Tensor& more,
                           double most) {
  const auto of = [&]<class T>(T) {
    return take_rounding(got.as<T>(), expected.as<T>(), little.as<T>(), more.as<T>(), most);
  };
  return got.dtype() == DType::F64 ? of(double()) : got.dtype() == DType::F32 ? of(float()) : 0;
}

runtime::Tensor copy_of(const runtime::Tensor& tensor) {
  runtime::Tensor copy(tensor.dtype(), tensor.shape());
  std::ranges::copy(tensor.raw(), copy.raw().begin());
  return copy;
}

// An output that differs is looked at again with the elements that no schedule determines set to
// the reference's value. Inputs are nudged only then, since that runs the reference twice.
Verdict compare_all(const Plan& plan, const Interface& interface,
                    const std::vector<runtime::Tensor>& got,
                    const std::vector<runtime::Tensor>& expected, const std::string& what,
                    const Nudged& nudged) {
  Verdict verdict{true, "same bits as " + what, ""};
  std::vector<runtime::Tensor> little, more;
  for (std::size_t i = 0; i < interface.size(); ++i) {
    if (!interface[i].is_written() || runtime::compare_bits(got[i], expected[i]).equal) continue;
    const double most = tolerance_of(plan, got[i].dtype());
    const runtime::Comparison c = runtime::compare(got[i], expected[i], {most, most});
    if (!c.equal) {
      if (little.empty()) little = nudged(kNudges[0]), more = nudged(kNudges[1]);
      runtime::Tensor determined = copy_of(got[i]);
      const std::int64_t count = take_rounding(determined, expected[i], little[i], more[i], most);
      if (count == 0 || !runtime::compare(determined, expected[i], {most, most}).equal)
        return {false, "'" + interface[i].name + "' differs from " + what + ": " + c.message, ""};
      verdict.left_out += (verdict.left_out.empty() ? "" : ", ") + std::to_string(count) + " of " +
                          std::to_string(got[i].elements()) + " elements of '" + interface[i].name +
                          "'";
    }
    char text[64];
    std::snprintf(text, sizeof text, "within %g of ", most);
    verdict.text = text + what;
  }
  if (!verdict.left_out.empty())
    verdict.text += ", but for " + verdict.left_out + ", which are rounding alone";
  return verdict;
}

// 5, 6, 7, .. (or `first` for all of them) but never more than the row has.
// Never more than the row has, for a size may be one that the Program needs to be small.
ir::Values small_sizes(const Row& row, std::int64_t first, bool different) {
  ir::Values sizes;
  for (const auto& [name, value] : row.sizes)
    sizes[name] = std::min(value, different ? first++ : first);
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

std::string text_of(const ir::Values& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes)
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  return text;
}

// False where the interpreter would take too long.
bool is_run(SmallProgram& small, std::uint64_t seed) try {
  small.inputs = driver::small_integer_environment(*small.program, seed);
  small.expected = small.inputs;
  ir::InterpretOptions options;
  options.max_steps = kMostSteps;
  ir::interpret(*small.program, small.expected, options);
  return true;
} catch (const UserError& e) {
  if (e.status() != ExitStatus::ResourceLimit) throw;
  return false;
}

void run_on(Contender& contender, std::vector<runtime::Tensor>& tensors) {
  contender.clear_sets();
  contender.add_set(tensors);
  contender.run(0);
  contender.clear_sets();
}

}  // namespace

Reference make_reference(const Workshop& workshop) {
  Reference reference;
  Prepared prepared;
  const bool is_much =
      workshop.device && workshop.program && driver::count_flops(*workshop.program) > kMostFlopsOfC;
  if (!is_much) prepared = prepare_strict(workshop, workshop.program);
  reference.name = "C with its order kept";
  if (!workshop.program) {
    prepared = prepare_model_reference(workshop);
    reference.name = "onnxruntime";
  }
  if (!prepared.contender && workshop.device) {
    prepared = prepare_here(workshop, workshop.program);
    reference.name = "poly on this processor with its order kept";
  }
  if (!prepared.contender) {
    reference.name = "the arm naive";
    PlannedArm naive{{"naive", ArmSpec::Kind::Scheduler, "naive", {}}, {}};
    prepared = prepare(workshop, naive, workshop.program);
  }
  if (!prepared.contender) return {"", prepared.reason, {}};
  reference.tensors = run_once(workshop, *prepared.contender);
  reference.contender = std::move(prepared.contender);
  return reference;
}

std::vector<runtime::Tensor> run_once(const Workshop& workshop, Contender& contender) {
  std::vector<runtime::Tensor> tensors = filled_tensors(workshop.interface, workshop.row.fill);
  run_on(contender, tensors);
  return tensors;
}

std::string digest_of_outputs(const Interface& interface,
                              const std::vector<runtime::Tensor>& tensors) {
  std::string digests;
  for (std::size_t i = 0; i < interface.size(); ++i)
    if (interface[i].is_written()) digests += runtime::digest_of(tensors[i].raw());
  return runtime::digest_of(runtime::as_bytes(digests));
}

Verdict check_real(const Workshop& workshop, const std::vector<runtime::Tensor>& got,
                   const Reference& reference) {
  return compare_all(workshop.plan, workshop.interface, got, reference.tensors, reference.name,
                     [&](int units) {
                       std::vector<runtime::Tensor> tensors =
                           filled_tensors(workshop.interface, workshop.row.fill);
                       for (runtime::Tensor& tensor : tensors) nudge(tensor, units);
                       run_on(*reference.contender, tensors);
                       return tensors;
                     });
}

namespace {

// The row's own, by the same factor, so that what fits together still does. Sizes up to 8 stay:
// they are widths of windows and the like.
ir::Values scaled_sizes(const Row& row, std::int64_t factor) {
  ir::Values sizes;
  for (const auto& [name, value] : row.sizes)
    sizes[name] = value > 8 ? std::max<std::int64_t>(1, value / factor) : value;
  return sizes;
}

// Sizes that differ tell subscripts apart; many of them are too much, and some do not fit
// each other.
std::vector<ir::Values> small_choices(const Row& row) {
  std::vector<ir::Values> choices;
  for (const auto& [first, different] :
       {std::pair{5, true}, {8, false}, {16, false}, {32, false}, {3, false}, {2, false}})
    choices.push_back(small_sizes(row, first, different));
  for (std::int64_t factor = 8; factor <= 4096; factor *= 2)
    choices.push_back(scaled_sizes(row, factor));
  return choices;
}

// An infinity, such as the largest of no point at all, tells little, and libraries have other
// words for it.
bool is_finite(const SmallProgram& small) {
  for (const ir::Buffer* buffer : small.program->interface()) {
    const runtime::Tensor tensor = driver::to_tensor(small.expected.at(buffer->name));
    for (const float value :
         tensor.dtype() == DType::F32 ? tensor.as<float>() : std::span<const float>())
      if (!std::isfinite(value)) return false;
  }
  return true;
}

}  // namespace

// The first choice that the Program's conditions allow and the interpreter runs at once with finite
// results, else the first that it runs, else the row's own sizes.
SmallProgram make_small(const Workshop& workshop) {
  SmallProgram small, other;
  if (!workshop.program) {
    small.problem = "a model";
    return small;
  }
  try {
    for (const ir::Values& sizes :
         workshop.open ? small_choices(workshop.row) : std::vector<ir::Values>()) {
      small.program = bound_at(*workshop.open, sizes);
      small.sizes = text_of(sizes);
      if (!small.program || !is_run(small, workshop.plan.seed)) continue;
      if (is_finite(small)) return small;
      if (!other.program) other = small;
    }
    if (other.program) return other;
    small.program = workshop.program;
    small.sizes = "";
    if (is_run(small, workshop.plan.seed)) return small;
    small.problem = "the interpreter would take too long: the program's sizes are fixed";
  } catch (const UserError& e) {
    small.problem = e.what();
  }
  small.program = nullptr;
  return small;
}

namespace {

// Without a limit of steps: the same Program was within it before.
std::vector<runtime::Tensor> interpreted_nudged(const SmallProgram& small, int units) {
  ir::Environment environment = small.inputs;
  for (auto& [name, contents] : environment) {
    runtime::Tensor tensor = driver::to_tensor(contents);
    nudge(tensor, units);
    contents = driver::to_contents(tensor);
  }
  ir::interpret(*small.program, environment, {});
  std::vector<runtime::Tensor> tensors;
  for (const ir::Buffer* buffer : small.program->interface())
    tensors.push_back(driver::to_tensor(environment.at(buffer->name)));
  return tensors;
}

}  // namespace

Verdict check_small(const Workshop& workshop, const PlannedArm& arm, const SmallProgram& small) {
  if (!small.program) return {true, "not run: " + small.problem};
  const Prepared prepared = prepare(workshop, arm, small.program);
  if (!prepared.contender)
    return {true, "not run at small sizes: " + prepared.status + ", " + prepared.reason};
  return check_small(workshop, *prepared.contender, small);
}

Verdict check_small(const Workshop& workshop, Contender& contender, const SmallProgram& small) {
  std::vector<runtime::Tensor> tensors = driver::make_tensors(*small.program), expected;
  const std::vector<const ir::Buffer*> interface = small.program->interface();
  for (std::size_t i = 0; i < interface.size(); ++i) {
    const auto given = small.inputs.find(interface[i]->name);
    if (interface[i]->role != ir::Role::Out && given != small.inputs.end())
      tensors[i] = driver::to_tensor(given->second);
    expected.push_back(driver::to_tensor(small.expected.at(interface[i]->name)));
  }
  contender.add_set(tensors);
  contender.run(0);
  const std::string where = small.sizes.empty() ? "" : " at " + small.sizes;
  return compare_all(workshop.plan, interface_of(*small.program), tensors, expected,
                     "the interpreter" + where,
                     [&](int units) { return interpreted_nudged(small, units); });
}

}  // namespace polyte::lab
