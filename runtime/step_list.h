// StepList: the steps of an artifact with their kernels found and checked, and where the addresses
// of their buffers come from. All of a run's addresses lie side by side, each step's from
// first_pointer on; who runs them fills in the slots by what each is of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/shared_library.h"

namespace polyte::runtime {

struct Step {
  polyte_kernel kernel = nullptr;  // null: a copy
  std::size_t first_pointer = 0;
  OpenNumber copy_bytes{};
  bool parallel = false;
  std::int64_t parallel_from = 1;
};

struct ArenaSlot {
  std::size_t slot;
  std::int64_t offset;  // at scale 1
};
struct ConstantSlot {
  std::size_t slot, member;
  std::int64_t offset;
};
// Of an address in the caller's tensor.
struct ExternalSlot {
  std::size_t slot;
  bool output;
  std::size_t index;
  std::int64_t offset;
};

enum class StepCode { Processors, Emulated };  // kernels.so, or a GPU's code for the emulator

class StepList {
 public:
  // `workers`: how many slices of scratch a parallel step has. UserError(Artifact) where steps and
  // kernels do not fit.
  StepList(const Artifact& artifact, int workers, StepCode code = StepCode::Processors);

  std::vector<Step> steps;
  std::size_t pointers = 0;  // how many there are
  std::vector<ArenaSlot> arena;
  std::vector<ConstantSlot> constants;
  std::vector<ExternalSlot> externals;
  std::vector<std::size_t> sizes;  // slots of the address of the run's sizes
  std::int64_t scratch_bytes = 0;

 private:
  std::vector<SharedLibrary> libraries_;

  void load(const Artifact& artifact, StepCode code);
  const SharedLibrary& library_with(const Artifact& artifact, const std::string& kernel) const;
  void add_step(const Artifact& artifact, const StepSpec& spec, int workers);
  void add_pointer(const BufferSpec& buffer);
};

// Of a run of these sizes. UserError(ResourceLimit) above kMostArenaBytes.
std::int64_t arena_bytes(const ArtifactManifest& manifest, std::span<const std::int64_t> sizes);

// UserError(InvalidInput): the kernel of this step returned `code`.
[[noreturn]] void refuse_run(const StepSpec& step, int code);

}  // namespace polyte::runtime
