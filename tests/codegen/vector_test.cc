// Vectors in loop programs, of every type and for every level of x86-64 that this machine runs:
// results against the interpreter, and a page behind each buffer that no lane may touch.
#include <doctest/doctest.h>

#include <string>

#include "tests/codegen/native.h"

using namespace polyte;
using namespace polyte::codegen::testing;

TEST_CASE("contiguous, broadcast, strided and reversed lanes of every type") {
  const std::string text = R"(loops lanes
  in x: T[40]
  out y: T[40]
  out z: T[40]

  for i in 0..2
    y[16*i; 16 by 1] = x[16*i + 8; 16 by 1]
    z[16*i; 16 by 1] = x[i + 3; 16 by 0]
  y[33; 7 by 1] = x[0; 7 by 5]
  y[32] = x[39]
  z[39; 4 by -2] = x[21; 4 by -1]
  z[32; 4 by 2] = x[1; 4 by 3]
)";
  for (const DType type : kTypes) {
    CAPTURE(to_string(type));
    check_everywhere(replaced(text, "T[", std::string(to_string(type)) + "["),
                     {{"x", filled(type, {40}, 11)}});
  }
}

TEST_CASE("masked lanes touch only active elements, for every type") {
  const std::string text = R"(loops masks
  in x: T[37]
  inout y: T[37]
  inout z: T[37]

  for i in 0..5
    y[8*i; 8 by 1 if -8*i + 37] = x[8*i; 8 by 1 if -8*i + 37]
  for j in 0..4
    z[16*j; 16 by 1 if -16*j + 37] = x[16*j + 1; 16 by 1 if -16*j + 36]
  z[36; 4 by -9 if 3] = x[30; 4 by 3 if 2]
  z[0; 4 by 1 if 3] = x[5; 4 by 0 if 2]
  for k in 0..5
    y[36 - 8*k; 8 by -1 if 37 - 8*k] = y[36 - 8*k; 8 by -1 if 37 - 8*k]
    z[36 - 8*k; 8 by -1 if 37 - 8*k] = x[8*k; 8 by 1 if 37 - 8*k]
)";
  for (const DType type : kTypes) {
    CAPTURE(to_string(type));
    const auto sized = replaced(text, "T[", std::string(to_string(type)) + "[");
    check_everywhere(sized, {{"x", filled(type, {37}, 12)},
                             {"y", filled(type, {37}, 13)},
                             {"z", filled(type, {37}, 14)}});
  }
}

TEST_CASE("lanes before the first that runs are skipped, whatever the bounds are") {
  const std::string text = R"(loops skipped
  in x: T[40]
  inout y: T[64]
  inout z: T[64]

  for i in 0..8
    y[8*i; 8 by 1 if i - 1..8] = x[4*i; 8 by 1 if i - 1..8]
    z[8*i; 8 by 1 if 5 - i..i + 2] = x[4*i; 8 by 0 if 5 - i..i + 2]
  y[60; 4 by -9 if 1..3] = x[30; 4 by 3 if 2..2]
  z[56; 4 by 1 if 3..9] = x[5; 4 by 0 if 4..9]
  for j in 0..4
    z[39 - 8*j; 8 by -1 if j - 1..7 - j] = x[8*j; 8 by 1 if j - 1..7 - j]
)";
  for (const DType type : kTypes) {
    CAPTURE(to_string(type));
    const auto sized = replaced(text, "T[", std::string(to_string(type)) + "[");
    check_everywhere(sized, {{"x", filled(type, {40}, 12)},
                             {"y", filled(type, {64}, 13)},
                             {"z", filled(type, {64}, 14)}});
  }
}

TEST_CASE("a guarded vector read and a masked broadcast of nothing") {
  check_everywhere(R"(loops guarded
  in x: f32[16]
  out y: f32[64]

  for i in 0..4
    y[16*i; 16 by 1] = (x[16*i - 32; 16 by 1] where i - 2 >= 0 and 2 - i >= 0 else x16(f32(1.5)))
  for j in 0..4
    y[16*j; 8 by 1 if 9*j] = (x[100*j; 8 by 0 if 1 - j] + index_f32(j; 8 by 3))
)",
                   {{"x", filled(DType::F32, {16}, 15)}});
}

