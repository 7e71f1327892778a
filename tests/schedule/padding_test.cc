// Last tiles that run whole: into padding (pad, tail round) or over what has run (tail shift). Each
// executed to the reference's bits, also where the sizes divide or are smaller than a tile; wrong
// uses refused in their words.
#include <algorithm>
#include <functional>

#include "schedule/proof/prover.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::padding_test {

namespace {

const std::vector<ir::Values> kDense = {{{"M", 6}, {"N", 11}, {"K", 5}},
                                        {{"M", 8}, {"N", 16}, {"K", 4}},
                                        {{"M", 5}, {"N", 9}, {"K", 3}},
                                        {{"M", 1}, {"N", 1}, {"K", 1}}};

const std::vector<ir::Values> kWhole(kDense.begin(), kDense.begin() + 3);

// A tile of accumulators, the operands packed beside it.
const std::string kTile =
    "split m by 4, n by 8\n"
    "nest m.o > n.o > { m.i > n.i > acc.init; k > m.i > n.i > acc.update; m.i > n.i > y }\n"
    "stage acc at n.o in register\n"
    "cache_read x at m.o\n"
    "pack w layout (k, n) [n//8, k, n%8]\n";
const std::string kPadded = kTile + "pad x: x.m to 4\npad w: n to 8\n";
const std::string kRound = "tail acc:m.i round\ntail acc:n.i round\n";

void check(const std::string& text, const std::string& lines,
           const std::vector<ir::Values>& sizes) {
  for (const ir::Values& size : sizes) {
    CAPTURE(lines);
    CAPTURE(size.at("M"));
    CHECK(problem_of(bound_program(text, size), lines, ProofLevel::Full) == "");
  }
}

Refusal refused(const std::string& lines, const std::string& text = kDenseRelu,
                const ir::Values& size = kDense[0]) {
  const auto program = bound_program(text, size);
  const auto state =
      replay(program, script_of(*program, lines), test_machine(), {ProofLevel::Full, {}});
  return state ? Refusal{RefusalKind::Malformed, "accepted"} : state.error();
}

std::string refusal(const std::string& lines, const std::string& text = kDenseRelu,
                    const ir::Values& size = kDense[0]) {
  return refused(lines, text, size).headline;
}

const char* const kCopy = R"(
program plain(M, N)
  in  x: f32[M, N]
  out y: f32[M, N]
  S: y[i, j] = x[i, j] + 1
)";
const std::vector<ir::Values> kPlain = {
    {{"M", 7}, {"N", 9}}, {{"M", 8}, {"N", 8}}, {{"M", 4}, {"N", 5}}};

}  // namespace

TEST_CASE("a copy is filled up with zeros") {
  const State state = state_of(bound_program(kDenseRelu, kDense[0]), kPadded);
  CHECK(state.staged[1].shape == std::vector<std::int64_t>{4, 5});
  const ScheduledStatement& copy = state.at("x.in");
  CHECK(ir::to_string(copy.body.values.front()).find("else 0") != std::string::npos);
  const State whole = state_of(bound_program(kDenseRelu, kDense[0]), "stage x\npad x: k to 8");
  CHECK(whole.staged[0].shape == std::vector<std::int64_t>{6, 8});
  check(kDenseRelu, kPadded, kDense);
  check(kDenseRelu, "stage x\npad x: k to 8\npad x: m to 3", kDense);
}

TEST_CASE("tiles rounded up into padding") {
  check(kDenseRelu, kPadded + kRound, kWhole);
  check(kDenseRelu, kPadded + kRound + "vectorize acc.update: n.i\nunroll acc.update: m.i", kWhole);
  // Where there is less than a tile, so is its storage.
  CHECK(refusal(kPadded + kRound, kDenseRelu, kDense[3]) ==
        "with m.i rounded up, an access would leave its buffer");
  const State state = state_of(bound_program(kDenseRelu, kDense[0]), kPadded + kRound);
  CHECK(state.at("acc.update").padded);
  CHECK(state.at("acc.init").padded);
  CHECK(!state.at("y").padded);
  // What is a multiple has no tail.
  CHECK(!state_of(bound_program(kDenseRelu, kDense[1]), kPadded + kRound).at("acc.update").padded);
}

