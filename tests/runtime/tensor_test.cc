// Tensors: memory, elements of every type, reproducible fills, comparison and DLPack, by hand.
#include "runtime/tensor.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "runtime/compare.h"
#include "runtime/fill.h"

namespace {

using namespace polyte;
using namespace polyte::runtime;

TEST_CASE("a tensor owns zeroed, aligned memory or borrows") {
  for (const std::int64_t n : {0, 1, 7, 1 << 21}) {
    Tensor x(DType::F32, {n});
    CHECK(reinterpret_cast<std::uintptr_t>(x.data()) % 64 == 0);
    CHECK(x.bytes() == 4 * n);
    for (const float value : x.as<float>()) REQUIRE(value == 0);
  }
  int data[6] = {1, 2, 3, 4, 5, 6};
  Tensor view = Tensor::borrow(DType::I32, {2, 3}, data);
  CHECK(view.as<int>()[4] == 5);
  Tensor moved = std::move(view);
  CHECK(moved.data() == data);
  CHECK(moved.clone().data() != data);
  CHECK(Tensor(DType::F64, {}).elements() == 1);
}

TEST_CASE("impossible shapes are refused") {
  CHECK_THROWS_AS(Tensor(DType::F32, {-1}), UserError);
  CHECK_THROWS_AS(Tensor(DType::F32, {std::int64_t{1} << 40, std::int64_t{1} << 40}), UserError);
  try {
    const Tensor huge(DType::F64, {std::int64_t{1} << 55});
    FAIL("no error, " << huge.bytes() << " bytes");
  } catch (const UserError& error) {
    CHECK(error.status() == ExitStatus::ResourceLimit);
  }
}

TEST_CASE("elements of every type are written and read") {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    Tensor x(dtype, {3});
    set_element(dtype, x.data(), 1, 1);
    set_element_int(dtype, x.data(), 2, 1);
    CHECK(element_as_double(dtype, x.data(), 0) == 0);
    CHECK(element_as_double(dtype, x.data(), 1) == 1);
    CHECK(element_as_double(dtype, x.data(), 2) == 1);
  }
  Tensor bytes(DType::U8, {2});
  set_element_int(DType::U8, bytes.data(), 0, -4);
  set_element(DType::U8, bytes.data(), 1, 1e9);
  CHECK(bytes.as<std::uint8_t>()[0] == 252);
  CHECK(bytes.as<std::uint8_t>()[1] == 255);
  Tensor longs(DType::I64, {2});
  set_element(DType::I64, longs.data(), 0, -1e30);
  set_element(DType::I64, longs.data(), 1, std::nan(""));
  CHECK(longs.as<std::int64_t>()[0] == std::numeric_limits<std::int64_t>::min());
  CHECK(longs.as<std::int64_t>()[1] == 0);
  Tensor half(DType::F16, {1});
  set_element(DType::F16, half.data(), 0, 1.0 / 3);
  CHECK(element_text(DType::F16, half.data(), 0) == "0.33325195");
}

TEST_CASE("fills are reproducible and differ by name") {
  Tensor a(DType::F32, {64});
  Tensor b(DType::F32, {64});
  fill(a, parse_fill("int:7"), "x");
  fill(b, parse_fill("int:7"), "x");
  CHECK(compare_bits(a, b).equal);
  fill(b, parse_fill("int:7"), "y");
  CHECK_FALSE(compare_bits(a, b).equal);
  fill(b, parse_fill("int:8"), "x");
  CHECK_FALSE(compare_bits(a, b).equal);
  std::vector<int> seen(9);
  for (const float value : a.as<float>()) {
    REQUIRE((value >= -4 && value <= 4 && value == std::floor(value)));
    ++seen[static_cast<std::size_t>(value + 4)];
  }
  for (const int count : seen) CHECK(count > 0);
  Tensor bytes(DType::U8, {64});
  fill(bytes, parse_fill("int:7"), "x");
  for (std::size_t i = 0; i < 64; ++i) {
    CHECK(bytes.as<std::uint8_t>()[i] ==
          static_cast<std::uint8_t>(static_cast<int>(a.as<float>()[i])));
  }
  Tensor bools(DType::Bool, {64});
  fill(bools, parse_fill("int:7"));
  for (const std::uint8_t value : bools.as<std::uint8_t>()) CHECK(value <= 1);
}

