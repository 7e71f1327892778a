// Random schedules of small programs through every pass: the interpreter must see the same
// bits after each. Splits, loop orders and kinds are random; kinds that race are found by the
// interpreter and the case is left out.
#include <doctest/doctest.h>

#include <algorithm>

#include "ir/program_text.h"
#include "lower/build_loops.h"
#include "lower/lower.h"
#include "schedule/script/replay.h"
#include "schedule/templates/templates.h"
#include "support/error.h"
#include "tests/lower/harness.h"
#include "tests/lower/state_tools.h"

using namespace polyte;
using namespace polyte::lower;
using ir::Affine;
using test::sym;

namespace {

using Random = std::mt19937;

int pick(Random& random, int low, int high) {
  return low + static_cast<int>(random() % (high - low + 1));
}

ir::Program convolution(Random& random) {
  const std::int64_t H = pick(random, 1, 6), W = pick(random, 1, 9), F = pick(random, 1, 9),
                     C = pick(random, 1, 3);
  ir::ProgramBuilder p("conv");
  p.declare("x", ir::Role::In, DType::F32, {C, H, W});
  p.declare("w", ir::Role::Const, DType::F32, {F, C, 3, 3});
  p.declare("y", ir::Role::Out, DType::F32, {F, H, W});
  const Affine f = sym("f"), h = sym("h"), q = sym("q"), c = sym("c"), r = sym("r"), s = sym("s");
  const ir::Expr zero = ir::make_float(DType::F32, 0);
  std::vector<ir::Constraint> guard = {ir::at_least(h + r - 1, 0), ir::less_than(h + r - 1, H),
                                       ir::at_least(q + s - 1, 0), ir::less_than(q + s - 1, W)};
  const ir::Expr x = ir::make_guarded_load(DType::F32, "x", {c, h + r - 1, q + s - 1}, guard, zero);
  p.reduce({"y", {f, h, q}}, {{"f", 0, F}, {"h", 0, H}, {"q", 0, W}},
           {{"c", 0, C}, {"r", 0, 3}, {"s", 0, 3}}, ir::Combiner::Sum,
           ir::make_binary(ir::BinaryOp::Mul, x, p.load("w", {f, c, r, s})));
  return p.build();
}

ir::Program triangle(Random& random) {
  const std::int64_t N = pick(random, 1, 11);
  ir::ProgramBuilder p("triangle");
  p.declare("a", ir::Role::In, DType::F32, {N, N});
  p.declare("y", ir::Role::InOut, DType::F32, {N, N});
  const Affine i = sym("i"), j = sym("j");
  const bool strict = random() % 2;
  p.define({"y", {i, j}}, {{"i", 0, N}, {"j", 0, i + (strict ? 0 : 1)}},
           ir::make_binary(ir::BinaryOp::Add, p.load("a", {j, i}),
                           ir::make_index(i + j * 2, DType::F32)));
  return p.build();
}

ir::Program pointwise(Random& random) {
  const std::int64_t N = pick(random, 1, 40), M = pick(random, 1, 5);
  ir::ProgramBuilder p("pointwise");
  p.declare("a", ir::Role::In, DType::F32, {M, 2 * N});
  p.declare("s", ir::Role::In, DType::F32, {M});
  p.declare("y", ir::Role::Out, DType::F32, {M, N});
  p.declare("z", ir::Role::Out, DType::F64, {M * N});
  const Affine m = sym("m"), n = sym("n");
  const ir::Expr scaled = ir::make_binary(
      ir::BinaryOp::Mul, p.load("a", {m, n * 2 + (random() % 2)}), p.load("s", {m}));
  p.define({"y", {m, n}}, {{"m", 0, M}, {"n", 0, N}},
           ir::make_select(ir::make_binary(ir::BinaryOp::Lt, scaled, ir::make_float(DType::F32, 1)),
                           scaled, ir::make_index(n - m, DType::F32)));
  const Affine e = sym("e");
  p.define({"z", {e}}, {{"e", 0, M * N}},
           ir::make_cast(DType::F64, p.load("y", {ir::floor_div(e, N), ir::mod(e, N)})));
  return p.build();
}

// Splits loop -> loop.o, loop.i in one statement.
void split_one(schedule::ScheduledStatement& s, const std::string& loop, std::int64_t factor) {
  schedule::State one;
  one.statements = {s};
  test::split(one, loop, factor);
  s = one.statements[0];
}

// Every statement in a nest of its own: random splits, order and kinds.
schedule::State random_nests(const ir::Program& program, Random& random) {
  schedule::State state = schedule::reference_state(std::make_shared<ir::Program>(program));
  std::vector<test::Tree> nests;
  for (schedule::ScheduledStatement& s : state.statements) {
    for (int round = 0; round < 2; ++round) {
      const std::vector<schedule::LoopRow> rows = s.rows;
      for (const schedule::LoopRow& row : rows)
        if (random() % 2) split_one(s, row.loop, pick(random, 2, round ? 3 : 9));
    }
    std::shuffle(s.rows.begin(), s.rows.end(), random);
    test::Tree tree = test::leaf(s.body.name);
    for (std::size_t i = s.rows.size(); i-- > 0;) {
      const int kind = pick(random, 0, 7);
      const std::string& name = s.rows[i].loop;
      const std::string text = kind == 0  ? "par " + name
                               : kind < 3 ? "[" + name + "]"
                               : kind < 5 ? "<" + name + ">"
                                          : name;
      tree = test::loop(state, text, tree);
      s.rows[i].tail = static_cast<schedule::Tail>(pick(random, 0, 2));
    }
    nests.push_back(std::move(tree));
  }
  state.tree = schedule::make_sequence(std::move(nests));
  return state;
}

// False where the kinds race: the schedule is illegal and proves nothing.
bool is_legal(const schedule::State& state) {
  const ir::LoopProgram loops = build_loops(state);
  std::string differs;
  try {
    differs = test::compare(*state.reference, loops);
  } catch (const UserError& error) {
    REQUIRE(std::string(error.what()).find("race") != std::string::npos);
    return false;
  }
  CHECK(differs == "");
  return true;
}

Machine with_vectors(int bits) {
  Machine machine;
  machine.vector_bits = bits;
  return machine;
}

bool check_passes(const schedule::State& state, const Machine& machine,
                  std::vector<std::string>& notes) {
  if (!is_legal(state)) return false;
  ir::LoopProgram before;
  const auto check = [&](const PassRun& run) {
    CAPTURE(run.name);
    std::string differs;
    try {
      differs = test::compare(*state.reference, *run.program);
    } catch (const std::exception& error) {
      differs = error.what();
    }
    CHECK(differs == "");
    if (!differs.empty() && before.body)
      MESSAGE(ir::print(before) << "becomes\n" << ir::print(*run.program));
    CHECK(ir::print(ir::parse_loop_program(ir::print(*run.program), "printed")) ==
          ir::print(*run.program));
    before = *run.program;
  };
  lower::lower(state, {.machine = machine, .on_pass = check, .notes = &notes});
  return true;
}

bool check_passes(const schedule::State& state, int vector_bits) {
  std::vector<std::string> notes;
  return check_passes(state, with_vectors(vector_bits), notes);
}

// One sum or two along rows of any length, with an operand that all rows share or without.
std::string row_sums(Random& random) {
  const bool shares = random() % 3 != 0;
  const std::string term = shares ? "A[i, j] * x[j]" : "A[i, j] * B[i, j]";
  const std::string sizes =
      std::to_string(pick(random, 1, 37)) + ", " + std::to_string(pick(random, 1, 90));
  std::string text = "program rows()\n  in  A: f32[" + sizes + "]\n  in  B: f32[" + sizes +
                     "]\n  in  x: f32[" + sizes.substr(sizes.find(' ') + 1) + "]\n  out y: f32[" +
                     sizes.substr(0, sizes.find(',')) + "]\n  y[i] = sum[j] " + term + "\n";
  if (random() % 2) {
    text.insert(text.find("  y[i] ="), "  out z: f32[" + sizes.substr(0, sizes.find(',')) + "]\n");
    text += "  z[i] = sum[j] B[i, j] * x[j]\n";
  }
  return text;
}

}  // namespace

