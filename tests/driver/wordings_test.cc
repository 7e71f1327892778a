// The same computation in other words, or with a loop that a scheduler might walk the wrong way:
// both schedulers write the fast form, of which nothing falls back to memory or to single elements.
#include <doctest/doctest.h>

#include "driver/compile/build_kernel.h"
#include "driver/compile/describe_target.h"
#include "ir/program_text.h"
#include "schedule/script/script.h"

namespace {

using namespace polyte;

constexpr driver::Scheduler kSchedulers[] = {driver::Scheduler::Poly, driver::Scheduler::Template};

struct Written {
  std::string script, notes;
  bool has(const char* words) const { return script.find(words) != std::string::npos; }
};

Written written_for(const char* text, driver::Scheduler scheduler, const Machine& machine) {
  driver::KernelOptions options;
  options.scheduler = scheduler;
  const driver::BuiltKernel kernel = driver::build_kernel(
      std::make_shared<const ir::Program>(ir::parse_program(text, "test")), machine, options);
  Written result{schedule::print(kernel.script), {}};
  for (const std::string& note : kernel.notes) result.notes += note + "\n";
  return result;
}

Written written(const char* text, driver::Scheduler scheduler, const char* cpu = "x86-64-v3") {
  return written_for(text, scheduler, codegen::target_for_cpu(cpu).machine);
}

// Both schedulers keep the sums of these in registers.
void check_registers(std::initializer_list<std::string> texts) {
  for (const driver::Scheduler scheduler : kSchedulers)
    for (const std::string& text : texts) {
      const Written sums = written(text.c_str(), scheduler);
      CAPTURE(sums.script);
      CHECK(sums.has("in register"));
      CHECK(sums.notes.find("not kept in registers") == std::string::npos);
      CHECK(sums.notes.find("declined") == std::string::npos);
    }
}

constexpr const char* kProduct =
    "program gemm()\n  in  A: f32[96, 96]\n  in  B: f32[96, 96]\n  out C: f32[96, 96]\n";

}  // namespace

TEST_CASE("wordings: a factor of an operand is multiplied once per element, not in each tile") {
  const std::string text = kProduct + std::string("  C[m, n] = sum[k] 2 * A[m, k] * B[k, n]\n");
  check_registers({text});
  for (const driver::Scheduler scheduler : kSchedulers) {
    const Written product = written(text.c_str(), scheduler);
    CAPTURE(product.script);
    CHECK(product.has("precompute C.update: A_value[m, k] = 2 * A[m, k]"));
  }
}

TEST_CASE("wordings: few columns pay for it, too, but additions that units of their own hide") {
  const auto product = [](const char* columns, const char* value) {
    const std::string n = columns;
    return "program gemm()\n  in  A: f32[168, 336]\n  in  B: f32[336, " + n +
           "]\n  out C: f32[168, " + n + "]\n  C[m, n] = sum[k] " + value + " * B[k, n]\n";
  };
  for (const driver::Scheduler scheduler : kSchedulers) {
    const auto computes_before = [&](const std::string& text) {
      return written(text.c_str(), scheduler, "znver4").has("precompute C.update");
    };
    CHECK(computes_before(product("16", "3 * A[m, k]")));
    CHECK(computes_before(product("61", "3 * A[m, k]")));
    CHECK_FALSE(computes_before(product("16", "(A[m, k] + 1)")));
    CHECK_FALSE(computes_before(product("8", "3 * A[m, k]")));  // a nest of its own costs as much
  }
}

// Behind C lie no neighbours but its own; those of the pool's lines are apart in the tensor, and
// side by side in the copy alone.
TEST_CASE(
    "wordings: sums stay in registers behind a dimension of one element, and of lines shorter than "
    "a vector") {
  check_registers({R"(
program gemm()
  in  A: f32[96, 96, 1]
  in  B: f32[96, 96, 1]
  out C: f32[96, 96, 1]
  C[m, n, u] = sum[k] A[m, k, u] * B[k, n, u]
)",
                   R"(
program pool()
  in  x: f32[16, 8, 8]
  out y: f32[16, 4, 4]
  y[c, h, q] = max[r in 0..2, s in 0..2] x[c, 2*h + r, 2*q + s]
)"});
}

