// The other algebraic directives: their text, what they leave, their refusals, and the proof of
// `rewrite online` against planted faults. Execution of online sums: tests/lower/algebra_test.cc.
#include "schedule/proof/rounding.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::algebra_test {

namespace {

const char* const kSoftmax = R"(
program softmax(M, N)
  in  x: f32[M, N]
  out y: f32[M, N]
  top[i]   = max[j] x[i, j]
  total[i] = sum[j] exp(x[i, j] - top[i])
  second[i] = sum[j] x[i, j] * exp(x[i, j] - top[i])
  y[i, j]  = exp(x[i, j] - top[i]) / total[i] + second[i]
)";
const char* const kChain = R"(
program chain(N)
  in  x: f32[N]
  out y: f32[N]
  a[i] = x[i] + 1
  b[i] = a[i] * 2
  y[i] = b[i] + a[i]
)";
const char* const kShares = R"(
program shares(M, N)
  in  x: f32[M, N]
  in  w: f32[M]
  in  n: i32[M]
  out y: f32[M, N]
  out z: f32[M, N]
  out k: i32[M, N]
  out c: f32[M, N]
  y[i, j] = x[i, j] / w[i] + x[i, j] / 3
  z[i, j] = w[i] / x[i, j] + 1 / w[i]
  k[i, j] = n[i] / n[i]
  c[i, j] = select(x[i, j] / w[i] < 1, x[i, n[i] / 2], 0)
)";
const char* const kProduct = R"(
program product(M, N, D)
  in  x: f32[M, N]
  in  v: f32[N, D]
  out o: f32[M, D]
  top[i]   = max[j] x[i, j]
  e[i, j]  = exp(x[i, j] - top[i])
  total[i] = sum[j] e[i, j]
  p[i, j]  = e[i, j] / total[i]
  o[i, c]  = sum[j] p[i, j] * v[j, c]
)";
const char* const kOnlineProduct =
    "compute_inline p\n"
    "defer_division o as u\nsplit j by 4\nrewrite online total, u from top over j.o";
const ir::Values kProductSizes = {{"M", 3}, {"N", 10}, {"D", 2}};
const char* const kOnline =
    "split top: j by 4\nsplit total: j by 4\nsplit second: j by 4\n"
    "rewrite online total, second from top over j.o";

Result<State, Refusal> replayed(const char* text, const std::string& lines,
                                const std::string& contract,
                                const ir::Values& sizes = {{"M", 3}, {"N", 10}}) {
  const auto program = bound_program(text, sizes);
  return replay(program, script_of(*program, lines, contract), test_machine(),
                {ProofLevel::Full, {}});
}

std::string refused(const char* text, const std::string& lines,
                    const std::string& contract = "reassoc j") {
  const auto state = replayed(text, lines, contract);
  return state ? "accepted" : state.error().headline;
}

}  // namespace

TEST_CASE("algebraic directives print as they are parsed") {
  const auto program = bound_program(kSoftmax, {{"M", 3}, {"N", 10}});
  const Script script = script_of(
      *program,
      "compute_inline all\nsplit_reduction total: j by 8 as p tree\n"
      "reassociate top over j\nreciprocal y\ndefer_division total as sum\n"
      "rewrite online total, second from top over j.o\natomic total.update, second.update\n"
      "specialize N % 4 == 0\n  split top: j by 4\n  specialize N > 8\n    unroll top.update:j.i\n"
      "  else\n    unroll top.update:j.o\nelse\n  split top: j by 2\nunroll top.update:i");
  const std::string text = print(script);
  CHECK(script.directives.size() == 9);
  CHECK(print(parse_script(text, "again")) == text);
  CHECK(
      text.find("specialize N % 4 == 0\n  split top: j by 4   tail guard\n"
                "  specialize N > 8\n    unroll top.update:j.i\n  else\n    unroll top.update:j.o\n"
                "else\n  split top: j by 2   tail guard\nunroll") != std::string::npos);
  CHECK_THROWS_WITH_AS(script_of(*program, "else\nsplit i by 2"),
                       doctest::Contains("'else' without a specialize"), UserError);
  CHECK_THROWS_WITH_AS(script_of(*program, "specialize N > 1\nsplit i by 2"),
                       doctest::Contains("specialize needs directives below it"), UserError);
}

