// Loop text before and after a pass, for tests: bodies of loops over the same three buffers.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "ir/loop_program_text.h"
#include "tests/lower/harness.h"

namespace polyte::test {

inline const std::string kHead =
    "loops p\n  in x: f32[100, 100]\n  in b: f64[100]\n  out y: f32[100, 100]\n\n";

inline ir::LoopProgram parsed(const std::string& body) {
  return ir::parse_loop_program(kHead + body, "test");
}

inline std::string body_of(const ir::LoopProgram& program) {
  return ir::print(program).substr(kHead.size());
}

// The pass on the text; the result must also compute the same.
template <class Pass>
std::string after(const std::string& body, const Pass& pass) {
  const ir::LoopProgram before = parsed(body), result = pass(before);
  CHECK(compare(before, result) == "");
  return body_of(result);
}

}  // namespace polyte::test
