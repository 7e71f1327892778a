// Programs with ordered regions: isl's orders of whole Programs, their price, and the scripts
// that come of them.
#include <algorithm>

#include "poly/auto_schedule.h"
#include "poly/instance_order.h"
#include "poly/loop_extents.h"
#include "poly/order_price.h"
#include "poly/order_tree.h"
#include "poly/sizes_as_parameters.h"
#include "tests/poly/checked_script.h"

namespace polyte::poly {

using schedule::has;

namespace {

constexpr const char* kLu = R"(program lu(N)
  inout A: f64[N, N]
  loop i in 0..N
    loop j in 0..i
      S0: A[i, j] += -A[i, k] * A[k, j]     for k in 0..j
      S1: A[i, j] = A[i, j] / A[j, j]
    S2: A[i, j] += -A[i, k] * A[k, j]       for j in i..N, k in 0..i
)";

// Recurrences of three depths in one region, and a loop that runs downwards.
constexpr const char* kUneven = R"(program uneven(N)
  inout A: f64[N, N]
  inout x: f64[N]
  temp  s: f64[]
  loop k in 0..N
    s[] = sum[i] A[i, k] * A[i, k]
    S0: x[k] = s[] + 1
    S1: A[i, j] += -A[i, k] * x[k]          for i in 0..N, j in k+1..N
  loop u in 0..N-1 step -1
    S2: x[u] = x[u] - x[u+1]
)";

// In place, all nine neighbours.
constexpr const char* kNine = R"(program nine(T, N)
  inout A: f64[N, N]
  loop t in 0..T
    S: A[i, j] = (A[i-1, j-1] + A[i-1, j] + A[i-1, j+1] + A[i, j-1] + A[i, j] + A[i, j+1] +
                  A[i+1, j-1] + A[i+1, j] + A[i+1, j+1]) * 0.125   for i in 1..N-1, j in 1..N-1
)";

std::string orders_text(const InstanceOrders& orders) {
  std::string text;
  for (const OrderAttempt& attempt : orders.found)
    text += attempt.name + ": " + to_string(attempt.tree) + "\n";
  for (const std::string& lost : orders.lost) text += "lost " + lost + "\n";
  return text;
}

StatementPrice price_of(const ir::Program& program, const std::string& statement,
                        const std::vector<std::string>& rows) {
  static const Machine machine = one_core();
  std::vector<ir::Affine> values;
  for (const std::string& row : rows) values.push_back(ir::Affine::symbol(row));
  return {program, program.statement(statement), values, machine, false};
}

double cycles_in_order(const StatementPrice& price, const std::vector<std::size_t>& order) {
  std::vector<PlacedRow> loops;
  for (const std::size_t row : order) loops.push_back({row});
  return price.cost(loops).cycles;
}

}  // namespace

TEST_CASE("the band of a factorisation holds its three statements, the sum over k too") {
  const auto program = schedule::bound_program(kLu, {{"N", 40}});
  const std::string orders = orders_text(instance_orders(*program));
  CAPTURE(orders);
  CHECK(has(orders, "P<--- S1:j,i,j S0:k,i,j S2:k,i,j>"));
}

TEST_CASE("what isl did not find is reported, and nothing is found twice") {
  const auto program = schedule::bound_program(kLu, {{"N", 40}});
  const InstanceOrders orders = instance_orders(*program);
  CHECK(has(orders_text(orders), "lost fused: isl finds no row that carries a dependence"));
  for (const OrderAttempt& a : orders.found)
    for (const OrderAttempt& b : orders.found)
      if (&a != &b) CHECK(to_string(a.tree) != to_string(b.tree));
}