TEST_CASE("specialize takes the branch of the sizes at hand") {
  const std::string lines =
      "specialize L % 4 == 0\n  split top: j by 5\nelse\n  split top: j by 4\n";
  const auto state = replayed(kSoftmax, lines, "exact");
  INFO((state ? "" : state.error().headline));
  REQUIRE(static_cast<bool>(state));
  CHECK(state->at("top.update").rows[1].value == ir::floor_div(ir::Affine::symbol("j"), 5));
  CHECK(refused(kSoftmax, "specialize Q > 1\n  split top: j by 5", "exact").find('Q') !=
        std::string::npos);
  CHECK(refused(kSoftmax, "specialize L > 1\n  split top: q by 5", "exact") ==
        "top.init has no loop q (its loops are i)");
}

TEST_CASE("compute_inline all inlines every plain definition") {
  const auto state = replayed(kChain, "compute_inline all", "exact", {{"N", 10}});
  REQUIRE(static_cast<bool>(state));
  CHECK(state->statements.size() == 1);
  CHECK(state->rewrites.size() == 2);
  CHECK(joined_problems(compare_with_reference(*state)).empty());
  CHECK(refused(kSoftmax, "compute_inline all").find("nothing can be inlined: ") == 0);
}

TEST_CASE("reassociate lets one sum change its order, and says by how much") {
  const std::string reversed = "split second: j by 2\nreorder second.update: j.i > j.o";
  CHECK(refused(kSoftmax, reversed, "exact") ==
        "the updates of one element would change their order, and the contract is exact");
  CHECK(refused(kSoftmax, "reassociate total over j\n" + reversed, "exact") ==
        "the updates of one element would change their order, and the contract is exact");
  const auto state = replayed(kSoftmax, "reassociate second over j\n" + reversed, "exact");
  REQUIRE(static_cast<bool>(state));
  Prover prover(state->reference);
  CHECK(rounding_notes(*state, prover) ==
        std::vector<std::string>{
            "second is combined in another order: |error| <= gamma(10) * sum of |terms|, "
            "gamma(10) = 6e-07 for f32"});
  const auto idle = replayed(kSoftmax, "unroll top.update:j", "reassoc j");
  REQUIRE(static_cast<bool>(idle));
  CHECK(rounding_notes(*idle, prover) ==
        std::vector<std::string>{
            "the contract is wider than needed: every sum keeps its order, exact will do"});
  CHECK(refused(kSoftmax, "reassociate second over i", "exact") ==
        "i is no reduction of second (j is)");
  CHECK(refused(kSoftmax, "reassociate second over j") ==
        "the updates of second may run in any order already");
}

TEST_CASE(
    "two statements of one sum are added up in another order, and all their terms are counted") {
  const char* const sums = R"(program sums(N, K, L)
  in  a: f32[N, K]
  in  b: f32[N, L]
  out y: f32[N]
  temp s: f32[N]
  I: s[i] = 0
  P: s[i] += a[i, k]
  S: s[i] += b[i, l]
  y[i] = s[i]
)";
  const ir::Values sizes = {{"N", 4}, {"K", 5}, {"L", 3}};
  for (const char* script : {"nest i > { I; l > S; k > P; y }",
                             "compute_at s at y:i\nnest i > { I; l > S; k > P; y }"}) {
    CAPTURE(script);
    const auto state = replayed(sums, script, "reassoc k, l", sizes);
    REQUIRE(static_cast<bool>(state));
    Prover prover(state->reference);
    CHECK(rounding_notes(*state, prover) ==
          std::vector<std::string>{"s is combined in another order: |error| <= gamma(8) * sum of "
                                   "|terms|, gamma(8) = 4.8e-07 for f32"});
  }
}

TEST_CASE("reciprocal multiplies where it divided by the same number again and again") {
  const auto state = replayed(kShares, "reciprocal y\nreciprocal c\nvectorize y:j", "exact");
  REQUIRE_MESSAGE(static_cast<bool>(state),
                  (state ? std::string() : to_string(state.error(), "s", "")));
  CHECK(ir::to_string(state->at("y").body.values.front()) == "x[i, j] * (1 / w[i]) + x[i, j] / 3");
  CHECK(ir::to_string(state->at("c").body.values.front()) ==
        "select(x[i, j] * (1 / w[i]) < 1, x[i, (n[i] / 2)], 0)");
  CHECK(joined_problems(compare_with_reference(*state)).empty());
  Prover prover(state->reference);
  CHECK(rounding_notes(*state, prover).front() ==
        "y multiplies by the reciprocal of w[i]: |error| <= gamma(2) * |quotient|, gamma(2) = "
        "1.2e-07 for f32 (1.5 "
        "units in the last place, where a division has 0.5), as long as the reciprocal is a normal "
        "number");
}