TEST_CASE("vector gather and scatter, plain and masked") {
  check_everywhere(
      R"(loops gathers
  in x: f32[64]
  in p: i32[16]
  in q: i64[16]
  out y: f32[64]
  out z: f32[64]

  for i in 0..64
    y[i] = f32(0)
    z[i] = f32(0)
  y[0; 16 by 1] = x[{p[0; 16 by 1]}; 16 by 2]
  y[16; 16 by 1 if 11] = x[{p[0; 16 by 1 if 11]}; 16 by 2 if 11]
  z[{q[0; 16 by 1]}; 16 by 1] = x[16; 16 by 1]
  z[40 + {q[0; 16 by 1]}; 16 by 1 if 5] = x[16; 16 by 1]
)",
      {{"x", filled(DType::F32, {64}, 16)},
       {"p", of_values(DType::I32, {3, 1, 4, 0, 5, 9, 2, 6, 8, 7, 10, 15, 14, 12, 13, 11})},
       // a permutation minus the lane number
       {"q", of_values(DType::I64, {2, 2, 2, 10, 5, -4, 0, 0, -8, 6, 0, 3, 0, -8, -3, -7})}});
}

TEST_CASE("index values in lanes, of integer and float types") {
  for (const char* type : {"f64", "f32", "f16", "bf16", "i8", "u16", "i32", "u64"}) {
    CAPTURE(type);
    check_everywhere(replaced(R"(loops indices
  out y: T[64]

  for i in 0..8
    y[8*i; 8 by 1] = index_T(37*i - 100; 8 by -3)
)",
                              "T", type),
                     {});
  }
}

TEST_CASE("register cells: vectors, scalars, masks, and an overlap that stays in memory") {
  check_everywhere(R"(loops registers
  in x: f32[40]
  out y: f32[40]

  alloc r: f32[35] in register
    r[0; 16 by 1] = x[0; 16 by 1]
    r[16; 16 by 1] = x[16; 16 by 1]
    r[32] = x[39]
    for i in 0..3
      r[0; 16 by 1] = fma(r[0; 16 by 1], r[16; 16 by 1], r[32; 16 by 0])
      r[16; 16 by 1 if 2*i] = r[0; 16 by 1 if i + 7]
    y[0; 16 by 1] = r[0; 16 by 1]
    y[16; 16 by 1] = r[16; 16 by 1]
  alloc q: f32[8] in register
    q[0; 8 by 1] = x[0; 8 by 1]
    q[3] = f32(7)
    y[32; 8 by 1] = q[0; 8 by 1]
)",
                   {{"x", filled(DType::F32, {40}, 17)}});
  // Parts of what was written whole: halves, elements, one for all lanes.
  const std::string parts = R"(loops parts
  in x: f32[16]
  out y: f32[40]

  alloc r: f32[16] in register
    r[0; 16 by 1] = x[0; 16 by 1]
    y[0; 8 by 1] = (r[0; 8 by 1] + r[8; 8 by 1])
    y[8; 4 by 1 if 3] = r[6; 4 by 1 if 3]
    y[12] = (r[15] + r[3])
    y[16; 16 by 1] = r[5; 16 by 0]
    r[0; 16 by 1] = r[2; 16 by 0]
    y[32; 8 by 1] = r[1; 8 by 1]
)";
  check_everywhere(parts, {{"x", filled(DType::F32, {16}, 25)}});
  codegen::Kernel kernel{ir::parse_loop_program(parts, "test"), {}};
  CHECK(codegen::compile({&kernel, 1}, codegen::detect_host()).kernels.front().notes.empty());
}

TEST_CASE("a register buffer that must live in memory is noted") {
  const auto program = ir::parse_loop_program(R"(loops noted
  out y: f32[8]

  alloc r: f32[8] in register
    for i in 0..8
      r[i] = index_f32(i)
    y[0; 8 by 1] = r[0; 8 by 1]
)",
                                              "test");
  codegen::Kernel kernel{program, {}};
  const auto object = codegen::compile({&kernel, 1}, codegen::detect_host());
  REQUIRE(object.kernels.front().notes.size() == 1);
  CHECK(object.kernels.front().notes.front() ==
        "register buffer 'r' lives on the stack: its subscript i is not constant");
  CHECK(against_interpreter(program, {}) == "");
}