TEST_CASE(
    "wordings: sums stay in registers in flat subscripts, and in those of blocks of channels") {
  check_registers({R"(
program flat()
  in  A: f32[9216]
  in  B: f32[9216]
  out C: f32[9216]
  C[96*m + n] = sum[k in 0..96] A[96*m + k] * B[96*k + n]  for m in 0..96, n in 0..96
)",
                   R"(
program blocks()
  in  x: f32[4, 28, 28, 16]
  in  w: f32[64, 64]
  out y: f32[4, 28, 28, 16]
  y[f, h, q, g] = sum[c in 0..4, d in 0..16] x[c, h, q, d] * w[16*f + g, 16*c + d]
      for f in 0..4, h in 0..28, q in 0..28, g in 0..16
)"});
}

TEST_CASE("wordings: what a chain of definitions alone reads stays in registers") {
  const char* text = R"(
program chain()
  in  x: f32[512, 512]
  out y: f32[512, 512]
  a[i, j] = x[i, j] * 2
  b[i, j] = max(a[i, j] + 1, 0)
  y[i, j] = b[i, j] * b[i, j] - a[i, j]
)";
  for (const driver::Scheduler scheduler : kSchedulers) {
    const Written chain = written(text, scheduler);
    CAPTURE(chain.script);
    CHECK(chain.has("{ <j.i> > a; <j.i> > b; <j.i> > y }"));
    CHECK(chain.has("stage a at a:j.o in register"));
    CHECK(chain.has("stage b at "));
    const Written on_gpu = written_for(text, scheduler, driver::target_named("cuda:h100").machine);
    CAPTURE(on_gpu.script);
    CHECK(on_gpu.has("stage a at a:j"));
    CHECK(on_gpu.has("stage b at "));
    CHECK(on_gpu.script.find("to block") == on_gpu.script.rfind("to block"));  // one launch
  }
}

TEST_CASE("wordings: a definition whose rows share a read runs along the rows") {
  const char* text = R"(
program add()
  in  x: f32[1000, 1000]
  in  b: f32[1000]
  out y: f32[1000, 1000]
  y[i, j] = x[i, j] + b[j]
)";
  for (const driver::Scheduler scheduler : kSchedulers)
    for (const char* cpu : {"x86-64-v3", "x86-64-v4"}) {
      const Written rows = written(text, scheduler, cpu);
      CAPTURE(rows.script);
      CHECK((rows.has("nest i.o > j.o >") || rows.has("nest i > j.o >")));
    }
}

TEST_CASE("wordings: what one pass adds up for each channel stays in registers") {
  for (const driver::Scheduler scheduler : kSchedulers) {
    const Written sums = written(R"(
program moments()
  in  x: f32[16, 64, 784]
  out m: f32[64]
  out v: f32[64]
  m[c] = sum[n in 0..16, k in 0..784] x[n, c, k]
  v[c] = sum[n in 0..16, k in 0..784] x[n, c, k] * x[n, c, k]
)",
                                 scheduler);
    CAPTURE(sums.script);
    CAPTURE(sums.notes);
    CHECK(sums.has("m_v at "));
    CHECK(sums.has("v_v at "));
    CHECK(sums.notes.empty());
    CHECK(sums.script.find("n > c") == std::string::npos);
  }
}

TEST_CASE("wordings: windows that move by two are read in vectors, whatever their length") {
  for (const driver::Scheduler scheduler : kSchedulers)
    for (const char* cpu : {"x86-64-v3", "x86-64-v4"}) {
      const Written pool = written(R"(
program pool()
  in  x: f32[8, 113, 113]
  out y: f32[8, 56, 56]
  y[c, h, q] = max[r in 0..3, s in 0..3] x[c, 2*h + r, 2*q + s]
)",
                                   scheduler, cpu);
      CAPTURE(pool.script);
      CHECK(pool.has("<q.i> > y.update"));
    }
}

