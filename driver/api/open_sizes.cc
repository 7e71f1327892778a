#include "driver/api/open_sizes.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include "driver/compile/build_kernel.h"
#include "driver/compile/network.h"
#include "runtime/tensor.h"
#include "support/checked.h"

namespace polyte::api {
namespace {

using Problems = std::vector<std::string>;

void refuse(ExitStatus status, Problems problems) {
  if (!problems.empty()) throw UserError(status, std::move(problems));
}

std::size_t position_of(const ir::Program& program, const std::string& param) {
  return static_cast<std::size_t>(std::ranges::find(program.params, param) -
                                  program.params.begin());
}

std::int64_t value_of(const ir::Affine& extent, const ir::Program& program,
                      std::span<const std::int64_t> values) {
  return ir::evaluate(
      extent, [&](const std::string& param) { return values[position_of(program, param)]; });
}

std::string text_of(const std::vector<ir::Affine>& shape) {
  std::string text;
  for (const ir::Affine& extent : shape) text += (text.empty() ? "" : ", ") + ir::to_string(extent);
  return "[" + text + "]";
}

// 0 is a size: a loop of no iterations.
bool is_range(const OpenRange& size) {
  return 0 <= size.least && size.least <= size.typical && size.typical <= size.most &&
         size.most <= kMostOpenSize;
}

// ---- typical sizes

// By how much a condition is violated.
std::int64_t lacks(const ir::Constraint& condition, const ir::Program& program,
                   const SizeValues& values) {
  const std::int64_t value = value_of(condition.expr, program, values);
  return condition.equality ? std::abs(value) : std::max<std::int64_t>(0, -value);
}

// Raises a size for each condition that is violated, or lowers one where none can be raised;
// whether there was any. M - 2*N >= 3 with M = 67 and N = 67 lacks 70: M becomes 137. One
// condition may undo another, hence rounds.
bool move_within(SizeValues& values, const std::vector<ir::Constraint>& conditions,
                 const ir::Program& program) {
  bool has_moved = false;
  for (const ir::Constraint& condition : conditions) {
    const std::int64_t lack = lacks(condition, program, values);
    if (lack == 0) continue;
    has_moved = true;
    std::size_t best = 0;
    std::int64_t factor = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::int64_t here = condition.expr.coefficient(program.params[i]);
      if (factor == 0 || here > factor)
        best = here != 0 ? i : best, factor = here != 0 ? here : factor;
    }
    if (factor == 0) continue;
    const bool up = value_of(condition.expr, program, values) < 0;
    values[best] += (up == (factor > 0) ? 1 : -1) * ceil_div(lack, std::abs(factor));
  }
  return has_moved;
}

// ---- sizes by shapes

// Extents are equations, each solved once all of its sizes but one are known: x: [M, M + N] of
// shape [3, 8] says M = 3 and then N = 5. What is over-determined is compared at the end, with the
// tensor that said each size first.
class Solver {
 public:
  // Tensors of the right rank only; of others no dimension can be said to be which.
  Solver(const ir::Program& program, const Shapes& shapes)
      : program_(program), values_(program.params.size()) {
    for (const ir::Buffer* buffer : program.interface()) {
      const auto found = shapes.find(buffer->name);
      if (found == shapes.end()) continue;
      if (found->second.size() == buffer->shape.size()) {
        tensors_.push_back({buffer, found->second});
      } else {
        problems_.push_back("argument '" + buffer->name + "' has " +
                            std::to_string(found->second.size()) + " dimensions, expected " +
                            std::to_string(buffer->shape.size()) + ": " + text_of(buffer->shape));
      }
    }
  }

  SizeValues run(const Sizes& given) {
    for (const auto& [name, value] : given) {
      if (const auto param = ir::find_param(program_, name))
        know(position_of(program_, *param), value, "");
      else
        problems_.push_back("size '" + name + "': the kernel leaves no such size open");
    }
    // Each round finds one size, which may make another equation solvable: at most as many
    // rounds as sizes.
    while (solve_one()) {
    }
    SizeValues values;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      values.push_back(values_[i] ? values_[i]->value : 0);
      if (!values_[i] && problems_.empty())
        unknown_.push_back("size '" + program_.params[i] + "' follows from no shape: give it");
    }
    problems_.insert(problems_.end(), unknown_.begin(), unknown_.end());
    // In this order: values first, for shapes at impossible sizes say nothing; then the
    // tensors.
    refuse(ExitStatus::InvalidInput, problems_);
    check_values(program_, values);
    for (const Known& tensor : tensors_) compare(tensor, values);
    refuse(ExitStatus::InvalidInput, problems_);
    return values;
  }

