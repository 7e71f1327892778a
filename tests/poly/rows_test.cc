// Sums of rows and what is made of them: one nest of passes with lanes along the row, whatever
// isl fused.
#include "poly/auto_schedule.h"
#include "schedule/templates/templates.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::poly {

using schedule::has;

namespace {

constexpr const char* kSoftmaxLike = R"(
program chain(M, N)
  in  x: f32[M, N]
  out y: f32[M, N]
  top[i]   = max[j] x[i, j]
  e[i, j]  = top[i] - x[i, j]
  total[i] = sum[j] e[i, j]
  y[i, j]  = e[i, j] + total[i]
)";

struct Scheduled {
  std::shared_ptr<const ir::Program> program;
  Machine machine;
  schedule::Script script;
};

Scheduled scheduled(const char* text, const PolyOptions& options) {
  Machine machine = schedule::test_machine();
  machine.vector_bits = 512;
  machine.l1.bytes = 32 << 10;
  machine.l2.bytes = 1 << 20;
  const auto program = schedule::bound_program(text, {{"M", 21}, {"N", 200}});
  const auto script = auto_schedule(*program, machine, options);
  REQUIRE_MESSAGE(static_cast<bool>(script), (script ? std::string() : script.error().reason));
  return {program, machine, *script};
}

std::string script_of(const PolyOptions& options) {
  const Scheduled made = scheduled(kSoftmaxLike, options);
  return schedule::checked_text(made.program, made.script, made.machine);
}

}  // namespace

TEST_CASE("few steps of each row are transposed in squares, whose sums stay in registers") {
  constexpr const char* kLastAxis = R"(
program last(H, I, J)
  in  s: f32[H, I, J]
  out m: f32[H, I]
  m[h, i] = max[j] s[h, i, j]
)";
  for (const std::int64_t images : {1, 31}) {
    CAPTURE(images);
    const auto program = schedule::bound_program(kLastAxis, {{"H", images}, {"I", 255}, {"J", 16}});
    for (const bool by_poly : {true, false}) {
      const auto script = by_poly
                              ? auto_schedule(*program, schedule::narrow_machine(), {})
                              : schedule::make_template(*program, schedule::narrow_machine(), {});
      REQUIRE(static_cast<bool>(script));
      const std::string text = schedule::checked_text(program, *script, schedule::narrow_machine());
      CAPTURE(text);
      CHECK(has(text, "j.o > [j.i] > "));
      CHECK(has(text, "<i.i> > m.init; "));
      CHECK(has(text, "stage m at m.update:"));
    }
  }
}

TEST_CASE("rows of a chain in passes, sums in several vectors") {
  const std::string script = script_of({});
  CHECK(has(script, "reassoc j"));
  CHECK(has(script, "as total_v interleaved"));
  CHECK(has(script, "{ <j.i> > e; <j.i> > total_v.update }"));
}

TEST_CASE("a pass of functions has its sums in one vector, and several vectors side by side") {
  std::string text = kSoftmaxLike;
  text.replace(text.find("top[i] - x"), 0, "exp(");
  text.replace(text.find("x[i, j]\n  total"), 7, "x[i, j])");
  const std::string script = schedule::print(scheduled(text.c_str(), {}).script);
  CHECK(has(script, "as top_v interleaved"));
  CHECK_FALSE(has(script, "total_v"));
  CHECK(has(script, "split_reduction total: j by L as total_l interleaved"));
  CHECK(has(script, "j.o.o > { [j.o.i] > <j.i> > e; [j.o.i] > <j.i> > total_l.update }"));
}

TEST_CASE("a contract that keeps the order") {
  const std::string script = script_of({.keep_order = true});
  CHECK(has(script, " exact"));
  CHECK_FALSE(has(script, "as total_"));
}

TEST_CASE("isl's order alone has no lanes of rows") {
  CHECK_FALSE(has(script_of({.affine_core_only = true}), "split_reduction"));
}

}  // namespace polyte::poly
