// What each pass makes of small loops, as text. That meaning is kept is the business of the
// random tests.
#include <doctest/doctest.h>

#include "lower/flatten.h"
#include "lower/hoist.h"
#include "lower/lower.h"
#include "lower/partition_loops.h"
#include "lower/place_buffers.h"
#include "lower/simplify.h"
#include "lower/unroll_loops.h"
#include "lower/vectorize_loops.h"
#include "support/error.h"
#include "tests/lower/loop_text.h"
#include "tests/lower/state_tools.h"

using namespace polyte;
using namespace polyte::lower;
using test::after;
using test::body_of;
using test::parsed;

namespace {

Machine machine_of(int bits) {
  Machine machine;
  machine.vector_bits = bits;
  return machine;
}

std::string vectorized(const std::string& body, std::vector<std::string>& notes, int bits = 128) {
  return after(
      body, [&](const ir::LoopProgram& p) { return vectorize_loops(p, machine_of(bits), notes); });
}

}  // namespace

TEST_CASE("simplify decides what ranges decide") {
  const auto pass = [](const ir::LoopProgram& p) { return simplify(p); };
  CHECK(after("  for i in 0..25\n    for j in 0..min(4, 100 - 4*i)\n"
              "      if 4*i + j < 100\n        y[0, 4*i + j] = f32(1)\n",
              pass) == "  for i in 0..25\n    for j in 0..4\n      y[0, 4*i + j] = f32(1)\n");
  CHECK(after("  for i in 3..4\n    y[i, i//2] = x[i, 0]\n  for i in 4..4\n    y[i, 0] = f32(0)\n",
              pass) == "  y[3, 1] = x[3, 0]\n");
  CHECK(after("  for i in 0..4\n    y[0, i] = (x[0, i - 1] where i >= 1 else f32(0))\n"
              "    y[1, i] = (x[0, i] where i >= 0 else f32(7))\n",
              pass) ==
        "  for i in 0..4\n"
        "    y[0, i] = (x[0, i - 1] where i >= 1 else f32(0))\n    y[1, i] = x[0, i]\n");
}

TEST_CASE("partition gives the hot part constant extents") {
  const auto pass = [](const ir::LoopProgram& p) { return simplify(partition_loops(p)); };
  CHECK(after("  for i in 0..8\n"
              "    unrolled j in 0..min(14, 99 - 14*i)\n      y[0, 14*i + j] = f32(1)\n",
              pass) ==
        "  for i in 0..7\n"
        "    unrolled j in 0..14\n      y[0, 14*i + j] = f32(1)\n  y[0, 98] = f32(1)\n");
  CHECK(after("  parallel i in 0..8\n"
              "    vector j in 0..min(14, 99 - 14*i)\n      y[0, 14*i + j] = f32(1)\n",
              pass) ==
        "  parallel i in 0..8\n    if i <= 6\n      vector j in 0..14\n"
        "        y[0, 14*i + j] = f32(1)\n    if i >= 7\n      y[0, 98] = f32(1)\n");
  CHECK(after("  for i in 0..9\n    for r in 0..3\n      vector j in 0..4\n"
              "        y[i, j] = (x[i + r - 1, j] where i + r >= 1 and i + r <= 7 else f32(0))\n",
              pass)
            .find("for i_1 in 1..6 as i\n    for r_3 in 0..3 as r\n      vector j_3 in 0..4 as j\n"
                  "        y[i_1, j_3] = x[i_1 + r_3 - 1, j_3]\n") != std::string::npos);
}