TEST_CASE("division by lanes some of which are zero") {
  for (const char* type : {"i8", "i16", "i32", "i64", "u8", "u32"}) {
    check_everywhere(replaced(R"(loops division
  in x: T[16]
  out y: T[16]
  out z: T[16]

  y[0; 16 by 1] = (x[0; 16 by 1] % index_T(0; 16 by -1))
  z[0; 16 by 1] = (x[0; 16 by 1] / index_T(5; 16 by -1))
)",
                              "T", type),
                     {{"x", filled(*dtype_from_string(type), {16}, 18)}});
  }
}

namespace {

// Lanes some elements apart in x, which ends with the last of them (or begins with it),
// under several masks.
std::string apart(int lanes, int stride, const std::vector<std::string>& masks) {
  const int span = (lanes - 1) * std::abs(stride) + 1;
  const std::string n = std::to_string(lanes), first = std::to_string(stride < 0 ? span - 1 : 0),
                    rows = std::to_string(masks.size());
  std::string text = "loops apart\n  in x: T[" + std::to_string(span) + "]\n  inout y: T[" +
                     std::to_string(5 * lanes * static_cast<int>(masks.size())) +
                     "]\n\n  for i in 0..5\n";
  for (std::size_t m = 0; m < masks.size(); ++m)
    text += "    y[" + n + "*" + rows + "*i + " + std::to_string(static_cast<int>(m) * lanes) +
            "; " + n + " by 1" + masks[m] + "] = x[" + first + "; " + n + " by " +
            std::to_string(stride) + masks[m] + "]\n";
  return replaced(text, n + "*" + rows + "*",
                  std::to_string(lanes * static_cast<int>(masks.size())) + "*");
}

}  // namespace

TEST_CASE("lanes a few elements apart are read within their span, masked or not") {
  for (const int lanes : {4, 8, 16})
    for (const int stride : {2, 3, 4, -1, -2}) {
      const int span = (lanes - 1) * std::abs(stride) + 1;
      const std::string few = std::to_string(lanes - 3), most = std::to_string(lanes - 1);
      const std::vector<std::string> masks = {"",
                                              " if " + few,
                                              " if " + most,
                                              " if 1",
                                              " if 4*i - 1",
                                              " if 1.." + most,
                                              " if i.." + most,
                                              " if i - 1..3*i"};
      const std::string text = apart(lanes, stride, masks);
      CAPTURE(lanes);
      CAPTURE(stride);
      for (const DType type : {DType::F64, DType::F32, DType::I8})
        check_everywhere(replaced(text, "T[", std::string(to_string(type)) + "["),
                         {{"x", filled(type, {span}, 27)}, {"y", filled(type, {40 * lanes}, 28)}});
    }
}

// What lies beyond the last active lane may be no memory.
TEST_CASE("masked lanes a few elements apart end with the buffer, and are no gather") {
  for (const std::string& mask : {std::string("5"), std::string("i + 5")}) {
    const std::string text = R"(loops ends
  in x: f32[9]
  inout y: f32[8]

  for i in 0..1
    y[0; 8 by 1 if MASK] = x[0; 8 by 2 if MASK]
)";
    check_everywhere(replaced(text, "MASK", mask),
                     {{"x", filled(DType::F32, {9}, 29)}, {"y", filled(DType::F32, {8}, 30)}});
  }
  const codegen::Kernel kernel{
      ir::parse_loop_program(replaced(apart(8, 2, {" if 4*i - 1"}), "T[", "f32["), "test"), {}};
  const std::string assembly =
      codegen::emit_asm({&kernel, 1}, codegen::target_for_cpu("x86-64-v3"));
  CHECK(assembly.find("vmaskmovps") != std::string::npos);
  CHECK(assembly.find("gather") == std::string::npos);
}

namespace {

// Two combs of so many teeth, all of the first tooth's stores before those of the second; the
// teeth come in no order.
std::string combs(int lanes, int teeth) {
  const std::string n = std::to_string(lanes), size = std::to_string(2 * lanes * teeth);
  std::string text = "loops combs\n  in x: T[" + std::to_string(2 * lanes * teeth + 8) +
                     "]\n  out y: T[" + size + "]\n  out z: T[" + size + "]\n\n";
  for (int tooth = teeth; tooth-- > 0;)
    for (int comb = 0; comb < 2; ++comb) {
      const std::string from = std::to_string(comb * lanes * teeth + tooth * lanes / 2);
      const std::string to = "[" + std::to_string(comb * lanes * teeth + tooth) + "; " + n +
                             " by " + std::to_string(teeth);
      text += "  y" + to + "] = x[" + from + "; " + n + " by 1]\n";
      text += "  z" + to + "] = max(x[" + from + "; " + n + " by 1], x[" + from + " + 1; " + n +
              " by 1])\n";
    }
  return text;
}

}  // namespace