TEST_CASE("fills zeros, ones, normal") {
  Tensor x(DType::F64, {10000});
  fill(x, parse_fill("ones"));
  CHECK(x.as<double>()[9999] == 1);
  fill(x, parse_fill("zeros"));
  CHECK(x.as<double>()[9999] == 0);
  fill(x, parse_fill("normal"));
  double sum = 0;
  double squares = 0;
  for (const double value : x.as<double>()) {
    sum += value;
    squares += value * value;
  }
  CHECK(std::abs(sum / 10000) < 0.05);
  CHECK(std::abs(squares / 10000 - 1) < 0.05);
  for (const char* wrong : {"", "one", "int", "int:", "int:x", "int:3x", "zeros:1", "normal:-1"}) {
    CHECK_THROWS_AS(parse_fill(wrong), UserError);
  }
}

TEST_CASE("comparison reports the first mismatch and the largest error") {
  Tensor got(DType::F32, {2, 3});
  Tensor expected(DType::F32, {2, 3});
  fill(got, parse_fill("ones"));
  fill(expected, parse_fill("ones"));
  CHECK(compare(got, expected, {}).equal);
  got.as<float>()[4] = 1.5F;
  got.as<float>()[5] = 3;
  const Comparison result = compare(got, expected, {.rtol = 0.1});
  CHECK_FALSE(result.equal);
  CHECK(result.mismatches == 2);
  CHECK(result.first == Shape{1, 1});
  CHECK(result.max_absolute_error == 2);
  CHECK(result.message ==
        "2 of 6 elements differ, first at [1, 1]: got 1.5, expected 1; largest error 2 absolute, 2 "
        "relative");
  CHECK(compare(got, expected, {.rtol = 1, .atol = 1}).equal);
}

TEST_CASE("comparison of special values") {
  const auto one = [](float value) {
    Tensor t(DType::F32, {1});
    t.as<float>()[0] = value;
    return t;
  };
  const float nan = std::nanf("");
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(compare(one(nan), one(nan), {}).equal);
  CHECK_FALSE(compare(one(nan), one(0), {.rtol = 1e9, .atol = 1e9}).equal);
  CHECK_FALSE(compare(one(0), one(nan), {.rtol = 1e9, .atol = 1e9}).equal);
  CHECK(compare(one(inf), one(inf), {}).equal);
  CHECK_FALSE(compare(one(inf), one(-inf), {.rtol = 1, .atol = 1}).equal);
  CHECK_FALSE(compare(one(1), one(inf), {.rtol = 1, .atol = 1}).equal);
  CHECK_FALSE(compare(one(-0.0F), one(0.0F), {}).equal);  // bit for bit
  CHECK(compare(one(-0.0F), one(-0.0F), {}).equal);
  CHECK(compare(one(-0.0F), one(0.0F), {.atol = 1e-30}).equal);
  CHECK(compare(one(nan), one(-nan), {}).equal);  // any NaN is any other
  CHECK_FALSE(compare_bits(one(-0.0F), one(0.0F)).equal);
  CHECK(compare_bits(one(nan), one(nan)).equal);
}

TEST_CASE("comparison is exact for wide integers and refuses other types and shapes") {
  Tensor a(DType::I64, {1});
  Tensor b(DType::I64, {1});
  a.as<std::int64_t>()[0] = (std::int64_t{1} << 60) + 1;
  b.as<std::int64_t>()[0] = std::int64_t{1} << 60;
  CHECK_FALSE(compare(a, b, {}).equal);
  CHECK(compare(a, b, {.atol = 1}).equal);
  CHECK(compare(a, Tensor(DType::U64, {1}), {}).message == "got i64[1], expected u64[1]");
  CHECK(compare(a, Tensor(DType::I64, {1, 1}), {}).message == "got i64[1], expected i64[1, 1]");
}

TEST_CASE("views travel through DLPack") {
  Tensor x(DType::BF16, {2, 3});
  polyte_dl_tensor dl = to_dlpack(x.view());
  CHECK(dl.dtype.code == POLYTE_DL_BFLOAT);
  CHECK(dl.ndim == 2);
  CHECK(from_dlpack(dl).dtype == DType::BF16);
  CHECK(from_dlpack(dl).data == x.data());
  std::int64_t strides[2] = {3, 1};
  dl.strides = strides;
  CHECK(from_dlpack(dl).shape[1] == 3);
  strides[0] = 6;
  CHECK_THROWS_WITH_AS(from_dlpack(dl), "tensor is not dense row-major", UserError);
  dl.strides = nullptr;
  dl.dtype = {POLYTE_DL_FLOAT, 32, 4};
  CHECK_THROWS_AS(from_dlpack(dl), UserError);
  dl.device.device_type = POLYTE_DL_CUDA;
  CHECK_THROWS_AS(from_dlpack(dl), UserError);
}

}  // namespace