TEST_CASE("partition: a tail of open size has a branch for each number of its trips") {
  const std::string head = "loops p(N)\n  out y: f32[N, 2]\n\n";
  const auto parts = [&](const std::string& text) {
    return ir::print(partition_loops(simplify(ir::parse_loop_program(head + text, "test"))));
  };
  CHECK(
      parts(
          "  for i in 0..((N + 2)//3)\n    for k in 0..2\n      unrolled j in 0..min(3, N - 3*i)\n"
          "        y[3*i + j, k] = f32(1)\n") ==
      head +
          "  for i in 0..(N//3)\n"
          "    for k in 0..2\n      unrolled j in 0..3\n        y[3*i + j, k] = f32(1)\n"
          "  for i_1 in (N//3)..((N + 2)//3) as i\n    if N % 3 == 1\n      for k_2 in 0..2 as k\n"
          "        y[3*(N//3), k_2] = f32(1)\n    if N % 3 == 2\n      for k_3 in 0..2 as k\n"
          "        unrolled j_2 in 0..2 as j\n          y[j_2 + 3*(N//3), k_3] = f32(1)\n");
  // Where the loop has no trips, what stands beside it runs.
  const ir::LoopProgram beside = ir::parse_loop_program(
      "loops p(M, N)\n  out y: f32[N + 3, 2]\n"
      "\n  for i in 0..((N + 2)//3)\n    unrolled k in 0..(M % 3)\n      y[N + k, 1] = f32(2)\n"
      "    unrolled j in 0..min(3, N - 3*i)\n      y[3*i + j, 0] = f32(1)\n",
      "test");
  for (const auto& [m, n] : {std::pair{3, 4}, {4, 4}, {6, 2}, {5, 3}})
    CHECK(test::compare(beside, partition_loops(simplify(beside)), {{"M", m}, {"N", n}}) == "");
  // A triangle's rows are no sizes: no loop asks in each of its trips.
  const std::string triangle =
      "  for i in 0..2\n    unrolled j in 0..(i + 1)\n      y[i + j, 0] = index_f32(N)\n";
  CHECK(parts(triangle) == head + triangle);
}

TEST_CASE("splits that keep their tails are left alone") {
  const auto tiles = [](const std::string& mark) {
    return "  for i in 0..8\n    unrolled j in 0..min(14, 99 - 14*i)" + mark +
           "\n      y[0, 14*i + j] = f32(1)\n";
  };
  CHECK(body_of(partition_loops(parsed(tiles(" uncut")))) == tiles(" uncut"));
  CHECK(body_of(partition_loops(parsed(tiles("")))) != tiles(""));
  CHECK(body_of(partition_loops(parsed(tiles("")), {.growth = 1})) == tiles(""));
}

TEST_CASE("vectors: whole, narrow, masked and long") {
  std::vector<std::string> notes;
  CHECK(vectorized("  for i in 0..3\n    vector j in 0..7\n      y[i, j] = (x[i, 2*j] * x[i, 0])\n",
                   notes) ==
        "  for i in 0..3\n    y[i, 0; 4 by 0,1] = (x[i, 0; 4 by 0,2] * x4(x[i, 0]))\n"
        "    y[i, 4; 4 by 0,1 if 3] = (x[i, 8; 4 by 0,2 if 3] * x4(x[i, 0]))\n");
  CHECK(
      vectorized("  vector j in 0..6\n    y[j, 0] = index_f32(3*j)\n", notes) ==
      "  y[0, 0; 4 by 1,0] = index_f32(0; 4 by 3)\n  y[4, 0; 2 by 1,0] = index_f32(12; 2 by 3)\n");
  CHECK(
      vectorized("  for i in 0..25\n    vector j in 0..min(8, 99 - 4*i)\n      y[0, j] = x[i, j]\n",
                 notes)
          .find("y[0, 4; 4 by 0,1 if 95 - 4*i]") != std::string::npos);
  // Masks are no registers here: whole vectors are counted, and one has a mask.
  const std::string triangle =
      vectorized("  for i in 0..3\n    vector j in 0..(7*i + 1)\n      y[0, j] = x[i, j]\n", notes);
  CAPTURE(triangle);
  CHECK(triangle.find("//4)") != std::string::npos);
  CHECK(triangle.find("y[0, 4; 4 by 0,1 if") == std::string::npos);
  CHECK(vectorized("  vector j in 0..99\n    y[0, j] = f32(2)\n", notes) ==
        "  for j_1 in 0..24 as j\n    y[0, 4*j_1; 4 by 0,1] = x4(f32(2))\n"
        "  y[0, 96; 4 by 0,1 if 3] = x4(f32(2))\n");
  CHECK(vectorized("  vector j in 0..4\n    y[0, j] = cast_f32(b[j])\n", notes) ==
        "  y[0, 0; 2 by 0,1] = cast_f32(b[0; 2 by 1])\n"
        "  y[0, 2; 2 by 0,1] = cast_f32(b[2; 2 by 1])\n");
  CHECK(notes == std::vector<std::string>{});
}