TEST_CASE(
    "a region of many statements keeps its loop outside, and what one iteration does is ordered") {
  std::string text = "program many(T, N)\n  in x: f64[N, N]\n";
  for (int i = 0; i < 8; ++i) text += "  inout a" + std::to_string(i) + ": f64[N, N]\n";
  text += "  loop t in 0..T\n";
  for (int i = 0; i < 8; ++i) {
    const std::string own = "a" + std::to_string(i), last = "a" + std::to_string((i + 7) % 8);
    text += "    S" + own + ": " + own + "[i, j] = " + own + "[i, j-1] + " + last +
            "[j, i] + x[i, j] for i in 0..N, j in 1..N\n";
  }
  const auto program = schedule::bound_program(text, {{"T", 40}, {"N", 50}});
  const InstanceOrders orders = instance_orders(*program);
  CAPTURE(orders_text(orders));
  REQUIRE(orders.found.size() == 1);
  CHECK(orders.found[0].name == "regions as written");
  CHECK(to_string(orders.found[0].tree).starts_with("b<- Sa0:t Sa1:t"));
  CHECK(has(to_string(orders.found[0].tree), "P<c- Sa0:i,j>"));
}

TEST_CASE("where one order of boxes is too much for isl, one component at a time is asked for") {
  const auto program = schedule::bound_program(R"(
program lstm(T, B, H)
  in    x: f32[T, B, 4, H]
  in    r: f32[H, 4, H]
  inout h: f32[B, H]
  inout c: f32[B, H]
  temp  g: f32[B, 4, H]
  loop t in 0..T
    G: g[b, q, n] = sum[k] h[b, k] * r[k, q, n]
    C: c[b, n] = (g[b, 2, n] + x[t, b, 2, n]) * c[b, n] + g[b, 0, n] * g[b, 3, n]
    H: h[b, n] = (g[b, 1, n] + x[t, b, 1, n]) * c[b, n]
)",
                                               {{"T", 50}, {"B", 32}, {"H", 128}});
  const InstanceOrders orders = instance_orders(*program);
  REQUIRE(orders.given_up.size() == 1);
  CHECK(orders.given_up[0].starts_with("fused: "));
  REQUIRE(orders.found.size() == 1);
  CHECK(orders.found[0].name == "serial components");
}

TEST_CASE("sizes are parameters again, small ones stay") {
  const auto program = schedule::bound_program(R"(program some(N, K)
  inout A: f64[N, K]
  loop t in 1..N-1
    S: A[t, j] = A[t-1, j]   for j in 0..K
)",
                                               {{"N", 100}, {"K", 3}});
  const ir::Program open = with_sizes_as_parameters(*program);
  CHECK(open.params == std::vector<std::string>{"N"});
  CHECK(ir::equal(ir::bind(open, {{"N", 100}}), *program));
  const std::string text = ir::print(open);
  CHECK(has(text, "1..N - 1"));
  CHECK(has(text, "A: f64[N, 3]"));
}

TEST_CASE(
    "extents of rows: boxes alone, less where rows outside are known, triangles by their middle") {
  const auto lu = schedule::bound_program(kLu, {{"N", 2000}});
  const auto rows_of = [](const std::vector<std::string>& iterators) {
    std::vector<ir::Affine> rows;
    for (const std::string& it : iterators) rows.push_back(ir::Affine::symbol(it));
    return rows;
  };
  const LoopExtents triangle(*lu, lu->statement("S2"), rows_of({"i", "j", "k"}));
  CHECK(triangle.points() == doctest::Approx(2000.0 * 2000 * 2000 / 6).epsilon(0.01));
  CHECK(triangle.extent(1) == doctest::Approx(2000).epsilon(0.01));
  CHECK(triangle.extent(1, {{0, 0}}) == doctest::Approx(1000).epsilon(0.01));

  const auto nine = schedule::bound_program(kNine, {{"T", 500}, {"N", 2000}});
  const ir::Affine t = ir::Affine::symbol("t"), i = ir::Affine::symbol("i"),
                   j = ir::Affine::symbol("j");
  const LoopExtents skewed(*nine, nine->statement("S"), {t, t * 2 + i, t * 2 + i + j});
  CHECK(skewed.extent(1) == 1998 + 2 * 499);
  CHECK(skewed.extent(1, {{0, 0}}) == 1998);
  CHECK(skewed.extent(1, {{0, 7}}) == 1998 + 2 * 7);  // a tile of t is known
  CHECK(skewed.extent(1, {{1, 15}, {0, 0}}) == 16);   // and one of this row
  CHECK(skewed.extent(0, {{1, 15}}) == 500);          // which says little of t
  CHECK(skewed.extent(2, {{0, 0}, {1, 0}}) == 1998);  // j alone is left
}

