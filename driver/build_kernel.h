// One Program, one scheduler, one kernel: the middle of the road from a model or an operator to machine code.
//
//   Program -> Script (by the arm) -> replay, proved -> loops -> ready for codegen
//
// The arms of a comparison: `naive` (reference order), `isl` (affine core with fixed tiles), `poly` (the whole
// automatic scheduler), `template` (Polyte's manual schedules) and a person's script. Everything after the Script
// is the same for all of them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "ir/interpret.h"
#include "schedule/language/replay.h"
#include "support/checked.h"

namespace polyte::driver {

enum class Arm { Naive, Isl, Poly, Template, Script };
std::string to_string(Arm arm);
std::optional<Arm> arm_from_string(std::string_view name);  // not "script": that one comes with its file

struct StageTime {
  std::string stage;  // "schedule", "proof", "vectorize loops"
  double milliseconds = 0;
};

struct KernelOptions {
  Arm arm = Arm::Poly;
  const schedule::Script* script = nullptr;  // of Arm::Script
  std::string script_origin;                 // its file name, for messages
  schedule::ProofLevel proof = schedule::ProofLevel::Full;
  bool strict = false;  // what was not done as asked is an error
  bool exact = false;   // keeps the order of floating-point operations, refuses contracts that change it
  std::vector<std::int64_t> typical = {};  // of the Program's parameters, if any, in order: what an arm schedules for
};

// A Const buffer in the layout that the kernel reads, computed at compile time from the Program's constants.
struct PackedBuffer {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  std::int64_t bytes() const { return checked_mul(checked_product(shape), size_in_bytes(dtype)); }
};

struct BuiltKernel {
  std::shared_ptr<const ir::Program> program;
  schedule::Script script;
  std::shared_ptr<const schedule::State> state;
  codegen::Kernel kernel;  // Flat loops; interface: the Program's, then `packed`
  std::vector<PackedBuffer> packed;
  ir::LoopProgram packing;         // reads Const buffers, writes the packed ones
  std::vector<std::string> notes;  // declines, fallbacks, loops left serial: shown in every report
  std::vector<StageTime> times;
  bool fell_back = false;  // the arm declined and the reference order was taken
  ir::Values typical;      // what its parameters were taken to be where something was chosen
};

// The script that an arm writes for a Program (empty directives for naive), or why it declines. `exact`: one that keeps
// the order of every floating-point sum.
Result<schedule::Script> write_script(const ir::Program& program, Arm arm, const Machine& machine, bool exact = false);

// Parameters stay open: the script is proved for all their values, and the kernel is given them. UserError(Refused or
// Unknown) with the refusal's text where a script is refused. A poly or template arm that declines falls back to the
// reference order; notes and fell_back say so.
BuiltKernel build_kernel(std::shared_ptr<const ir::Program> program, const Machine& machine,
                         const KernelOptions& options);

// Fills the packed buffers, in their order and zeroed by the caller, from the Program's constants by name.
void pack_constants(const BuiltKernel& kernel, const std::map<std::string, std::span<const std::byte>>& constants,
                    std::span<const std::span<std::byte>> packed);

}  // namespace polyte::driver