 private:
  struct Known {
    const ir::Buffer* buffer;
    const std::vector<std::int64_t>& shape;
  };
  struct Value {
    std::int64_t value;
    std::string by;  // the tensor that said so first; "": the caller
  };
  const ir::Program& program_;
  std::vector<Known> tensors_;
  std::vector<std::optional<Value>> values_;
  Problems problems_, unknown_;

  void know(std::size_t param, std::int64_t value, const std::string& by) {
    values_[param] = Value{value, by};
  }

  bool solve_one() {
    for (const Known& tensor : tensors_)
      for (std::size_t d = 0; d < tensor.shape.size(); ++d)
        if (solve(tensor.buffer->shape[d], tensor.shape[d], tensor.buffer->name)) return true;
    return false;
  }

  // Whether it says a size that was not known. Where nothing whole fits the comparison will say so.
  bool solve(const ir::Affine& extent, std::int64_t is, const std::string& by) {
    std::optional<std::size_t> wanted;
    std::int64_t rest = checked_sub(is, extent.constant()), factor = 0;
    for (const ir::Term& term : extent.terms()) {
      if (term.atom.div) return false;
      const std::size_t param = position_of(program_, term.atom.symbol);
      if (values_[param]) {
        rest = checked_sub(rest, checked_mul(term.coefficient, values_[param]->value));
      } else if (wanted) {
        return false;
      } else {
        wanted = param;
        factor = term.coefficient;
      }
    }
    if (!wanted) return false;
    know(*wanted, rest / factor, by);
    return true;
  }

  void compare(const Known& tensor, const SizeValues& values) {
    std::vector<std::int64_t> expected;
    std::string because;
    for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
      expected.push_back(value_of(tensor.buffer->shape[d], program_, values));
      if (expected.back() != tensor.shape[d])
        because += reasons(tensor.buffer->shape[d], tensor.buffer->name);
    }
    if (std::ranges::equal(expected, tensor.shape)) return;
    problems_.push_back("argument '" + tensor.buffer->name + "' has shape " +
                        runtime::to_string(tensor.shape) + ", expected " +
                        runtime::to_string(expected) + ": " + text_of(tensor.buffer->shape) +
                        because);
  }

  // Only sizes that some other tensor or the caller has said: a tensor does not contradict
  // itself.
  std::string reasons(const ir::Affine& extent, const std::string& tensor) const {
    std::string text;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (!extent.uses(program_.params[i]) || values_[i]->by == tensor) continue;
      text += ", " + program_.params[i] + " is " + std::to_string(values_[i]->value);
      text += values_[i]->by.empty() ? " as given" : " by '" + values_[i]->by + "'";
    }
    return text;
  }
};

}  // namespace

std::shared_ptr<const ir::Program> bind_sizes(const Program& program, const CompileOptions& options,
                                              Unbound unbound) {
  ir::Values values;
  std::map<std::string, OpenRange> open;
  Problems problems;
  const auto param_of = [&](const std::string& name) {
    const auto param = ir::find_param(program.ir(), name);
    if (!param)
      problems.push_back("size '" + name + "': program '" + program.ir().name +
                         "' has no such size");
    return param;
  };
  for (const auto& [name, size] : options.sizes)
    if (const auto param = param_of(name)) values[*param] = size;
  for (const auto& [name, size] : options.open) {
    const auto param = param_of(name);
    if (!param) continue;
    if (values.contains(*param)) problems.push_back("size '" + name + "' is given, and left open");
    if (!is_range(size))
      problems.push_back(
          "size '" + name + "' is open from " + std::to_string(size.least) + " to " +
          std::to_string(size.most) + ", typically " + std::to_string(size.typical) +
          ", expected 0 <= least <= typical <= most <= " + std::to_string(kMostOpenSize));
    open[*param] = size;
  }
  for (const std::string& param : program.ir().params)
    if (unbound == Unbound::Refused && !values.contains(param) && !open.contains(param))
      problems.push_back("size '" + param + "' is missing");
  refuse(ExitStatus::Usage, std::move(problems));
  if (values.empty() && open.empty()) return program.shared();
  ir::Program bound = values.empty() ? program.ir() : ir::bind(program.ir(), values);
  if (bound.open_digest.empty()) bound.open_digest = ir::digest(program.ir());
  // The ranges become part of the Program's context: proofs, schedulers and check_values see them
  // where they look anyway.
  for (const auto& [param, size] : open) {
    bound.context.push_back(ir::at_least(ir::Affine::symbol(param), size.least));
    bound.context.push_back(ir::at_least(size.most, ir::Affine::symbol(param)));
  }
  return std::make_shared<const ir::Program>(std::move(bound));
}

