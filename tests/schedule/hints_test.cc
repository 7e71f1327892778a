// Hints: prefetches and stores past the caches. They leave every value as it is; each wrong use is
// refused in its words.
#include "schedule/script/hints.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::hints_test {

namespace {

const ir::Values kDense = {{"M", 18}, {"N", 20}, {"K", 24}};

const std::string kNest =
    "split m by 4, n by 8, k by 8\n"
    "nest par m.o > n.o > k.o > { m.i > n.i > acc.init when first k.o; "
    "k.i > m.i > <n.i> > acc.update; m.i > n.i > y when last k.o }\nstage acc at n.o in register\n";

std::string refusal(const std::string& lines, const std::string& text = kDenseRelu,
                    const ir::Values& sizes = kDense) {
  const auto program = bound_program(text, sizes);
  const auto state =
      replay(program, script_of(*program, lines), test_machine(), {ProofLevel::Full, {}});
  return state ? "accepted" : state.error().headline;
}

std::vector<std::string> notes_of(const std::string& lines) {
  const auto program = bound_program(kDenseRelu, kDense);
  std::vector<std::string> notes;
  const auto state =
      replay(program, script_of(*program, lines), test_machine(), {ProofLevel::Off, {}, &notes});
  REQUIRE(static_cast<bool>(state));
  return notes;
}

AheadBox box(const std::string& lines) {
  const State state = state_of(bound_program(kDenseRelu, kDense), lines);
  REQUIRE(state.prefetches.size() == 1);
  const auto ahead = ahead_of(state, state.prefetches.front());
  REQUIRE(static_cast<bool>(ahead));
  return *ahead;
}

std::string origin(const AheadBox& box) {
  std::string text;
  for (const ir::Affine& a : box.origin) text += (text.empty() ? "" : ", ") + ir::to_string(a);
  return text;
}

}  // namespace

TEST_CASE("a prefetch brings the box of an iteration further on") {
  const AheadBox next_row = box(kNest + "prefetch w at k.i distance 4");
  CHECK(origin(next_row) == "k.i + 8*k.o + 4, 8*n.o");
  CHECK(next_row.extent == std::vector<std::int64_t>{1, 8});
  CHECK(lines_of(next_row, DType::F32) == 1);
  const AheadBox next_tile = box(kNest + "prefetch x at k.o level 2");
  CHECK(origin(next_tile) == "4*m.o, 8*k.o + 8");
  CHECK(next_tile.extent == std::vector<std::int64_t>{4, 8});
  CHECK(lines_of(next_tile, DType::F32) == 4);
  CHECK(lines_of({{0, 0}, {3, 40}}, DType::F32) == 9);
}

TEST_CASE("a prefetch along a loop outside brings what the same iteration reads further on there") {
  const AheadBox next_rows = box(kNest + "prefetch x at k.i along m.o");
  CHECK(origin(next_rows) == "4*m.o + 4, k.i + 8*k.o");
  CHECK(next_rows.extent == std::vector<std::int64_t>{4, 1});
  CHECK(origin(box("prefetch x at acc.update:k distance 2 along m")) == "m + 2, k");
  CHECK(origin(box("prefetch x at acc.update:k distance 5 along m\nsplit acc.update: m by 8")) ==
        "m.i + 8*m.o + 5, k");
  CHECK(origin(box("prefetch x at acc.update:k along m\nsplit acc.update: k by 8")) ==
        "m + 1, k.i + 8*k.o");
}

