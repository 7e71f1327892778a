// The end-to-end criterion on copies with planted faults: what is copied in and back, when, and
// whether anybody gets around the copy.
#include "schedule/script/primitives/edit.h"
#include "tests/schedule/planted_faults.h"

namespace polyte::schedule::copy_faults_test {
namespace {

constexpr const char* kThreeSteps = R"(program steps(N)
  inout A: i32[N]
  in    x: i32[N]
  S: A[i] += x[i]
  T: A[i] = 2 * A[i]
  U: A[i] = A[i] + x[i]
)";

}  // namespace

TEST_CASE("copies in and back come around what uses the copy, each whole") {
  const State state = state_of(bound_program(kThreeSteps, {{"N", 9}}), R"(split i by 3
nest i.o > { i.i > S; i.i > T; i.i > U }
stage A at i.o
)");
  CHECK(verdict(state) == "legal");
  // The children of i.o: in, S, T, U, out.
  const auto in_order = [&](const std::vector<std::size_t>& order) {
    State turned = state;
    turned.tree = replace_loop(state.tree, std::get<Loop>(state.tree->op).id, [&](const Loop& old) {
      Loop loop = old;
      const std::vector<Tree>& children = std::get<Sequence>(old.body->op).children;
      REQUIRE(children.size() == 5);
      std::vector<Tree> all;
      for (const std::size_t child : order) all.push_back(children[child]);
      loop.body = make_sequence(all);
      return make_loop(std::move(loop));
    });
    return verdict(turned);
  };
  CHECK(in_order({0, 1, 2, 3, 4}) == "legal");
  CHECK(in_order({1, 0, 2, 3, 4}) != "legal");
  CHECK(in_order({0, 1, 2, 4, 3}) != "legal");
  CHECK(in_order({4, 1, 2, 3, 0}) != "legal");
  for (const std::string copy : {"A.in", "A.out"}) {
    State part = state;
    ScheduledStatement& s = statement(part, copy);
    s.body.domain.push_back(ir::at_least(ir::Affine::symbol(s.body.iterators.back()), 1));
    CHECK(verdict(part) != "legal");
    State elsewhere = state;
    ir::Index& index = copy == "A.in" ? statement(elsewhere, copy).body.writes[0].indices.back()
                                      : statement(elsewhere, copy).body.writes[0].indices.front();
    index.affine = ir::mod(index.affine + 1, copy == "A.in" ? 3 : 9);
    CHECK(verdict(elsewhere) != "legal");
  }
}

TEST_CASE("a copy that others of its iteration get around is refused") {
  const State state = state_of(bound_program(kThreeSteps, {{"N", 9}}), R"(split i by 3
nest i.o > { i.i > S; i.i > T; i.i > U }
stage A at i.o
)");
  // T uses A itself, in between.
  for (const bool writes : {false, true}) {
    State around = state;
    ScheduledStatement& t = statement(around, "T");
    const ir::Access original = around.basis->statement("T").writes[0];
    ir::Access direct = original;
    direct.indices[0].affine = ir::Affine::symbol(t.body.iterators[0]);
    if (writes)
      t.body.writes[0] = direct;
    else
      t.body.values = around.basis->statement("T").values;
    CHECK(verdict(around) != "legal");
  }
}

