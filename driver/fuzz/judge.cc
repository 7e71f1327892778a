#include "driver/fuzz/judge.h"

#include <cmath>
#include <cstring>

#include "driver/execution_check.h"
#include "driver/operator.h"
#include "ir/program_text.h"
#include "lower/lower.h"
#include "schedule/language/contract.h"

namespace polyte::fuzz {
namespace {

using namespace schedule;
using ProgramPointer = std::shared_ptr<const ir::Program>;

constexpr std::int64_t kMaxSteps = 3'000'000;

struct Failure {
  std::string kind, detail;
};

bool same_element(const ir::Contents& a, const ir::Contents& b, std::size_t i) {
  const auto width = static_cast<std::size_t>(size_in_bytes(a.dtype));
  if (std::memcmp(&a.bytes[i * width], &b.bytes[i * width], width) == 0) return true;
  const auto at = static_cast<std::int64_t>(i);
  return is_float(a.dtype) && std::isnan(ir::get_real(a, at)) && std::isnan(ir::get_real(b, at));
}

// Empty where all outputs agree; which NaN it is does not matter.
std::string difference(const ir::Program& program, const ir::Environment& got, const ir::Environment& expected) {
  for (const ir::Buffer* buffer : program.interface()) {
    if (buffer->role != ir::Role::Out && buffer->role != ir::Role::InOut) continue;
    const ir::Contents &a = got.at(buffer->name), &b = expected.at(buffer->name);
    const std::size_t count = b.bytes.size() / static_cast<std::size_t>(size_in_bytes(b.dtype));
    for (std::size_t i = 0; i < count; ++i) {
      if (same_element(a, b, i)) continue;
      const auto at = static_cast<std::int64_t>(i);
      return "output '" + buffer->name + "' element " + std::to_string(i) + ": got " +
             std::to_string(ir::get_real(a, at)) + ", expected " + std::to_string(ir::get_real(b, at));
    }
  }
  return "";
}

Outcome outcome_of(RefusalKind kind) {
  if (kind == RefusalKind::Malformed || kind == RefusalKind::Stale) return Outcome::Malformed;
  return kind == RefusalKind::Illegal ? Outcome::Illegal : Outcome::Undecided;
}

bool reads_subscripts(const ir::Program& program) {
  bool found = false;
  const auto look = [&](const std::vector<ir::Index>& indices) {
    for (const ir::Index& index : indices) found = found || index.indirect;
  };
  for (const ir::Statement& s : program.statements) {
    for (const ir::Access& write : s.writes) look(write.indices);
    for (const ir::Expr& value : s.values)
      for (const ir::Load* load : ir::loads_of(value)) look(load->indices);
  }
  return found;
}

class Judge {
 public:
  Judge(const Case& c, const codegen::Target& target) : case_(c), target_(target) {}

  Verdict run() {
    try {
      return decide();
    } catch (const Failure& failure) {
      return {.outcome = Outcome::Failed, .failure = failure.kind, .detail = failure.detail};
    } catch (const UserError& e) {
      if (e.status() == ExitStatus::ResourceLimit) return {.outcome = Outcome::Skipped, .detail = e.what()};
      return {.outcome = Outcome::Failed, .failure = stage_, .detail = e.what()};
    } catch (const std::exception& e) {
      return {.outcome = Outcome::Failed, .failure = stage_ + ", internal error", .detail = e.what()};
    }
  }

 private:
  const Case& case_;
  const codegen::Target& target_;
  ProgramPointer program_;
  ir::Environment inputs_, expected_;
  std::string stage_ = "program";

  const Machine& machine() const { return target_.machine; }

  Result<State, Refusal> replayed(const Script& script, ProofLevel proof) const {
    return replay(program_, script, machine(), {proof, {}});
  }

  Verdict decide() {
    program_ = bound_program(case_.program);
    inputs_ = random_environment(*program_, case_.data_seed);
    interpret_expected(*program_);
    stage_ = "script text";
    const Script parsed = through_text(case_.script);
    stage_ = "replay";
    const auto state = replayed(parsed, ProofLevel::Full);
    if (!state) return refused(parsed, state.error());
    if (has_reciprocals(*state)) interpret_expected(*state->basis);  // proved to differ in divisions alone
    stage_ = "lowering";
    const std::string loops = ir::print(lower::lower(*state, {.machine = machine()}));
    stage_ = "script text";
    expect_same_loops(parsed, loops, "printed and parsed");
    stage_ = "directives";
    expect_same_loops(through_text(expand_to_directives(case_.script, *state)), loops, "expanded to directives");
    stage_ = "execution";
    if (const std::string text = executed_difference(*state); !text.empty()) throw Failure{"execution", text};
    if (const auto faults = driver::faults_by_execution(*state, machine(), inputs_); !faults.empty())
      throw Failure{"trace", lower::to_string(faults.front().kind) + ": " + faults.front().text};
    stage_ = "native";
    if (case_.native) run_native();
    return {.outcome = Outcome::Accepted};
  }

