// Sliding windows, storage at an outer loop, and back to the root: what is computed how often, and
// every schedule executed to the reference's bits.
#include "schedule/script/recompute.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::sliding_test {

namespace {

const std::vector<ir::Values> kSizes = {{{"M", 7}, {"N", 9}},
                                        {{"M", 8}, {"N", 8}},
                                        {{"M", 1}, {"N", 1}},
                                        {{"M", 5}, {"N", 3}},
                                        {{"M", 4}, {"N", 12}}};

void check(const std::string& program_text, const std::string& lines) {
  int proved = 0;  // every size is executed, the first three are proved
  for (const ir::Values& size : kSizes) {
    CAPTURE(lines);
    CAPTURE(size.at("M"));
    const auto program = bound_program(program_text, size);
    CHECK(problem_of(program, lines, ++proved <= 3 ? ProofLevel::Full : ProofLevel::Off) == "");
  }
}

std::string refusal(const std::string& program_text, const std::string& lines,
                    ir::Values size = kSizes[0]) {
  const auto program = bound_program(program_text, size);
  const auto state =
      replay(program, script_of(*program, lines), test_machine(), {ProofLevel::Full, {}});
  return state ? "accepted" : state.error().headline;
}

std::string factors(const std::string& lines, const ir::Values& size = {{"M", 7}, {"N", 9}}) {
  std::string text;
  for (const Recompute& each : recompute_factors(state_of(bound_program(kBlur, size), lines)))
    text += (text.empty() ? "" : "; ") + print(each);
  return text;
}

const char* const kChain = R"(
program chain(M, N)
  in  a: f32[M + 4, N + 4]
  out y: f32[M, N]
  p[u, x] = a[u, x+1] - a[u, x]              for u in 0..M+4, x in 0..N+3
  q[u, x] = p[u+1, x] + p[u, x]              for u in 0..M+3, x in 0..N+3
  r[u, x] = p[u, x] * q[u, x+1] + q[u+1, x]  for u in 0..M+2, x in 0..N+2
  y[u, x] = r[u, x] + r[u+1, x] + r[u+2, x+1]  for u in 0..M, x in 0..N
)";

const std::string kStrips = "split y: u by 4\n";

}  // namespace

TEST_CASE("a window slides down each strip") {
  const std::string nest =
      kStrips + "nest par u.o > u.i > { u > <x> > bx at u.i once per u.o; <x> > y }\n";
  check(kBlur, nest + "stage bx at u.o");
  check(kBlur, nest + "stage bx at u.o in stack");
  CHECK(factors(kStrips + "nest par u.o > u.i > { u > x > bx at u.i once per u.o; x > y }") ==
        "bx at u.i once per u.o: 99 instances for 81 (factor 1.22)");
  CHECK(factors(kStrips + "nest par u.o > u.i > { u > x > bx at u.i; x > y }") ==
        "bx at u.i: 189 instances for 81 (factor 2.33)");
}

TEST_CASE("a window slides along the whole kernel") {
  check(kBlur, "nest u > { bx.u > x > bx at u once per root; x > y }");
  check(kBlur, "nest u > { bx.u > x > bx at u once per root; x > y }\nstage bx");
  CHECK(factors("nest u > { bx.u > x > bx at u once per root; x > y }") ==
        "bx at u once per root: 81 instances for 81 (factor 1.00)");
}

TEST_CASE("a window slides through the digits of a split, and along both dimensions") {
  check(kBlur,
        "split y: u by 4, x by 2\n"
        "nest u.o > u.i > x.o > x.i > { u > x > bx at x.i once per root; y }");
  check(kBlur,
        "split y: u by 2, x by 4\n"
        "nest x.o > u.o > u.i > { u > x > bx at u.i once per x.o; x.i > y }\nstage bx at x.o");
  check(kBlur,
        "split y: u by 2\nsplit y: u.o by 2\n"
        "nest u.o.o > u.o.i > u.i > { u > x > bx at u.i once per u.o.o; x > y }\n"
        "stage bx at u.o.o");
}

TEST_CASE("a chain of windows") {
  check(kChain,
        "split y: u by 4\nnest par u.o > u.i > { u > <x> > p at u.i once per u.o; "
        "u > <x> > q at u.i once per u.o; u > <x> > r at u.i once per u.o; <x> > y }\n"
        "stage p at u.o\nstage q at u.o\nstage r at u.o in stack");
  check(kChain, "nest u > { r.u > x > r at u once per root; x > y }\nstage r");
}

TEST_CASE("a reduction slides with its init") {
  check(R"(
program pool(M, N)
  in  a: f32[M + 2, N, 3]
  out y: f32[M, N]
  s[u, x] = sum[k] a[u, x, k]                   for u in 0..M+2, x in 0..N
  y[u, x] = s[u, x] + s[u+1, x] * s[u+2, x]     for u in 0..M, x in 0..N
)",
        "split y: u by 3\nnest par u.o > u.i > { u > x > s.init at u.i once per u.o; "
        "u > x > k > s.update at u.i once per u.o; x > y }\nstage s at u.o");
}

