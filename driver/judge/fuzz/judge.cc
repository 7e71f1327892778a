#include "driver/judge/fuzz/judge.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "driver/compile/execution_check.h"
#include "driver/compile/operator.h"
#include "driver/judge/fuzz/random_environment.h"
#include "driver/judge/fuzz/rename_loops.h"
#include "ir/program_text.h"
#include "lower/ast_oracle.h"
#include "lower/lower.h"
#include "schedule/script/reuse.h"
#include "schedule/state/contract.h"

namespace polyte::fuzz {
namespace {

using namespace schedule;
using ProgramPointer = std::shared_ptr<const ir::Program>;

constexpr std::int64_t kMaxSteps = 3'000'000;

struct Failure {
  std::string kind, detail;
};

// What counts as equal: the bits, or where a script may reorder sums of floats the number,
// up to a tolerance.
struct Equality {
  bool of_bits = true;
  double tolerance = 0;
};

bool same_element(const ir::Contents& a, const ir::Contents& b, std::size_t i,
                  const Equality& equality) {
  const auto width = static_cast<std::size_t>(size_in_bytes(a.dtype));
  if (std::memcmp(&a.bytes[i * width], &b.bytes[i * width], width) == 0) return true;
  if (!is_float(a.dtype)) return false;
  const auto at = static_cast<std::int64_t>(i);
  const double x = ir::get_real(a, at), y = ir::get_real(b, at);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return !equality.of_bits &&
         (x == y || std::abs(x - y) <= equality.tolerance * std::max(1.0, std::abs(y)));
}

// Empty where all outputs agree; which NaN it is does not matter.
std::string difference(const ir::Program& program, const ir::Environment& got,
                       const ir::Environment& expected, const Equality& equality) {
  for (const ir::Buffer* buffer : program.interface()) {
    if (buffer->role != ir::Role::Out && buffer->role != ir::Role::InOut) continue;
    const ir::Contents &a = got.at(buffer->name), &b = expected.at(buffer->name);
    const std::size_t count = b.bytes.size() / static_cast<std::size_t>(size_in_bytes(b.dtype));
    for (std::size_t i = 0; i < count; ++i) {
      if (same_element(a, b, i, equality)) continue;
      const auto at = static_cast<std::int64_t>(i);
      return "output '" + buffer->name + "' element " + std::to_string(i) + ": got " +
             std::to_string(ir::get_real(a, at)) + ", expected " +
             std::to_string(ir::get_real(b, at));
    }
  }
  return "";
}

Outcome outcome_of(RefusalKind kind) {
  if (kind == RefusalKind::Malformed || kind == RefusalKind::Stale) return Outcome::Malformed;
  return kind == RefusalKind::Illegal ? Outcome::Illegal : Outcome::Undecided;
}

// Data decides then which elements are touched: a refusal may be right although this data shows no
// fault.
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

// `stage_` names the path that a case is on: an exception from anywhere becomes a failure of that
// kind, which shrinking keeps.
class Judge {
 public:
  Judge(const Case& c, const codegen::Target& target) : case_(c), target_(target) {}

  Verdict run() {
    try {
      return decide();
    } catch (const Failure& failure) {
      return {.outcome = Outcome::Failed, .failure = failure.kind, .detail = failure.detail};
    } catch (const UserError& e) {
      if (e.status() == ExitStatus::ResourceLimit)
        return {.outcome = Outcome::Skipped, .detail = e.what()};
      return {.outcome = Outcome::Failed, .failure = stage_, .detail = e.what()};
    } catch (const std::exception& e) {
      return {
          .outcome = Outcome::Failed, .failure = stage_ + ", internal error", .detail = e.what()};
    }
  }

 private:
  const Case& case_;
  const codegen::Target& target_;
  ProgramPointer program_;
  ir::Environment inputs_, expected_;
  std::string stage_ = "program";
  Equality equality_;

  const Machine& machine() const { return target_.machine; }

  Result<State, Refusal> replayed(const Script& script, ProofLevel proof) const {
    return replay(program_, script, machine(), {proof, {}});
  }