TEST_CASE("strided stores that fill lines together") {
  for (const DType type : kTypes) {
    CAPTURE(to_string(type));
    for (const int lanes : {2, 4, 8, 16})
      for (const int teeth : {2, 3, 4}) {
        if (type == DType::Bool) continue;  // has no order
        CAPTURE(lanes);
        CAPTURE(teeth);
        const std::string text =
            replaced(combs(lanes, teeth), "T[", std::string(to_string(type)) + "[");
        check_everywhere(text, {{"x", filled(type, {2 * lanes * teeth + 8}, 29)}});
      }
  }
  const std::string text = replaced(combs(8, 2), "T[", "f32[");
  const codegen::Kernel kernel{ir::parse_loop_program(text, "test"), {}};
  CHECK(codegen::emit_asm({&kernel, 1}, codegen::target_for_cpu("x86-64-v3")).find("vunpcklps") !=
        std::string::npos);
}

// Combs that fill lines in part: none, some or all of the lanes, from the first or from a later
// one.
TEST_CASE("strided stores that fill parts of lines together") {
  for (const std::string mask : {" if 3", " if i - 2", " if i - 2..4", " if 2..i - 1"})
    for (const int teeth : {2, 3, 4}) {
      CAPTURE(mask);
      CAPTURE(teeth);
      std::string text = "loops parts\n  in x: f32[64]\n  inout y: f32[400]\n\n  for i in 0..10\n";
      for (int tooth = 0; tooth < teeth; ++tooth)
        text += "    y[40*i + " + std::to_string(tooth) + "; 8 by " + std::to_string(teeth) + mask +
                "] = x[i + " + std::to_string(9 * tooth) + "; 8 by 1" + mask + "]\n";
      check_everywhere(text,
                       {{"x", filled(DType::F32, {64}, 37)}, {"y", filled(DType::F32, {400}, 38)}});
      const codegen::Kernel kernel{ir::parse_loop_program(text, "test"), {}};
      CHECK(codegen::emit_asm({&kernel, 1}, codegen::target_for_cpu("znver4")).find("scatter") ==
            std::string::npos);
    }
}

// One buffer is read between, the teeth of others are short of one, overlap, or have
// several masks.
TEST_CASE("strided stores that are no comb") {
  for (const char* body :
       {"  y[0; 4 by 2] = x[0; 4 by 1]\n"
        "  z[0; 4 by 1] = y[0; 4 by 2]\n  y[1; 4 by 2] = z[0; 4 by 1]\n",
        "  y[0; 4 by 2] = x[0; 4 by 1]\n  y[3; 4 by 2] = x[4; 4 by 1]\n",
        "  y[0; 4 by 4] = x[0; 4 by 1]\n"
        "  y[1; 4 by 4] = x[4; 4 by 1]\n  y[2; 4 by 4] = x[8; 4 by 1]\n",
        R"(  y[0; 4 by 2] = x[0; 4 by 1]
  y[1; 4 by 2] = x[4; 4 by 1]
  y[4; 4 by 2] = x[8; 4 by 1]
  y[5; 4 by 2] = x[1; 4 by 1]
)",
        "  y[0; 4 by 2 if 3] = x[0; 4 by 1 if 3]\n  y[1; 4 by 2] = x[4; 4 by 1]\n",
        "  y[0; 4 by 2] = x[0; 4 by 1]\n"
        "  y[1; 4 by 2] = x[4; 4 by 1]\n  y[0; 4 by 2] = x[8; 4 by 1]\n"}) {
    CAPTURE(body);
    const std::string text =
        std::string("loops p\n  in x: f32[16]\n  inout y: f32[16]\n  inout z: f32[16]\n\n") + body;
    check_everywhere(text, {{"x", filled(DType::F32, {16}, 31)},
                            {"y", filled(DType::F32, {16}, 32)},
                            {"z", filled(DType::F32, {16}, 33)}});
  }
}

