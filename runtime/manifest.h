// ArtifactManifest: what an artifact says of itself, as plain data: the interface, the buffers, the
// steps, the memory plan, the target. The driver fills it, the session executes it, manifest.json
// holds it as text.
//
// A step calls one kernel on buffers; a step without a kernel copies buffers[0] to buffers[1]
// (equal sizes). Steps run in order. A buffer lies in the arena, in a constants member, or in
// the caller's input or output. Several may lie in the same bytes, by a plan that the driver
// has checked (runtime/storage_plan.h).
//
// An artifact may leave sizes open: `symbols` names them with their ranges, and a run takes
// their values from its inputs. `x f32[batch, 4]` is shape {kOpenExtent, 4} with open {{0, {1}}}.
// What follows from it:
//   arena   offsets and bytes are those of scale 1 (runtime/open_number.h) and are multiplied by
//           the scale of the run. So a buffer has unit_bytes of its number of bytes, and buffers
//           meet at run time only where they meet here; but one that is a part of another lies at
//           the scaled offset too, wherever the elements there are.
//   inputs, outputs   the buffer of an open tensor is all of it: offset 0 and unit_bytes(tensor).
//   kernels get the sizes through a buffer of their own, BufferPlace::Sizes. Constants and scratch
//           do not scale.
// Without symbols the scale is 1 and nothing of this shows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/open_number.h"
#include "support/dtype.h"