TEST_CASE("vectors of a register are short beside whole ones, masked where they meet longer ones") {
  std::vector<std::string> notes;
  const std::string rows = "    for i in 0..2\n      vector j in 0..6\n        t[i, j] = x[i, j]\n",
                    end = "    y[0, 0] = t[1, 5]\n";
  const std::string apart = vectorized("  alloc t: f32[2, 6] in register\n" + rows + end, notes);
  CHECK(apart.find("t[i, 0; 4 by 0,1]") != std::string::npos);
  CHECK(apart.find("t[i, 4; 2 by 0,1]") != std::string::npos);
  const std::string met = vectorized("  alloc t: f32[2, 6] in register\n" + rows +
                                         "    vector j in 0..2\n      t[1, j] = x[2, j]\n" + end,
                                     notes);
  CHECK(met.find("t[i, 4; 4 by 0,1 if 2]") != std::string::npos);
  CHECK(met.find("t[1, 0; 4 by 0,1 if 2]") != std::string::npos);
  CHECK(notes == std::vector<std::string>{});
}

TEST_CASE(
    "vectors of a register stand at its beginning, the lanes before the first iteration skipped") {
  std::vector<std::string> notes;
  const std::string above = vectorized(
      "  for i in 0..6\n    alloc t: f32[8] in register\n"
      "      vector j in i..8\n        t[j] = x[i, j]\n      y[i, 0] = t[7]\n",
      notes);
  CHECK(above.find("t[0; 4 by 1 if i..4] = x[i, 0; 4 by 0,1 if i..4]") != std::string::npos);
  CHECK(above.find("t[4; 4 by 1 if i - 4..4] = x[i, 4; 4 by 0,1 if i - 4..4]") !=
        std::string::npos);
  const std::string between = vectorized(
      "  for i in 0..6\n"
      "    alloc t: f32[8] in register\n      vector j in max(0, i - 2)..min(8, i + 3)\n"
      "        t[j] = x[i, j]\n      y[i, 0] = t[i]\n",
      notes);
  CHECK(between.find("t[0; 4 by 1 if i - 2..i + 3]") != std::string::npos);
  const std::string memory =
      vectorized("  for i in 0..6\n    vector j in i..8\n      y[i, j] = x[i, j]\n", notes);
  CHECK(memory.find("y[i, i") != std::string::npos);
  CHECK(notes == std::vector<std::string>{});
}

TEST_CASE("what is left of a tile has places of its own in registers, each masked") {
  std::vector<std::string> notes;
  const auto rest_of_tiles = [&](const std::string& statement) {
    return vectorized(
        "  for i in 0..99\n"
        "    alloc t: f32[8] in register\n      vector j in 0..8\n        t[j] = f32(0)\n"
        "      for o in (i//8)..((i + 7)//8)\n        vector j in 0..(i - 8*o)\n          " +
            statement + "\n      y[i, 0] = t[7]\n",
        notes);
  };
  const std::string registers = rest_of_tiles("t[j] = x[i, j + 8*o]");
  CHECK(registers.find("t[0; 4 by 1 if i - 8*o] = x[i, 8*o; 4 by 0,1 if i - 8*o]") !=
        std::string::npos);
  CHECK(registers.find("t[4; 4 by 1 if i - 8*o - 4]") != std::string::npos);
  CHECK(registers.find("t[8;") == std::string::npos);
  // Memory: a loop.
  CHECK(rest_of_tiles("y[i, j] = x[i, j + 8*o]").find(" as j\n") != std::string::npos);
  CHECK(notes == std::vector<std::string>{});
}

TEST_CASE("an empty vector loop reads nothing, not even what its lanes share") {
  std::vector<std::string> notes;
  CHECK(vectorized("  for i in 0..6\n    vector j in 0..i\n      y[i, j] = x[i - 1, 0]\n", notes)
            .find("if i >= 1\n") != std::string::npos);
}

