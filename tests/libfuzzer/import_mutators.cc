// How libFuzzer changes models: mostly field by field, so that they still parse.
#include <cstddef>
#include <cstdint>

#include "tests/libfuzzer/mutate_model.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

std::size_t write(const polyte::onnx::ModelProto& model, std::uint8_t* data, std::size_t max_size) {
  const std::size_t size = model.ByteSizeLong();
  if (size == 0 || size > max_size) return 0;
  model.SerializeToArray(data, static_cast<int>(max_size));
  return size;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  polyte::fuzz::Generator random(seed);
  polyte::onnx::ModelProto model;
  if (random() % 8 == 0 || !model.ParseFromArray(data, static_cast<int>(size)))
    return LLVMFuzzerMutate(data, size, max_size);
  polyte::fuzz::mutate_model(model, random);
  const std::size_t written = write(model, data, max_size);
  return written ? written : LLVMFuzzerMutate(data, size, max_size);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* a, std::size_t a_size,
                                                 const std::uint8_t* b, std::size_t b_size,
                                                 std::uint8_t* out, std::size_t max_size,
                                                 unsigned seed) {
  polyte::fuzz::Generator random(seed);
  polyte::onnx::ModelProto model, other;
  if (!model.ParseFromArray(a, static_cast<int>(a_size)) ||
      !other.ParseFromArray(b, static_cast<int>(b_size)))
    return 0;
  polyte::fuzz::cross_models(model, other, random);
  return write(model, out, max_size);
}