  void interpret_expected(const ir::Program& program) {
    ir::InterpretOptions options;
    options.max_steps = kMaxSteps;
    expected_ = inputs_;
    ir::interpret(program, expected_, options);
  }

  static Script through_text(const Script& script) {
    const std::string text = print(script);
    Script parsed = parse_script(text, "random.sched");
    if (const std::string again = print(parsed); again != text)
      throw Failure{"script text", "printed again it reads\n" + again};
    return parsed;
  }

  void expect_same_loops(const Script& script, const std::string& loops, const std::string& how) const {
    const auto state = replayed(script, ProofLevel::Off);
    if (!state)
      throw Failure{stage_, how + ", it is refused: " + state.error().directive + ": " + state.error().headline};
    if (const std::string other = ir::print(lower::lower(*state, {.machine = machine()})); other != loops)
      throw Failure{stage_, how + ", it gives other loops:\n" + other + "instead of\n" + loops};
  }

  // Before the passes and after them.
  std::string executed_difference(const State& state) const {
    ir::InterpretOptions options;
    options.max_steps = 10 * kMaxSteps;
    ir::Environment buffers = inputs_;
    try {
      pack(state, buffers);
      ir::Environment nest = buffers;
      ir::interpret(lower::lower_to_nest(state), nest, options);
      if (std::string text = difference(*program_, nest, expected_); !text.empty()) return "before the passes: " + text;
      ir::interpret(lower::lower(state, {.machine = machine()}), buffers, options);
    } catch (const UserError& e) {
      if (e.status() == ExitStatus::ResourceLimit) throw;
      return e.what();
    }
    std::string text = difference(*program_, buffers, expected_);
    return text.empty() ? text : "after the passes: " + text;
  }

  void pack(const State& state, ir::Environment& buffers) const {
    const ir::LoopProgram packing = lower::lower_packing(state, {.machine = machine()});
    if (packing.buffers.empty()) return;
    ir::Environment constants;
    for (const ir::Buffer& buffer : packing.buffers)
      if (auto it = buffers.find(buffer.name); it != buffers.end()) constants.insert(*it);
    ir::interpret(packing, constants, {});
    for (auto& [name, contents] : constants) buffers.try_emplace(name, contents);
  }

  void run_native() const {
    driver::KernelOptions options;
    options.arm = driver::Arm::Script;
    options.script = &case_.script;
    options.script_origin = "random.sched";
    options.proof = ProofLevel::Off;
    const driver::CompiledOperator op = driver::compile_operator(program_, target_, options);
    for (const int threads : {1, 2}) {
      std::vector<runtime::Tensor> tensors = driver::make_tensors(*program_);
      const std::vector<const ir::Buffer*> interface = program_->interface();
      for (std::size_t i = 0; i < tensors.size(); ++i)
        if (auto at = inputs_.find(interface[i]->name); at != inputs_.end()) tensors[i] = driver::to_tensor(at->second);
      driver::OperatorRunner(op, tensors, threads).run();
      ir::Environment got;
      for (std::size_t i = 0; i < tensors.size(); ++i) got[interface[i]->name] = driver::to_contents(tensors[i]);
      if (const std::string text = difference(*program_, got, expected_); !text.empty())
        throw Failure{"native", std::to_string(threads) + (threads == 1 ? " thread: " : " threads: ") + text};
    }
  }

  // The lines up to the refused one; a refusal of the whole comes without a line.
  static Script up_to(const Script& script, int line) {
    Script result = script;
    if (line > 0) std::erase_if(result.directives, [&](const Directive& d) { return d.line > line; });
    return result;
  }

  Verdict refused(const Script& script, const Refusal& refusal) {
    Verdict verdict{.outcome = outcome_of(refusal.kind),
                    .detail = refusal.directive + ": " + refusal.headline,
                    .affine = !reads_subscripts(*program_)};
    if (verdict.outcome == Outcome::Malformed) return verdict;
    try {
      const auto state = replayed(up_to(script, refusal.line), ProofLevel::Off);
      if (!state) return verdict;
      verdict.justified = !driver::faults_by_execution(*state, machine(), inputs_).empty();
      verdict.executed = true;
    } catch (const std::exception&) {
      verdict.executed = false;  // what is refused may be impossible to lower: that says nothing
    }
    return verdict;
  }
};

}  // namespace

Verdict judge(const Case& c, const codegen::Target& target) { return Judge(c, target).run(); }

}  // namespace polyte::fuzz