// A prefetch reads nothing, wherever it points; a store past the caches stores.
TEST_CASE("hints keep every value") {
  const std::string text = R"(loops hints
  in x: f32[64]
  out y: f32[64]

  parallel i in 0..4
    prefetch x[16*i + 100000] level 3
    prefetch x[16*i - 999] level 1
    nontemporal y[16*i; 16 by 1] = (x[16*i; 16 by 1] + x16(f32(1)))
)";
  check_everywhere(text, {{"x", filled(DType::F32, {64}, 5)}});
  codegen::Kernel kernel{ir::parse_loop_program(text, "test"), {}};
  const codegen::Target target = codegen::target_for_cpu("x86-64-v3");
  // Decided by the address at run time.
  const std::string either = codegen::emit_asm({&kernel, 1}, target);
  CHECK(either.find("vmovntps") != std::string::npos);
  CHECK(either.find("vmovups") != std::string::npos);
  kernel.aligned = {true, true};
  const std::string assembly = codegen::emit_asm({&kernel, 1}, target);
  CHECK(assembly.find("vmovntps") != std::string::npos);
  CHECK(assembly.find("sfence") < assembly.find("vmovntps"));  // before the workers begin
  // Before each is done.
  CHECK(assembly.find("sfence", assembly.find("vmovntps")) != std::string::npos);
  CHECK(assembly.find("prefetcht0") != std::string::npos);
  CHECK(assembly.find("prefetcht2") != std::string::npos);
}

// Rows side by side add to one vector: what is read in between is of other tensors, so the sums
// before the last are never in memory. With a read of the tensor in between, which may be of the
// element, they are.
TEST_CASE("of stores to one vector that nothing reads in between the last is left") {
  const auto text = [](const char* between) {
    return std::string(R"(loops rows
  in A: f64[4, 64]
  inout s: f64[64]
  out t: f64[64]

  for j in 0..8
    s[8*j; 8 by 1] = fma(A[8*j; 8 by 1], x8(f64(2)), s[8*j; 8 by 1])
)") + between +
           R"(    s[8*j; 8 by 1] = fma(A[8*j + 64; 8 by 1], x8(f64(3)), s[8*j; 8 by 1])
    s[8*j; 8 by 1] = fma(A[8*j + 128; 8 by 1], x8(f64(5)), s[8*j; 8 by 1])
)";
  };
  const auto stores = [&](const std::string& loops) {
    const codegen::Kernel kernel{ir::parse_loop_program(loops, "rows"), {}};
    const std::string assembly =
        codegen::emit_asm({&kernel, 1}, codegen::target_for_cpu("x86-64-v4"));
    int count = 0;  // of sums, from their register
    for (std::size_t at = 0; (at = assembly.find("vmovupd\t%zmm", at)) != std::string::npos; ++at)
      ++count;
    return count;
  };
  const std::string plain = text(""), read = text("    t[8*j; 8 by 1] = s[7*j; 8 by 1]\n");
  for (const std::string& loops : {plain, read})
    check_everywhere(loops,
                     {{"A", filled(DType::F64, {4, 64}, 5)}, {"s", filled(DType::F64, {64}, 6)}});
  CHECK(stores(plain) == 1);
  CHECK(stores(read) == 2);  // the first, which is read, and the last
}