TEST_CASE("a producer rounded up in its own storage") {
  const std::string rows =
      "split y: u by 4\n"
      "nest u.o > { u > x > bx at u.o; u.i > x > y }\nstage bx at u.o\nstage a at u.o\n";
  check(kBlur, rows + "bound_storage bx: x by 16\npad a: x to 18\nsplit bx: x by 8 tail round",
        {{{"M", 7}, {"N", 9}}});
  check(kBlur,
        "stage bx\nstage a\nbound_storage bx: x by 12\npad a: x to 14\nsplit bx: x by 4 tail round",
        {{{"M", 7}, {"N", 9}}});
}

TEST_CASE("rounding up without padding is refused") {
  CHECK(refusal(kTile + "tail acc:m.i round") ==
        "with m.i rounded up, a value would be read that was never written");
  CHECK(refusal("split acc.init: m by 4 tail round") ==
        "acc.init writes acc, which has no padding: stage it first");
  CHECK(refusal(kPadded + "tail y:m.i round") == "y writes y, an out tensor: it has no padding");
  CHECK(refusal(kPadded + "split acc.update: k by 4 tail round") ==
        "all iterations of k in acc.update write one element: more of them would change it");
  CHECK(refusal(kPadded + "tail x.in:x.m round") ==
        "x.m is not the inner loop of a split: it has no tail");
  CHECK(refusal("split m by 4\nstage acc\ntail acc:m.i round") ==
        "with m.i rounded up, an access would leave its buffer");
  CHECK(refusal(kPadded + kRound + "tail acc:m.i cut") ==
        "the last tile of m.i is rounded up already");
  CHECK(refusal(kPadded + kRound + "tail acc:q.i round").find("acc.init has no loop q.i") == 0);
}

TEST_CASE("padding is nobody's value") {
  // Every y reads its own element only; a consumer that reads one further on would get the padding.
  const char* const kNext = R"(
program next(M, N)
  in  x: f32[M + 1, N]
  out y: f32[M, N]
  t[i, j] = x[i, j] * 2           for i in 0..M+1, j in 0..N
  y[i, j] = t[i, j] + t[i+1, j]   for i in 0..M, j in 0..N
)";
  check(kNext,
        "stage t\nstage x\nbound_storage t: i by 12\npad x: i to 12\nsplit t: i by 4 tail round",
        {{{"M", 8}, {"N", 3}}});
  CHECK(refusal(
            "stage t\nstage x\nbound_storage t: i by 12\npad x: i to 5\nsplit t: i by 4 tail round",
            kNext, {{"M", 8}, {"N", 3}}) != "accepted");
}

TEST_CASE("wrong pads") {
  CHECK(refusal("pad x: m to 4") == "x has no buffer of its own: stage it first");
  CHECK(refusal(kTile + "pad x: q to 4") ==
        "the copy into x.c has no coordinate q (they are x.m, k)");
  CHECK(refusal(kTile + "pad x: x.m to 0") == "pad to a multiple of 0: expected 1 or more");
  CHECK(refusal(kTile + "pad acc: m to 4") ==
        "no copy fills acc.r: bound_storage makes room in it");
}

TEST_CASE("the last tile shifted inwards") {
  check(kCopy, "split i by 4 tail shift", kPlain);
  check(kCopy, "tile S (i, j) by (4, 4) tail shift\norder S: i.o > j.o > i.i > j.i\nvectorize j.i",
        {kPlain[0], kPlain[2]});
  check(kCopy, "split j by 4\ntail j.i shift\nvectorize j.i", kPlain);
  check(kBlur,
        "split y: u by 4, x by 4 tail shift\n"
        "nest u.o > x.o > { u > x > bx at x.o; u.i > x.i > y }\nstage bx at x.o",
        kPlain);
  const State state = state_of(bound_program(kCopy, kPlain[0]), "split i by 4 tail shift");
  CHECK(state.at("S").body.iterators == std::vector<std::string>{"i.o", "i", "j"});
  CHECK(!state_of(bound_program(kCopy, kPlain[1]), "split i by 4 tail shift").at("S").padded);
}