TEST_CASE("what has no vector form becomes serial and is reported") {
  const auto note_of = [](const std::string& body) {
    std::vector<std::string> notes;
    const std::string text = vectorized(body, notes);
    CHECK(text.find("vector") == std::string::npos);
    REQUIRE(notes.size() == 1);
    return notes[0];
  };
  CHECK(note_of("  vector j in 0..4\n    for k in 0..(j + 1)\n      y[j, k] = f32(1)\n") ==
        "loop 'j' is not vectorised: the bounds of loop 'k' differ between its lanes");
  CHECK(note_of("  vector j in 0..4\n    if j >= 2\n      y[j, 0] = f32(1)\n") ==
        "loop 'j' is not vectorised: condition j >= 2 differs between its lanes");
  CHECK(note_of("  vector j in 0..9\n    y[0, j//3 + 8*j] = f32(1)\n") ==
        "loop 'j' is not vectorised: subscript 8*j + j//3 does not advance evenly with it");
  CHECK(note_of("  vector j in 0..4\n    y[0, j] = (x[0, j - 1] where j >= 1 else f32(0))\n") ==
        "loop 'j' is not vectorised: the guard j >= 1 of a read differs between its lanes");
  CHECK(note_of("  vector j in 0..4\n"
                "    alloc t: f32[1] in stack\n      t[0] = f32(1)\n      y[0, j] = t[0]\n") ==
        "loop 'j' is not vectorised: buffer 't' is private to each of its iterations");
}

TEST_CASE("unrolling copies in order, guards the tail, fences reductions into registers") {
  std::vector<std::string> notes;
  const auto pass = [&](const ir::LoopProgram& p) { return unroll_loops(p, notes); };
  CHECK(after("  for i in 0..4\n    unrolled j in i..min(i + 2, 5)\n"
              "      for k in 0..2\n        y[j, k] = index_f32(i)\n",
              pass) ==
        "  for i in 0..4\n    if i <= 4\n      for k in 0..2\n        y[i, k] = index_f32(i)\n"
        "    if i <= 3\n      for k_1 in 0..2 as k\n        y[i + 1, k_1] = index_f32(i)\n");
  CHECK(
      after("  alloc t: f32[1] in register\n    t[0] = f32(0)\n"
            "    unrolled k in 0..3\n      t[0] = (t[0] + x[k, 0])\n    y[0, 0] = t[0]\n",
            pass) ==
      "  alloc t: f32[1] in register\n    t[0] = f32(0)\n    t[0] = (t[0] + x[0, 0])\n    fence\n"
      "    t[0] = (t[0] + x[1, 0])\n    fence\n    t[0] = (t[0] + x[2, 0])\n    y[0, 0] = t[0]\n");
  CHECK(notes == std::vector<std::string>{});
  after("  unrolled i in 0..100\n    unrolled j in 0..100\n      y[i, j] = f32(1)\n", pass);
  CHECK(notes ==
        std::vector<std::string>{
            "loop 'i' is not unrolled: 100 copies of 100 stores, expected at most 2048 stores"});
}

TEST_CASE("loops that choose registers are unrolled, whatever kind they are") {
  std::vector<std::string> notes;
  const auto pass = [&](const ir::LoopProgram& p) { return simplify(unroll_loops(p, notes)); };
  // through the lower bound of another one, and with bounds that only both loops' together limit
  CHECK(after("  for o in 0..3\n    alloc t: f32[3] in register\n"
              "      for k in (3*o)..(3*o + 2)\n        unrolled i in (k - 3*o + 1)..3\n"
              "          t[i] = index_f32(k)\n      y[o, 0] = t[2]\n",
              pass) ==
        "  for o in 0..3\n    alloc t: f32[3] in register\n"
        "      t[1] = index_f32(3*o)\n      t[2] = index_f32(3*o)\n      fence\n"
        "      t[2] = index_f32(3*o + 1)\n      y[o, 0] = t[2]\n");
  const std::string guarded = after(
      "  for o in 0..30\n    alloc t: f32[3] in register\n"
      "      for i in (3*o + 1)..(3*o + 3)\n        for k in 0..(i - 3*o)\n"
      "          t[k] = index_f32(i)\n      y[o, 0] = t[1]\n",
      pass);
  CHECK_MESSAGE(guarded.find("for k") == std::string::npos, guarded);
  CHECK_MESSAGE(guarded.find("for i in (3*o + 1)..(3*o + 3)") != std::string::npos, guarded);
  // memory has addresses; and what cannot be unrolled stays as it is, without a word about a loop
  // that nobody asked to unroll
  CHECK(after("  alloc t: f32[3] in stack\n    for k in 0..3\n      t[k] = f32(1)\n", pass)
            .find("for k in 0..3") != std::string::npos);
  CHECK(after("  alloc t: f32[9] in register\n    for k in 0..3000\n      t[k//1000] = f32(1)\n",
              pass)
            .find("for k in 0..3000") != std::string::npos);
  CHECK(notes == std::vector<std::string>{});
}