TEST_CASE("rows that only follow the skew of those outside are straight where that is cheaper") {
  constexpr const char* kHeat = R"(program heat(T, N)
  inout A: f64[N, N, N]
  inout B: f64[N, N, N]
  loop t in 0..T
    B[i, j, k] = (A[i+1, j, k] + A[i-1, j, k] + A[i, j+1, k] + A[i, j-1, k] +
                  A[i, j, k+1] + A[i, j, k-1])   for i in 1..N-1, j in 1..N-1, k in 1..N-1
    A[i, j, k] = (B[i+1, j, k] + B[i-1, j, k] + B[i, j+1, k] + B[i, j-1, k] +
                  B[i, j, k+1] + B[i, j, k-1])   for i in 1..N-1, j in 1..N-1, k in 1..N-1
)";
  const InstanceOrders orders =
      instance_orders(*schedule::bound_program(kHeat, {{"T", 50}, {"N", 60}}));
  REQUIRE(!orders.found.empty());
  const auto program = schedule::bound_program(kHeat, {{"T", 50}, {"N", 60}});
  const auto trees = straightened(orders.found.front().tree, *program);
  REQUIRE(trees.size() == 3);
  CHECK(to_string(trees[1]) ==
        "P<-- B:t,i + 2*t A:t,i + 2*t + 1> { b<-- B:j,k> B; b<-- A:j,k> A }");
  Machine wide = schedule::wide_machine();  // loses most where a vector is cut short
  wide.cores = 1;
  const auto large =
      auto_schedule(*schedule::bound_program(kHeat, {{"T", 500}, {"N", 120}}), wide, {});
  REQUIRE(static_cast<bool>(large));
  const std::string text = schedule::print(*large);
  CAPTURE(text);
  CHECK(has(text, "map B (t, i + 2*t, j + 2*t, k)"));
  CHECK(has(text, "{ k.o > <k.i> > B; k.o > <k.i> > A }"));
  CHECK(!has(text, "#: isl"));
  checked_script(kHeat, {{"T", 18}, {"N", 20}});
}

TEST_CASE("a skew that no tile makes use of is left out") {
  const std::string script = checked_script(R"(program line(T, N)
  inout A: f64[N]
  inout B: f64[N]
  loop t in 0..T
    B[i] = A[i-1] + A[i] + A[i+1]   for i in 1..N-1
    A[i] = B[i-1] + B[i] + B[i+1]   for i in 1..N-1
)",
                                            {{"T", 40}, {"N", 400}});
  CHECK(!has(script, "map"));
  CHECK(has(script, "nest t > { i.o > <i.i> > B; i.o > <i.i> > A }"));
}

TEST_CASE("the price prefers neighbours innermost, and knows what waits") {
  const auto program = schedule::bound_program(kLu, {{"N", 2000}});
  const StatementPrice price = price_of(*program, "S2", {"k", "i", "j"});
  CHECK(price.is_chain(0));
  CHECK(!price.is_chain(2));
  CHECK(cycles_in_order(price, {0, 1, 2}) < cycles_in_order(price, {0, 2, 1}));
  const auto stencil = schedule::bound_program(schedule::kSeidel, {{"T", 10}, {"N", 100}});
  CHECK(price_of(*stencil, "A", {"t", "i", "j"}).is_chain(2));
}

TEST_CASE("factorisations and recurrences in regions are scheduled and keep their bits") {
  for (const std::int64_t n : {2, 5, 33}) {
    CAPTURE(n);
    CHECK(has(checked_script(kLu, {{"N", n}}), "> S0"));
    CHECK(has(checked_script(kUneven, {{"N", n}}, {.keep_order = true}), "S2"));
    checked_script(kUneven, {{"N", n}}, {.affine_core_only = true});
  }
  const std::string large = checked_script(kLu, {{"N", 33}});
  CHECK(has(large, "{\n  map "));
  CHECK(has(large, "<"));
}

