// rfactor: the Program and the nests that it leaves, its words, its refusals, and that every sum in
// parts executes to the reference's bits. Faults planted into the rewritten Program are refused by
// the proof of the step.
#include "schedule/proof/prover.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::rfactor_test {

namespace {

const char* const kHistogram = R"(
program histogram(N, B)
  in  bin: i32[N]
  out h: i32[B]
  h[b] = 0
  h[bin[n]] += 1
)";
const char* const kTriangle = R"(
program triangle(N)
  in    a: f32[N, N]
  inout s: f32[N]
  S: s[i] += a[i, k]    for i in 0..N, k in 0..i
)";

const char* const kCholesky = R"(
program cholesky(N)
  in    x: f32[N, N]
  inout A: f32[N, N]
  loop i in 0..N
    loop j in 0..i
      S0: A[i, j] += x[i, k] * x[j, k]    for k in 0..j
    S2: A[i, i] += x[i, k] * x[i, k]      for k in 0..i
)";
const char* const kTwoSums = R"(
program two_sums(M, N)
  in    x: f32[M, N]
  in    y: f32[M, N]
  inout s: f32[M]
  X: s[i] += x[i, j]    for i in 0..M, j in 0..N
  Y: s[i] += y[i, j]    for i in 0..M, j in 0..N
)";

const std::vector<ir::Values> kSizes = {
    {{"M", 3}, {"N", 10}}, {{"M", 4}, {"N", 8}}, {{"M", 2}, {"N", 1}}};

std::string refused(const char* text, const std::string& lines,
                    const std::string& contract = "reassoc j") {
  const auto program = bound_program(text, {{"M", 3}, {"N", 10}});
  const auto state =
      replay(program, script_of(*program, lines, contract), test_machine(), {ProofLevel::Full, {}});
  return state ? "accepted" : state.error().headline;
}

}  // namespace

TEST_CASE(
    "rfactor leaves an initial value, the parts and their sum, with the splits of the free loops") {
  const auto program = bound_program(kRowSums, {{"M", 3}, {"N", 10}});
  const State state = state_of(program, "split s: i by 2, j by 4\nrewrite rfactor t over j as tp");
  CHECK(print_nest(state.tree) ==
        "{ i > t.init; i > { j > tp.init; j > tp.update; j > t.update }; i.o > i.i > s.init; i.o > "
        "i.i > j.o > j.i > "
        "s.update }");
  const auto parts =
      replay(program,
             script_of(*program, "split s: i by 2, j by 4\nrfactor s over j.i as sp", "reassoc j"),
             test_machine(), {ProofLevel::Full, {}});
  REQUIRE(static_cast<bool>(parts));
  CHECK(print_nest(parts->tree) ==
        "{ i > t.init; i > j > t.update; i.o > i.i > s.init; i.o > i.i > { j.i > sp.init; j.o > "
        "j.i > sp.update; j.i > "
        "s.update } }");
  CHECK(ir::print(*parts->basis).find("sp[j.i, i]") != std::string::npos);
  CHECK(parts->basis->buffer("sp").shape == std::vector<ir::Affine>{4, 3});
}

TEST_CASE("rfactor prints as it is parsed, by both of its words") {
  const auto program = bound_program(kRowSums, {{"M", 3}, {"N", 10}});
  const Script script =
      script_of(*program, "rewrite rfactor s over s.update:j as sp\nrfactor t over j as tp");
  CHECK(print(script.directives[0]) == "rewrite rfactor s over s.update:j as sp");
  CHECK(print(script.directives[1]) == "rewrite rfactor t over j as tp");
  CHECK(print(parse_script(print(script), "again")) == print(script));
}

TEST_CASE("sums in parts have the reference's value on integers") {
  check_proved(kRowSums, kSizes, "split j by 4\nrewrite rfactor s over j.i as sp", "reassoc j");
  check_proved(kRowSums, kSizes,
               "split j by 4\nrewrite rfactor s over j.o as sp\nparallel sp.update:j.o",
               "reassoc j");
  check_proved(kRowSums, kSizes,
               "split j by 4\nrewrite rfactor t over j.i as tp\n"
               "nest i > { <j.i> > tp.init; j.o > <j.i> > tp.update; t.init; j.i > t.update }\n"
               "stage tp at i in register",
               "exact");
  check_proved(kRowSums, kSizes,
               "split j by 4, i by 2\nrewrite rfactor s over j.i as sp\nsplit sp.update: j.o by 2\n"
               "nest par i.o > i.i > { <j.i> > sp.init; j.o.o > [j.o.i] > <j.i> > sp.update; "
               "s.init; j.i > s.update }\nstage sp at i.i in register",
               "reassoc j");
  check_proved(kRowSums, kSizes, "rewrite rfactor s over j as sp\nrewrite rfactor t over j as tp",
               "reassoc j");
  check_proved(kDenseRelu, {{{"M", 3}, {"N", 4}, {"K", 7}}, {{"M", 2}, {"N", 2}, {"K", 8}}},
               "split k by 3\nrewrite rfactor acc over k.o as part\n"
               "nest par k.o > m > <n> > { part.init; k.i > part.update }",
               "reassoc k");
}