TEST_CASE("Halide's pair: compute_at and store_at") {
  const std::string head = kStrips + "nest par u.o > u.i > <x> > y\ncompute_at bx at u.i\n";
  check(kBlur, head + "vectorize bx:x\nstore_at bx at u.o");
  check(kBlur, "compute_at bx at y:u\nstore_at bx at root in heap");
  const auto program = bound_program(kBlur, kSizes[0]);
  const State slid = state_of(
      program,
      kStrips + "nest par u.o > u.i > x > y\ncompute_at bx at u.i once per u.o\nstage bx at u.o");
  const State stored = state_of(
      program, kStrips + "nest par u.o > u.i > x > y\ncompute_at bx at u.i\nstore_at bx at u.o");
  CHECK(print_nest(slid.tree) == "par u.o > u.i > { u > x > bx at u.i once per u.o; x > y }");
  CHECK(print_nest(stored.tree) == print_nest(slid.tree));
  CHECK(stored.staged.front().shape == std::vector<std::int64_t>{6, 9});
}

TEST_CASE("windows are written and read back") {
  const auto program = bound_program(kBlur, kSizes[0]);
  for (const std::string line : {"nest par u.o > u.i > { u > x > bx at u.i once per u.o; x > y }",
                                 "compute_at bx at y:u once per root", "store_at bx at y:u.o",
                                 "store_at bx at root in stack", "compute_root bx"}) {
    const Script script = script_of(*program, line);
    REQUIRE(script.directives.size() == 1);
    CHECK(print(script.directives.front()) == line);
  }
  const Script nest = script_of(
      *program, kStrips + "nest par u.o > u.i > { u > x > bx at u.i once per u.o; x > y }");
  const Script steps = expand_to_directives(nest);
  const auto through = replay(program, steps, test_machine(), {ProofLevel::Off, {}});
  REQUIRE(through);
  CHECK(print_nest(through->tree) == "par u.o > u.i > { u > x > bx at u.i once per u.o; x > y }");
}

TEST_CASE("back to the root") {
  check(kBlur, "compute_at bx at y:u\ncompute_root bx");
  check(R"(
program pointwise(M, N)
  in  a: f32[M, N]
  out y: f32[M, N]
  t[u, x] = a[u, x] + 1
  y[u, x] = t[u, x] * a[u, x]
)",
        "split u by 4\nmerge t, y through u.i\nvectorize t:x\ncompute_root t");
  const auto program = bound_program(kBlur, kSizes[0]);
  CHECK(print_nest(
            state_of(program, "split y: u by 4\ncompute_at bx at u.o\ncompute_root bx").tree) ==
        "{ u > x > bx; u.o > u.i > x > y }");
  CHECK(refusal(kBlur, "compute_root bx") == "accepted");  // noted as without effect
  CHECK(refusal(kBlur, "compute_root nix") == "no tensor computed here is called nix");
  CHECK(refusal(kBlur, "compute_at bx at y:u\nstage bx at y:u\ncompute_root bx") ==
        "bx is staged already: compute_root comes before its stage");
}

TEST_CASE("wrong windows are refused") {
  CHECK(
      refusal(kBlur, kStrips + "nest u.o > par u.i > { u > x > bx at u.i once per u.o; x > y }") ==
      "bx slides along u.i, and u.i is parallel: its iterations have no order");
  CHECK(
      refusal(kBlur,
              kStrips +
                  "nest u.o > u.i > { u > x > bx at u.i once per u.o; x > y }\nstage bx at u.i") ==
      "bx is made once per u.o: a buffer at u.i would forget it (stage it at u.o)");
  CHECK(refusal(kBlur, kStrips + "nest u.o > u.i > { u > x > bx at u.i once per u.i; x > y }") ==
        "once per u.i: the loop of 'at' is meant to be below it, not the same");
  CHECK(refusal(kBlur, kStrips + "nest u.o > u.i > { u > x > bx at u.i once per q; x > y }") ==
        "once per q: bx is not below q (it is below u.o, u.i)");
  CHECK(
      refusal(
          kBlur,
          kStrips +
              "split y: u.i by 2\nnest u.o > u.i.o > u.i.i > { u > x > bx at u.i.i once per u.o; x "
              "> y }\nreorder y: u.i.i > u.i.o") != "accepted");
  CHECK(refusal(kBlur, "nest u > { x > bx.u > bx.x > bx at x once per u; x > y }") != "accepted");
  CHECK(refusal(kBlur,
                kStrips + "nest u.o > u.i > x > y\ncompute_at bx at u.i\nstore_at bx at u.i") ==
        "bx is computed at u.i itself: 'stage bx at u.i' gives it storage there");
  CHECK(refusal(kBlur, "store_at bx at y:u") ==
        "bx is not computed at a loop: compute_at bx comes first");
  CHECK(refusal(kBlur,
                "split y: x by 4\nnest x.o > u > x.i > y\ncompute_at bx at y:u\nstore_at bx at "
                "x.o\nstore_at bx at root") == "bx is stored once per x.o already");
  CHECK(
      refusal(kBlur, "split y: x by 4\nnest u > x.o > x.i > y\ncompute_at bx at x.o once per u") ==
      "nothing slides: iterations of x.o need no common element of bx ('at x.o' alone says the "
      "same)");
}

}  // namespace polyte::schedule::sliding_test