TEST_CASE("a sum of a region that reads what it writes") {
  CHECK(has(checked_script(R"(program sums(T, N)
  inout A: f64[N, N]
  loop t in 0..T
    S: A[i, j] += A[j, i]   for i in 0..N, j in 0..N
)",
                           {{"T", 2}, {"N", 3}}),
            "S"));
}

// The best of all pieces i..j of a row, from short to long: several maxima of one element.
constexpr const char* kPieces = R"(program pieces(N)
  inout table: i32[N, N]
  loop i in 0..N step -1
    loop j in i+1..N
      S0: table[i, j] max= table[i, j-1]
      S1: table[i, j] max= table[i+1, j]
      S2: table[i, j] max= table[i, k] + table[k+1, j]   for k in i+1..j
)";

TEST_CASE("updates of several statements commute: a maximum is pushed to elements that are lanes") {
  const auto program = schedule::bound_program(kPieces, {{"N", 500}});
  const InstanceOrders orders = instance_orders(*program);
  CAPTURE(orders_text(orders));
  const auto pushed =
      std::ranges::find_if(orders.found, [](const OrderAttempt& found) { return !found.is_isls; });
  REQUIRE(pushed != orders.found.end());
  CHECK(has(to_string(pushed->tree), "{ S1; S0; P<- S2:j> S2 }"));
  const auto script = auto_schedule(*program, one_core(), {.keep_order = true});
  REQUIRE(static_cast<bool>(script));
  const std::string text = schedule::print(*script);
  CHECK(has(text, "{ S1; S0; j2.o > <j2.i> > S2 }"));
  CHECK(!has(text, "#: isl"));
  const auto small = schedule::bound_program(kPieces, {{"N", 40}});
  const auto state = schedule::replay(small, *script, one_core(), {schedule::ProofLevel::Full, {}});
  REQUIRE(static_cast<bool>(state));
  CHECK(schedule::joined_problems(schedule::compare_with_reference(*state)) == "");
  checked_script(kPieces, {{"N", 40}}, {.affine_core_only = true});
}

TEST_CASE("neighbours in the innermost loop of an in-place stencil do not wait for each other") {
  const auto large = schedule::bound_program(kNine, {{"T", 500}, {"N", 2000}});
  const auto script = auto_schedule(*large, one_core(), {});
  REQUIRE(static_cast<bool>(script));
  const std::string text = schedule::print(*script);
  CAPTURE(text);
  CHECK(!has(text, "J.i > S"));
  CHECK(has(text, "tile ("));
  const auto small = schedule::bound_program(kNine, {{"T", 24}, {"N", 30}});
  const auto state = schedule::replay(small, *script, one_core(), {schedule::ProofLevel::Full, {}});
  REQUIRE(static_cast<bool>(state));
  CHECK(schedule::joined_problems(schedule::compare_with_reference(*state)) == "");
}

TEST_CASE("a plan that the proof refuses is kept whole, and its text is refused too") {
  const auto program = schedule::bound_program(kRightLooking, {{"N", 33}});
  std::vector<schedule::RefusedScript> refused;
  CHECK(auto_schedule(*program, schedule::wide_machine(), {.refused = &refused}));
  REQUIRE(!refused.empty());
  for (const schedule::RefusedScript& each : refused) {
    const std::string text = schedule::print_refused(each, program, schedule::wide_machine());
    CAPTURE(text);
    CHECK(text.starts_with("# " + each.what + "\n#   "));
    const schedule::Script script = schedule::parse_script(text, "refused.sched");
    const auto state = schedule::replay(program, script, schedule::wide_machine(), {});
    REQUIRE(!state);
    CHECK(has(text, state.error().headline));
    if (state.error().kind == schedule::RefusalKind::Illegal)
      CHECK(!state.error().counterexamples.empty());
  }
}

}  // namespace polyte::poly
