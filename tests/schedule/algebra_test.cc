// The other algebraic directives: their text, what they leave, their refusals, and the proof of `rewrite online`
// against planted faults. Execution of online sums: tests/lower/algebra_test.cc.
#include "schedule/proof/rounding.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule {

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
const char* const kOnline =
    "split top: j by 4\nsplit total: j by 4\nsplit second: j by 4\n"
    "rewrite online total, second from top over j.o";

Result<State, Refusal> replayed(const char* text, const std::string& lines, const std::string& contract,
                                const ir::Values& sizes = {{"M", 3}, {"N", 10}}) {
  const auto program = bound_program(text, sizes);
  return replay(program, script_of(*program, lines, contract), test_machine(), {ProofLevel::Full, {}});
}

std::string refused(const char* text, const std::string& lines, const std::string& contract = "reassoc j") {
  const auto state = replayed(text, lines, contract);
  return state ? "accepted" : state.error().headline;
}

}  // namespace

TEST_CASE("algebraic directives print as they are parsed") {
  const auto program = bound_program(kSoftmax, {{"M", 3}, {"N", 10}});
  const Script script =
      script_of(*program,
                "compute_inline all\nsplit_reduction total: j by 8 as p tree\nreassociate top over j\n"
                "rewrite online total, second from top over j.o\natomic total.update, second.update\n"
                "specialize N % 4 == 0\n  split top: j by 4\n  specialize N > 8\n    unroll top.update:j.i\n"
                "  else\n    unroll top.update:j.o\nelse\n  split top: j by 2\nunroll top.update:i");
  const std::string text = print(script);
  CHECK(script.directives.size() == 7);
  CHECK(print(parse_script(text, "again")) == text);
  CHECK(
      text.find("specialize N % 4 == 0\n  split top: j by 4   tail guard\n  specialize N > 8\n    unroll "
                "top.update:j.i\n  else\n    unroll top.update:j.o\nelse\n  split top: j by 2   tail guard\nunroll") !=
      std::string::npos);
  CHECK_THROWS_WITH_AS(script_of(*program, "else\nsplit i by 2"), doctest::Contains("'else' without a specialize"),
                       UserError);
  CHECK_THROWS_WITH_AS(script_of(*program, "specialize N > 1\nsplit i by 2"),
                       doctest::Contains("specialize needs directives below it"), UserError);
}

TEST_CASE("specialize takes the branch of the sizes at hand") {
  const std::string lines = "specialize L % 4 == 0\n  split top: j by 5\nelse\n  split top: j by 4\n";
  const auto state = replayed(kSoftmax, lines, "exact");
  INFO((state ? "" : state.error().headline));
  REQUIRE(static_cast<bool>(state));
  CHECK(state->splits.front().factor == 5);
  CHECK(refused(kSoftmax, "specialize Q > 1\n  split top: j by 5", "exact").find('Q') != std::string::npos);
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
        std::vector<std::string>{"second is combined in another order: |error| <= gamma(10) * sum of |terms|, "
                                 "gamma(10) = 6e-07 for f32"});
  const auto idle = replayed(kSoftmax, "unroll top.update:j", "reassoc j");
  REQUIRE(static_cast<bool>(idle));
  CHECK(rounding_notes(*idle, prover) ==
        std::vector<std::string>{"the contract is wider than needed: every sum keeps its order, exact will do"});
  CHECK(refused(kSoftmax, "reassociate second over i", "exact") == "i is no reduction of second (j is)");
  CHECK(refused(kSoftmax, "reassociate second over j") == "the updates of second may run in any order already");
}

TEST_CASE("rewrite online makes one loop in which the maximum and the sums advance") {
  const auto state = replayed(kSoftmax, kOnline, "reassoc j");
  REQUIRE_MESSAGE(static_cast<bool>(state), (state ? std::string() : to_string(state.error(), "s", "")));
  CHECK(
      print_nest(state->tree) ==
      "{ i > top.init; i > total.init; i > second.init; j.o > { i > top.old; i > j.i > top.update; i > total.scale; i "
      "> j.i > total.update; i > second.scale; i > j.i > second.update }; i > j > y }");
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
  CHECK(refused(kDenseRelu, "rewrite online acc from y over k") == "y is no reduction: no statement updates it");
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
  CHECK(verdict([](ir::Program& p) { statement(p, "second.scale").values = statement(p, "total.scale").values; }) ==
        "second.scale scales by something else");
  CHECK(verdict([](ir::Program& p) { statement(p, "total.init").values[0] = ir::make_float(DType::F32, 1); }) ==
        "total.init has changed");
  CHECK(verdict([](ir::Program& p) {
          auto& body = std::get<ir::Region>(p.order[3]).body;
          std::swap(body[0], body[1]);
        }) != "legal");
}

}  // namespace polyte::schedule
