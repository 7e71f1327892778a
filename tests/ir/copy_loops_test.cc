// Copies at full speed against the interpreter: the same bytes, and nothing else accepted.
#include "ir/copy_loops.h"

#include <doctest/doctest.h>

#include "ir/interpret.h"
#include "support/error.h"

namespace polyte::ir {

namespace {

Contents filled(const Buffer& buffer) {
  Contents contents = make_contents(buffer.dtype, constant_shape(buffer));
  for (std::size_t i = 0; i < contents.bytes.size(); ++i)
    contents.bytes[i] = static_cast<std::byte>(i * 37 + 11);
  return contents;
}

struct Results {
  Environment interpreted, copied;
};

Results both(const std::string& text) {
  const LoopProgram program = parse_loop_program(text, "test");
  REQUIRE(verify(program, Form::Flat) == std::vector<std::string>{});
  REQUIRE(only_copies(program));
  Results results;
  CopyMemory memory;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.role == Role::Out) {
      Contents& contents = results.copied[buffer.name] =
          make_contents(buffer.dtype, constant_shape(buffer));
      memory.to[buffer.name] = contents.bytes;
    } else {
      const Contents& contents = results.interpreted[buffer.name] = filled(buffer);
      memory.from[buffer.name] = contents.bytes;
    }
  }
  run_copies(program, memory);
  interpret(program, results.interpreted, {});
  return results;
}

void check_same(const std::string& text) {
  const Results results = both(text);
  for (const auto& [name, contents] : results.copied) {
    CHECK_MESSAGE(contents.bytes == results.interpreted.at(name).bytes, name << " of\n" << text);
  }
}

bool copies(const std::string& text) { return only_copies(parse_loop_program(text, "test")); }

}  // namespace

TEST_CASE("panels of a matrix, with rows that it has not") {
  // [13, 7] to [2][7][8]: lanes read with a stride, the last three are filled.
  for (const char* type : {"f64", "f32", "i16", "u8"}) {
    check_same(std::string("loops panels\n  const w: ") + type + "[13, 7]\n  out p: " + type +
               R"([112]

  for o in 0..2
    for k in 0..7
      for l in 0..8
        p[56*o + 8*k + l] = (w[56*o + 7*l + k] where 8*o + l <= 12 else )" +
               type + "(3))\n");
  }
}

TEST_CASE("runs forwards, backwards, and cut at both ends by guards") {
  check_same(R"(loops runs
  const w: f32[20]
  out a: f32[20]
  out b: f32[20]
  out c: f32[30]
  out d: f32[20]

  for i in 0..20
    a[i] = w[i]
  for j in 0..20
    b[19 - j] = w[j]
  for k in 0..30
    c[k] = (w[24 - k] where k >= 5 and 24 - k >= 0 else f32(-1))
  for l in 0..20
    d[l] = (w[l] where 30 - 2*l >= 0 and 3*l - 10 >= 0 else f32(0.5))
)");
}

TEST_CASE("guards that no iteration passes, or all, and those of outer loops") {
  check_same(R"(loops guards
  const w: f32[20]
  out a: f32[20]
  out b: f32[20]
  out c: f32[40]

  for i in 0..20
    a[i] = (w[i] where i - 20 >= 0 else f32(2))
  for j in 0..20
    b[j] = (w[j] where 19 - j >= 0 else f32(2))
  for o in 0..2
    for k in 0..20
      c[20*o + k] = (w[k] where o == 1 else f32(7))
)");
}

TEST_CASE("subscripts that divide, branches, bounds of several terms, and literals") {
  check_same(R"(loops digits
  const w: f32[24]
  out a: f32[24]
  out b: f32[24]
  out c: f32[24]

  for i in 0..24
    a[i % 4 * 6 + i//4] = w[i]
  for o in 0..4
    for j in max(0, 2*o - 3)..min(6, 9 - o)
      b[6*o + j] = w[4*j + o]
  for k in 0..24
    if k >= 3 and k % 2 == 0
      c[k] = f32(1.5)
)");
}

TEST_CASE("what leaves a buffer is said, not done") {
  const LoopProgram program = parse_loop_program(R"(loops outside
  const w: f32[8]
  out a: f32[8]

  for i in 0..9
    a[i] = w[i]
)",
                                                 "test");
  std::vector<std::byte> w(32), a(32);
  CopyMemory memory{{{"w", w}}, {{"a", a}}};
  CHECK_THROWS_WITH_AS(run_copies(program, memory), "a copy leaves buffer 'a': element 8 of 8",
                       UserError);
}

TEST_CASE("arithmetic, conversions and loops at once are no copies") {
  const std::string head = "loops other\n  const w: f32[8]\n  const v: i32[8]\n  out a: f32[8]\n\n";
  CHECK(copies(head + "  for i in 0..8\n    a[i] = w[i]\n"));
  CHECK(!copies(head + "  for i in 0..8\n    a[i] = neg(w[i])\n"));
  CHECK(!copies(head + "  for i in 0..8\n    a[i] = cast_f32(v[i])\n"));
  CHECK(!copies(head + "  parallel i in 0..8\n    a[i] = w[i]\n"));
  CHECK(!copies(head + "  for i in 0..8\n    a[{v[i]}] = w[i]\n"));
  CHECK(!only_copies(LoopProgram{}));
}

}  // namespace polyte::ir
