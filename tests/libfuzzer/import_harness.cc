// Import and shape inference of any bytes: a graph that verifies, or a UserError that says something in printable
// words. Anything else, a sanitizer's finding, a second or half a gigabyte is a fault (tools/fuzz_import sets the
// limits). Graph passes are not run: they see graphs that were verified, and `polyte fuzz graph` has them.
#include <google/protobuf/stubs/logging.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "frontend/onnx_import.h"
#include "support/error.h"
#include "tests/libfuzzer/mutate_model.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using polyte::ExitStatus;
using polyte::UserError;

[[noreturn]] void fault(const std::string& what) {
  std::fprintf(stderr, "fault: %s\n", what.c_str());
  std::abort();
}

void check_answer(const UserError& error) {
  const bool is_answer = error.status() == ExitStatus::InvalidInput || error.status() == ExitStatus::Unsupported ||
                         error.status() == ExitStatus::ResourceLimit;
  if (!is_answer) fault("a UserError of status " + std::to_string(static_cast<int>(error.status())));
  if (error.problems().empty()) fault("a UserError without problems");
  for (const std::string& problem : error.problems()) {
    if (problem.empty()) fault("an empty problem");
    for (const char c : problem)
      if (static_cast<unsigned char>(c) < 0x20) fault("a control character in a message");
  }
}

std::size_t write(const polyte::onnx::ModelProto& model, std::uint8_t* data, std::size_t max_size) {
  const std::size_t size = model.ByteSizeLong();
  if (size == 0 || size > max_size) return 0;
  model.SerializeToArray(data, static_cast<int>(max_size));
  return size;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);  // names that are no UTF-8 are what is tried
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  polyte::frontend::ImportOptions options;
  options.max_tensor_bytes = std::int64_t{1} << 24;
  options.max_made_bytes = std::int64_t{1} << 26;
  try {
    polyte::frontend::import_onnx_bytes({reinterpret_cast<const char*>(data), size}, "m.onnx", "/nonexistent", options);
  } catch (const UserError& error) {
    check_answer(error);
  } catch (const std::exception& error) {
    fault(error.what());
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  polyte::fuzz::Generator random(seed);
  polyte::onnx::ModelProto model;
  if (random() % 8 == 0 || !model.ParseFromArray(data, static_cast<int>(size)))
    return LLVMFuzzerMutate(data, size, max_size);
  polyte::fuzz::mutate_model(model, random);
  const std::size_t written = write(model, data, max_size);
  return written ? written : LLVMFuzzerMutate(data, size, max_size);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* a, std::size_t a_size, const std::uint8_t* b,
                                                 std::size_t b_size, std::uint8_t* out, std::size_t max_size,
                                                 unsigned seed) {
  polyte::fuzz::Generator random(seed);
  polyte::onnx::ModelProto model, other;
  if (!model.ParseFromArray(a, static_cast<int>(a_size)) || !other.ParseFromArray(b, static_cast<int>(b_size)))
    return 0;
  polyte::fuzz::cross_models(model, other, random);
  return write(model, out, max_size);
}