TEST_CASE("buffers find their places") {
  std::vector<std::string> notes;
  const auto pass = [&](const ir::LoopProgram& p) { return place_buffers(p, notes); };
  // masks of whole pieces go, the shape grows, the vectors' dimension becomes the last
  CHECK(
      after(
          "  alloc t: f32[3, 2] in register\n    t[0, 0; 4 by 1,0 if 3] = x[0, 0; 4 by 1,0 if 3]\n"
          "    t[0, 1; 4 by 1,0 if 3] = x[0, 1; 4 by 1,0 if 3]\n"
          "    y[0, 0; 4 by 0,1 if 3] = (t[0, 0; 4 by 1,0 if 3] + t[0, 1; 4 by 1,0 if 3])\n",
          pass) ==
      "  alloc t: f32[2, 4] in register\n    t[0, 0; 4 by 0,1] = x[0, 0; 4 by 1,0 if 3]\n"
      "    t[1, 0; 4 by 0,1] = x[0, 1; 4 by 1,0 if 3]\n"
      "    y[0, 0; 4 by 0,1 if 3] = (t[0, 0; 4 by 0,1] + t[1, 0; 4 by 0,1])\n");
  CHECK(notes == std::vector<std::string>{});
  // a piece that is read whole and changed in part keeps its masks
  CHECK(after("  alloc t: f32[4] in register\n"
              "    t[0; 4 by 1] = x4(f32(1))\n    t[0; 4 by 1 if 3] = x[0, 0; 4 by 0,1 if 3]\n"
              "    y[0, 0; 4 by 0,1] = t[0; 4 by 1]\n",
              pass)
            .find("t[0; 4 by 1 if 3] = ") != std::string::npos);
  after(
      "  alloc t: f32[4] in register\n    for i in 0..4\n      t[i] = f32(1)\n    y[0, 0] = t[0]\n",
      pass);
  after(
      "  alloc t: f32[8] in register\n"
      "    t[0; 8 by 1] = x8(f32(1))\n    t[2; 4 by 1] = x4(f32(2))\n    y[0, 0] = t[2]\n",
      pass);
  const std::string big = after(
      "  alloc t: f32[5000] in stack\n"
      "    t[0] = f32(1)\n    alloc u: f32[10] in stack\n      u[0] = t[0]\n      y[0, 0] = u[0]\n",
      pass);
  CHECK(big.find("t: f32[5000] in heap") != std::string::npos);
  CHECK(big.find("u: f32[10] in stack") != std::string::npos);
  REQUIRE(notes.size() == 3);
  CHECK(notes[0] == "buffer 't' is not kept in registers: subscript i is not constant");
  CHECK(notes[1] ==
        "buffer 't' is not kept in registers: vectors of different length or place share elements");
  CHECK(notes[2] ==
        "buffer 't' (20032 bytes) is in the kernel's scratch: stack buffers are limited to 16384 "
        "bytes");
}

TEST_CASE("sums that are computed one by one are copied out of their registers one by one") {
  std::vector<std::string> notes;
  const auto pass = [&](const ir::LoopProgram& p) { return place_buffers(p, notes); };
  const std::string kSums =
      "  alloc t: f32[4] in register\n    t[0] = f32(1)\n    t[1] = f32(2)\n    t[2] = f32(3)\n"
      "    t[3] = f32(4)\n";
  const std::string apart = after(kSums + "    y[0, 4; 4 by 0,1] = t[0; 4 by 1]\n", pass);
  CHECK(notes.empty());
  CHECK(apart.find("in register") != std::string::npos);
  for (const std::string each :
       {"y[0, 4] = t[0]", "y[0, 5] = t[1]", "y[0, 6] = t[2]", "y[0, 7] = t[3]"})
    CHECK_MESSAGE(apart.find(each) != std::string::npos, apart);
  // what computes with the vector needs it
  const std::string whole =
      after(kSums + "    y[0, 4; 4 by 0,1] = (t[0; 4 by 1] + x4(f32(1)))\n", pass);
  CHECK(whole.find("in stack") != std::string::npos);
  CHECK(notes.size() == 1);
}