TEST_CASE("reciprocal is refused where it means nothing, in these words") {
  CHECK(refused(kShares, "reciprocal q") == "no statement is called q (statements are y, z, k, c)");
  CHECK(refused(kShares, "reciprocal z") ==
        "no reciprocal serves z twice: w[i] / x[i, j] has another divisor in every iteration, 1 / "
        "w[i] is a reciprocal "
        "already");
  CHECK(refused(kShares, "reciprocal k") ==
        "no reciprocal serves k twice: n[i] / n[i] divides integers");
  CHECK(refused(kShares, "reciprocal y\nreciprocal y") ==
        "no reciprocal serves y twice: 1 / w[i] is a reciprocal already, x[i, j] / 3 divides by a "
        "constant");
  CHECK(refused(kSoftmax, "reciprocal top.update") == "top.update divides nothing");
  CHECK(refused(kShares, "stage w at y:i\nreciprocal y") ==
        "y reads staged storage already: reciprocal comes before");
  CHECK(refused(kShares, "stage w at y:i\nreciprocal w.in") ==
        "w.in moves elements: it divides nothing");
  const char* const kInPlace = R"(
program in_place(M, N)
  inout y: f32[M, N]
  loop t in 0..M
    S: y[t, j] = y[t, j] / y[t, 0]
)";
  CHECK(refused(kInPlace, "reciprocal S") ==
        "no reciprocal serves S twice: y[t, j] / y[t, 0] divides by what S computes");
}

TEST_CASE("rewrite online makes one loop in which the maximum and the sums advance") {
  const auto state = replayed(kSoftmax, kOnline, "reassoc j");
  REQUIRE_MESSAGE(static_cast<bool>(state),
                  (state ? std::string() : to_string(state.error(), "s", "")));
  CHECK(print_nest(state->tree) ==
        "{ i > top.init; i > total.init; i > second.init; j.o > { i > top.old; i > j.i > "
        "top.update; i > total.scale; i "
        "> j.i > total.update; i > second.scale; i > j.i > second.update }; i > j > y }");
}

TEST_CASE("weights of their own go into the loop, behind the maximum") {
  const auto state = replayed(kProduct, kOnlineProduct, "reassoc j", kProductSizes);
  REQUIRE_MESSAGE(static_cast<bool>(state),
                  (state ? std::string() : to_string(state.error(), "s", "")));
  CHECK(print_nest(state->tree) ==
        "{ i > top.init; i > total.init; i > c > u.init; j.o > { i > top.old; i > j.i > "
        "top.update; i > j.i > e; i > "
        "total.scale; i > j.i > total.update; i > c > u.scale; i > c > j.i > u.update }; i > c > o "
        "}");
  const auto refusal = [](const std::string& lines, const std::string& contract = "reassoc j") {
    const auto refused_state = replayed(kProduct, lines, contract, kProductSizes);
    return refused_state ? "accepted" : refused_state.error().headline;
  };
  CHECK(refusal("rewrite online total from top over j") ==
        "p reads e, which changes with the running maximum: inline it");
  CHECK(refusal("compute_inline p\nrewrite online total, o from top over j") ==
        "o is no sum of exp(.. - top) or of exp(.. - top) * ..");
}

TEST_CASE("defer_division is refused where it means nothing, in these words") {
  const auto refusal = [](const std::string& lines, const std::string& contract = "reassoc j") {
    const auto state = replayed(kProduct, lines, contract, kProductSizes);
    return state ? "accepted" : state.error().headline;
  };
  CHECK(refusal("defer_division total as u") ==
        "the terms of an element of total have no divisor in common");
  CHECK(
      refusal("defer_division o as u", "exact") ==
      "defer_division rounds the terms of o otherwise, and the contract is exact: say `reassoc j`");
  CHECK(
      refusal("compute_inline p\ndefer_division o as u", "exact") ==
      "defer_division rounds the terms of o otherwise, and the contract is exact: say `reassoc j`");
  CHECK(refusal("compute_inline p\ndefer_division o as total") ==
        "the name total is taken: a tensor is called so");
  CHECK(refusal("compute_inline p\ndefer_division p as u") == "no tensor is called p");
  CHECK(refusal("compute_inline p\ndefer_division e as u") ==
        "e is no reduction: no statement updates it");
  const auto program = bound_program(kProduct, {});
  const auto open =
      replay(program, script_of(*program, "compute_inline p\ndefer_division o as u", "reassoc j"),
             test_machine(), {ProofLevel::Full, {}});
  REQUIRE(!open);
  CHECK(
      open.error().headline.starts_with("the quotient of u is not o: an element has no term at "));
}