// Tiles that counted from 0 would begin with one of no whole width, and every tile would ask
// where it begins.
TEST_CASE("wordings: rows are summed up side by side, whether or not something is there before") {
  const std::string head = "program rows()\n  in    A: f64[2000, 2000]\n  in    x: f64[2000]\n";
  for (const std::string& text : {head + "  inout y: f64[2000]\n  y[i] += A[i, j] * x[j]\n",
                                  head + "  out   y: f64[2000]\n  y[i] = sum[j] A[i, j] * x[j]\n"})
    for (const driver::Scheduler scheduler : kSchedulers) {
      const Written sums = written(text.c_str(), scheduler);
      CAPTURE(sums.script);
      CHECK(sums.has("j.o > [i.i] > <j.i> > y_v.update"));
    }
}

TEST_CASE("wordings: tiles count from where the loop begins") {
  const char* gemm = R"(
program gemm()
  in  A: f32[97, 97]
  in  B: f32[97, 97]
  out C: f32[97, 97]
  C[m, n] = sum[k in 1..97] A[m, k] * B[k, n]    for m in 1..97, n in 1..97
)";
  for (const driver::Scheduler scheduler : kSchedulers) {
    const Written sums = written(gemm, scheduler);
    CAPTURE(sums.script);
    CHECK(sums.has("from 1"));
    CHECK(sums.has("in register"));
    CHECK(sums.notes.empty());
  }
}

// Loops of regions that order nothing are planned as iterators; what several statements had in
// one is told apart.
TEST_CASE("wordings: a product in ordered loops has its tile of registers") {
  const std::string rows = "  loop m in 0..96\n    C[m, n] = sum[k] A[m, k] * B[k, n]\n";
  const std::string terms = "  C[m, n] = 0\n  loop k in 0..96\n    C[m, n] += A[m, k] * B[k, n]\n";
  const std::string all =
      "  loop m in 0..96\n    loop n in 0..96\n      C[m, n] = 0\n      loop k in 0..96\n"
      "        C[m, n] += A[m, k] * B[k, n]\n";
  check_registers({kProduct + rows, kProduct + terms, kProduct + all});
  for (const driver::Scheduler scheduler : kSchedulers)
    for (const std::string& loops : {rows, terms, all})
      CHECK(written((kProduct + loops).c_str(), scheduler).notes.empty());
}

// Sums begin under two conditions; what the full tiles left before must not stay alive beside
// those of the tail.
TEST_CASE("wordings: a tile's tail keeps its sums in registers") {
  const schedule::Script script = schedule::parse_script(R"(schedule hand/1 for gemm  f32  exact
split C.init: m by 6   tail cut
split C.update: m by 6   tail cut
split C.init: n by 16   tail cut
split C.update: n by 16   tail cut
split C.update: k by 32   tail cut
nest n.o > k.o > m.o > { [m.i] > <n.i> > C.init when first k.o; k.i > [m.i] > <n.i> > C.update }
stage C at C.update:m.o in register
)",
                                                         "test");
  driver::KernelOptions options;
  options.scheduler = driver::Scheduler::Script;
  options.script = &script;
  const std::string text =
      "program gemm()\n  in  A: f32[16, 96]\n  in  B: f32[96, 96]\n  out C: f32[16, 96]\n"
      "  C[m, n] = sum[k] A[m, k] * B[k, n]\n";
  const codegen::Target target = codegen::target_for_cpu("x86-64-v3");
  const driver::BuiltKernel kernel =
      driver::build_kernel(std::make_shared<const ir::Program>(ir::parse_program(text, "test")),
                           target.machine, options);
  CHECK(codegen::emit_asm({&kernel.kernel, 1}, target).find("32-byte Spill") == std::string::npos);
}

