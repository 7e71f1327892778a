// Rewritten Programs all the way down: lowered loops of sums in parts, atomic updates and online
// sums against the reference, before and after the passes. Integers bit for bit; exponentials
// to a few roundings.
#include <doctest/doctest.h>

#include <cmath>

#include "ir/interpret.h"
#include "ir/loop_program_text.h"
#include "ir/program_text.h"
#include "lower/lower.h"
#include "schedule/script/replay.h"
#include "tests/lower/harness.h"

namespace polyte {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const char* const kHistogram = R"(
program histogram(N, B)
  in  bin: i32[N]
  out h: i32[B]
  h[b] = 0
  h[bin[n]] += 1
)";
const char* const kFloatHistogram = R"(
program weights(N, B)
  in  bin: i32[N]
  in  w: f32[N]
  out h: f32[B]
  h[b] = 0
  h[bin[n]] += w[n] * 2
)";
const char* const kSoftmax = R"(
program softmax(M, N)
  in  x: f64[M, N]
  out y: f64[M, N]
  top[i]   = max[j] x[i, j]
  e[i, j]  = exp(x[i, j] - top[i])
  total[i] = sum[j] e[i, j]
  y[i, j]  = e[i, j] / total[i]
)";
const char* const kAttention = R"(
program attention(M, N, D)
  in  q: f64[M, D]
  in  k: f64[N, D]
  in  v: f64[N, D]
  out y: f64[M, D]
  s[i, j]  = sum[d] q[i, d] * k[j, d]
  top[i]   = max[j] s[i, j]
  p[i, j]  = exp(s[i, j] - top[i])
  total[i] = sum[j] p[i, j]
  o[i, c]  = sum[j] p[i, j] * v[j, c]
  y[i, c]  = o[i, c] / total[i]
)";

schedule::State replayed(const char* text, const ir::Values& sizes, const std::string& contract,
                         const std::string& lines) {
  const auto program =
      std::make_shared<const ir::Program>(ir::bind(ir::parse_program(text, "test"), sizes));
  Machine machine;
  machine.vector_bits = 128;
  machine.vector_registers = 32;
  const auto script = schedule::parse_script(
      "schedule s/1 for " + program->name + " f32 " + contract + "\n" + lines, "s");
  auto state = schedule::replay(program, script, machine, {schedule::ProofLevel::Full, {}});
  REQUIRE_MESSAGE(static_cast<bool>(state),
                  (state ? std::string() : schedule::to_string(state.error(), "s", "")));
  return *state;
}

// Every form of the loops against the reference; elements may differ by `tolerance`, relatively.
void check(const char* text, const ir::Values& sizes, const std::string& contract,
           const std::string& lines, double tolerance = 0,
           const std::function<void(ir::Environment&)>& prepare = {}) {
  CAPTURE(lines);
  CAPTURE(sizes.begin()->second);
  const schedule::State state = replayed(text, sizes, contract, lines);
  ir::Environment inputs = test::inputs_of(state.reference->buffers, {}, 7);
  if (inputs.count("bin"))
    for (std::int64_t n = 0; n < sizes.at("N"); ++n)
      ir::set_real(inputs.at("bin"), n, static_cast<double>(n * 7 % sizes.at("B")));
  if (prepare) prepare(inputs);
  ir::Environment expected = inputs;
  ir::interpret(*state.reference, expected, {});
  const auto compare = [&](const ir::LoopProgram& loops, const std::string& when) {
    CAPTURE(when);
    CHECK(ir::print(ir::parse_loop_program(ir::print(loops), "again")) == ir::print(loops));
    ir::Environment got = inputs;
    REQUIRE_NOTHROW(ir::interpret(loops, got, {}));
    for (const ir::Buffer* buffer : state.reference->interface()) {
      if (buffer->role != ir::Role::Out) continue;
      const ir::Contents &a = got.at(buffer->name), &b = expected.at(buffer->name);
      const auto count = static_cast<std::int64_t>(b.bytes.size()) / size_in_bytes(b.dtype);
      for (std::int64_t i = 0; i < count; ++i) {
        const double x = ir::get_real(a, i), y = ir::get_real(b, i);
        if (std::isnan(x) && std::isnan(y)) continue;
        CHECK(std::abs(x - y) <= tolerance * std::abs(y));
      }
    }
  };
  Machine machine;
  machine.vector_bits = 128;
  compare(lower::lower_to_nest(state), "nest");
  compare(lower::lower(state, {.machine = machine}), "flat");
}

}  // namespace

TEST_CASE("a histogram by atomic updates runs in parallel, integers under exact") {
  for (const std::int64_t n : {13, 8, 1}) {
    check(kHistogram, {{"N", n}, {"B", 4}}, "exact", "atomic h.update\nparallel h.update:n");
    check(kHistogram, {{"N", n}, {"B", 4}}, "exact",
          "split n by 4\natomic h.update\nnest b > h\nnest par n.o > n.i > h.update");
    check(kFloatHistogram, {{"N", n}, {"B", 4}}, "reassoc n",
          "atomic h.update\nparallel h.update:n");
  }
}