TEST_CASE("elements of registers are lanes of the pieces that they lie in") {
  std::vector<std::string> notes;
  const auto pass = [&](const ir::LoopProgram& p) { return place_buffers(p, notes); };
  // what is only read may be part of a piece
  const std::string parts = after(
      "  alloc t: f32[8] in register\n"
      "    t[0; 8 by 1] = x8(f32(1))\n    y[0, 0; 4 by 0,1] = t[2; 4 by 1]\n    y[1, 0] = t[7]\n",
      pass);
  CHECK(parts.find("t: f32[8] in register") != std::string::npos);
  // an element that is written is a lane of the vector that it lies in
  CHECK(after("  alloc t: f32[8, 2] in register\n"
              "    t[0, 1; 8 by 1,0] = x8(f32(1))\n    t[5, 1] = (t[5, 1] + x[0, 3])\n"
              "    t[0, 1] = x[0, 0]\n    y[0, 0; 8 by 0,1] = t[0, 1; 8 by 1,0]\n",
              pass) ==
        "  alloc t: f32[2, 8] in register\n    t[1, 0; 8 by 0,1] = x8(f32(1))\n"
        "    t[1, 0; 8 by 0,1 if 5..6] = x8((t[1, 5] + x[0, 3]))\n"
        "    t[1, 0; 8 by 0,1 if 1] = x8(x[0, 0])\n    y[0, 0; 8 by 0,1] = t[1, 0; 8 by 0,1]\n");
  CHECK(notes == std::vector<std::string>{});
}

TEST_CASE("hoisting loads and guards") {
  CHECK(after("  for k in 0..3\n    for n in 0..9\n      if k >= 1\n        y[k, n] = x[k, 0]\n",
              hoist) ==
        "  for k in 0..3\n    if k >= 1\n      for n in 0..9\n        y[k, n] = x[k, 0]\n");
  CHECK(after("  for k in 0..3\n    for n in 0..9\n      y[k, n] = (x[k, 0] * x[k, n])\n", hoist) ==
        "  for k in 0..3\n    alloc x.h: f32[1] in register\n"
        "      x.h[0] = x[k, 0]\n      for n in 0..9\n        y[k, n] = (x.h[0] * x[k, n])\n");
  // May not run.
  for (const char* kept : {"  for k in 0..3\n    for n in 0..k\n      y[k, n] = x[k, 0]\n",
                           // Written there.
                           "  for n in 0..9\n    y[0, n] = f32(1)\n    y[1, n] = y[0, 0]\n",
                           // Under a guard.
                           "  for n in 0..9\n    if n >= 1\n      y[0, n] = x[0, 0]\n"})
    CHECK(after(kept, hoist) == kept);
}

TEST_CASE(
    "what a loop reads of the buffer that it writes goes before it where no store touches it") {
  // A step of a factorisation: row i, below the first `from` rows, less its element k times a
  // column of these.
  const auto step = [](const std::string& from, const std::string& guard) {
    return "  for u in 0..9\n    for v in 0..12\n      y[u, v] = x[u, v]\n"
           "  for k in 0..4\n    for i in " +
           from + "..9\n      y[i, k] = (y[i, k] * x[k, k])\n      if " + guard +
           "\n        y[i, k + 1; 4 by 0,1 if 3 - k] = fma(x4(y[i, k]), "
           "y[k + 1, k; 4 by 1,0 if 3 - k], y[i, k + 1; 4 by 0,1 if 3 - k])\n";
  };
  const std::string below = after(step("4", "k <= 2"), hoist);
  CHECK_MESSAGE(below.find("        if k <= 2\n          y.h[0; 4 by 1] = y[k + 1, k; 4 by 1,0 if "
                           "3 - k]\n") != std::string::npos,
                below);
  CHECK(below.find("fma(x4(y[i, k]), y.h[0; 4 by 1], ") != std::string::npos);
  // Rows that the column has, too; a guard that changes in the loop.
  for (const auto& [from, guard] :
       std::vector<std::pair<std::string, std::string>>{{"3", "k <= 2"}, {"4", "k <= i - 6"}}) {
    const std::string kept = after(step(from, guard), hoist);
    CHECK_MESSAGE(kept.find("y.h") == std::string::npos, kept);
  }
  // Nobody else's guard: what is read under two is read twice.
  const std::string two = after(
      "  for u in 0..9\n    for v in 0..12\n      y[u, v] = x[u, v]\n"
      "  for k in 0..4\n    for i in 4..9\n      if k <= 1\n        y[i, 5] = y[k, 0]\n"
      "      if k >= 1\n        y[i, 6] = y[k, 0]\n",
      hoist);
  CHECK_MESSAGE(two.find("y.h_1[0] = y[k, 0]") != std::string::npos, two);
}