TEST_CASE("rewrite online is refused where it means nothing, in these words") {
  CHECK(refused(kSoftmax, kOnline, "exact") ==
        "rewrite online scales partial sums of total, and the contract is exact: say `reassoc j`");
  CHECK(refused(kSoftmax, "rewrite online total from top over j") ==
        "second is a sum over exp(.. - top) too: name it, or its terms belong to another maximum");
  CHECK(refused(kSoftmax, "rewrite online total, second from top over i") ==
        "i is a free loop of top.update (its reduction loops are j)");
  CHECK(refused(kSoftmax, "rewrite online total, second from total over j") ==
        "total is no maximum of floating-point numbers");
  CHECK(refused(kSoftmax, "rewrite online total, second, y from top over j") ==
        "y is no reduction: no statement updates it");
  CHECK(refused(kSoftmax, "split top: j by 4\nrewrite online total, second from top over j.o") ==
        "total.update takes exp of something else than top is the maximum of");
  CHECK(refused(kDenseRelu, "rewrite online acc from y over k") ==
        "y is no reduction: no statement updates it");
}

namespace {

std::string verdict(const std::function<void(ir::Program&)>& damage) {
  const auto replayed_state = replayed(kSoftmax, kOnline, "reassoc j");
  REQUIRE(static_cast<bool>(replayed_state));
  const std::string start = "the sums that run along with top do not end as they should: ";
  const std::string headline = verdict_after(*replayed_state, damage);
  return headline.starts_with(start) ? headline.substr(start.size()) : headline;
}

}  // namespace

TEST_CASE("faults in a Program with reciprocals are refused by the proof of the step") {
  const auto state = replayed(kShares, "reciprocal y", "exact");
  REQUIRE(static_cast<bool>(state));
  const auto verdict_of = [&](const std::function<void(ir::Program&)>& damage) {
    const std::string start = "the Program with reciprocals in y is not the Program: ";
    const std::string headline = verdict_after(*state, damage);
    return headline.starts_with(start) ? headline.substr(start.size()) : headline;
  };
  const auto value_of = [](ir::Program& p, const std::string& name) -> ir::Expr& {
    return statement(p, name).values[0];
  };
  const auto binary = [](const ir::Expr& e) { return std::get<ir::Binary>(e->op); };
  const auto quotient = [](const ir::Expr& a, const ir::Expr& b) {
    return ir::make_binary(ir::BinaryOp::Div, a, b);
  };
  const auto product = [](const ir::Expr& a, const ir::Expr& b) {
    return ir::make_binary(ir::BinaryOp::Mul, a, b);
  };
  const ir::Expr one = ir::make_literal(DType::F32, 1), two = ir::make_literal(DType::F32, 2);
  CHECK(verdict_of([](ir::Program&) {}) == "legal");
  CHECK(verdict_of([&](ir::Program& p) {  // 2 / w in place of 1 / w
          const ir::Binary sum = binary(value_of(p, "y")), term = binary(sum.a);
          value_of(p, "y") =
              ir::make_binary(sum.op, product(term.a, quotient(two, binary(term.b).b)), sum.b);
        }) == "y computes something else");
  CHECK(verdict_of([&](ir::Program& p) {  // w * (1 / x)
          const ir::Binary sum = binary(value_of(p, "y")), term = binary(sum.a);
          value_of(p, "y") =
              ir::make_binary(sum.op, product(binary(term.b).b, quotient(one, term.a)), sum.b);
        }) == "y computes something else");
  CHECK(verdict_of([&](ir::Program& p) {  // a constant
          const ir::Binary sum = binary(value_of(p, "y")), third = binary(sum.b);
          value_of(p, "y") =
              ir::make_binary(sum.op, sum.a, product(third.a, quotient(one, third.b)));
        }) == "y computes something else");
  CHECK(verdict_of([&](ir::Program& p) { std::swap(value_of(p, "y"), value_of(p, "z")); }) ==
        "z has changed");
  CHECK(verdict_of([&](ir::Program& p) {
          statement(p, "y").domain.push_back(ir::at_least(ir::Affine::symbol("j"), 1));
        }) == "y has changed in more than its values");
  CHECK(verdict_of([&](ir::Program& p) { std::swap(p.order[0], p.order[1]); }) == "another order");
}

