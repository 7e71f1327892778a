// Sums over parts of a square: tiles as those of the square have them, whole where a diagonal cuts
// them.
#include <random>

#include "lower/trace_check.h"
#include "schedule/script/reuse.h"
#include "schedule/templates/templates.h"
#include "tests/lower/check_passes.h"
#include "tests/poly/checked_script.h"

namespace polyte::poly {

using schedule::has;

namespace {

// Columns of a matrix that is scaled before, with those from `begin` on behind.
std::string covariances(const std::string& begin) {
  return "program covariances(M, N)\n  inout D: f64[N, M]\n  in    v: f64[M]\n  inout C: f64[M, "
         "M]\n"
         "  S1: D[i, j] = D[i, j] * v[j]\n  S2: C[i, j] += D[k, i] * D[k, j]   for i in 0..M, j "
         "in " +
         begin + "..M, k in 0..N\n";
}

// A sum over k for each place of a triangle or a part of one, upper or lower, with what comes
// before and after.
std::string drawn_triangle(std::mt19937& random) {
  const auto one_of = [&](std::vector<std::string> all) { return all[random() % all.size()]; };
  const std::string domain =
      " for " + one_of({"i in 0..N, j in i..N", "i in 0..N, j in i+1..N", "i in 0..N, j in i+30..N",
                        "i in 0..N, j in 2*i..N", "i in 0..N, j in 0..i+1", "i in 1..N, j in 0..i",
                        "i in 2..N, j in i-2..N", "i in 0..N-5, j in 0..i+5"});
  const bool by_rows = random() % 2 == 0;
  const auto at = [&](const std::string& array, const std::string& row) {
    return array + (by_rows ? "[" + row + ", k]" : "[k, " + row + "]");
  };
  const std::string type = one_of({"f64", "f32", "i32"}), other = one_of({"A", "B"}),
                    shape = by_rows ? "[N, K]" : "[K, N]";
  const std::string term = random() % 3 == 0 ? at("A", "i") + " * " + at("B", "j") + " + " +
                                                   at("B", "i") + " * " + at("A", "j")
                                             : at("A", "i") + " * " + at(other, "j");
  const bool scales = random() % 2 == 0;
  std::string text = "program triangle(N, K)\n  " + std::string(scales ? "inout" : "in") +
                     " A: " + type + shape + "\n  inout C: " + type + "[N, N]\n";
  if (has(term, "B[")) text += "  in B: " + type + shape + "\n";
  if (scales) text += "  Z: A[u, v] = A[u, v] * 2\n";
  text += one_of(
      {"", "  S0: C[i, j] = 0" + domain + "\n", "  S0: C[i, j] = C[i, j] * 3" + domain + "\n"});
  text += "  S1: C[i, j] += " + term + domain + ", k in 0..K\n";
  return text + one_of({"", "  S2: C[i, j] = C[i, j] + 1" + domain + "\n"});
}

// What an execution of the finished loops does otherwise than the reference order.
std::string traced(const schedule::State& state, const Machine& machine) {
  const std::shared_ptr<const ir::Program> basis = schedule::without_views(state).basis;
  const lower::ReferenceTrace reference(*basis, test::inputs_of(basis->buffers, {}, 2),
                                        {.any_order = lower::reorderable_updates(state)});
  std::string text;
  for (const lower::TraceFault& fault :
       compare_traces(reference, lower::lower_packing(state, {.machine = machine}),
                      lower::lower(state, {.machine = machine})))
    text += to_string(fault.kind) + ": " + fault.text + "\n";
  return text;
}

}  // namespace

TEST_CASE("reads of a tensor that was written before share panels where these begin as tiles do") {
  Machine machine = schedule::wide_machine();
  machine.vector_bits = 256;
  machine.vector_registers = 16;
  for (const std::string begin : {"i", "i + 1", "i + 30"}) {
    const std::string text = covariances(begin);
    const auto large = schedule::bound_program(text, {{"M", 1200}, {"N", 1400}});
    for (const auto& script :
         {auto_schedule(*large, machine, {}), schedule::make_template(*large, machine)}) {
      REQUIRE(static_cast<bool>(script));
      const std::string printed = schedule::print(*script);
      CAPTURE(printed);
      const bool is_far = begin == "i + 30";
      const bool is_shared = has(printed, "stage S2: D layout (k, j) [j//Nr");
      CHECK(is_shared != has(printed, "stage S2: D[k, j] layout (k, j) [j//Nr"));
      if (has(printed, "covariances/poly")) CHECK(is_shared == !is_far);
      CHECK(has(printed, "split S2: j by Nr1 from 24") == is_far);
      CHECK_FALSE(has(printed, "split S2: j by Nr1 from 1"));
      const auto small = schedule::bound_program(text, {{"M", 70}, {"N", 45}});
      schedule::Script again = *script;
      again.digest.clear();
      const auto state = schedule::replay(small, again, machine, {schedule::ProofLevel::Full, {}});
      REQUIRE(static_cast<bool>(state));
      CHECK(schedule::joined_problems(schedule::compare_with_reference(*state)) == "");
    }
  }
}

TEST_CASE("drawn triangles are proved and right, many in tiles with blocks of steps") {
  std::mt19937 random(3);
  int in_blocks = 0;
  for (int i = 0; i < 22; ++i) {
    const std::string text = drawn_triangle(random);
    CAPTURE(text);
    const Machine machine = random() % 2 == 0 ? one_core() : cores(2);
    auto script = auto_schedule(*schedule::bound_program(text, {{"N", 2000}, {"K", 3000}}), machine,
                                {.keep_order = true});
    REQUIRE(static_cast<bool>(script));
    const std::string printed = schedule::print(*script);
    CAPTURE(printed);
    in_blocks += has(printed, "stage C at S1:") && has(printed, "split S1: k by Kc");
    script->digest.clear();
    const int least = has(text, "i+30") ? 33 : 7;
    const int n = least + static_cast<int>(random() % 30), k = 1 + static_cast<int>(random() % 5);
    const auto state = schedule::replay(schedule::bound_program(text, {{"N", n}, {"K", k}}),
                                        *script, machine, {schedule::ProofLevel::Full, {}});
    REQUIRE_MESSAGE(static_cast<bool>(state), (state ? std::string() : state.error().headline));
    CHECK(schedule::joined_problems(schedule::compare_with_reference(*state)) == "");
    for (const int bits : {128, 256}) test::check_passes(*state, bits);
    CHECK(traced(*state, machine) == "");
  }
  CHECK(in_blocks > 8);
}

// Lanes that the diagonal cuts off are of instances elsewhere, also where one lane is left.
TEST_CASE("the second judge sees no fault in what nobody reads") {
  const auto program = schedule::bound_program(
      "program triangle(N, K)\n  in A: f64[N, K]\n  in B: f64[N, K]\n  inout C: f64[N, N]\n"
      "  S: C[i, j] += A[i, k] * B[j, k] + B[i, k] * A[j, k]   for i in 0..N, j in i+3..N, k in "
      "0..K\n",
      {{"N", 11}, {"K", 6}});
  for (int rows = 2; rows < 12; ++rows) {
    const auto script = schedule::parse_script(
        "schedule s/1 for triangle  f64  exact\nsplit S: i by " + std::to_string(rows) +
            ", j by 4   tail cut\nnest par j.o > i.o > k > [i.i] > <j.i> > S\n"
            "stage C at S:i.o in register\n",
        "s");
    const auto state =
        schedule::replay(program, script, one_core(), {schedule::ProofLevel::Full, {}});
    REQUIRE(static_cast<bool>(state));
    CHECK(traced(*state, one_core()) == "");
  }
}

}  // namespace polyte::poly
