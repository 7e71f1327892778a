// GPU kernels without a GPU: a Program and its script through the proof, the loops of a GPU, the
// emulator, PTX and, where it is installed, the assembler.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "ir/interpret.h"
#include "ir/loop_program.h"
#include "runtime/emulator.h"
#include "schedule/script/replay.h"
#include "schedule/state/state.h"

namespace polyte::gpu::testing {

// A file of tests/gpu/kernels: comment lines, of which "# sizes: M=7 N=9 | M=64 N=64" gives the
// sizes, a Program, and one script.
struct KernelFile {
  std::string name, program, script;
  std::vector<ir::Values> sizes;
  // "# tolerance: 1e-6", relative: where sums are rounded in another order.
  double tolerance = 0;
  bool of_largest = false;        // "# tolerance: 1e-3 of the largest" element: where terms cancel
  bool open = false;              // "# open": its sizes may stay open
  bool reads_subscripts = false;  // "# reads subscripts": where accesses go is in the data
  // "# only for: h100": the one of the tests' GPUs that has its instructions.
  std::string only_for = {};
  bool no_conflicts = false;  // "# no conflicts": with its first sizes, in shared memory
};
std::vector<KernelFile> kernel_files();
KernelFile kernel_named(const std::string& name);
int count_of(const std::string& text, const std::string& word);

// Proved and replayed for the GPU; with sizes, the Program is bound to them before. Throws
// InternalError with the refusal. Where the proof is another test's, it can be Off.
schedule::State scheduled(const KernelFile& file, const ir::Values& sizes, const Machine& machine,
                          schedule::ProofLevel proof = schedule::ProofLevel::Full);

struct Emulated {
  ir::Environment buffers;
  int code = 0;
  std::vector<std::string> faults;
  std::vector<runtime::LaunchCounts> counts;
};
// Compiles Flat loops for the emulator and runs them. Written: what they read of the device's
// memory counts as written before, as where only some of their blocks run.
enum class Memory { Fresh, Written };
Emulated emulate(const ir::LoopProgram& loops, const ir::Environment& inputs,
                 const ir::Values& sizes, const runtime::EmulatorOptions& options = {},
                 Memory memory = Memory::Fresh);

// Accesses to memory, one per line: what the loops say of those whose places are known, and what
// the emulator counts.
//   mm_launch0: acc.update reads x.c, shared: 512 requests of 4 bytes, cost 1024, ideal 512
struct Traffic {
  struct Cost {
    std::int64_t cost = 0, ideal = 0;
  };
  std::string predicted, counted;
  Cost shared, global;  // counted
};
Traffic traffic_of(const ir::LoopProgram& loops, const ir::Environment& inputs,
                   Memory memory = Memory::Fresh);

// The loops with one statement of a kind in another form, for each of them; null: it stays.
std::vector<ir::LoopProgram> mutants(const ir::LoopProgram& loops,
                                     const std::function<ir::Stmt(const ir::Stmt&)>& form);
// Without any one of their barriers, the emulator finds a fault.
void check_barriers(const ir::LoopProgram& loops, const ir::Environment& inputs);
// The same without any one of their waits for copies; and where one waits for a group less. How
// many of them there are.
int check_waits(const ir::LoopProgram& loops, const ir::Environment& inputs);
int check_exact_waits(const ir::LoopProgram& loops, const ir::Environment& inputs);

codegen::Target gpu(const std::string& name);
std::string joined(const std::vector<std::string>& lines);

}  // namespace polyte::gpu::testing