TEST_CASE("faults in a sum that is divided at its end are refused by the proof of the step") {
  const auto state =
      replayed(kProduct, "compute_inline p\ndefer_division o as u", "reassoc j", kProductSizes);
  REQUIRE(static_cast<bool>(state));
  const auto verdict_of = [&](const std::function<void(ir::Program&)>& damage) {
    const std::string start = "the quotient of u is not o: ";
    const std::string headline = verdict_after(*state, damage);
    return headline.starts_with(start) ? headline.substr(start.size()) : headline;
  };
  CHECK(verdict_of([](ir::Program&) {}) == "legal");
  CHECK(verdict_of([](ir::Program& p) {
          statement(p, "u.init").values[0] = ir::make_float(DType::F32, 1);
        }) == "u.init does not begin as it did");
  CHECK(verdict_of([](ir::Program& p) {
          statement(p, "u.update").values[0] = ir::make_float(DType::F32, 1);
        }) == "u.update adds something else");
  CHECK(verdict_of([](ir::Program& p) {
          statement(p, "u.update").domain.push_back(ir::at_least(ir::Affine::symbol("j"), 1));
        }) == "u.update adds something else");
  CHECK(verdict_of([](ir::Program& p) {
          const auto quotient = std::get<ir::Binary>(statement(p, "o").values[0]->op);
          statement(p, "o").values[0] = ir::make_binary(ir::BinaryOp::Mul, quotient.a, quotient.b);
        }) == "o divides something else");
  CHECK(verdict_of([](ir::Program& p) { std::swap(p.order[0], p.order[1]); }) == "another order");
}

TEST_CASE("faults in weights beside a running maximum are refused by the proof of the step") {
  const auto state = replayed(kProduct, kOnlineProduct, "reassoc j", kProductSizes);
  REQUIRE(static_cast<bool>(state));
  const auto verdict_of = [&](const std::function<void(ir::Program&)>& damage) {
    const std::string start = "the sums that run along with top do not end as they should: ";
    const std::string headline = verdict_after(*state, damage);
    return headline.starts_with(start) ? headline.substr(start.size()) : headline;
  };
  CHECK(verdict_of([](ir::Program&) {}) == "legal");
  CHECK(verdict_of([](ir::Program& p) {
          statement(p, "e").domain.push_back(ir::at_least(ir::Affine::symbol("j.o"), 1));
        }) == "e leaves an update out");
  CHECK(verdict_of([](ir::Program& p) {  // of the maximum before
          statement(p, "e").values[0] =
              ir::rewrite(statement(p, "e").values[0], [](const ir::Expr& leaf) {
                const auto* load = std::get_if<ir::Load>(&leaf->op);
                return load && load->buffer == "top"
                           ? ir::make_load(leaf->type, "top.old", load->indices)
                           : leaf;
              });
        }) == "e does something else");
  CHECK(verdict_of([](ir::Program& p) {
          const ir::Expr weight =
              ir::make_load(DType::F32, "e", {ir::Affine::symbol("i"), ir::Affine(0)});
          statement(p, "o").values[0] =
              ir::make_binary(ir::BinaryOp::Mul, statement(p, "o").values[0], weight);
        }) == "o has changed");
}

TEST_CASE("faults in an online Program are refused by the proof of the step") {
  using ir::Affine;
  CHECK(verdict([](ir::Program&) {}) == "legal");
  CHECK(verdict([](ir::Program& p) {
          statement(p, "total.update").domain.push_back(ir::less_than(Affine::symbol("j.i"), 3));
        }) == "total.update leaves an update out");
  CHECK(verdict([](ir::Program& p) {
          statement(p, "total.scale").domain.push_back(ir::at_least(Affine::symbol("j.o"), 1));
        }) == "a cell of total is not scaled");
  CHECK(verdict([](ir::Program& p) {
          statement(p, "top.old").domain.push_back(ir::at_least(Affine::symbol("i"), 1));
        }) == "a maximum of top.old is not known");
  CHECK(verdict([](ir::Program& p) {
          statement(p, "second.scale").values = statement(p, "total.scale").values;
        }) == "second.scale scales by something else");
  CHECK(verdict([](ir::Program& p) {
          statement(p, "total.init").values[0] = ir::make_float(DType::F32, 1);
        }) == "total.init has changed");
  CHECK(verdict([](ir::Program& p) {
          auto& body = std::get<ir::Region>(p.order[3]).body;
          std::swap(body[0], body[1]);
        }) != "legal");
}

}  // namespace polyte::schedule::algebra_test