TEST_CASE("an atomic store is a statement of the loop text and races with what is not atomic") {
  const char* const text = R"(loops sums
  in x: i32[8]
  inout h: i32[2]

  parallel i in 0..8
    atomic h[0] = (h[0] + x[i])
)";
  const ir::LoopProgram loops = ir::parse_loop_program(text, "test");
  CHECK(ir::print(loops) == text);
  CHECK(ir::verify(loops, ir::Form::Flat).empty());
  ir::Environment buffers = test::inputs_of(loops.buffers, {}, 3);
  CHECK_NOTHROW(ir::interpret(loops, buffers, {}));
  const std::string plain = std::string(text).replace(std::string(text).find("atomic "), 7, "");
  CHECK_THROWS_WITH_AS(ir::interpret(ir::parse_loop_program(plain, "test"), buffers, {}),
                       doctest::Contains("race on h[0]"), UserError);
  const std::string read = std::string(text) + "    h[1] = h[0]\n";
  CHECK_THROWS_WITH_AS(ir::interpret(ir::parse_loop_program(read, "test"), buffers, {}),
                       doctest::Contains("race on"), UserError);
  CHECK(ir::verify(
            ir::parse_loop_program(
                std::string(text).replace(std::string(text).find("(h[0]"), 5, "(h[1]"), "test"),
            ir::Form::Flat)
            .size() == 1);
}

TEST_CASE("softmax with its sum running along with the maximum") {
  const std::string lines =
      "compute_inline e\nsplit top: j by 4\nsplit total: j by 4\n"
      "rewrite online total from top over j.o\nnest par i > { top.init; total.init; "
      "j.o > { top.old; j.i > top.update; total.scale; j.i > total.update }; <j> > y }\n";
  for (const std::int64_t n : {10, 8, 1}) {
    check(kSoftmax, {{"M", 3}, {"N", n}}, "reassoc j", lines, 1e-14);
    check(kSoftmax, {{"M", 3}, {"N", n}}, "reassoc j",
          "compute_inline e\nrewrite online total from top over j\nstage top\nstage total", 1e-14);
  }
}

TEST_CASE("softmax by one reciprocal a row, each quotient rounded twice") {
  const std::string lines =
      "compute_inline e\nreciprocal y\n"
      "nest par i > { top.init; j > top.update; total.init; j > total.update; <j> > y }\n";
  for (const std::int64_t n : {10, 8, 1}) {
    check(kSoftmax, {{"M", 3}, {"N", n}}, "exact", lines, 0x1.1p-52);
    check(kSoftmax, {{"M", 3}, {"N", n}}, "exact", "reciprocal y\ncompute_inline e", 0x1.1p-52);
  }
}

TEST_CASE("maximum and sum of a block in lanes, each block by itself") {
  const std::string lines =
      "compute_inline e\nsplit top: j by 8\nsplit total: j by 8\n"
      "rewrite online total from top over j.o\nsplit_reduction top: j.i by 4 as tops interleaved\n"
      "split_reduction total: j.i by 4 as totals tree\nstage tops at tops.update:i in register\n";
  for (const std::int64_t n : {19, 16, 1})
    check(kSoftmax, {{"M", 3}, {"N", n}}, "reassoc j", lines, 1e-14);
}

TEST_CASE("masked terms, -inf, neither poison an online sum nor count") {
  const auto mask = [](ir::Environment& inputs) {
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t j = 0; j < 10; ++j)
        if (j < 3 * i || j == 5) ir::set_real(inputs.at("x"), i * 10 + j, -kInfinity);
  };
  check(kSoftmax, {{"M", 3}, {"N", 10}}, "reassoc j",
        "compute_inline e\n"
        "split top: j by 2\nsplit total: j by 2\nrewrite online total from top over j.o",
        1e-14, mask);
}

TEST_CASE("attention in one pass over the keys, its weights in a tensor of their own") {
  for (const std::int64_t n : {7, 6})
    check(kAttention, {{"M", 3}, {"N", n}, {"D", 4}}, "reassoc j",
          "split i by 2, j by 3\nrewrite online total, o from top over j.o\n"
          "nest par i.o > { i.i > top.init; i.i > total.init; "
          "i.i > <c> > o.init; j.o > { i.i > j.i > { s.init; d > s.update }; i.i > top.old; "
          "i.i > j.i > top.update; i.i > j.i > p; i.i > total.scale; i.i > <c> > o.scale; "
          "i.i > j.i > total.update; i.i > j.i > <c> > o.update }; i.i > <c> > y }\n"
          "stage s at j.o\nstage p at j.o\nstage o at i.o",
          1e-13);
}

TEST_CASE("attention in one pass over the keys") {
  for (const std::int64_t n : {7, 6}) {
    check(kAttention, {{"M", 3}, {"N", n}, {"D", 4}}, "reassoc j",
          "compute_inline p\nsplit i by 2, j by 3\nrewrite online total, o from top over j.o\n"
          "nest par i.o > { i.i > top.init; i.i > total.init; i.i > <c> > o.init; "
          "j.o > { i.i > j.i > { s.init; d > s.update }; i.i > top.old; i.i > j.i > top.update; "
          "i.i > total.scale; i.i > <c> > o.scale; i.i > j.i > total.update; "
          "i.i > j.i > <c> > o.update }; i.i > <c> > y }\nstage s at j.o\nstage o at i.o",
          1e-13);
  }
}

}  // namespace polyte
