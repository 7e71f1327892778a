#include "driver/lab/contender.h"

#include <algorithm>
#include <filesystem>
#include <thread>

#include "driver/compile/flops.h"
#include "driver/lab/array_form.h"
#include "driver/lab/device.h"
#include "driver/lab/device_contender.h"
#include "driver/lab/prediction.h"
#include "driver/lab/python_peer.h"
#include "ir/loop_program_text.h"
#include "runtime/artifact.h"
#include "support/error.h"

namespace polyte::lab {
namespace {

// By Polyte on this processor: a runner per set of tensors, all of one library.
class OperatorContender : public Contender {
 public:
  OperatorContender(driver::CompiledOperator op, int threads)
      : op_(std::move(op)), threads_(threads) {}
  void add_set(std::span<runtime::Tensor> tensors) override {
    runners_.push_back(std::make_unique<driver::OperatorRunner>(op_, tensors, threads_));
  }
  void clear_sets() override { runners_.clear(); }
  void run(std::size_t set) override { runners_[set]->run(); }

 private:
  driver::CompiledOperator op_;
  int threads_;
  std::vector<std::unique_ptr<driver::OperatorRunner>> runners_;
};

// Compiled C: one library, bound to one set at a time. Changing the set costs a store or two,
// outside of what is timed where only one set is used.
class PeerContender : public Contender {
 public:
  PeerContender(const Compiler& compiler, const PeerSource& source, const std::string& kept)
      : kernel_(compiler, source, kept) {}
  void add_set(std::span<runtime::Tensor> tensors) override {
    sets_.push_back(tensors);
    kernel_.bind(tensors);
    bound_ = sets_.size() - 1;
  }
  void clear_sets() override { sets_.clear(); }
  void run(std::size_t set) override {
    if (set != bound_) kernel_.bind(sets_[bound_ = set]);
    kernel_.run();
  }