namespace polyte::runtime {

inline constexpr int kArtifactFormat = 4;
inline constexpr int kKernelAbi = 1;
inline constexpr std::int64_t kOpenExtent = -1;
// Of a run, so after scaling.
inline constexpr std::int64_t kMostArenaBytes = std::int64_t{1} << 50;

struct TensorSpec {
  std::string name{};
  DType dtype = DType::F32;
  // kOpenExtent where it depends on the sizes, in one dimension at most.
  std::vector<std::int64_t> shape{};
  std::vector<OpenNumber> open{};  // one for each such dimension, in order
};

bool is_open(const TensorSpec& tensor);
std::vector<std::int64_t> shape_at(const TensorSpec& tensor, std::span<const std::int64_t> sizes);
// "[2*batch + 1, 4]".
std::string shape_text(const TensorSpec& tensor, std::span<const SymbolSpec> symbols);
// Its bytes as a number of the sizes, and what a buffer of it says: those at scale 1. Both refuse
// what overflows and what no tensor can be (UserError).
OpenNumber byte_count(const TensorSpec& tensor);
std::vector<OpenNumber> byte_counts(const std::vector<TensorSpec>& tensors);
std::int64_t unit_bytes(const TensorSpec& tensor);

// Sizes: the int64 values of all symbols, in order; a kernel reads them.
enum class BufferPlace { Arena, Constant, Input, Output, Sizes };
enum class Sharing { None, View, Part, Over };

struct BufferSpec {
  std::string name{};  // for reports
  BufferPlace place = BufferPlace::Arena;
  std::int64_t index = 0;   // which input, output or constants member; else 0
  std::int64_t offset = 0;  // in it
  std::int64_t bytes = 0;   // at scale 1: in the arena, and of an open tensor
  // For reports: a view of, a part of, or written over the value named; all other reuse is
  // by lifetimes.
  Sharing sharing = Sharing::None;
  std::string shared_with{};
  // What a copy of it moves, at most what it has room for; absent: all of an open tensor, else
  // `bytes` at any scale.
  std::optional<OpenNumber> exact{};
};

// Who scheduled a kernel, for reports: the scheduler that was asked ("poly", "script") and whose
// schedule it has, and where these differ why, and of what: the reference order ("naive") was
// taken. All empty in a copy's step.
struct StepScheduling {
  std::string asked{}, used{}, reason{}, where{};
  bool is_declined() const { return !reason.empty(); }
};

struct StepSpec {
  std::string kernel{};  // symbol; empty: a copy
  // The group of operators that it came from, for reports.
  std::string group{};
  // Numbers of ArtifactManifest::buffers, in the kernel's order.
  std::vector<std::int64_t> buffers{};
  std::int64_t scratch_shared_bytes = 0;      // workspace that all workers share; it comes first
  std::int64_t scratch_bytes_per_worker = 0;  // then one slice a worker; both multiples of 64
  bool parallel = false;                      // runs on all workers; else the kernel is given one
  std::int64_t parallel_from = 1;             // and does so in runs of this scale and larger ones
  std::vector<std::string> nodes{};           // of the model, for reports: "Conv 'conv1'"
  StepScheduling scheduling{};
};

// A kernel of a GPU as its launches start it, and a module of such kernels: the code of one step's
// kernel, or several, for each architecture in a member of its own.
struct DeviceKernel {
  std::string name{};
  std::int64_t threads = 1;       // of a block
  std::int64_t shared_bytes = 0;  // of a block
};
struct DeviceModule {
  std::string name{};
  std::vector<DeviceKernel> kernels{};
  std::vector<std::string> architectures{};  // "sm_90a"; "ptx" is what the driver compiles itself
};
inline constexpr const char* kPtx = "ptx";
// Of code that emulates its threads on a CPU (runtime/emulator.h), a shared object: no GPU has it.
inline constexpr const char* kEmulated = "sm_0";
// "device/k0.sm_90a.cubin".
std::string device_member(const std::string& module, const std::string& architecture);

struct MemberDigest {
  std::string name{};
  std::int64_t bytes = 0;
  std::string xxh3_128{};  // 32 hexadecimal digits
};

// An input of the model that is a constant here: what decided shapes was known when it
// was compiled.
struct FixedInput {
  TensorSpec tensor{};
  std::string xxh3_128{};  // of its elements
};

struct ArtifactManifest {
  int format = kArtifactFormat;
  int kernel_abi = kKernelAbi;
  // "cuda": the steps are this processor's code that starts a GPU's kernels.
  std::string arch = "x86_64";
  std::string cpu{};  // LLVM name, for reports
  // Needed ones, "+avx2"; entries with '-' are ignored; of a GPU: by the emulator.
  std::vector<std::string> features{};
  std::string model_digest{};  // of the source model; may be empty
  std::vector<std::pair<std::string, std::string>> options{};
  std::vector<SymbolSpec> symbols{};  // each is alone the extent of a dimension of some input
  std::vector<TensorSpec> inputs{}, outputs{};
  std::vector<FixedInput> fixed{};
  std::vector<BufferSpec> buffers{};
  std::vector<StepSpec> steps{};
  std::vector<DeviceModule> device{};   // of a GPU
  std::int64_t arena_bytes = 0;         // at scale 1
  std::vector<MemberDigest> members{};  // filled by the writer
};

// What a copy from or to the buffer moves.
OpenNumber copied_bytes(const ArtifactManifest& manifest, const BufferSpec& buffer);

std::string manifest_to_json(const ArtifactManifest& manifest);

// Checks every number and reference (buffers in range, offsets within arena and constants, sizes
// of interface buffers equal to their tensors), so that a run leaves no buffer with any sizes
// in their ranges and computes no size beyond 63 bits but the arena's, which the session checks.
// UserError(Artifact) with all problems of a kind (symbols, tensors, buffers, steps and device
// code), for the next kind rests on it; `source` names the artifact.
void check_manifest(const ArtifactManifest& manifest,
                    const std::vector<std::int64_t>& constants_bytes, const std::string& source);
ArtifactManifest manifest_from_json(std::string_view json, const std::string& source);

// Refuses (UserError(Artifact)) kernels that are called otherwise than these; a processor that
// lacks a needed feature, the missing ones named; and all that, and a processor of another kind.
void check_abi(const ArtifactManifest& manifest, const std::string& source);
void check_features(const ArtifactManifest& manifest, const std::vector<std::string>& present,
                    const std::string& source);
void check_cpu(const ArtifactManifest& manifest, const std::vector<std::string>& present,
               const std::string& source);

}  // namespace polyte::runtime