// chosen_for() moves each size to a prime, which may break a condition between them; move_within
// puts that right, at the cost of sizes that need not be prime any more.
SizeValues typical_sizes(const ir::Program& bound, const CompileOptions& options) {
  std::map<std::string, std::int64_t> chosen;
  for (const auto& [name, size] : options.open)
    if (const auto param = ir::find_param(bound, name))
      chosen[*param] = driver::OpenSymbol{name, size.least, size.typical, size.most}.chosen_for();
  SizeValues values;
  for (const std::string& param : bound.params) values.push_back(chosen.at(param));
  // Extents must not be negative: each is a condition >= 0.
  std::vector<ir::Constraint> conditions = bound.context;
  for (const ir::Buffer& buffer : bound.buffers)
    for (const ir::Affine& extent : buffer.shape) conditions.push_back({extent, false});
  constexpr int kRounds = 16;
  for (int round = 0; round < kRounds; ++round)
    if (!move_within(values, conditions, bound)) return values;
  Problems problems;
  for (const ir::Constraint& known : conditions)
    if (lacks(known, bound, values) > 0)
      problems.push_back("the typical sizes violate " + ir::to_string(known) +
                         ": say others where they are left open");
  if (problems.empty()) return values;
  throw UserError(ExitStatus::Usage, problems);
}

std::vector<SizeInfo> infos_of(const ir::Program& program) {
  std::vector<SizeInfo> infos;
  if (program.params.empty()) return infos;
  const ir::Ranges ranges = driver::param_ranges(program);
  for (const std::string& param : program.params) {
    const ir::Interval& range = ranges.at(param);
    infos.push_back({param, range.min.value_or(0), range.max.value_or(kMostOpenSize)});
  }
  return infos;
}

void check_values(const ir::Program& program, std::span<const std::int64_t> values) {
  Problems problems;
  if (values.size() != program.params.size())
    throw UserError(ExitStatus::InvalidInput,
                    std::to_string(values.size()) + " sizes, expected one for each of the " +
                        std::to_string(program.params.size()) + " that are open");
  const std::vector<SizeInfo> infos = infos_of(program);
  for (std::size_t i = 0; i < infos.size(); ++i)
    if (values[i] < infos[i].least || values[i] > infos[i].most)
      problems.push_back("size '" + infos[i].name + "' is " + std::to_string(values[i]) +
                         ", expected " + std::to_string(infos[i].least) + " to " +
                         std::to_string(infos[i].most));
  refuse(ExitStatus::InvalidInput, problems);
  for (const ir::Constraint& known : program.context) {
    const std::int64_t value = value_of(known.expr, program, values);
    if (known.equality ? value != 0 : value < 0)
      problems.push_back("program '" + program.name + "': the sizes violate " +
                         ir::to_string(known));
  }
  for (const ir::Buffer& buffer : program.buffers)
    for (const ir::Affine& extent : buffer.shape)
      if (value_of(extent, program, values) < 0)
        problems.push_back("buffer '" + buffer.name + "' has the extent " + ir::to_string(extent) +
                           ", which is " + std::to_string(value_of(extent, program, values)) +
                           ", expected 0 or more");
  refuse(ExitStatus::InvalidInput, std::move(problems));
}

std::vector<std::vector<std::int64_t>> shapes_at(const ir::Program& program,
                                                 std::span<const std::int64_t> values) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const ir::Buffer* buffer : program.interface()) {
    shapes.emplace_back();
    for (const ir::Affine& extent : buffer->shape)
      shapes.back().push_back(value_of(extent, program, values));
  }
  return shapes;
}

SizeValues values_by(const ir::Program& program, const Shapes& shapes, const Sizes& given) {
  return Solver(program, shapes).run(given);
}

}  // namespace polyte::api
