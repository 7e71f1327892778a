// The network of examples/digits, compiled for a GPU and for this processor, and the stand-in
// driver that runs the former.
#pragma once

#include <string>
#include <vector>

#include "runtime/session.h"
#include "tests/stand_in/stand_in.h"

namespace polyte::testing {

// The functions of the stand-in driver's library, the one that sessions open.
struct StandIn {
  decltype(&polyte_stand_in_reset) reset;
  decltype(&polyte_stand_in_fail) fail;
  decltype(&polyte_stand_in_calls) calls;
  decltype(&polyte_stand_in_limit) limit;
  decltype(&polyte_stand_in_allocated) allocated;
  decltype(&polyte_stand_in_fault) fault;
};
const StandIn& stand_in();
const runtime::CudaOptions& stand_in_device();  // the one that runs code

enum class Size { Fixed, Open };  // digits.onnx, or digits_batch.onnx of any batch from 1 to 8
// Kept: each is compiled once. With --exact.
const runtime::ArtifactParts& digits_for_cpu(Size size = Size::Fixed);
const runtime::ArtifactParts& digits_for_gpu(Size size = Size::Fixed);
runtime::ArtifactParts copy_of(const runtime::ArtifactParts& parts);

// Sessions of them.
runtime::Session cpu_session(Size size = Size::Fixed);
runtime::Session gpu_session(Size size = Size::Fixed);

// The inputs of a session, filled with normal numbers by this seed; `batch` where it is open.
std::vector<runtime::Tensor> inputs_of(const runtime::Session& session, int seed,
                                       std::int64_t batch = 1);
bool same_bits(const std::vector<runtime::Tensor>& a, const std::vector<runtime::Tensor>& b);

// What a UserError says, with its status: "6: ..."; "" where none is thrown.
template <class F>
std::string problem_of(F&& f) {
  try {
    f();
    return "";
  } catch (const UserError& error) {
    return std::to_string(static_cast<int>(error.status())) + ": " + error.what();
  }
}

}  // namespace polyte::testing
