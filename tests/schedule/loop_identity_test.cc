// Loops by identity: what was said of a loop stays with it, whatever it is called and whatever
// else is called so.
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::loop_identity_test {

namespace {

const char* const kPairs = R"(
program pairs(M, N)
  in  x: f32[M, N + 1]
  out y: f32[M, N]
  b[i, j] = x[i, j] * 2          for i in 0..M, j in 0..N+1
  y[i, j] = b[i, j] + b[i, j+1]  for i in 0..M, j in 0..N
)";

const ir::Values kBlurSize = {{"M", 7}, {"N", 9}}, kDenseSize = {{"M", 7}, {"N", 9}, {"K", 10}};

// The nests that the lines leave, which compute the Program.
std::string nests(const char* text, const ir::Values& size, const std::string& lines) {
  CAPTURE(lines);
  const auto program = bound_program(text, size);
  CHECK(problem_of(program, lines, ProofLevel::Full) == "");
  const State state = state_of(program, lines);
  CHECK(joined_problems(verify(state)) == "");
  return print_nest(state.tree);
}

}  // namespace

TEST_CASE("a cut stays with its loop through a rename, a merge and a rewrite of its statement") {
  const auto cuts_of = [](const State& state, const std::string& statement,
                          const std::string& loop) {
    std::string text;
    for (const LoopRow& row : state.at(statement).rows)
      for (const ir::Affine& at : row.cuts)
        if (row.loop == loop) text += (text.empty() ? "" : ", ") + ir::to_string(at);
    return text;
  };
  const State renamed =
      state_of(bound_program(kBlur, kBlurSize),
               "cut y:x at u\ncut y:x at 2\nrename y:u as v\nrename y:x as c\nsplit bx: u by 2");
  CHECK(cuts_of(renamed, "y", "c") == "v, 2");
  CHECK(cuts_of(renamed, "bx", "x").empty());
  const State merged =
      state_of(bound_program(kDenseRelu, kDenseSize),
               "cut acc.update:m at 5\nmerge acc.init, acc.update through n\nrename m as i");
  CHECK(cuts_of(merged, "acc.update", "i") == "5");
  CHECK(cuts_of(merged, "acc.init", "i").empty());
  const State in_parts =
      state_of(bound_program(kDenseRelu, kDenseSize),
               "reassociate acc over k\nsplit acc.update: k by 4\ncut acc.update:m at 5\n"
               "rewrite rfactor acc over k.i as part");
  CHECK(cuts_of(in_parts, "part.update", "m") == "5");
  CHECK(cuts_of(in_parts, "acc.update", "m") == "5");
}

TEST_CASE("a statement that runs in one iteration of a loop runs there whatever the loop becomes") {
  const std::string placed =
      "nest k > m > n > { acc.init when first k; acc.update; y when last k }\n";
  const auto dense = [](const std::string& lines) { return nests(kDenseRelu, kDenseSize, lines); };
  CHECK(dense(placed + "rename k as q\nrename m as k") ==
        "q > k > n > { acc.init when first q; acc.update; y when last q }");
  CHECK(dense(placed + "split k by 4") ==
        "k.o > k.i > m > n > { acc.init when first k.o and first k.i; acc.update; y when last k.o "
        "and last k.i }");
  CHECK(dense(placed + "split k by 4\nrename k.o as q\nsplit q by 2") ==
        "q.o > q.i > k.i > m > n > { acc.init when first q.o and first q.i and first k.i; "
        "acc.update; "
        "y when last q.o and last q.i and last k.i }");
  CHECK(dense(placed + "reorder m > k") ==
        "m > k > n > { acc.init when first k; acc.update; y when last k }");
  CHECK(dense("nest m > k > { n > acc.init when first k; n > acc.update }\n"
              "cut acc.update:m at 3 as lo, hi") ==
        "{ lo > k > { n > acc.init.lo when first k; n > acc.update.lo }; "
        "hi > k > { n > acc.init.hi when first k; n > acc.update.hi }; m > n > y }");
}

TEST_CASE(
    "two nests that become one: what ran in iterations of their loops runs in those of the one") {
  CHECK(nests(kRowSums, {{"M", 3}, {"N", 10}},
              "nest i > j > { t.init when first j; t.update }\n"
              "nest i > j > { s.init when first j; s.update }\n"
              "merge t.update, s.init through j\nrename j as q") ==
        "i > q > { t.init when first q; t.update; s.init when first q; s.update }");
}

TEST_CASE("of a tree of which nothing is left nothing is mapped") {
  CHECK(!map_loops(nullptr, [](const Loop& loop) { return loop; }));
  CHECK(!map_leaves(nullptr, [](const Leaf& leaf) { return leaf; }));
}

TEST_CASE("a recomputed statement is recomputed at its loop whatever the loop becomes") {
  const auto blur = [](const std::string& lines) { return nests(kBlur, kBlurSize, lines); };
  CHECK(blur("compute_at bx at y:u\nsplit u by 2") ==
        "u.o > u.i > { bx.u > x > bx at u.i; x > y }");
  CHECK(blur("reorder y: x > u\ncompute_at bx at y:u once per x\nsplit x by 2") ==
        "x.o > x.i > u > { bx.u > bx.x > bx at u once per x.i; y }");
  CHECK(blur("compute_at bx at y:x\nfuse u, y:x as t") == "t > { bx.u > bx.x > bx at t; y }");
  CHECK(nests(kPairs, {{"M", 3}, {"N", 8}}, "compute_at b at y:j once per i\nfuse i, y:j as t") ==
        "t > { b.i > b.j > b at t once per t; y }");
}

}  // namespace polyte::schedule::loop_identity_test