  Verdict decide() {
    if (case_.open) return decide_open();
    use_sizes(case_.program.sizes);
    stage_ = "script text";
    const Script parsed = through_text(case_.script);
    stage_ = "replay";
    const auto state = replayed(parsed, ProofLevel::Full);
    if (!state) return refused(parsed, state.error());
    set_equality(*state);
    stage_ = "lowering";
    const std::string loops = ir::print(lower::lower(*state, {.machine = machine()}));
    stage_ = "script text";
    expect_same_loops(parsed, loops, "printed and parsed");
    stage_ = "directives";
    expect_same_loops(through_text(expand_to_directives(case_.script)), loops,
                      "expanded to directives");
    stage_ = "rename";
    if (case_.renames) expect_same_loops_renamed(*state, loops);
    execute(*state);
    stage_ = "order";
    // isl's own code takes long to generate: a quarter of the runs.
    if (case_.data_seed % 4 == 0) compare_with_isl(*state);
    stage_ = "native";
    if (case_.native) run_native();
    return {.outcome = Outcome::Accepted};
  }

  // Accepted for all sizes, it has to be right at each.
  // There is one proof, of the open Program, and it has to hold at all twelve.
  Verdict decide_open() {
    const ProgramPointer open =
        std::make_shared<const ir::Program>(ir::parse_program(case_.program.text, "random"));
    stage_ = "script text";
    Script parsed = through_text(case_.script);
    stage_ = "replay";
    const auto proved = replay(open, parsed, machine(), {ProofLevel::Full, {}});
    parsed.digest.clear();  // it is that of the open Program
    if (!proved) {
      use_sizes(case_.program.sizes);
      return refused(parsed, proved.error());
    }
    stage_ = "lowering";
    const std::optional<ir::LoopProgram> loops = loops_of_open_size(*proved);
    Verdict verdict{.outcome = Outcome::Accepted};
    for (const ir::Values& sizes : twelve_sizes(*open)) {
      try {
        verdict.refused_bound += !execute_at(sizes, *proved, loops, parsed);
      } catch (const Failure& failure) {
        throw Failure{failure.kind, at(sizes) + ": " + failure.detail};
      }
    }
    return verdict;
  }

  // The loops of open size; and the script replayed at these sizes, where what it names is still
  // there. Its boxes are others then, so that it is another schedule: one that is wrong has to be
  // refused, which is false.
  bool execute_at(const ir::Values& sizes, const State& proved,
                  const std::optional<ir::LoopProgram>& loops, const Script& script) {
    use_sizes(sizes);
    if (loops) execute_open(proved, *loops);
    stage_ = "replay";
    const auto state = replayed(script, ProofLevel::Off);
    if (!state) return true;
    set_equality(*state);
    try {
      execute(*state);
    } catch (const Failure&) {
      if (replayed(script, ProofLevel::Full)) throw;
      return false;
    }
    return true;
  }

  // None where these loops would need sizes.
  static std::optional<ir::LoopProgram> loops_of_open_size(const State& state) {
    try {
      return lower::lower_to_nest(state);
    } catch (const UserError&) {
      return std::nullopt;
    }
  }

  void execute_open(const State& proved, const ir::LoopProgram& loops) {
    if (has_reciprocals(proved)) interpret_expected(ir::bind(*proved.basis, program_->sizes));
    equality_ = {!relaxes_order(proved), case_.program.tolerance};
    stage_ = "execution";
    ir::InterpretOptions options;
    options.max_steps = 10 * kMaxSteps;
    options.sizes = program_->sizes;
    ir::Environment nest = inputs_;
    try {
      pack(proved, nest, options.sizes);
      ir::interpret(loops, nest, options);
    } catch (const UserError& e) {
      if (e.status() == ExitStatus::ResourceLimit) throw;
      throw Failure{"execution", e.what()};
    }
    if (const std::string text = difference(*program_, nest, expected_, equality_); !text.empty())
      throw Failure{"execution", "loops of open size: " + text};
    // Linear subscripts: every access within its buffer, every value from the right instance.
    try {
      expect_no_fault(proved, {.sizes = program_->sizes});
    } catch (const UserError& e) {
      // Where elements would lie at products of sizes there are no flat loops.
      if (e.status() != ExitStatus::Unsupported) throw;
    }
  }

  static std::string at(const ir::Values& sizes) {
    std::string text = "at";
    for (const auto& [name, value] : sizes) text += " " + name + "=" + std::to_string(value);
    return text;
  }