 private:
  PeerKernel kernel_;
  std::vector<std::span<runtime::Tensor>> sets_;
  std::size_t bound_ = 0;
};

driver::KernelOptions options_of(const Workshop& workshop, driver::Scheduler arm) {
  driver::KernelOptions options;
  options.scheduler = arm;
  options.exact = workshop.plan.exact;
  options.emulated = workshop.plan.emulate;
  options.open = workshop.open;
  return options;
}

// Times of the stages under the four names that reports have.
nlohmann::ordered_json compile_times(const driver::BuiltKernel& kernel) {
  nlohmann::ordered_json times{{"schedule", 0.0}, {"proof", 0.0}, {"loops", 0.0}, {"code", 0.0}};
  for (const StageTime& time : kernel.times) {
    const char* name = time.stage == "schedule"                                  ? "schedule"
                       : time.stage == "replay and proof"                        ? "proof"
                       : time.stage == "code generation" || time.stage == "link" ? "code"
                                                                                 : "loops";
    times[name] = times[name].get<double>() + time.milliseconds;
  }
  return times;
}

std::string digest_of(const std::string& text) {
  return runtime::digest_of(runtime::as_bytes(text));
}

void add_facts(const Workshop& workshop, const driver::BuiltKernel& kernel,
               nlohmann::ordered_json& facts) {
  if (workshop.hooks.describe) facts = workshop.hooks.describe(kernel, workshop.target);
  facts["script"] = schedule::print(kernel.script);
  facts["loops_digest"] = digest_of(ir::print(kernel.kernel.program));
  facts["compile_ms"] = compile_times(kernel);
  if (!workshop.device) facts["predicted"] = predict(kernel, workshop.target.machine);
}

// An arm whose scheduler declined is not timed: the kernel that it would get is the reference
// order, whose time must not stand under the scheduler's name.
Prepared by_polyte(const Workshop& workshop, const PlannedArm& arm,
                   const std::shared_ptr<const ir::Program>& program) {
  Prepared prepared;
  schedule::Script script;
  const bool scripted = arm.spec.kind == ArmSpec::Kind::Script;
  const PlannedScript* own = scripted ? arm.script_for(program->name) : nullptr;
  if (scripted && !own) {
    prepared.status = "other program";
    prepared.reason = arm.scripts.size() == 1
                          ? "the script is for '" + arm.scripts.front().program + "'"
                          : "no script of the folder is for it";
    return prepared;
  }
  driver::KernelOptions options =
      options_of(workshop, scripted ? driver::Scheduler::Script
                                    : *driver::scheduler_from_string(arm.spec.what));
  if (scripted) {
    script = schedule::parse_script(own->text, arm.spec.name);
    options.script = &script;
    options.script_origin = arm.spec.name;
  }
  driver::CompiledOperator op = driver::compile_operator(program, workshop.target, options);
  // On a device facts are those of the row's own Program; at small sizes, for the check, they
  // would be of other loops.
  if (program == workshop.program || !workshop.device)
    add_facts(workshop, op.built, prepared.facts);
  prepared.facts["memory"] = memory_of(op, workshop.row.threads);
  if (op.built.declined) {
    prepared.status = "declined";
    prepared.reason = op.built.declined->reason;
    return prepared;
  }
  if (workshop.device)
    prepared.contender = make_device_contender(std::move(op), workshop.target, workshop.device);
  else
    prepared.contender = std::make_unique<OperatorContender>(std::move(op), workshop.row.threads);
  return prepared;
}

// The reference order, printed as C: what a compiler makes of it without a scheduler of ours. It is
// always for this processor and one thread; `strict` is the reference of correctness.cc, which
// may stand beside rows of GPUs and of several threads.
Prepared by_compiler(const Workshop& workshop, const Compiler& compiler,
                     const std::shared_ptr<const ir::Program>& program) {
  Prepared prepared;
  if (compiler.path.empty()) {
    prepared.status = "absent";
    prepared.reason = compiler.missing;
    return prepared;
  }
  if (workshop.device && compiler.name != "strict") {
    prepared.status = "declined";
    prepared.reason = "it compiles for this processor, the target is a GPU";
    return prepared;
  }
  if (workshop.row.threads > 1 && compiler.rewriter.empty() && compiler.name != "strict") {
    prepared.status = "declined";
    prepared.reason = "the reference order in C runs on one thread, the row has " +
                      std::to_string(workshop.row.threads);
    return prepared;
  }
  driver::KernelOptions options = options_of(workshop, driver::Scheduler::Naive);
  options.emulated = false;
  const PeerSource source =
      peer_source(compiler, driver::build_kernel(program, workshop.host.machine, options),
                  workshop.host.machine);
  prepared.facts = {{"compiler", compiler.version}, {"command", compiler.command()}};
  prepared.facts["compile_ms"]["code"] = milliseconds_of([&] {
    prepared.contender = std::make_unique<PeerContender>(compiler, source, workshop.kept);
  });
  return prepared;
}

// The row's model by a scheduler. Its file is what it was when the plan was made.
ModelArm model_arm(const Workshop& workshop, const std::string& scheduler) {
  const PlannedProgram& model = workshop.plan.programs.at(workshop.row.program);
  runtime::FileContent file(model.model);
  if (runtime::digest_of(file.all()) != model.digest)
    throw UserError(ExitStatus::InvalidInput,
                    model.model + ": has changed since the plan was made");
  return {.path = model.model,
          .scheduler = scheduler,
          .target = workshop.plan.target,
          .threads = workshop.row.threads,
          .exact = workshop.plan.exact,
          .emulate = workshop.plan.emulate,
          .device = workshop.device};
}

// The same on this processor, whatever the row's target is.
ModelArm model_arm_here(const Workshop& workshop, const std::string& scheduler) {
  ModelArm arm = model_arm(workshop, scheduler);
  arm.target = "cpu:native";
  arm.emulate = false;
  arm.device = nullptr;
  return arm;
}

// A model by a library that reads it, on this processor; its tensors are as Polyte's session
// has them.
Prepared model_by_library(const Workshop& workshop, const std::string& peer) {
  const ModelArm arm = model_arm_here(workshop, "naive");
  Interface interface = workshop.interface;
  if (interface.empty()) interface = workshop.hooks.model(arm).interface;
  return by_python(workshop, peer, {{"model", arm.path}}, interface, false);
}

Prepared of_model(const Workshop& workshop, const PlannedArm& arm) {
  if (arm.spec.kind == ArmSpec::Kind::Scheduler)
    return workshop.hooks.model(model_arm(workshop, arm.spec.what));
  const bool is_peer = arm.spec.kind == ArmSpec::Kind::Peer;
  if (is_peer && is_python_peer(arm.spec.what) && !workshop.device)
    return model_by_library(workshop, arm.spec.what);
  Prepared prepared;
  prepared.status = is_peer ? "declined" : "other program";
  prepared.reason =
      is_peer && workshop.device ? "the row is a model on a GPU" : "the row is a model";
  return prepared;
}

// A Program in the words of a library.
Prepared by_library(const Workshop& workshop, const std::string& peer, const ir::Program& program) {
  Result<nlohmann::ordered_json> form = array_form(program);
  Prepared prepared;
  prepared.status = "declined";
  if (form)
    return by_python(workshop, peer, {{"form", std::move(*form)}}, interface_of(program),
                     workshop.device != nullptr);
  prepared.reason = "no form of this Program in operations on arrays: " + form.error().reason;
  return prepared;
}

// An arm that cannot be had is a row of the report like any other.
template <class F>
Prepared guarded(F f) {
  Prepared prepared;
  try {
    return f();
  } catch (const UserError& e) {
    // Refused: the proof says no, or cannot decide. All else is a failure of a file, of a compiler
    // or of the machine.
    prepared.status = e.status() == ExitStatus::Refused || e.status() == ExitStatus::Unknown
                          ? "refused"
                          : "failed";
    prepared.reason = e.what();
  } catch (const std::bad_alloc&) {
    prepared.status = "failed";
    prepared.reason = "out of memory";
  } catch (const std::exception& e) {
    prepared.status = "failed";
    prepared.reason = std::string("internal error: ") + e.what();
  }
  return prepared;
}

}  // namespace

// Schedules are made for the row's threads, not for all that the machine has.
Workshop make_workshop(const Plan& plan, const Row& row, Hooks hooks, const std::string& folder) {
  Workshop workshop{plan,
                    row,
                    target_of(plan),
                    codegen::detect_host(),
                    nullptr,
                    nullptr,
                    nullptr,
                    {},
                    std::move(hooks),
                    ""};
  workshop.device = open_device(workshop.target);
  start_libraries(workshop);
  if (plan.programs.at(row.program).model.empty()) {
    workshop.program = bound_program(plan, row);
    workshop.interface = interface_of(*workshop.program);
    if (!row.sizes.empty()) workshop.open = open_program(plan, row);
  }
  if (!workshop.device) workshop.target.machine.cores = row.threads;
  if (folder.empty()) return workshop;
  workshop.kept = folder + "/peers";
  std::error_code ignored;  // then compiling fails, and says so
  std::filesystem::create_directories(workshop.kept, ignored);
  return workshop;
}

Prepared prepare(const Workshop& workshop, const PlannedArm& arm,
                 const std::shared_ptr<const ir::Program>& program) {
  return guarded([&] {
    if (!program) return of_model(workshop, arm);
    if (arm.spec.kind != ArmSpec::Kind::Peer) return by_polyte(workshop, arm, program);
    return is_python_peer(arm.spec.what)
               ? by_library(workshop, arm.spec.what, *program)
               : by_compiler(workshop, find_compiler(arm.spec.what, workshop.row.threads), program);
  });
}

Prepared prepare_strict(const Workshop& workshop,
                        const std::shared_ptr<const ir::Program>& program) {
  if (!program) return {};
  return guarded([&] { return by_compiler(workshop, find_compiler("strict"), program); });
}

Prepared prepare_model_reference(const Workshop& workshop) {
  return guarded([&] { return model_by_library(workshop, "onnxruntime"); });
}

// On this processor with all of its threads, in exact order: what a device's outputs are held to
// where C is not to be had or would take too long (correctness.cc).
Prepared prepare_here(const Workshop& workshop, const std::shared_ptr<const ir::Program>& program) {
  return guarded([&] {
    const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    if (!program) {
      ModelArm arm = model_arm_here(workshop, "poly");
      arm.threads = threads;
      arm.exact = true;
      return workshop.hooks.model(arm);
    }
    codegen::Target here = workshop.host;
    here.machine.cores = threads;
    driver::KernelOptions options = options_of(workshop, driver::Scheduler::Poly);
    options.emulated = false;
    options.exact = true;
    Prepared prepared;
    prepared.contender = std::make_unique<OperatorContender>(
        driver::compile_operator(program, here, options), threads);
    return prepared;
  });
}

}  // namespace polyte::lab
