// Every payload form of a tensor gives the same elements.
#include "frontend/onnx_tensor.h"

#include <cstring>

#include <doctest/doctest.h>
#include "support/error.h"
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

TEST_CASE("onnx_tensor: every type by its field and raw") {
  const struct {
    int type;
    std::vector<std::int64_t> elements;
  } kTypes[] = {{TensorProto::FLOAT, {0, -3, 5}},
                {TensorProto::DOUBLE, {0, -3, 5}},
                {TensorProto::INT8, {0, -128, 127}},
                {TensorProto::INT16, {0, -32768, 32767}},
                {TensorProto::INT32, {0, -3, 5}},
                {TensorProto::INT64, {0, -3, std::int64_t{1} << 60}},
                {TensorProto::UINT8, {0, 3, 255}},
                {TensorProto::UINT16, {0, 3, 65535}},
                {TensorProto::UINT32, {0, 3, 4294967295}},
                {TensorProto::UINT64, {0, 3, std::int64_t{1} << 60}},
                {TensorProto::BOOL, {0, 1, 1}}};
  for (const auto& [type, elements] : kTypes) {
    CAPTURE(type);
    const DType dtype = *frontend::dtype_from_onnx(type);
    TensorProto typed = tensor(type, {3});
    const std::vector<double> reals(elements.begin(), elements.end());
    graph::Tensor wanted = graph::make_tensor({dtype, {3}}, reals);
    for (const std::int64_t e : elements) {
      if (type == TensorProto::FLOAT)
        typed.add_float_data(static_cast<float>(e));
      else if (type == TensorProto::DOUBLE)
        typed.add_double_data(static_cast<double>(e));
      else if (type == TensorProto::INT64)
        typed.add_int64_data(e);
      else if (type == TensorProto::UINT32 || type == TensorProto::UINT64)
        typed.add_uint64_data(static_cast<std::uint64_t>(e));
      else
        typed.add_int32_data(static_cast<std::int32_t>(e));
    }
    CHECK(*read(typed).bytes == *wanted.bytes);
    TensorProto bytes = tensor(type, {3});
    bytes.set_raw_data(wanted.bytes->data(), wanted.bytes->size());
    CHECK(*read(bytes).bytes == *wanted.bytes);
  }
}

TEST_CASE("onnx_tensor: what has no place here is refused by its name") {
  const auto refused = [](int type) {
    TensorProto proto = tensor(type, {1});
    proto.set_raw_data(std::string(16, 'a'));
    try {
      read(proto);
    } catch (const UserError& error) {
      CHECK(error.status() == ExitStatus::Unsupported);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const std::string supported = ": supported are f64 f32 f16 bf16 i8..i64 u8..u64 bool";
  CHECK(refused(TensorProto::STRING) == "has element type STRING" + supported);
  CHECK(refused(TensorProto::COMPLEX64) == "has element type COMPLEX64" + supported);
  CHECK(refused(22) == "has element type 22" + supported);  // of 4 bits, in newer files
  TensorProto parts = tensor(TensorProto::FLOAT, {1});
  parts.mutable_segment()->set_begin(0);
  CHECK_THROWS_WITH(read(parts), "is stored in segments");
}