TEST_CASE("parts of a sum split again make a tree") {
  check_proved(kRowSums, kSizes,
               "split s: j by 8\nrewrite rfactor s over j.i as p8\n"
               "split s.update: j.i by 4\nrewrite rfactor s over j.i.i as p4\n"
               "split s.update: j.i.i by 2\nrewrite rfactor s over j.i.i.i as p2",
               "reassoc j");
}

TEST_CASE("a histogram in parts needs no atomic and changes no bit") {
  check_proved(
      kHistogram, {{{"N", 13}, {"B", 4}}, {{"N", 8}, {"B", 1}}},
      "split n by 4\nrewrite rfactor h over n.o as part\n"
      "nest par n.o > { b > part.init; n.i > part.update }\nnest b > { h; n.o > h.update }",
      "exact");
}

TEST_CASE("a triangular sum in parts merges the cells that it has") {
  check_proved(kTriangle, {{{"N", 7}}, {{"N", 1}}}, "split k by 3\nrewrite rfactor s over k.i as p",
               "reassoc k");
}

TEST_CASE("rfactor is refused where it means nothing, in these words") {
  CHECK(refused(kRowSums, "split j by 4\nrewrite rfactor s over j.i as sp", "exact") ==
        "the parts of s add up in another order, and the contract is exact: say `reassoc j`");
  CHECK(refused(kRowSums, "split j by 4\nrewrite rfactor s over j.i as sp", "reassoc k") ==
        "the parts of s add up in another order, and the contract is reassoc of other loops: say "
        "`reassoc j`");
  CHECK(refused(kRowSums, "rewrite rfactor s over i as sp") ==
        "i is a free loop of s: parts are made over a reduction loop (j)");
  CHECK(refused(kRowSums, "split j by 4\nrewrite rfactor s over j as sp") ==
        "s.update has no loop j: it was split into j.o and j.i (its loops are i, j.o, j.i)");
  CHECK(refused(kRowSums, "rewrite rfactor x over j as sp") ==
        "x is no reduction: no statement updates it");
  CHECK(refused(kRowSums, "rewrite rfactor nowhere over j as sp") ==
        "no tensor or statement is called nowhere");
  CHECK(refused(kRowSums, "rewrite rfactor s.init over j as sp") ==
        "s.init updates nothing: rfactor is for a reduction");
  CHECK(refused(kRowSums, "rewrite rfactor s over j as x") ==
        "the name x is taken: a tensor is called so");
  CHECK(refused(kRowSums, "rewrite rfactor s over j as j") ==
        "the name j is taken: an iterator is called so");
  CHECK(refused(kRowSums, "rewrite rfactor s over t.update:j as sp") ==
        "the loop is one of s.update, not of t.update");
  CHECK(refused(kRowSums, "fuse s.update: i, j as ij\nrewrite rfactor s over ij as sp")
            .find("ij is a free loop of s") == 0);
  CHECK(refused(kRowSums, "stage s at s.update:i\nrewrite rfactor s over j as sp") ==
        "s is staged already: rfactor comes before its stage");
}

TEST_CASE("of several updates of one tensor each is reduced in parts by its name") {
  const std::vector<ir::Values> triangles = {{{"N", 7}}, {{"N", 1}}};
  check_proved(kCholesky, triangles, "split S0: k by 3\nrfactor S0 over k.i as p", "reassoc k");
  check_proved(kCholesky, triangles, "split S2: k by 3\nrfactor S2 over k.i as p", "reassoc k");
  check_proved(kCholesky, triangles,
               "split_reduction S2: k by 4 as p tree\nsplit_reduction S0: k by 2 as q blocks",
               "reassoc k");
  check_proved(kCholesky, triangles, "reassociate S2 over k\nsplit_reduction S2: k by 3 as p",
               "exact");
  check_proved(kTwoSums, kSizes,
               "split_reduction X: j by 4 as p\n"
               "split_reduction Y: j by 3 as q\nsplit_reduction Y: j.i by 2 as r",
               "reassoc j");
  const auto program = bound_program(kCholesky, {{"N", 7}});
  const Script script = script_of(*program, "split_reduction S2: k by 4 as p tree");
  CHECK(print(script.directives[0]) == "split_reduction S2: k by 4 as p tree");
}