// Else vectors that go past the caches and others that do not would meet in the lines where
// rows end.
TEST_CASE("wordings: large results are streamed in rows of whole vectors") {
  const auto twice = [](const char* columns) {
    const std::string size = std::string("f32[8000, ") + columns + "]\n";
    return "program twice()\n  in  x: " + size + "  out y: " + size + "  y[i, j] = x[i, j] * 2\n";
  };
  for (const driver::Scheduler scheduler : kSchedulers) {
    CHECK(written(twice("3000").c_str(), scheduler).has("stream y"));
    CHECK_FALSE(written(twice("3004").c_str(), scheduler).has("stream y"));
    const char* single =
        "program twice()\n  in  x: f32[24000001]\n  out y: f32[24000001]\n  y[i] = x[i] * 2\n";
    CHECK(written(single, scheduler).has("stream y"));  // one end alone
  }
}

// The vectors of all phases are shuffled into lines where they are stored.
TEST_CASE("wordings: results that definitions fill in turn are one nest in vectors") {
  constexpr const char* kMosaic = R"(
program mosaic()
  in  a: f32[64, 65]
  in  b: f32[64, 64]
  out y: f32[128, 128]
  Y0: y[2*i, 2*j] = a[i, j]  for i in 0..64, j in 0..64
  Y1: y[2*i, 2*j + 1] = (a[i, j] + a[i, j + 1]) * 0.5  for i in 0..64, j in 0..64
  Y2: y[2*i + 1, 2*j] = b[i, j]
  Y3: y[2*i + 1, 2*j + 1] = a[i, j] + b[i, j]  for i in 0..64, j in 0..64
)";
  // Where one reads what another is to write they are not together.
  constexpr const char* kChain = R"(
program chain()
  in    a: f32[512]
  inout y: f32[1025]
  Y0: y[2*i] = a[i] + y[2*i + 1]
  Y1: y[2*i + 1] = a[i] * y[2*i + 2]
)";
  for (const driver::Scheduler scheduler : kSchedulers) {
    const Written mosaic = written(kMosaic, scheduler), chain = written(kChain, scheduler);
    CAPTURE(mosaic.script);
    CHECK(mosaic.has("{ <j.i> > Y0; <j.i> > Y1; <j.i> > Y2; <j.i> > Y3 }"));
    CHECK(mosaic.notes.find("scalar") == std::string::npos);
    CAPTURE(chain.script);
    CHECK_FALSE(chain.has("Y0; <"));
  }
}

TEST_CASE("wordings: what divides its loop by eight is vectors of eight") {
  constexpr const char* kGrid = R"(
program grid()
  in  g: f32[40, 65]
  out y: f32[40, 512]
  y[p, q] = (1 - f32(q % 8) * 0.125) * g[p, q//8] + f32(q % 8) * 0.125 * g[p, q//8 + 1]  for p in 0..40, q in 0..512
)";
  for (const driver::Scheduler scheduler : kSchedulers) {
    const Written grid = written(kGrid, scheduler);
    CAPTURE(grid.script);
    CHECK(grid.has("<q.i> > y"));
    CHECK(grid.notes.find("scalar") == std::string::npos);
    CHECK(grid.notes.find("not vectorised") == std::string::npos);
  }
}

TEST_CASE("wordings: look-ups in a table are vectors, and in their nest what they go through") {
  constexpr const char* kCurve = R"(
program curve()
  in  x: f32[40, 512]
  in  t: f32[256]
  out y: f32[40, 512]
  at[i, j] = i32(min(max(x[i, j], 0), 255))
  y[i, j] = t[at[i, j]] * 2
)";
  for (const driver::Scheduler scheduler : kSchedulers) {
    const Written curve = written(kCurve, scheduler);
    CAPTURE(curve.script);
    CAPTURE(curve.notes);
    CHECK(curve.has("<j.i> > y"));
    CHECK(curve.notes.find("scalar") == std::string::npos);
    CHECK(curve.notes.find("not vectorised") == std::string::npos);
  }
}

