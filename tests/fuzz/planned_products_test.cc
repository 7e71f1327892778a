// Products of few rows and many, of one matrix or of several side by side, in steps of a region
// too: planned for large sizes on caches of several sizes, proved and executed at small ones.
#include <doctest/doctest.h>

#include <map>

#include "driver/compile/describe_target.h"
#include "driver/judge/fuzz/random.h"
#include "poly/auto_schedule.h"
#include "schedule/templates/templates.h"
#include "tests/fuzz/executed.h"
#include "tests/sweep.h"

namespace polyte::fuzz::planned_products_test {
namespace {

struct Drawn {
  std::string text;
  ir::Values large, small;
};

// A product in each step, of what the step before has written.
Drawn drawn_large_cells(Random& random) {
  const std::string weight = random.chance(60) ? "w[k, n]" : "(2 * w[k, n])";
  return {R"(program cells(T, B, H)
  in    x: f32[T, B, H]
  in    w: f32[H, H]
  inout h: f32[B, H]
  temp  s: f32[B, H]
  loop t in 0..T
    P: s[b, n] = sum[k] h[b, k] * )" +
              weight + R"(
    S: h[b, n] = max(min(s[b, n] + x[t, b, n], 2), -2)
)",
          {{"T", 30},
           {"B", 8 * random.between(1, 3)},
           {"H", 8 * random.between(12, 40) - random.between(1, 6)}},
          {{"T", 3}, {"B", random.between(1, 20)}, {"H", random.between(1, 30)}}};
}

// Products of few rows and many, of one matrix or of several side by side.
Drawn drawn_products(Random& random) {
  using Sizes = std::vector<int>;
  const bool has_batch = random.chance(40);
  const std::string batch = has_batch ? "B, " : "", b = has_batch ? "b, " : "";
  const auto operand = [&](const std::string& name, const std::string& rows,
                           const std::string& columns, bool is_transposed, bool declares) {
    const auto [first, second] =
        is_transposed ? std::pair(columns, rows) : std::pair(rows, columns);
    return name + (declares ? ": f32[" + batch : "[" + b) + first + ", " + second + "]";
  };
  const bool a = random.chance(20), w = random.chance(30);
  const std::string text =
      std::string("program products(") + (has_batch ? "B, " : "") + "M, N, K)\n  in " +
      operand("A", "M", "K", a, true) + "\n  in " + operand("W", "K", "N", w, true) + "\n  out " +
      operand("C", "M", "N", false, true) + "\n  " + operand("C", "m", "n", false, false) +
      " = sum[k] " + operand("A", "m", "k", a, false) + " * " + operand("W", "k", "n", w, false) +
      "\n";
  const int rows = random.pick(Sizes{1, 2, 3, 4, 8, 8, 8, 12, 31, 200, 900});
  const Sizes lengths = {50, 255, 1024, 1024, 4096, 4096, 9000};
  ir::Values large = {{"M", rows}, {"N", random.pick(lengths)}, {"K", random.pick(lengths)}},
             small = {{"M", random.between(1, 12)},
                      {"N", random.between(1, 40)},
                      {"K", random.between(1, 20)}};
  if (has_batch) {
    large["B"] = random.pick(Sizes{1, 2, 29, 300});
    small["B"] = random.between(1, 3);
  }
  return {text, large, small};
}

}  // namespace

TEST_CASE("products of any size are planned, in steps too, and right at small sizes") {
  const Machine machines[] = {codegen::target_for_cpu("x86-64-v3").machine,
                              codegen::target_for_cpu("x86-64-v4").machine};
  std::map<std::string, int> drawn = {{"param Tb", 0},
                                      {"param Kc = 8", 0},
                                      {"n.i.o", 0},
                                      {"at P.update:t layout", 0},
                                      {"precompute P", 0}};
  for (std::uint64_t run = 0; run < (test::takes_all() ? 700 : 80); ++run) {
    Random random(61, run);
    const Drawn program = random.chance(70) ? drawn_products(random) : drawn_large_cells(random);
    CAPTURE(program.text);
    Machine machine = machines[random.between(0, 1)];
    machine.cores = random.between(1, 2);
    machine.l2.bytes = std::int64_t{1} << random.between(18, 21);
    const auto large = bound_to(program.text, program.large);
    auto script = random.chance(50) ? poly::auto_schedule(*large, machine, {})
                                    : schedule::make_template(*large, machine, {});
    REQUIRE(static_cast<bool>(script));
    script->digest.clear();
    const std::string lines = schedule::print(*script);
    CAPTURE(lines);
    for (auto& [feature, times] : drawn) times += lines.find(feature) != std::string::npos ? 1 : 0;
    check_executed(bound_to(program.text, program.small), *script, machine, run);
  }
  for (const auto& [feature, times] : drawn) {
    CAPTURE(feature);
    CHECK(times >= 2);
  }
}

}  // namespace polyte::fuzz::planned_products_test