TEST_CASE("parts of one of several updates are refused where they mean nothing, in these words") {
  CHECK(refused(kTwoSums, "rfactor s over j as p") ==
        "s is updated by several statements: name the one that is meant (X, Y)");
  CHECK(refused(kTwoSums, "reassociate X over j\nsplit_reduction Y: j by 3 as p", "exact") ==
        "the parts of s add up in another order, and the contract is exact: say `reassoc j`");
  CHECK(refused(kTwoSums, "rfactor X over i as p") ==
        "i is a free loop of s: parts are made over a reduction loop (j)");
  CHECK(refused(kTwoSums, "rfactor X over Y:j as p") == "the loop is one of X, not of Y");
  CHECK(refused(kTwoSums, "cut X:j at 3 as j.lo, j.hi\nrfactor X.lo over j.lo as p") ==
        "X.lo is a part of X: rfactor comes before the cut");
  CHECK(refused(kTwoSums, "stage s at X:i\nrfactor X over j as p") ==
        "s is staged already: rfactor comes before its stage");
}

TEST_CASE("a rewrite that names another update than it parts is refused by the proof of the step") {
  const auto program = bound_program(kTwoSums, {{"M", 3}, {"N", 10}});
  const auto replayed =
      replay(program, script_of(*program, "split X: j by 4\nrfactor X over j.i as p", "reassoc j"),
             test_machine(), {ProofLevel::Off, {}});
  REQUIRE(static_cast<bool>(replayed));
  const auto verdict_naming = [&](const std::string& update) {
    State state = *replayed;
    state.rewrites.back().update = update;
    return verdict_after(std::move(state), [](ir::Program&) {});
  };
  const std::string start = "the parts of s in p do not make its value: ";
  CHECK(verdict_naming("X") == "legal");
  CHECK(verdict_naming("Y") == start + "X has changed");
  CHECK(verdict_naming("p.init") == start + "p.init does not update s");
}

TEST_CASE("a pair is not reduced in parts") {
  const char* const text = R"(
program arg_max(M, N)
  in  x: f32[M, N]
  out v: f32[M]
  out p: i64[M]
  (v, p)[m] = argmax[j] (x[m, j], j)
)";
  CHECK(refused(text, "rewrite rfactor v over j as vp") ==
        "v is a pair (argmax): pairs are not reduced in parts");
}

namespace {

// A row sum in parts whose rewritten Program is changed behind the primitive's back.
std::string verdict(const std::function<void(ir::Program&)>& damage,
                    const std::string& contract = "reassoc j") {
  const auto program = bound_program(kRowSums, {{"M", 3}, {"N", 10}});
  const auto replayed = replay(
      program, script_of(*program, "split j by 4\nrewrite rfactor s over j.i as sp", "reassoc j"),
      test_machine(), {ProofLevel::Off, {}});
  REQUIRE(static_cast<bool>(replayed));
  State state = *replayed;
  state.contract = contract == "exact" ? Contract::Exact : Contract::Reassoc;
  return verdict_after(std::move(state), damage);
}

}  // namespace

TEST_CASE("faults in the rewritten Program are refused by the proof of the step") {
  using ir::Affine;
  const std::string start = "the parts of s in sp do not make its value: ";
  CHECK(verdict([](ir::Program&) {}) == "legal");
  CHECK(verdict([](ir::Program&) {}, "exact") ==
        start + "the contract does not let its updates run in another order");
  CHECK(verdict([](ir::Program& p) {
          statement(p, "s.update").domain.push_back(ir::less_than(Affine::symbol("j.i"), 3));
        }) == start + "a part is left out");
  CHECK(verdict([](ir::Program& p) {
          ir::Statement& merge = statement(p, "s.update");
          merge.iterators.push_back("again");
          merge.domain.push_back(ir::at_least(Affine::symbol("again"), 0));
          merge.domain.push_back(ir::less_than(Affine::symbol("again"), 2));
        }) == start + "a part is taken twice");
  CHECK(verdict([](ir::Program& p) {
          statement(p, "sp.init").domain.push_back(ir::at_least(Affine::symbol("i"), 1));
        }) == start + "a part has no initial value");
  CHECK(verdict([](ir::Program& p) {
          statement(p, "sp.init").values[0] = ir::make_float(DType::F32, 1);
        }) == start + "sp.init is not neutral");
  CHECK(verdict([](ir::Program& p) {
          ir::Index& cell = statement(p, "sp.update").writes[0].indices[1];
          cell.affine = ir::mod(cell.affine + 1, 3);
        }) == start + "sp.update mixes cells of s");
  CHECK(verdict([](ir::Program& p) {
          statement(p, "sp.update").domain.push_back(ir::less_than(Affine::symbol("j"), 9));
        }) == start + "sp.update does not do what s.update did");
  CHECK(verdict([](ir::Program& p) { std::swap(p.order[2], p.order[4]); }) ==
        start + "another order");
  CHECK(verdict([](ir::Program& p) { statement(p, "t.update").combiner = ir::Combiner::Min; }) ==
        start + "t.update has changed");
}