  // The least that the context allows, the case's own, then sizes about the borders of tiles,
  // primes among them.
  std::vector<ir::Values> twelve_sizes(const ir::Program& open) const {
    static const std::vector<std::int64_t> kSizes = {0, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 11};
    std::vector<ir::Values> found;
    const auto add = [&](const auto& size_of) {
      ir::Values sizes;
      for (const std::string& param : open.params) sizes[param] = size_of(param);
      if (allows(open, sizes) && std::ranges::find(found, sizes) == found.end())
        found.push_back(sizes);
    };
    for (std::int64_t least = 0; found.empty() && least < 4; ++least)
      add([&](const std::string&) { return least; });
    add([&](const std::string& param) { return case_.program.sizes.at(param); });
    Random random(case_.data_seed, 12);
    for (int trial = 0; trial < 60 && found.size() < 12; ++trial)
      add([&](const std::string& param) {
        return param == "T" ? static_cast<std::int64_t>(random.between(0, 4)) : random.pick(kSizes);
      });
    return found;
  }

  // Data depends on the seed alone: any path that runs at these sizes sees the same.
  void use_sizes(const ir::Values& sizes) {
    RandomProgram program = case_.program;
    program.sizes = sizes;
    program_ = bound_program(program);
    inputs_ = random_environment(*program_, case_.data_seed);
    interpret_expected(*program_);
  }

  void set_equality(const State& state) {
    equality_ = {!relaxes_order(state), case_.program.tolerance};
    // Proved to differ in divisions alone.
    if (has_reciprocals(state)) interpret_expected(*without_views(state).basis);
  }

  void execute(const State& state) {
    stage_ = "execution";
    if (const std::string text = executed_difference(state); !text.empty())
      throw Failure{"execution", text};
    expect_no_fault(state, {});
  }

  void expect_no_fault(const State& state, const driver::ExecutionOptions& options) const {
    for (const lower::TraceFault& fault :
         driver::faults_by_execution(state, machine(), inputs_, options))
      if (equality_.of_bits || fault.kind != lower::TraceFault::Kind::Values)
        throw Failure{"trace", lower::to_string(fault.kind) + ": " + fault.text};
  }

  void interpret_expected(const ir::Program& program) {
    ir::InterpretOptions options;
    options.max_steps = kMaxSteps;
    expected_ = inputs_;
    ir::interpret(program, expected_, options);
  }

  Script through_text(const Script& script) const {
    const std::string text = print(script);
    Script parsed = parse_script(text, "random.sched");
    expect_same_text(parsed, text);
    if (case_.includes) expect_same_text(included(text), text);
    if (case_.has_hole) expect_same_text(filled(text), text);
    return parsed;
  }

  static void expect_same_text(const Script& script, const std::string& text) {
    if (const std::string again = print(script); again != text)
      throw Failure{"script text", "printed again it reads\n" + again};
  }

  // The lines below the header come from a file.
  static Script included(const std::string& text) {
    const std::size_t body = text.find('\n') + 1;
    const auto includer = [&](const std::string& name, const std::string&) {
      return IncludedText{name, text.substr(body)};
    };
    return parse_script(text.substr(0, body) + "include \"rest.part\"\n", "random.sched", includer);
  }

  // F1 has no value in the text, and gets it by name.
  static Script filled(std::string text) {
    const std::string name = "param F1 = ";
    const std::size_t at = text.find(name);
    if (at == std::string::npos) return parse_script(text, "random.sched");
    const std::size_t value = at + name.size(), end = text.find_first_of(",\n", value);
    const std::string was = text.substr(value, end - value);
    text.replace(value, end - value, "?");
    Script script = parse_script(text, "random.sched");
    fill(script, {{"F1", was}});
    return script;
  }

  void expect_same_loops(const Script& script, const std::string& loops,
                         const std::string& how) const {
    const auto state = replayed(script, ProofLevel::Off);
    if (!state)
      throw Failure{stage_, how + ", it is refused: " + state.error().directive + ": " +
                                state.error().headline};
    if (const std::string other = ir::print(lower::lower(*state, {.machine = machine()}));
        other != loops)
      throw Failure{stage_, how + ", it gives other loops:\n" + other + "instead of\n" + loops};
  }