// No processor hands a masked store's value to a load. What lies over it in between, other lanes of
// it and what a guard may leave out are loaded.
TEST_CASE("what a masked store has stored is taken from its register") {
  const auto text = [](const std::string& between, const std::string& load) {
    return "loops kept\n  in x: f32[64]\n  inout y: f32[64]\n  out z: f32[112]\n\n"
           "  for n in 5..12\n"
           "    y[8; 16 by 1 if n] = (x[0; 16 by 1] * x[16; 16 by 1])\n" +
           between + "    z[16*n - 80; 16 by 1] = " + load + "\n";
  };
  const std::string same = "y[8; 16 by 1 if n]";
  const ir::Environment inputs{{"x", filled(DType::F32, {64}, 3)},
                               {"y", filled(DType::F32, {64}, 4)}};
  const auto loads = [&](const std::string& program) {
    codegen::Kernel kernel{ir::parse_loop_program(program, "test"), {}};
    const std::string assembly =
        codegen::emit_asm({&kernel, 1}, codegen::target_for_cpu("x86-64-v4"));
    std::size_t count = 0;
    for (std::size_t at = assembly.find("{z}"); at != std::string::npos;
         at = assembly.find("{z}", at + 1))
      count += assembly.rfind('(', at) > assembly.rfind('\n', at);
    return count;
  };
  CHECK(loads(text("", same)) == 0);
  CHECK(loads(text("    y[20; 8 by 1] = x[3; 8 by 1]\n", same)) > 0);
  constexpr const char* kOverAndAgain = R"(    y[7; 8 by 1 if 4] = x[3; 8 by 1 if 4]
    y[8; 16 by 1 if n] = (y[8; 16 by 1 if n] + x[9; 16 by 1])
)";
  for (const char* between :
       {"", "    y[24; 8 by 1 if 3] = x[3; 8 by 1 if 3]\n", "    y[20; 8 by 1] = x[3; 8 by 1]\n",
        "    y[n + 3] = x[7]\n", "    y[0; 16 by 2 if n] = x[1; 16 by 1 if n]\n",
        "    if n >= 7\n      y[9] = x[7]\n", kOverAndAgain})
    for (const char* load :
         {"y[8; 16 by 1 if n]", "y[8; 16 by 1 if n - 1]", "y[8; 16 by 1]", "y[8; 16 by 1 if 2..n]",
          "(y[8; 16 by 1 if n] where n - 7 >= 0 else x16(f32(1)))"})
      check_everywhere(text(between, load), inputs);
}

// Vectors as long as a line: those that overlap are shifted together. Any processor executes them,
// in pieces.
TEST_CASE("vectors that overlap are those that their neighbours say") {
  codegen::Target target = runnable_targets().front();
  target.machine.vector_bits = 512;
  constexpr const char* kWindow = R"(loops window
  in x: T[200]
  out y: T[200]

  for i in 0..4
    y[32*i; W by 1] = ((x[32*i; W by 1] + x[32*i + 1; W by 1]) + x[32*i + 5; W by 1])
    y[32*i + W; W by 1] = ((x[32*i + W; W by 1] + x[32*i + W + 1; W by 1]) + x[32*i + W + 5; W by 1])
    y[32*i + 2*W; W by 1] = (x[32*i + 2*W + 1; W by 1] * x[32*i + 2*W - 1; W by 1])
)";
  // What a store between them changes is loaded behind it, and so is what is loaded behind a
  // branch.
  constexpr const char* kInPlace = R"(loops in_place
  inout x: f64[80]
  in z: f64[80]
  out y: f64[32]

  x[8; 8 by 1] = ((x[8; 8 by 1] + x[9; 8 by 1]) + x[16; 8 by 1])
  x[16; 8 by 1] = ((x[16; 8 by 1] + x[17; 8 by 1]) + x[24; 8 by 1])
  for i in 0..2
    y[16*i; 8 by 1] = (z[16*i; 8 by 1] where i - 1 >= 0 else x8(f64(2)))
    y[16*i + 8; 8 by 1] = ((z[16*i + 8; 8 by 1] + z[16*i + 1; 8 by 1]) + z[16*i + 16; 8 by 1])
)";
  const auto run = [&](const std::string& text, const ir::Environment& inputs) {
    for (const bool aligned : {false, true})
      CHECK(against_interpreter(text, inputs,
                                {.target = target, .codegen = {}, .aligned = aligned}) == "");
  };
  for (const DType type : {DType::F64, DType::F32, DType::I32, DType::I64, DType::U32}) {
    CAPTURE(to_string(type));
    const int lanes = 64 / size_in_bytes(type);
    std::string text = replaced(kWindow, "T[", std::string(to_string(type)) + "[");
    for (const int count : {2, 1})
      text = replaced(text, (count == 2 ? "2*W" : "W"), std::to_string(count * lanes));
    run(text, {{"x", filled(type, {200}, 11)}});
    const codegen::Kernel kernel{ir::parse_loop_program(text, "window"), {}};
    const std::string code = codegen::emit_llvm_ir({&kernel, 1}, target);
    CHECK(code.find("i32 5, i32 6, i32 7, i32 8, i32 9") != std::string::npos);  // x[32*i + 5]
  }
  run(kInPlace, {{"x", filled(DType::F64, {80}, 11)}, {"z", filled(DType::F64, {80}, 12)}});
}
