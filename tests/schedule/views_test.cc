// view: executed and proved where flat subscripts are digits; faults planted in the Program that it
// makes are refused by the proof of the step.
#include <algorithm>

#include "ir/views.h"
#include "schedule/proof/prover.h"
#include "schedule/script/reuse.h"
#include "schedule/templates/templates.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule {

namespace {

const char* const kFlatProduct = R"(
program flat()
  in  A: f32[24]
  in  B: f32[24]
  out C: f32[36]
  t[6*i + j] = A[4*i + j // 2] * 2                                          for i in 0..6, j in 0..6
  C[6*i + j] = sum[k in 0..4] A[4*i + k] * B[6*k + j] + t[6*(5 - i) + j]    for i in 0..6, j in 0..6
)";

using Edit = std::function<void(ir::Program&)>;

// Of the step, where `edit` damages what the views make.
std::string verdict_of_view(const Edit& edit) {
  return verdict_after(state_of(bound_program(kFlatProduct, {}), "view C as [6, 6]"), edit);
}

ir::Statement& update_of(ir::Program& program) {
  return *std::ranges::find_if(
      program.statements, [](const ir::Statement& s) { return s.combiner != ir::Combiner::None; });
}

}  // namespace

TEST_CASE("views are executed and proved, with what follows") {
  static const std::vector<std::string> kScripts = {
      "view A as [6, 4]\nview B as [4, 6]\nview t as [6, 6]\nview C as [6, 6]",
      "view C as [6, 6]\nview C as [1, 6, 6, 1]\nstage C",
      "view C as [6, 6]\nsplit C.update: i by 4\nstage C at C.update:i.o",
      "view t as [6, 6]\ncompute_inline t",
      "view t as [6, 6]\nview C as [6, 6]\nstage t\ntransform_layout t (a, b) [b, a]",
      std::string("split C.update: j by 4\nview B as [4, 6]\n") +
          "nest { i > j > C.init; j.o > i > k > <j.i> > C.update }\nstage B at C.update:j.o"};
  for (const std::string& lines : kScripts) {
    CAPTURE(lines);
    CHECK(problem_of(bound_program(kFlatProduct, {}), lines, ProofLevel::Full, "reassoc k") == "");
  }
}

TEST_CASE("what a view makes has to be the Program") {
  CHECK(verdict_of_view([](ir::Program&) {}) == "legal");
  const auto faults = std::vector<Edit>{
      [](ir::Program& p) {
        std::swap(update_of(p).writes[0].indices[0], update_of(p).writes[0].indices[1]);
      },
      [](ir::Program& p) { update_of(p).writes[0].indices[1].affine = ir::Affine::symbol("k"); },
      [](ir::Program& p) { update_of(p).domain.pop_back(); },
      [](ir::Program& p) {
        std::ranges::find(p.buffers, "A", &ir::Buffer::name)->dtype = DType::F64;
      },
      [](ir::Program& p) { update_of(p).values[0] = ir::make_literal(DType::F32, 1); }};
  for (const Edit& fault : faults) CHECK(has(verdict_of_view(fault), "is not the Program"));
  // The same places in the row-major order of both shapes, but beyond the end of a row.
  const std::string beyond = verdict_of_view([](ir::Program& p) {
    std::vector<ir::Index>& indices = update_of(p).writes[0].indices;
    indices[0].affine = indices[0].affine - 1;
    indices[1].affine = indices[1].affine + 6;
  });
  CHECK_MESSAGE(has(beyond, "leave its buffer"), beyond);
}

TEST_CASE("views are undone where elements lie") {
  const State state =
      state_of(bound_program(kFlatProduct, {}), "view C as [6, 1, 6]\nview t as [6, 6]");
  CHECK(ir::equal(*without_views(state).basis, *state.reference));
  CHECK(ir::constant_shape(state.basis->buffer("C")) == std::vector<std::int64_t>{6, 1, 6});
}

TEST_CASE("long rows are executed and proved, with what follows") {
  const auto rows = bound_program(R"(
program rows()
  in  x: f32[5, 3, 7]
  out y: f32[3, 7]
  out z: f32[5]
  y[j, k] = max[i] x[i, j, k]
  z[i] = sum[j, k] x[i, j, k]
)",
                                  {});
  const std::string seen =
      "view x as [5, 21]\nview y as [21]\nfuse y.init: j, k as jk\nfuse y.update: j, k as jk\n"
      "fuse z.update: j, k as jk";
  for (const std::string more : {"", "split y.update: jk by 4",
                                 ("split y.init: jk by 8\nsplit y.update: jk by 8\nnest jk.o > { "
                                  "<jk.i> > y.init; i > <jk.i> "
                                  "> y.update }\nstage y at y.update:jk.o in register"),
                                 "stage x", "split_reduction z: jk by 8 as z_v interleaved",
                                 "view x as [5, 3, 7]", "stage y layout (a) [a//4, a%4]"}) {
    CAPTURE(more);
    CHECK(problem_of(rows, seen + "\n" + more, ProofLevel::Full, "reassoc j, k, jk") == "");
  }
  CHECK(has(problem_of(rows, seen + "\nview x as [5, 7, 3]"), "in which x is stored"));
  CHECK(has(problem_of(rows, "view x as [7, 15]"), "is no view of [5, 3, 7]"));
  CHECK(has(verdict_after(state_of(rows, "view y as [21]"),
                          [](ir::Program& p) {
                            update_of(p).writes[0].indices[0].affine =
                                update_of(p).writes[0].indices[0].affine - ir::Affine::symbol("k");
                          }),
            "is not the Program"));
}

TEST_CASE("memory is not shared by views of other shapes") {
  const auto program = bound_program(R"(
program two()
  in  x: f32[4, 6]
  out y: f32[4, 6]
  e[6*i + j] = x[i, j]       for i in 0..4, j in 0..6
  y[i, j] = e[6*i + j] * 2
)",
                                     {});
  CHECK(has(problem_of(program, "view e as [4, 6]\nreuse y for e"), "views of other shapes"));
  const auto flat = bound_program(R"(
program flat()
  in  x: f32[24]
  out y: f32[24]
  e[i] = x[i] + 1
  y[i] = e[i] * 2
)",
                                  {});
  for (const char* tensor : {"e", "y"})
    CHECK(has(problem_of(flat, std::string("reuse y for e\nview ") + tensor + " as [4, 6]"),
              "e lies in the memory of y: view comes before reuse"));
}

TEST_CASE("our schedulers tell flat subscripts apart") {
  const auto program = bound_program(R"(
program product()
  in  A: f32[4096]
  in  B: f32[4096]
  out C: f32[4096]
  C[64*m + n] = sum[k in 0..64] A[64*m + k] * B[64*k + n]  for m in 0..64, n in 0..64
)",
                                     {});
  const auto script = make_template(*program, wide_machine());
  REQUIRE(script);
  const std::string text = checked_text(program, *script);
  CHECK_MESSAGE(has(text, "view C as [64, 64]"), text);
  CHECK_MESSAGE(has(text, "stage C at"), text);
}

}  // namespace polyte::schedule