// Of windows that overlap, rows and columns that the iteration before has brought are there.
TEST_CASE("a prefetch leaves out what the iteration before brings") {
  const std::string pool = R"(program pool()
  in x: f32[3, 43, 43]
  out y: f32[3, 20, 20]
  y[c, i, j] = max[r in 0..3, s in 0..3] x[c, 2*i + r, 2*j + s]
)";
  const auto box_of_pool = [&](const std::string& hint) {
    const State state = state_of(
        bound_program(pool, {}),
        "split i by 2, j by 8 tail cut\n"
        "nest c > i.o > j.o > { [i.i] > <j.i> > y.init; r > s > [i.i] > <j.i> > y.update }\n" +
            hint);
    const auto ahead = ahead_of(state, state.prefetches.front());
    REQUIRE(static_cast<bool>(ahead));
    return *ahead;
  };
  const AheadBox rows = box_of_pool("prefetch x at y.update:j.o distance 2 along i.o");
  CHECK(origin(rows) == "c, 4*i.o + 9, 16*j.o + 1");  // of 5 rows from 4*i.o + 8 on, and 17 columns
  CHECK(rows.extent == std::vector<std::int64_t>{1, 4, 16});
  const AheadBox columns = box_of_pool("prefetch x at y.update:j.o distance 3");
  CHECK(origin(columns) == "c, 4*i.o, 16*j.o + 49");
  CHECK(columns.extent == std::vector<std::int64_t>{1, 5, 16});
  const AheadBox channels = box_of_pool("prefetch x at y.update:i.o along c");
  CHECK(channels.extent == std::vector<std::int64_t>{1, 4, 41});
}

TEST_CASE("prefetches change no value") {
  for (const ir::Values& sizes : {kDense, ir::Values{{"M", 5}, {"N", 9}, {"K", 7}},
                                  ir::Values{{"M", 1}, {"N", 1}, {"K", 1}}}) {
    const auto program = bound_program(kDenseRelu, sizes);
    CHECK(problem_of(program,
                     kNest + "prefetch w at k.i distance 4\nprefetch x at m.o distance 1 level 3\n"
                             "prefetch x at k.o along m.o",
                     ProofLevel::Full) == "");
  }
}

TEST_CASE("a split keeps the distance in the iterations it was said in") {
  const AheadBox split = box("prefetch w at acc.update:k distance 5\nsplit acc.update: k by 8");
  CHECK(origin(split) == "k.i + 8*k.o + 5, n");
}

TEST_CASE("prefetch reads back as it is printed") {
  const auto program = bound_program(kDenseRelu, kDense);
  for (const std::string line :
       {"prefetch w at k distance 4 level 1", "prefetch x.c at acc.update:k.o distance 2*L level 3",
        "prefetch x at k.i distance 2*L along m.o level 2", "stream y"}) {
    const Script script = script_of(*program, line);
    CHECK(print(script.directives.front()) == line);
  }
  CHECK(print(script_of(*program, "prefetch x at k along m").directives.front()) ==
        "prefetch x at k distance 1 along m level 1");
  CHECK(print(script_of(*program, "prefetch w at k").directives.front()) ==
        "prefetch w at k distance 1 level 1");
}

TEST_CASE("wrong prefetches") {
  CHECK(refusal("prefetch v at k") == "no buffer is called v (they are x, w, b, y, acc)");
  CHECK(refusal("prefetch w at q") == "no statement has a loop q (loops are m, n, k)");
  CHECK(refusal("prefetch b at k") == "nothing below k reads b: there is nothing to prefetch");
  CHECK(refusal("prefetch y at y:m") == "nothing below m reads y: there is nothing to prefetch");
  CHECK(refusal("prefetch w at k distance 0") ==
        "prefetch at distance 0: expected 1 or more iterations ahead");
  CHECK(refusal("prefetch w at k level 4") == "there is no cache level 4: expected 1, 2 or 3");
  CHECK(refusal("prefetch w at k\nprefetch w at k distance 2") ==
        "w is prefetched at k already, 1 ahead");
  CHECK(refusal("prefetch w at m") == "m is ambiguous: say acc.init:m, acc.update:m, y:m");
  CHECK(refusal(kNest + "prefetch acc.r at k.o") ==
        "acc.r is kept in registers: there is nothing to prefetch");
  CHECK(refusal("split m by 4\nstage x at acc.update: m.o\nprefetch x.c at acc.update:m.o") ==
        "x.c begins anew in every iteration of m.o: nothing of it is there ahead of time");
  CHECK(refusal("prefetch x at acc.update:m along k") == "k is no loop outside m: there is none");
  CHECK(refusal("prefetch x at acc.update:k along k") == "accepted");
  CHECK(refusal("prefetch x at acc.update:k along k\nprefetch x at acc.update:k distance 2") ==
        "x is prefetched at k already, 1 ahead");  // the one without `along`
  CHECK(refusal("prefetch x at acc.update:n along i") == "i is no loop outside n (these are m)");
  CHECK(refusal(
            "prefetch x at acc.update:k along m\nprefetch x at acc.update:k distance 2 along m") ==
        "x is prefetched at k already, 1 ahead");
  CHECK(refusal("prefetch x at acc.update:k along m\nprefetch x at acc.update:k") == "accepted");
  CHECK(refusal(
            "split m by 4\nstage x at acc.update: m.o\nprefetch x.c at acc.update:m.i along m.o") ==
        "x.c begins anew in every iteration of m.o: nothing of it is there ahead of time");
  CHECK(refusal("vectorize y: n\nprefetch b at y:n") ==
        "n is a vector loop, its iterations are lanes: prefetch b at a loop outside it");
}