TEST_CASE("flatten") {
  CHECK(body_of(flatten(parsed("  y[1, 2; 4 by 1,2] = x[3, 0; 4 by 0,1]\n"))) ==
        "  y[102; 4 by 102] = x[300; 4 by 1]\n");
}

TEST_CASE("flatten: extents may be open") {
  const auto flat = [](const std::string& shape, const std::string& store) {
    const std::string text = ir::print(flatten(ir::parse_loop_program(
        "loops p(M, N)\n  out y: f32[" + shape + "]\n\n  for i in 0..N\n    " + store + "\n",
        "test")));
    return text.substr(text.rfind("    ") + 4);
  };
  CHECK(flat("N, 3", "y[i, 2] = f32(1)") == "y[3*i + 2] = f32(1)\n");
  CHECK(flat("1, 2*N + 1, 4", "y[0, 2*i, 3] = f32(1)") == "y[8*i + 3] = f32(1)\n");
  CHECK(flat("3, N", "y[2, i] = f32(1)") == "y[i + {(i64(2) * index_i64(N))}] = f32(1)\n");
  CHECK(flat("M, N, 4, 1", "y[i, 2, 3, 0; 4 by 0,0,1,0] = x4(f32(1))") ==
        "y[11 + {((index_i64(i) * i64(4)) * index_i64(N))}; 4 by 1] = x4(f32(1))\n");
  CHECK(flat("M, N", "y[i, 0; 4 by 1,0] = x4(f32(1))") ==
        "y[{(index_i64(i; 4 by 1) * x4(index_i64(N)))}; 4 by 0] = x4(f32(1))\n");
}

TEST_CASE("options of the list") {
  const schedule::State state = test::tiled_dense(9, 9, 4, {2, 4, 2});
  const Machine machine = machine_of(128);
  std::vector<std::string> ran;
  LowerOptions options{.machine = machine,
                       .on_pass = [&](const PassRun& run) { ran.push_back(run.name); }};
  options.skip = {"hoist", "partition loops"};
  lower::lower(state, options);
  CHECK(ran.size() + 2 == pass_names().size());
  options.skip = {"flatten", "polish"};
  CHECK_THROWS_WITH_AS(lower::lower(state, options),
                       "pass 'flatten' cannot be skipped\nno pass 'polish' to skip", UserError);
}

TEST_CASE("strict refuses what a note would only tell") {
  schedule::State state =
      schedule::reference_state(std::make_shared<ir::Program>(test::dense(3, 3, 3)));
  state.tree = schedule::map_loops(state.tree, [](const schedule::Loop& loop) {
    schedule::Loop copy = loop;
    if (loop.name == "k") copy.kind = ir::LoopKind::Vector;
    return copy;
  });
  const Machine machine = machine_of(128);
  const std::string reason =
      "loop 'k' is not vectorised: all lanes would write the same element of 'acc'";
  std::vector<std::string> notes;
  lower::lower(state, {.machine = machine, .notes = &notes});
  CHECK(notes == std::vector<std::string>{reason});
  CHECK_THROWS_WITH_AS(lower::lower(state, {.machine = machine, .strict = true}),
                       ("kernel 'dense_relu': " + reason).c_str(), UserError);
}
