// Strided loads side by side that read a square, whole or masked, and masked stores in pieces.
#include <doctest/doctest.h>

#include <string>

#include "tests/codegen/native.h"

using namespace polyte;
using namespace polyte::codegen::testing;

namespace {

// The columns of a square in x as rows of y, some of them twice, with neighbours that are
// in no square.
std::string square(int lanes) {
  const std::string n = std::to_string(lanes), stride = std::to_string(lanes + 3);
  std::string text = "loops square\n  in x: T[" + std::to_string((lanes + 3) * lanes * 2) +
                     "]\n  out y: T[" + std::to_string((2 * lanes + 2) * lanes * 2) +
                     "]\n\n  for i in 0..2\n";
  const std::string part = std::to_string((lanes + 3) * lanes) + "*i";
  const auto column = [&](int c) {
    return "x[" + part + " + " + std::to_string(c) + "; " + n + " by " + stride + "]";
  };
  for (int c = 0; c < lanes + 2; ++c)
    text += "    y[" + std::to_string((2 * lanes + 2) * lanes) + "*i + " +
            std::to_string(c * lanes) + "; " + n + " by 1] = " +
            (c % 3 == 1 ? "max(" + column(c) + ", " + column((c + 2) % lanes) + ")" : column(c)) +
            "\n";
  return text;
}

}  // namespace

TEST_CASE("strided loads that read a square") {
  for (const DType type : kTypes) {
    CAPTURE(to_string(type));
    for (const int lanes : {2, 4, 8, 16}) {
      if (type == DType::Bool) continue;  // has no order
      CAPTURE(lanes);
      const std::string text = replaced(square(lanes), "T[", std::string(to_string(type)) + "[");
      check_everywhere(text, {{"x", filled(type, {(lanes + 3) * lanes * 2}, 23)}});
    }
  }
  const std::string text = replaced(square(16), "T[", "f32[");
  const codegen::Kernel kernel{ir::parse_loop_program(text, "test"), {}};
  const std::string assembly =
      codegen::emit_asm({&kernel, 1}, codegen::target_for_cpu("x86-64-v4"));
  CHECK(assembly.find("vunpcklps\t%zmm") != std::string::npos);
}

namespace {

// Columns of which only the first `active` elements are read, from an x that ends with the last
// one.
std::string short_square(int lanes, int active, int columns) {
  const int stride = columns + 5;
  const std::string mask = " if " + std::to_string(active), n = std::to_string(lanes);
  std::string text = "loops short_square\n  in x: T[" +
                     std::to_string((active - 1) * stride + columns) + "]\n  inout y: T[" +
                     std::to_string(lanes * columns) + "]\n\n";
  for (int c = 0; c < columns; ++c)
    text += "  y[" + std::to_string(active * c) + "; " + n + " by 1" + mask + "] = x[" +
            std::to_string(c) + "; " + n + " by " + std::to_string(stride) + mask + "]\n";
  return text;
}

}  // namespace

TEST_CASE(
    "masked lanes that read a square: what is beyond the active ones is neither read nor written") {
  for (const int lanes : {4, 8, 16})
    for (const int active : {2, 3, lanes - 3, lanes - 1, lanes})
      for (const int columns : {2, 5, lanes}) {
        CAPTURE(lanes);
        CAPTURE(active);
        CAPTURE(columns);
        if (active < 1) continue;
        const std::string text = short_square(lanes, active, columns);
        const std::int64_t elements = (active - 1) * (columns + 5) + columns;
        for (const DType type : {DType::F64, DType::F32, DType::I16, DType::I8})
          check_everywhere(
              replaced(text, "T[", std::string(to_string(type)) + "["),
              {{"x", filled(type, {elements}, 31)}, {"y", filled(type, {lanes * columns}, 32)}});
      }
  const codegen::Kernel kernel{
      ir::parse_loop_program(replaced(short_square(8, 5, 8), "T[", "f32["), "test"), {}};
  const std::string assembly =
      codegen::emit_asm({&kernel, 1}, codegen::target_for_cpu("x86-64-v4"));
  CHECK(assembly.find("gather") == std::string::npos);
}

TEST_CASE("masked stores of lanes that are known are plain ones where no mask registers are") {
  std::string text = "loops pieces\n  in x: T[8]\n  inout y: T[100]\n\n";
  for (int active = 1, at = 0; active <= 8; at += active + 1, ++active)
    text += "  y[" + std::to_string(at) + "; 8 by 1 if " + std::to_string(active) +
            "] = x[0; 8 by 1]\n";
  for (const DType type : kTypes) {
    if (type == DType::Bool) continue;
    check_everywhere(replaced(text, "T[", std::string(to_string(type)) + "["),
                     {{"x", filled(type, {8}, 33)}, {"y", filled(type, {100}, 34)}});
  }
  const codegen::Kernel kernel{ir::parse_loop_program(replaced(text, "T[", "f32["), "test"), {}};
  CHECK(codegen::emit_asm({&kernel, 1}, codegen::target_for_cpu("x86-64-v3")).find("vmaskmov") ==
        std::string::npos);
}

// What the stores write is loaded again: such loads stay where they are.
TEST_CASE("a square in place is no square") {
  check_everywhere(R"(loops in_place
  inout x: f32[64]

  x[0; 4 by 1] = x[16; 4 by 9]
  x[18; 4 by 1] = x[17; 4 by 9]
  x[27; 4 by 1] = x[18; 4 by 9]
  x[50; 4 by 1] = x[19; 4 by 9]
)",
                   {{"x", filled(DType::F32, {64}, 24)}});
}