TEST_CASE("wordings: what wraps around once is moved in vectors") {
  for (const driver::Scheduler scheduler : kSchedulers)
    for (const char* shift : {"37", "500", "963"}) {
      const std::string text =
          std::string("program roll()\n  in  x: f32[40, 1000]\n  out y: f32[40, 1000]\n") +
          "  y[i, j] = x[i, (j + " + shift + ") % 1000]\n";
      const Written rolled = written(text.c_str(), scheduler);
      CAPTURE(rolled.script);
      CHECK(rolled.has("<j.i> > y"));
      CHECK(rolled.notes.empty());
    }
}

TEST_CASE(
    "wordings: squares follow each other along the loop along which most of the tensors lie") {
  for (const driver::Scheduler scheduler : kSchedulers) {
    const Written sum = written(
        "program sum()\n  in  x: f32[1000, 1000]\n"
        "  in  z: f32[1000, 1000]\n  out y: f32[1000, 1000]\n  y[i, j] = x[j, i] + z[i, j]\n",
        scheduler);
    CAPTURE(sum.script);
    CHECK(sum.has("nest i.o > j.o > [i.i] > <j.i> > y"));
    CHECK_FALSE(sum.has("stream"));
    const Written turned = written(
        "program turned()\n"
        "  in  x: f32[4000, 4000]\n  out y: f32[4000, 4000]\n  y[i, j] = x[j, i]\n",
        scheduler, "znver4");
    CAPTURE(turned.script);
    CHECK(turned.has("nest j.o > i.o > [i.i] > <j.i> > y"));
    CHECK(turned.has("stream y"));  // vectors of 64 bytes are whole lines
  }
}

TEST_CASE("wordings: few rows read an operand that strides along their lanes in squares") {
  const auto product = [](const char* type, int rows, int steps) {
    const std::string k = std::to_string(steps), m = std::to_string(rows), t = type;
    return "program p()\n  in  A: " + t + "[" + m + ", " + k + "]\n  in  B: " + t + "[300, " + k +
           "]\n  out C: " + t + "[" + m + ", 300]\n  C[m, n] = sum[k] A[m, k] * B[n, k]\n";
  };
  for (const driver::Scheduler scheduler : kSchedulers) {
    const auto has_squares = [&](const std::string& text, const char* cpu) {
      const Written made = written(text.c_str(), scheduler, cpu);
      CAPTURE(made.script);
      return made.has("k.o > [k.i] > [m.i] > <n.i> > C.update");
    };
    CHECK(has_squares(product("f32", 7, 168), "znver4"));
    CHECK(has_squares(product("f32", 5, 168), "x86-64-v3"));
    CHECK(has_squares(product("f64", 5, 1023), "znver4"));
    CHECK_FALSE(has_squares(product("f32", 300, 168), "znver4"));  // many: panels pay
    CHECK_FALSE(has_squares(product("f32", 7, 3), "znver4"));      // no side
  }
}

TEST_CASE(
    "wordings: what divides the loop of its lanes by a few is made in phases, each in vectors") {
  for (const driver::Scheduler scheduler : kSchedulers)
    for (const char* text :
         {"program up()\n  in  x: f32[8, 50]\n  out y: f32[16, 100]\n  y[i, j] = x[i//2, j//2]\n",
          "program deep()\n  in  x: f32[4, 8, 50]\n  out y: f32[16, 100]\n"
          "  y[i, j] = x[2*(i % 2) + j % 2, i//2, j//2]\n",
          "program four()\n  in  x: f32[8, 50]\n  out y: f32[8, 200]\n  y[i, j] = x[i, j//4]\n"}) {
      const Written phases = written(text, scheduler);
      CAPTURE(phases.script);
      CHECK(phases.has("[j.i] > <j.o.i> > y"));
      CHECK(phases.notes.empty());
    }
}