  void expect_same_loops_renamed(const State& state, const std::string& loops) const {
    Random random(case_.data_seed, 13);
    const std::optional<State> renamed = renamed_loops(state, machine(), random);
    if (!renamed) return;
    const std::string text =
        difference_but_names(loops, ir::print(lower::lower(*renamed, {.machine = machine()})));
    if (!text.empty()) throw Failure{stage_, "with all loops renamed: " + text};
  }

  // Before the passes and after them. A schedule may run an instance several times, hence ten times
  // the steps of the reference.
  std::string executed_difference(const State& state) const {
    ir::InterpretOptions options;
    options.max_steps = 10 * kMaxSteps;
    ir::Environment buffers = inputs_;
    try {
      pack(state, buffers);
      ir::Environment nest = buffers;
      ir::interpret(lower::lower_to_nest(state), nest, options);
      if (std::string text = difference(*program_, nest, expected_, equality_); !text.empty())
        return "before the passes: " + text;
      ir::interpret(lower::lower(state, {.machine = machine()}), buffers, options);
    } catch (const UserError& e) {
      if (e.status() == ExitStatus::ResourceLimit) throw;
      return e.what();
    }
    std::string text = difference(*program_, buffers, expected_, equality_);
    return text.empty() ? text : "after the passes: " + text;
  }

  // What a compiler does once, before any run: from the constants to the buffers that hold them
  // packed. Other inputs are not there yet.
  void pack(const State& state, ir::Environment& buffers, const ir::Values& sizes = {}) const {
    if (std::ranges::none_of(state.staged, &StagedBuffer::at_compile_time)) return;
    const ir::LoopProgram packing = lower::lower_packing(state, {.machine = machine()});
    ir::Environment constants;
    for (const ir::Buffer& buffer : packing.buffers)
      if (auto it = buffers.find(buffer.name); it != buffers.end()) constants.insert(*it);
    ir::InterpretOptions options;
    options.sizes = sizes;
    ir::interpret(packing, constants, options);
    for (auto& [name, contents] : constants) buffers.try_emplace(name, contents);
  }

  // The nest against isl's own code for the same order.
  void compare_with_isl(const State& state) const {
    ir::Environment buffers = inputs_;
    pack(state, buffers);
    const std::string text =
        lower::order_difference(state, lower::lower_to_nest(state), std::move(buffers));
    if (!text.empty()) throw Failure{"order", text};
  }

  // The proof was made from this very script.
  void run_native() const {
    Equality equality = equality_;
    equality.of_bits = equality.of_bits && !case_.program.has_functions;
    driver::KernelOptions options;
    options.scheduler = driver::Scheduler::Script;
    options.script = &case_.script;
    options.script_origin = "random.sched";
    options.proof = ProofLevel::Off;
    options.emulated = target_.kind == TargetKind::Cuda;
    const driver::CompiledOperator op = driver::compile_operator(program_, target_, options);
    for (const int threads : {1, 2}) {
      std::vector<runtime::Tensor> tensors = driver::make_tensors(*program_);
      const std::vector<const ir::Buffer*> interface = program_->interface();
      for (std::size_t i = 0; i < tensors.size(); ++i)
        if (auto at = inputs_.find(interface[i]->name); at != inputs_.end())
          tensors[i] = driver::to_tensor(at->second);
      driver::OperatorRunner runner(op, tensors, threads);
      if (threads == 2)
        runner.set_emulation({.order = runtime::ThreadOrder::Backward, .late_copies = true});
      runner.run();
      ir::Environment got;
      for (std::size_t i = 0; i < tensors.size(); ++i)
        got[interface[i]->name] = driver::to_contents(tensors[i]);
      if (const std::string text = difference(*program_, got, expected_, equality); !text.empty())
        throw Failure{"native",
                      std::to_string(threads) + (threads == 1 ? " thread: " : " threads: ") + text};
    }
  }

  // The lines up to the refused one; a refusal of the whole comes without a line.
  static Script up_to(const Script& script, int line) {
    Script result = script;
    if (line > 0)
      std::erase_if(result.directives, [&](const Directive& d) { return d.line > line; });
    return result;
  }

  // A refusal is never a failure here: a proof may refuse what is right. Whether the execution
  // shows a fault is counted instead.
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
