// One Program, one scheduler, one kernel: the middle of the way from a model or an operator
// to machine code.
//
//   Program -> Script (by a scheduler) -> replay, proved -> loops -> ready for codegen
//
// The schedulers (`Scheduler`): `naive` (reference order), `isl` (affine core with fixed tiles),
// `poly` (the whole automatic scheduler), `template` (Polyte's manual schedules) and a person's
// script. Everything after the Script is the same for all of them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "driver/compile/second_judge.h"
#include "ir/interpret.h"
#include "schedule/script/refused_script.h"
#include "schedule/script/replay.h"
#include "schedule/templates/templates.h"
#include "support/checked.h"
#include "support/stage_log.h"

namespace polyte::driver {

enum class Scheduler { Naive, Isl, Poly, Template, Script };
std::string to_string(Scheduler scheduler);
// Not "script": that one comes with its file.
std::optional<Scheduler> scheduler_from_string(std::string_view name);

struct KernelOptions {
  Scheduler scheduler = Scheduler::Poly;
  const schedule::Script* script = nullptr;  // of Scheduler::Script
  std::string script_origin;                 // its file name, for messages
  // A person's, of Scheduler::Template; null: ours.
  std::shared_ptr<const schedule::TemplateSet> templates = nullptr;
  schedule::ProofLevel proof = schedule::ProofLevel::Full;
  bool strict = false;  // what was not done as asked is an error
  // A fallback is the caller's to judge, also under `strict`: a group that is handed back may
  // be split.
  bool defer_fallback = false;
  // What is proved is executed at small sizes too, where that is cheap.
  bool second_judge = true;
  std::int64_t judge_steps = 0;  // its budget; 0: what the time of the proof is worth
  // The Program before its sizes were bound: what it may shrink.
  std::shared_ptr<const ir::Program> open = nullptr;
  bool emulated = false;  // a GPU's kernel is compiled for the emulator (runtime/emulator.h)
  // Keeps the order of floating-point operations, refuses contracts that change it.
  bool exact = false;
  // Of the Program's parameters, if any, in order: what it is scheduled for.
  std::vector<std::int64_t> typical = {};
};

// A Const buffer in the layout that the kernel reads, computed at compile time from
// the Program's constants.
struct PackedBuffer {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  std::int64_t bytes() const { return checked_mul(checked_product(shape), size_in_bytes(dtype)); }
};

// Why a kernel runs in reference order in place of what was asked for.
struct Declined {
  std::string reason;  // the scheduler's words, or the refusal of the script that it wrote
  std::string where;   // "poly, program 'f'", "line 3 of f/poly: fuse i, j as q"
};

struct BuiltKernel {
  std::shared_ptr<const ir::Program> program;
  schedule::Script script;
  std::shared_ptr<const schedule::State> state;
  codegen::Kernel kernel;  // Flat loops; interface: the Program's, then `packed`
  std::vector<PackedBuffer> packed;
  ir::LoopProgram packing;  // reads Const buffers, writes the packed ones
  // Declines, fallbacks, loops left serial: shown in every report.
  std::vector<std::string> notes;
  // What the scheduler weighed, for --explain; empty: it does not say.
  std::vector<std::string> considered;
  std::vector<schedule::RefusedScript> refused;  // what the scheduler tried and the proof refused
  std::vector<StageTime> times;
  SecondJudgement second_judge;
  Scheduler asked = Scheduler::Naive;
  std::optional<Declined> declined = {};  // then the reference order was taken
  Scheduler used() const { return declined ? Scheduler::Naive : asked; }
  std::vector<schedule::TemplateUse> templates = {};  // of Scheduler::Template, a nest each
  // What its parameters were taken to be where something was chosen.
  ir::Values typical;
};
// Of kernels that were asked for with `strict`: UserError(Refused) with every fallback among them.
void refuse_fallbacks(std::span<const BuiltKernel> kernels);

// The script that a scheduler writes for a Program (empty directives for naive), or why
// it declines.
Result<schedule::Script> write_script(const ir::Program& program, Scheduler scheduler,
                                      const Machine& machine,
                                      const schedule::TemplateOptions& options = {});

// What the Program's context says of each parameter alone; at least 0.
ir::Ranges param_ranges(const ir::Program& program);

// Every accepted script goes before the second judge (driver/compile/second_judge.h): InternalError
// where it disagrees. Parameters stay open: the script is proved for all their values, and the
// kernel is given them. UserError(Refused or Unknown) with the refusal's text where a script is
// refused. A scheduler that declines, or whose own script is refused, falls back to the reference
// order; `declined` and the notes say so. Under `strict` that is UserError(Refused), and so is a
// refusal of what a person's templates say.
BuiltKernel build_kernel(std::shared_ptr<const ir::Program> program, const Machine& machine,
                         const KernelOptions& options);

}  // namespace polyte::driver