TEST_CASE("a copy that holds an element twice is refused where it is written") {
  State state = state_of(bound_program(kThreeSteps, {{"N", 9}}), R"(split i by 3
nest i.o > { i.i > S; i.i > T; i.i > U }
stage A at i.o
)");
  CHECK(verdict(state) == "legal");
  // Of each tile a second element holds what the first does. T writes the first, and U reads
  // the second.
  for (StagedBuffer& staged : state.staged) staged.shape = {6};
  ScheduledStatement& in = statement(state, "A.in");
  ScheduledStatement second = in;
  second.body.name = "A.in2";
  second.body.writes[0].indices.back().affine = second.body.writes[0].indices.back().affine + 3;
  state.tree = replace_loop(state.tree, std::get<Loop>(state.tree->op).id, [&](const Loop& old) {
    Loop loop = old;
    std::vector<Tree> children = std::get<Sequence>(old.body->op).children;
    const std::function<Tree(const Tree&)> renamed = [&](const Tree& tree) -> Tree {
      if (const auto* inner = std::get_if<Loop>(&tree->op)) {
        Loop again = *inner;
        again.id = state.fresh_loop();
        again.body = renamed(inner->body);
        return make_loop(std::move(again));
      }
      Leaf leaf = std::get<Leaf>(tree->op);
      leaf.statement = "A.in2";
      return make_leaf(std::move(leaf));
    };
    children.insert(children.begin(), renamed(children.front()));
    loop.body = make_sequence(std::move(children));
    return make_loop(std::move(loop));
  });
  state.statements.push_back(std::move(second));
  ScheduledStatement& u = statement(state, "U");
  const std::string copied = u.body.writes[0].buffer;
  u.body.values[0] = ir::rewrite(u.body.values[0], [&](const ir::Expr& leaf) -> ir::Expr {
    const auto* load = std::get_if<ir::Load>(&leaf->op);
    if (!load || load->buffer != copied) return leaf;
    std::vector<ir::Index> indices = load->indices;
    indices.back().affine = indices.back().affine + 3;
    return ir::make_load(leaf->type, copied, indices);
  });
  CHECK(verdict(state) != "legal");
}

TEST_CASE("what is copied is not written past its copy") {
  constexpr const char* kBetween = R"(program between(N)
  inout A: i32[N]
  in    x: i32[N]
  out   y: i32[N]
  out   z: i32[N]
  S: y[i] = A[i]
  T: A[i] = x[i]
  U: z[i] = A[i]
)";
  State state = state_of(bound_program(kBetween, {{"N", 9}}), R"(split i by 3
nest i.o > { i.i > S; i.i > T; i.i > U }
stage A at i.o
)");
  CHECK(verdict(state) == "legal");
  ScheduledStatement& t = statement(state, "T");
  t.body.writes[0] = state.basis->statement("T").writes[0];
  t.body.writes[0].indices[0].affine = ir::Affine::symbol(t.body.iterators[0]);
  CHECK(verdict(state) != "legal");
}

TEST_CASE("a copy of what a guard fills has what the guard says") {
  constexpr const char* kBefore = R"(program before(N)
  in  x: i32[N]
  out y: i32[N]
  S: y[i] = x[i-1] else 0
)";
  State state = state_of(bound_program(kBefore, {{"N", 9}}), "split i by 3\nstage x at i.o\n");
  CHECK(verdict(state) == "legal");
  ScheduledStatement& copy = statement(state, "x.in");
  const ir::Load read = *ir::loads_of(copy.body.values[0]).front();
  REQUIRE(read.otherwise);
  copy.body.values[0] = ir::make_guarded_load(DType::I32, read.buffer, read.indices, read.guard,
                                              ir::make_int(DType::I32, 7));
  CHECK(verdict(state) != "legal");
}

TEST_CASE("what is copied back was copied in, where nothing else writes it") {
  constexpr const char* kEveryOther = R"(program every(N)
  inout A: i32[2*N]
  in    x: i32[N]
  P: A[2*i] += x[i]   for i in 0..N
)";
  State state = state_of(bound_program(kEveryOther, {{"N", 9}}), "split i by 3\nstage A at i.o\n");
  INFO(names_of(state));
  CHECK(verdict(state) == "legal");
  ScheduledStatement& copy = statement(state, "A.in");
  copy.body.domain.push_back(
      ir::equal(ir::mod(ir::Affine::symbol(copy.body.iterators.back()), 2), 0));
  CHECK(verdict(state) != "legal");
}

}  // namespace polyte::schedule::copy_faults_test