namespace {

const char* const kSteps = R"(
program steps(T, M, N)
  in    x: f32[M, N]
  inout s: f32[M]
  out   y: f32[T, M]
  loop t in 0..T
    S: s[i] += x[i, j] * (t + 1)    for i in 0..M, j in 0..N
    Y: y[t, i] = s[i]               for i in 0..M
)";
const char* const kFresh = R"(
program fresh(T, M, N)
  in  x: f32[M, N]
  out y: f32[T, M]
  loop t in 0..T
    Z: s[i] = 0                     for i in 0..M
    S: s[i] += x[i, j] * (t + 1)    for i in 0..M, j in 0..N
    Y: y[t, i] = s[i]               for i in 0..M
)";

}  // namespace

TEST_CASE("sums in an ordered region are reduced in parts, each iteration by itself") {
  const std::vector<ir::Values> sizes = {{{"T", 3}, {"M", 2}, {"N", 10}},
                                         {{"T", 2}, {"M", 3}, {"N", 1}}};
  for (const char* text : {kSteps, kFresh}) {
    check_proved(text, sizes, "split S: j by 4\nrewrite rfactor s over j.i as sp", "reassoc j");
    check_proved(text, sizes,
                 "split S: j by 4\nrewrite rfactor s over j.o as sp\nvectorize sp.init:i",
                 "reassoc j");
    check_proved(text, sizes,
                 "split S: j by 8\nrewrite rfactor s over j.i as p8\n"
                 "split S: j.i by 4\nrewrite rfactor s over j.i.i as p4",
                 "reassoc j");
  }
  const auto program = bound_program(kSteps, {{"T", 3}, {"M", 2}, {"N", 10}});
  const auto state =
      replay(program,
             script_of(*program, "split S: j by 4\nrewrite rfactor s over j.i as sp", "reassoc j"),
             test_machine(), {ProofLevel::Full, {}});
  REQUIRE(static_cast<bool>(state));
  CHECK(print_nest(state->tree) ==
        "t > { i > { j.i > sp.init; j.o > j.i > sp.update; j.i > S }; i > Y }");
}

TEST_CASE("parts in an ordered region are refused where they mean nothing") {
  const auto refused_steps = [](const std::string& lines, const std::string& contract) {
    const auto program = bound_program(kSteps, {{"T", 3}, {"M", 2}, {"N", 10}});
    const auto state = replay(program, script_of(*program, lines, contract), test_machine(),
                              {ProofLevel::Full, {}});
    return state ? "accepted" : state.error().headline;
  };
  CHECK(refused_steps("rewrite rfactor s over t as sp", "reassoc j") ==
        "t runs over iterations of an ordered region");
  CHECK(refused_steps("rewrite rfactor s over i as sp", "reassoc j") ==
        "i is a free loop of s: parts are made over a reduction loop (j)");
  CHECK(refused_steps("rewrite rfactor s over j as sp", "exact") ==
        "the parts of s add up in another order, and the contract is exact: say `reassoc j`");
}

TEST_CASE("faults in parts of an ordered region are refused by the proof of the step") {
  using ir::Affine;
  const auto verdict_of = [](const char* text, const std::function<void(ir::Program&)>& damage) {
    const auto program = bound_program(text, {{"T", 3}, {"M", 2}, {"N", 10}});
    const auto replayed = replay(
        program,
        script_of(*program, "split S: j by 4\nrewrite rfactor s over j.i as sp", "reassoc j"),
        test_machine(), {ProofLevel::Off, {}});
    REQUIRE(static_cast<bool>(replayed));
    return verdict_after(*replayed, damage);
  };
  const std::string start = "the parts of s in sp do not make its value: ";
  CHECK(verdict_of(kSteps, [](ir::Program&) {}) == "legal");
  // Filled in the first iteration only: the second goes on from its parts.
  CHECK(verdict_of(kSteps, [](ir::Program& p) {
          statement(p, "sp.init").domain.push_back(ir::less_than(Affine::symbol("t"), 1));
        }) == start + "a part has no initial value");
  // Taken in the last iteration only.
  CHECK(verdict_of(kSteps, [](ir::Program& p) {
          statement(p, "S").domain.push_back(ir::at_least(Affine::symbol("t"), 2));
        }) == start + "a part is left out");
  CHECK(verdict_of(kSteps, [](ir::Program& p) { statement(p, "S").region_depth = 0; }) ==
        start + "S is in another region");
  // Not every cell of s holds a value when its parts come.
  CHECK(verdict_of(kFresh, [](ir::Program& p) {
          statement(p, "Z").domain.push_back(ir::at_least(Affine::symbol("i"), 1));
        }) != "legal");
}

}  // namespace polyte::schedule::rfactor_test
