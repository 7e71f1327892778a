// Loop programs in scalar code, one construct per test: results against the interpreter of loop
// programs, bit for bit.
#include <doctest/doctest.h>

#include "support/error.h"
#include "tests/codegen/native.h"

using namespace polyte;
using namespace polyte::codegen::testing;

TEST_CASE("matrix product in scalar loops") {
  const std::string text = R"(loops matmul
  in a: f32[7, 9]
  in b: f32[9, 5]
  out c: f32[7, 5]

  for i in 0..7
    for j in 0..5
      c[5*i + j] = f32(0)
      for k in 0..9
        c[5*i + j] = fma(a[9*i + k], b[5*k + j], c[5*i + j])
)";
  CHECK(against_interpreter(text, {{"a", filled(DType::F32, {7, 9}, 1)},
                                   {"b", filled(DType::F32, {9, 5}, 2)}}) == "");
}

TEST_CASE("bounds with max and min, floor division and mod, empty and one-trip loops") {
  const std::string text = R"(loops bounds
  in x: i64[100]
  out y: i64[200]

  for p in 0..200
    y[p] = i64(-1)
  for i in 0..9
    for j in max(3*i - 4, 0)..min(2*i + 5, 15, i + 8)
      y[10*i + j] = (x[10*((i + j - 3)//4 + 1) + (i + 7*j) % 5] + index_i64((i - 2*j)//3))
  for e in 5..5
    y[e] = i64(7)
  for o in 150..151
    y[o] = index_i64(3*o)
)";
  CHECK(against_interpreter(text, {{"x", filled(DType::I64, {100}, 3)}}) == "");
}

TEST_CASE("conditions: affine, at run time, and both") {
  const std::string text = R"(loops conditions
  in x: f32[64]
  out y: f32[64]

  for i in 0..64
    y[i] = f32(-1)
    if i >= 3 and 50 - i >= 0
      y[i] = x[i]
    if i - 32 >= 0 and ?(x[i - 32] < f32(0.5))
      y[i] = (y[i] + f32(100))
    if (i % 7) == 0
      y[i] = f32(5)
)";
  CHECK(against_interpreter(text, {{"x", filled(DType::F32, {64}, 4)}}) == "");
}

TEST_CASE("guarded reads touch nothing outside") {
  const std::string text = R"(loops padded
  in x: f32[8]
  out y: f32[12]

  for i in 0..12
    y[i] = ((x[i - 2] where i - 2 >= 0 and 9 - i >= 0 else f32(0.25)) + (x[i - 4] where i - 4 >= 0 else (x[i] where 7 - i >= 0 else f32(9))))
)";
  CHECK(against_interpreter(text, {{"x", filled(DType::F32, {8}, 5)}}) == "");
}

TEST_CASE("gather and scatter through an index buffer") {
  const std::string text = R"(loops gather
  in x: f32[30]
  in p: i32[10]
  out y: f32[30]

  for i in 0..30
    y[i] = f32(0)
  for j in 0..10
    y[10 + {cast_i64(p[j])}] = x[2*j + {p[j]}]
)";
  auto positions = of_values(DType::I32, {3, 1, 4, 0, 5, 9, 2, 6, 8, 7});
  CHECK(against_interpreter(text, {{"x", filled(DType::F32, {30}, 6)}, {"p", positions}}) == "");
}

TEST_CASE("heap, stack and register temporaries") {
  const std::string text = R"(loops temporaries
  in x: f32[16]
  out y: f32[16]

  alloc h: f32[16] in heap
    for i in 0..16
      h[15 - i] = x[i]
    alloc s: f32[16] in stack
      for j in 0..16
        s[j] = (h[j] * f32(2))
      for k in 0..16
        alloc r: f32[2] in register
          r[0] = s[k]
          r[1] = x[k]
          y[k] = (r[0] - r[1])
)";
  CHECK(against_interpreter(text, {{"x", filled(DType::F32, {16}, 7)}}) == "");
}

TEST_CASE(
    "a subscript outside its dimension is reported, and nothing outside the buffers is touched") {
  const std::string text = R"(loops gather
  in t: f32[20]
  in p: i32[8]
  out y: f32[8]
  out z: f32[20]

  for i in 0..20
    z[i] = f32(0)
  parallel k in 0..2
    y[4*k; 4 by 1] = t[{within(cast_i64(p[4*k; 4 by 1]), x4(i64(20)))}; 4 by 0]
  for j in 0..8
    z[{within(cast_i64(p[j]), i64(20))}] = y[j]
)";
  const ir::Environment table{{"t", filled(DType::F32, {20}, 6)}};
  const auto with = [&](std::vector<double> positions) {
    ir::Environment inputs = table;
    inputs["p"] = of_values(DType::I32, positions);
    return inputs;
  };
  CHECK(against_interpreter(text, with({3, 0, 4, 19, 5, 9, 2, 6})) == "");
  const ir::LoopProgram program = ir::parse_loop_program(text, "test");
  for (const double wrong : {20., -1., 1e9, -1e9}) {
    ir::Environment inputs = with({3, 0, 4, 19, 5, wrong, 2, 6});
    CHECK_THROWS_AS(ir::interpret(program, inputs, {}), UserError);
    CHECK_THROWS_WITH(run_native(program, inputs), doctest::Contains("the kernel returned 1"));
  }
}
