// ArtifactManifest: what an artifact says of itself, as plain data: the interface, the buffers, the steps, the
// memory plan, the target. The driver fills it, the session executes it, manifest.json holds it as text.
//
// A step calls one kernel on buffers; a step without a kernel copies buffers[0] to buffers[1] (equal sizes). Steps
// run in order. A buffer lies in the arena, in a constants member, or in the caller's input or output. Several may lie
// in the same bytes, by a plan that the driver has checked (runtime/storage_plan.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/dtype.h"

namespace polyte::runtime {

inline constexpr int kArtifactFormat = 2;
inline constexpr int kKernelAbi = 1;

struct TensorSpec {
  std::string name{};
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape{};
};

enum class BufferPlace { Arena, Constant, Input, Output };
enum class Sharing { None, View, Part, Over };

struct BufferSpec {
  std::string name{};  // for reports
  BufferPlace place = BufferPlace::Arena;
  std::int64_t index = 0;   // which input, output or constants member; 0 for the arena
  std::int64_t offset = 0;  // in it
  std::int64_t bytes = 0;
  // For reports: a view of, a part of, or written over the value named; all other reuse is by lifetimes.
  Sharing sharing = Sharing::None;
  std::string shared_with{};
};

struct StepSpec {
  std::string kernel{};                       // symbol; empty: a copy
  std::string group{};                        // the group of operators that it came from, for reports
  std::vector<std::int64_t> buffers{};        // numbers of ArtifactManifest::buffers, in the kernel's order
  std::int64_t scratch_shared_bytes = 0;      // workspace that all workers share; it comes first
  std::int64_t scratch_bytes_per_worker = 0;  // then one slice a worker; both multiples of 64
  bool parallel = false;                      // runs on all workers; else the kernel is given one
  std::vector<std::string> nodes{};           // of the model, for reports: "Conv 'conv1'"
};

struct MemberDigest {
  std::string name{};
  std::int64_t bytes = 0;
  std::string xxh3_128{};  // 32 hexadecimal digits
};

// An input of the model that is a constant here: what decided shapes was known when it was compiled.
struct FixedInput {
  TensorSpec tensor{};
  std::string xxh3_128{};  // of its elements
};

struct ArtifactManifest {
  int format = kArtifactFormat;
  int kernel_abi = kKernelAbi;
  std::string arch = "x86_64";
  std::string cpu{};                    // LLVM name, for reports
  std::vector<std::string> features{};  // needed ones, "+avx2"; entries with '-' are ignored
  std::string model_digest{};           // of the source model; may be empty
  std::vector<std::pair<std::string, std::string>> options{};
  std::vector<TensorSpec> inputs{}, outputs{};
  std::vector<FixedInput> fixed{};
  std::vector<BufferSpec> buffers{};
  std::vector<StepSpec> steps{};
  std::int64_t arena_bytes = 0;
  std::vector<MemberDigest> members{};  // filled by the writer
};

std::string manifest_to_json(const ArtifactManifest& manifest);

// Checks every number and reference (buffers in range, offsets within arena and constants, sizes of interface
// buffers equal to their tensors). UserError(Artifact) with all problems; `source` names the artifact.
void check_manifest(const ArtifactManifest& manifest, const std::vector<std::int64_t>& constants_bytes,
                    const std::string& source);
ArtifactManifest manifest_from_json(std::string_view json, const std::string& source);

// Refuses (UserError(Artifact), the missing ones named) when this processor lacks a needed feature.
void check_cpu(const ArtifactManifest& manifest, const std::vector<std::string>& present, const std::string& source);

}  // namespace polyte::runtime