TEST_CASE("random nests keep their bits through every pass") {
  int legal = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const ir::Program program =
        seed % 4 == 0   ? convolution(random)
        : seed % 4 == 1 ? triangle(random)
        : seed % 4 == 2 ? pointwise(random)
                        : test::dense(pick(random, 1, 7), pick(random, 1, 19), pick(random, 1, 5));
    legal += check_passes(random_nests(program, random), 64 << pick(random, 0, 3));
  }
  CHECK(legal > 150);
}

TEST_CASE("random tiles of a dense layer, accumulators in registers and not") {
  for (unsigned seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const std::int64_t M = pick(random, 1, 9), N = pick(random, 1, 21), K = pick(random, 1, 7);
    const bool stage = random() % 2;
    const test::Tiles tiles{pick(random, 1, 4), pick(random, 1, 9), stage ? K : pick(random, 1, 4)};
    CHECK(check_passes(test::tiled_dense(M, N, K, tiles, stage), 64 << pick(random, 0, 3)));
  }
}

TEST_CASE("random sums of rows as the templates have them: in registers, whatever is left over") {
  int in_groups = 0, together = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    Random random(seed);
    const auto program =
        std::make_shared<const ir::Program>(ir::parse_program(row_sums(random), "rows"));
    Machine machine = with_vectors(128 << pick(random, 0, 2));
    machine.vector_registers = random() % 2 ? 16 : 32;
    machine.l3.bytes = random() % 2 ? 1 << 20 : 1 << 10;
    const auto script = schedule::make_template(*program, machine);
    REQUIRE(static_cast<bool>(script));
    const std::string text = schedule::print(*script);
    CAPTURE(seed);
    CAPTURE(ir::print(*program));
    CAPTURE(text);
    const auto state =
        schedule::replay(program, *script, machine, {schedule::ProofLevel::Full, {}});
    REQUIRE(static_cast<bool>(state));
    std::vector<std::string> notes;
    CHECK(check_passes(*state, machine, notes));
    for (const std::string& note : notes) CHECK(note.find("_v") == std::string::npos);
    in_groups += text.find("distribute ") != std::string::npos ? 1 : 0;
    together += text.find("_v.init; j.o > [") != std::string::npos ? 1 : 0;
  }
  CHECK(in_groups > 15);
  CHECK(together > 25);
}
