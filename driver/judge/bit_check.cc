#include "driver/judge/bit_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "driver/compile/execution_check.h"
#include "driver/compile/model.h"
#include "driver/compile/operator.h"
#include "ir/interpret.h"
#include "runtime/compare.h"
#include "runtime/fill.h"
#include "schedule/proof/rounding.h"
#include "schedule/state/contract.h"

namespace polyte::driver {
namespace {

using Tensors = std::vector<runtime::Tensor>;

// The last digits of these functions in machine code are not the interpreter's.
bool is_approximate(const ir::Program& program) {
  using ir::UnaryOp;
  constexpr UnaryOp kApproximate[] = {UnaryOp::Exp,     UnaryOp::Log, UnaryOp::Tanh, UnaryOp::Erf,
                                      UnaryOp::Sigmoid, UnaryOp::Sin, UnaryOp::Cos};
  bool found = false;
  const auto look = [&](const ir::ExprNode& node) {
    const auto* unary = std::get_if<ir::Unary>(&node.op);
    const auto* binary = std::get_if<ir::Binary>(&node.op);
    found = found ||
            (unary && std::ranges::find(kApproximate, unary->op) != std::end(kApproximate)) ||
            (binary && binary->op == ir::BinaryOp::Pow);
  };
  for (const ir::Statement& statement : program.statements)
    for (const ir::Expr& value : statement.values) ir::for_each_node(value, look);
  return found;
}

// Integers do not stay integers: then a sum in another order has other bits.
bool leaves_integers(const ir::Program& program) {
  if (is_approximate(program)) return true;
  bool found = false;
  const auto look = [&](const ir::ExprNode& node) {
    const auto* unary = std::get_if<ir::Unary>(&node.op);
    const auto* binary = std::get_if<ir::Binary>(&node.op);
    const auto* literal = std::get_if<ir::Literal>(&node.op);
    found = found || (unary && unary->op == ir::UnaryOp::Sqrt) ||
            (binary && binary->op == ir::BinaryOp::Div) ||
            (literal && is_float(node.type) && std::isfinite(literal->real) &&
             literal->real != std::nearbyint(literal->real));
  };
  for (const ir::Statement& statement : program.statements)
    for (const ir::Expr& value : statement.values) ir::for_each_node(value, look);
  return found;
}

// What the script's contract let it do, whether or not any bit shows it.
bool changes_rounding(const schedule::State& state) {
  return schedule::relaxes_order(state) || schedule::has_reciprocals(state);
}

double largest_magnitude(const runtime::Tensor& tensor) {
  double largest = 0;
  for (std::int64_t e = 0; e < tensor.elements(); ++e) {
    const double value = std::fabs(runtime::element_as_double(tensor.dtype(), tensor.data(), e));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  return largest;
}

Tensors small_integers(const ir::Program& program, std::uint64_t seed) {
  const ir::Environment contents = small_integer_environment(program, seed);
  const std::vector<const ir::Buffer*> interface = program.interface();
  Tensors tensors = make_tensors(program);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (const auto given = contents.find(interface[i]->name); given != contents.end())
      tensors[i] = to_tensor(given->second);
  return tensors;
}

Tensors clone(const Tensors& tensors) {
  Tensors copies;
  for (const runtime::Tensor& tensor : tensors) copies.push_back(tensor.clone());
  return copies;
}

// One kernel along every execution path.
class KernelCheck {
 public:
  KernelCheck(const ir::Program& program, const codegen::Target& target,
              const BitCheckOptions& options, BitReport& report)
      : program_(std::make_shared<const ir::Program>(program)),
        target_(target),
        options_(options),
        report_(report) {}

  void run() {
    inputs_ = small_integers(*program_, options_.seed);
    if (!interpret()) return;
    ++report_.kernels;
    for (const Scheduler scheduler : {Scheduler::Naive, Scheduler::Template, Scheduler::Poly})
      run_scheduler(scheduler);
  }

 private:
  std::shared_ptr<const ir::Program> program_;
  const codegen::Target& target_;
  const BitCheckOptions& options_;
  BitReport& report_;
  Tensors inputs_, interpreted_, first_;

  // False where the kernel cannot take the data. One that takes the interpreter too long is
  // compared among schedulers: `interpreted_` stays empty.
  bool interpret() {
    const std::vector<const ir::Buffer*> interface = program_->interface();
    ir::Environment buffers;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (interface[i]->role != ir::Role::Out)
        buffers[interface[i]->name] = to_contents(inputs_[i]);
    ir::InterpretOptions limits;
    limits.max_steps = options_.max_steps;
    try {
      ir::interpret(*program_, buffers, limits);
    } catch (const UserError& e) {
      report_.skipped.push_back("'" + program_->name + "': " + e.what());
      return e.status() == ExitStatus::ResourceLimit;
    }
    for (const ir::Buffer* buffer : interface)
      interpreted_.push_back(to_tensor(buffers.at(buffer->name)));
    return true;
  }

  // One and two threads; of a GPU the emulator in order, then in a random order of its threads.
  void run_scheduler(Scheduler scheduler) {
    try {
      KernelOptions kernel;
      kernel.scheduler = scheduler;
      kernel.judge_steps = options_.judge_steps;
      kernel.emulated = target_.kind == TargetKind::Cuda;
      const CompiledOperator op = compile_operator(program_, target_, kernel);
      const bool is_reordered = changes_rounding(*op.built.state) && leaves_integers(*program_);
      ++(op.built.second_judge.ran ? report_.executed : report_.not_executed);
      Tensors alone;
      if (op.built.declined)
        report_.fallbacks.push_back({program_->name, to_string(scheduler),
                                     to_string(op.built.used()), op.built.declined->reason,
                                     op.built.declined->where});
      for (const std::string& note : op.built.notes)
        if (note.find("on one thread") != std::string::npos)
          report_.fallbacks.push_back(
              {program_->name, to_string(scheduler), to_string(op.built.used()), note, "on a GPU"});
      // `alone` is the result with one thread, which two threads have to repeat to the bit.
      for (const int threads : {1, 2}) {
        Tensors tensors = clone(inputs_);
        OperatorRunner runner(op, tensors, threads);
        if (threads == 2) runner.set_emulation(runtime::kAdverse);
        runner.run();
        const std::string how =
            to_string(scheduler) + (op.emulated ? threads == 1 ? " in order" : " in a random order"
                                    : threads == 1 ? " with 1 thread"
                                                   : " with 2 threads");
        if (alone.empty()) alone = clone(tensors);
        report(tensors, alone, Slack(), how + " against one");
        compare(tensors, is_reordered, how);
      }
    } catch (const std::exception& e) {
      report_.problems.push_back("'" + program_->name + "', " + to_string(scheduler) + ": " +
                                 e.what());
    }
  }

  struct Slack {
    double ulp = 0;         // of an element
    double of_largest = 0;  // of the tensor's largest, in the same units
  };

  // `first_` is naive's result with one thread, the first of all.
  void compare(const Tensors& got, bool is_reordered, const std::string& how) {
    if (first_.empty()) first_ = clone(got);
    Slack slack{0, is_reordered ? kReorderedUlp : 0};
    report(got, first_, slack, how + " against naive");
    if (is_approximate(*program_)) {  // a sum may cancel most of a function's value: -2 + silu(2)
      slack.ulp = kApproximationUlp;
      slack.of_largest = std::max(slack.of_largest, kApproximationUlp);
    }
    if (!interpreted_.empty()) report(got, interpreted_, slack, how + " against the interpreter");
  }

  void report(const Tensors& got, const Tensors& expected, const Slack& slack,
              const std::string& how) {
    const std::vector<const ir::Buffer*> interface = program_->interface();
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::string difference = first_difference(got[i], expected[i], slack);
      if (difference.empty()) continue;
      report_.problems.push_back("'" + program_->name + "', " + how + ": '" + interface[i]->name +
                                 "' " + difference);
    }
  }

  // Bits, but any NaN equals any; with slack |got - expected| <= ulp * u * |expected| +
  // of_largest * u * (largest of the tensor), where u is the distance from 1 to the next number.
  static std::string first_difference(const runtime::Tensor& got, const runtime::Tensor& expected,
                                      const Slack& slack) {
    // Integers have no slack.
    const double unit = is_float(got.dtype()) ? 2 * schedule::unit_roundoff(got.dtype()) : 0;
    const double step = slack.ulp * unit,
                 rest = slack.of_largest * unit * largest_magnitude(expected);
    for (std::int64_t e = 0; e < got.elements(); ++e) {
      const std::size_t width = static_cast<std::size_t>(size_in_bytes(got.dtype()));
      const auto at = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(e) * width);
      if (std::equal(got.raw().begin() + at,
                     got.raw().begin() + at + static_cast<std::ptrdiff_t>(width),
                     expected.raw().begin() + at))
        continue;
      const double a = runtime::element_as_double(got.dtype(), got.data(), e);
      const double b = runtime::element_as_double(got.dtype(), expected.data(), e);
      if (std::isnan(a) && std::isnan(b)) continue;
      if (unit > 0 && std::fabs(a - b) <= step * std::fabs(b) + rest) continue;
      return "element " + std::to_string(e) + ": got " +
             runtime::element_text(got.dtype(), got.data(), e) + ", expected " +
             runtime::element_text(got.dtype(), expected.data(), e);
    }
    return "";
  }
};

}  // namespace

void BitCheck::kernel(const ir::Program& program) {
  if (seen_.insert(ir::canonical_text(program)).second)
    KernelCheck(program, target_, options_, report_).run();
}

void BitCheck::model(graph::Graph graph) {
  ModelOptions options;
  options.layout = options_.layout;
  const PartitionedModel model = partition_model(std::move(graph), target_.machine, options);
  for (const GroupPlan& group : model.groups)
    if (!group.view) kernel(group.expansion.program);
}

}  // namespace polyte::driver