TEST_CASE("shifts that count twice, or have nowhere to go") {
  CHECK(refusal("split acc.update: m by 4 tail shift") ==
        "acc.update updates in place, each update once: an iteration of m would run twice");
  CHECK(refusal("split i by 4 tail shift", kCopy, {{"M", 3}, {"N", 9}}) ==
        "i of S has 3 iterations, less than a tile of 4: it cannot move inwards");
  CHECK(refusal("tail j shift", kCopy, kPlain[0]) ==
        "j is not the inner loop of a split: it has no tail");
  CHECK(refusal("split i by 4 tail shift\nparallel i.o", kCopy, kPlain[0]) ==
        "parallel loop i.o carries a dependence through y[3, 0]");
  const char* const kInPlace = R"(
program twice(M)
  inout y: f32[M]
  S: y[i] = y[i] * 2   for i in 0..M
)";
  CHECK(refusal("split i by 4 tail shift", kInPlace, {{"M", 7}}) ==
        "with i.i shifted inwards, a read would get another value");
}

// The proof does not take the primitive's word: each fault is planted in a State that it has made.
TEST_CASE("planted faults") {
  const auto proved = [](const std::string& text, const ir::Values& size, const std::string& lines,
                         const std::function<void(State&)>& fault) {
    const auto program = bound_program(text, size);
    State state = state_of(program, lines);
    fault(state);
    const auto refusal = Prover(program).check_end_to_end(state);
    return refusal ? refusal->headline : std::string("legal");
  };
  const auto named = [](State& state, const std::string& name) -> ScheduledStatement& {
    return *std::find_if(state.statements.begin(), state.statements.end(),
                         [&](const ScheduledStatement& s) { return s.body.name == name; });
  };
  const std::string shift = "split i by 4 tail shift";
  CHECK(proved(kCopy, kPlain[0], shift, [](State&) {}) == "legal");
  CHECK(proved(kCopy, kPlain[0], shift, [&](State& state) {
          named(state, "S").body.domain.push_back(ir::less_than(ir::Affine::symbol("i.o"), 1));
        }) == "a read would get another value");
  CHECK(proved(kCopy, kPlain[0], shift, [&](State& state) {
          ir::Affine& i = named(state, "S").inverse["i"];
          i = i + 1;
        }) == "S would leave an instance out");
  CHECK(proved(kCopy, kPlain[0], shift, [&](State& state) {
          ir::Affine& i = named(state, "S").phi.front();
          i = i - 1;
        }) != "legal");
  const std::string whole = kPadded + kRound;
  CHECK(proved(kDenseRelu, kDense[0], whole, [](State&) {}) == "legal");
  CHECK(proved(kDenseRelu, kDense[0], whole, [&](State& state) {
          ScheduledStatement& copy = named(state, "x.in");
          copy.body.domain.push_back(ir::less_than(ir::Affine::symbol("x.m"), 3));
        }) == "a value would be read that was never written");
  CHECK(proved(kDenseRelu, kDense[0], whole, [&](State& state) {
          state.staged[0].shape = {3, 8};
        }) == "an access would leave its buffer");
  // The tile of y goes on from the padding: row 4*m.o + 2 of the last tile is none of
  // the Program's.
  CHECK(proved(kDenseRelu, kDense[0], whole, [&](State& state) {
          ScheduledStatement& update = named(state, "acc.update");
          update.body.writes.front().indices[0].affine =
              update.body.writes.front().indices[0].affine * 0 + 3;
        }) != "legal");
}

TEST_CASE("tails read back as they are printed") {
  const auto program = bound_program(kDenseRelu, kDense[0]);
  for (const std::string line : {"split m by 4   tail round", "split acc: m by 4   tail shift",
                                 "tail acc:m.i round", "tail m.i shift", "pad x.c: m to 2*L"})
    CHECK(print(script_of(*program, line).directives.front()) == line);
}

}  // namespace polyte::schedule::padding_test
