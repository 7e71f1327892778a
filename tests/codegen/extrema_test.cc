// Minima and maxima, of which zeros have an order and NaN is kept: over a vector's lanes, in pairs,
// and around a loop, where nothing is negated twice.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "tests/codegen/native.h"

using namespace polyte;
using namespace polyte::codegen::testing;

namespace {

// Eight rows of 64: ordinary numbers, zeros of both signs, and here and there an infinity or NaN.
template <class T>
ir::Contents special(DType type) {
  ir::Contents contents = filled(type, {512}, 21);
  if constexpr (std::is_floating_point_v<T>) {
    const auto put = [&](std::size_t at, T value) {
      std::memcpy(contents.bytes.data() + at * sizeof(T), &value, sizeof(T));
    };
    for (std::size_t i = 0; i < 128; ++i) put(i, i % 7 == 3 ? T(0) : -T(0));
    for (std::size_t i = 128; i < 192; ++i) put(i, -T(0));
    put(200, std::numeric_limits<T>::infinity());
    put(300, -std::numeric_limits<T>::infinity());
    put(333, std::numeric_limits<T>::quiet_NaN());
    put(511, -std::numeric_limits<T>::quiet_NaN());
  }
  return contents;
}

constexpr const char* kLanes = R"(loops lanes
  in x: T[512]
  out y: T[8]

  for i in 0..8
    alloc v: T[8] in register
      v[0; 8 by 1] = x[64*i; 8 by 1]
      for j in 1..8
        v[0; 8 by 1] = OP(v[0; 8 by 1], x[64*i + 8*j; 8 by 1])
      y[i] = x[64*i]
      y[i] = OP(y[i], v[0])
      y[i] = OP(y[i], v[1])
      y[i] = OP(y[i], v[2])
      y[i] = OP(y[i], v[3])
      y[i] = OP(y[i], v[4])
      y[i] = OP(y[i], v[5])
      y[i] = OP(y[i], v[6])
      y[i] = OP(y[i], v[7])
)";

std::string text_of(const char* op, const char* type) {
  return replaced(replaced(kLanes, "OP(", std::string(op) + "("), "T[", std::string(type) + "[");
}

std::string code_of(const std::string& text) {
  const codegen::Kernel kernel{ir::parse_loop_program(text, "lanes"), {}};
  return codegen::emit_llvm_ir({&kernel, 1}, codegen::target_for_cpu("x86-64-v3"));
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("extrema of lanes and of loops are those of the interpreter") {
  for (const char* op : {"max", "min"}) {
    CAPTURE(op);
    check_everywhere(text_of(op, "f32"), {{"x", special<float>(DType::F32)}});
    check_everywhere(text_of(op, "f64"), {{"x", special<double>(DType::F64)}});
    check_everywhere(text_of(op, "i32"), {{"x", filled(DType::I32, {512}, 22)}});
    check_everywhere(text_of(op, "u8"), {{"x", filled(DType::U8, {512}, 23)}});
  }
}

TEST_CASE("lanes are taken in pairs: four, two, one, and that with what was there") {
  const std::string code = code_of(text_of("min", "i32"));
  CHECK(count(code, "call <4 x i32> @llvm.smin.v4i32") == 1);
  CHECK(count(code, "call <2 x i32> @llvm.smin.v2i32") == 1);
  CHECK(count(code, "call i32 @llvm.smin.i32") == 2);
  // One lane twice, another never.
  const std::string twice = code_of(replaced(text_of("min", "i32"), "v[6]", "v[5]"));
  CHECK(count(twice, "call <4 x i32> @llvm.smin.v4i32") == 0);
}

TEST_CASE("a maximum around a loop negates what comes in and the last, not each again") {
  const std::string code = code_of(text_of("max", "f32")),
                    loop = code.substr(code.find("\nj:"), code.find("\nexit") - code.find("\nj:"));
  CHECK_MESSAGE(count(loop, "fneg <8 x float>") == 2, code);
  CHECK(count(code_of(text_of("min", "f32")), "fneg") == 0);
}