TEST_CASE("a later step may not take a prefetch away") {
  CHECK(refusal("prefetch b at y:n\nvectorize y: n") ==
        "n is a vector loop, its iterations are lanes: prefetch b at a loop outside it");
  CHECK(refusal("prefetch b at y:m\nfuse y: m, n as mn") ==
        "b is prefetched at a loop that would be gone: prefetch comes after");
  CHECK(refusal("prefetch x at acc.update:k along m\nfuse acc.update: m, n as mn") ==
        "x is prefetched along a loop that would be gone: prefetch comes after");
  CHECK(refusal("prefetch w at acc.update:k\nstage w at acc.update:m") ==
        "nothing below k reads w: there is nothing to prefetch");
}

TEST_CASE("a prefetch without effect is noted") {
  const auto far = notes_of("prefetch w at acc.update:k distance 30");
  REQUIRE(far.size() == 1);
  CHECK(far.front().find("k runs 24 iterations, 30 ahead is past its end") != std::string::npos);
  const auto same = notes_of("prefetch x at acc.update:n");
  REQUIRE(same.size() == 1);
  CHECK(same.front().find("every iteration of n reads the same of x") != std::string::npos);
  CHECK(notes_of("prefetch w at acc.update:k distance 4").empty());
  CHECK(notes_of("prefetch x at acc.update:k distance 17 along m").empty());
  const auto beyond = notes_of("prefetch x at acc.update:k distance 18 along m");
  REQUIRE(beyond.size() == 1);
  CHECK(beyond.front().find("m runs 18 iterations, 18 ahead is past its end") != std::string::npos);
  const auto still = notes_of("prefetch w at acc.update:k along m");
  REQUIRE(still.size() == 1);
  CHECK(still.front().find("every iteration of m reads the same of w") != std::string::npos);
}

TEST_CASE("stores past the caches") {
  const auto program = bound_program(kDenseRelu, kDense);
  CHECK(problem_of(program, "stream y", ProofLevel::Full) == "");
  CHECK(problem_of(program, kNest + "stream y", ProofLevel::Full) == "");
  CHECK(refusal("stream v") == "no buffer is called v (they are x, w, b, y, acc)");
  CHECK(refusal("stream x") == "nothing writes x");
  CHECK(refusal("stream y\nstream y") == "y is streamed already");
  CHECK(refusal("stream acc") ==
        "acc is read by acc.update in the nest where acc.update writes it: past the caches, it "
        "would come back from "
        "memory");
  CHECK(refusal(kNest + "stream acc.r") ==
        "acc.r lives in register: its stores do not go to memory at all");
  const char* const kTwo = R"(
program two(M)
  in  x: f32[M]
  out y: f32[M]
  t[i] = x[i] * 2
  y[i] = t[i] + 1
)";
  CHECK(refusal("stream t", kTwo, {{"M", 7}}) == "accepted");
  CHECK(refusal("stream t\nmerge t, y through i", kTwo, {{"M", 7}}) ==
        "t is read by y in the nest where t writes it: past the caches, it would come back from "
        "memory");
}

}  // namespace polyte::schedule::hints_test
