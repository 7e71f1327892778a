// Every payload form of a tensor gives the same elements.
#include "frontend/onnx_tensor.h"

#include <cstring>

#include <doctest/doctest.h>
#include "tests/frontend/model_builder.h"

using namespace polyte;
using onnx::TensorProto;

namespace {

graph::Tensor read(const TensorProto& proto) { return frontend::tensor_from_onnx(proto, ".", {}); }

TensorProto tensor(int type, const testing::List& shape) {
  testing::ModelBuilder b;
  return b.tensor("t", shape, type);
}

template <class T>
std::string raw(const std::vector<T>& elements) {
  std::string bytes(elements.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

const std::vector<double> kWanted = {1, -2, 0.5};

}  // namespace

TEST_CASE("onnx_tensor: floats by field and raw") {
  TensorProto typed = tensor(TensorProto::FLOAT, {3});
  for (double e : kWanted) typed.add_float_data(static_cast<float>(e));
  CHECK(elements_as_real(read(typed)) == kWanted);
  TensorProto bytes = tensor(TensorProto::FLOAT, {3});
  bytes.set_raw_data(raw<float>({1.0F, -2.0F, 0.5F}));
  CHECK(elements_as_real(read(bytes)) == kWanted);
  TensorProto wide = tensor(TensorProto::DOUBLE, {3, 1});
  for (double e : kWanted) wide.add_double_data(e);
  CHECK(elements_as_real(read(wide)) == kWanted);
}

TEST_CASE("onnx_tensor: short floats as bits in int32_data and raw") {
  TensorProto half = tensor(TensorProto::FLOAT16, {3});
  for (int bits : {0x3c00, 0xc000, 0x3800}) half.add_int32_data(bits);
  CHECK(elements_as_real(read(half)) == kWanted);
  TensorProto bfloat = tensor(TensorProto::BFLOAT16, {3});
  bfloat.set_raw_data(raw<std::uint16_t>({0x3f80, 0xc000, 0x3f00}));
  CHECK(elements_as_real(read(bfloat)) == kWanted);
}

TEST_CASE("onnx_tensor: narrow integers and bool in int32_data") {
  TensorProto small = tensor(TensorProto::INT8, {2});
  small.add_int32_data(-128);
  small.add_int32_data(127);
  CHECK(elements_as_int(read(small)) == graph::Dims{-128, 127});
  TensorProto flags = tensor(TensorProto::BOOL, {3});
  for (int e : {0, 1, 2}) flags.add_int32_data(e);
  CHECK(elements_as_int(read(flags)) == graph::Dims{0, 1, 1});
  TensorProto unsigned_wide = tensor(TensorProto::UINT32, {1});
  unsigned_wide.add_uint64_data(4294967295U);
  CHECK(elements_as_int(read(unsigned_wide)) == graph::Dims{4294967295});
}

TEST_CASE("onnx_tensor: scalars have no dimensions, empty tensors no elements") {
  TensorProto scalar = tensor(TensorProto::INT64, {});
  scalar.add_int64_data(7);
  CHECK(elements_as_int(read(scalar)) == graph::Dims{7});
  CHECK(elements_as_int(read(tensor(TensorProto::INT64, {0, 5}))).empty());
}

TEST_CASE("onnx_tensor: a wrong amount of data is invalid, in these words") {
  TensorProto typed = tensor(TensorProto::FLOAT, {3});
  typed.add_float_data(1);
  CHECK_THROWS_WITH(read(typed), "holds 1 elements, expected 3");
  TensorProto bytes = tensor(TensorProto::FLOAT, {3});
  bytes.set_raw_data("abcd");
  CHECK_THROWS_WITH(read(bytes), "holds 4 bytes of raw data, expected 12");
}
