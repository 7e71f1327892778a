// Products with operands in any layout, in batches or not, with what stands before and behind them,
// on a machine whose caches hold next to nothing: panels, squares, blocks of tiles. Blocks of
// steps need sums too long to be executed here.
#include <doctest/doctest.h>

#include <map>

#include "driver/compile/describe_target.h"
#include "driver/judge/fuzz/judge.h"
#include "ir/program_text.h"
#include "poly/auto_schedule.h"
#include "schedule/templates/templates.h"
#include "tests/fuzz/executed.h"

namespace polyte::fuzz::products_test {
namespace {

std::string subscripts(const std::string& batch, bool is_turned, const char* a, const char* b) {
  return "[" + batch + (is_turned ? b : a) + ", " + (is_turned ? a : b) + "]";
}

std::string drawn_product(Random& random) {
  const std::string type = random.chance(70) ? "f32" : "f64";
  const auto size = [&](int low, int high) { return std::to_string(random.between(low, high)); };
  const std::string m = size(20, 45), n = size(24, 70), k = size(8, 40), b = size(2, 3);
  const bool has_batch = random.chance(35), shares_right = random.chance(40);
  const bool is_left_turned = random.chance(40), is_right_turned = random.chance(60);
  const std::string batch = has_batch ? "b, " : "", of_right = shares_right ? "" : batch;
  const auto shape = [&](const std::string& of, bool is_turned, const std::string& rows,
                         const std::string& columns) {
    return type + "[" + (of.empty() ? "" : b + ", ") + (is_turned ? columns : rows) + ", " +
           (is_turned ? rows : columns) + "]";
  };
  const bool is_update = random.chance(30), has_epilogue = !is_update && random.chance(50);
  const bool is_written = is_update && random.chance(50);  // A, before
  std::string text = std::string("program product()\n  ") + (is_written ? "inout" : "in   ") +
                     " A: " + shape(batch, is_left_turned, m, k) +
                     "\n  in    B: " + shape(of_right, is_right_turned, k, n) +
                     "\n  in    v: " + type + "[" + n + "]\n  " + (is_update ? "inout" : "out  ") +
                     " C: " + shape(batch, false, m, n) + "\n";
  const std::string term = "A" + subscripts(batch, is_left_turned, "m", "k") + " * B" +
                           subscripts(of_right, is_right_turned, "k", "n");
  const std::string cell = "[" + batch + "m, n]";
  const std::string ranges = std::string(has_batch ? "b in 0.." + b + ", " : "") + "m in 0.." + m +
                             ", n in 0.." + n + ", k in 0.." + k;
  const std::string all = "[" + std::string(has_batch ? "x, " : "") + "y, z]";
  if (is_written) text += "  A" + all + " = A" + all + " * 2\n";
  if (is_update) return text + "  C" + cell + " += " + term + "   for " + ranges + "\n";
  const std::string sum = has_epilogue ? "acc" : "C";
  text += "  " + sum + cell + " = sum[k] " + term + "\n";
  if (has_epilogue) text += "  C" + cell + " = max(acc" + cell + " + v[n], 0)\n";
  return text;
}

}  // namespace

TEST_CASE("products are what they were in panels, squares and blocks of tiles") {
  Machine machine = codegen::target_for_cpu("x86-64-v3").machine;
  machine.l1 = {512, 8, 64};
  machine.l2 = {2 << 10, 8, 64};
  machine.l3 = {3 << 10, 16, 64};
  std::map<std::string, int> drawn;
  for (std::uint64_t run = 0; run < 18; ++run) {
    Random random(23, run);
    const std::string text = drawn_product(random);
    CAPTURE(text);
    const auto program = std::make_shared<const ir::Program>(ir::parse_program(text, "product"));
    machine.cores = random.between(1, 2);
    for (const auto& script : {poly::auto_schedule(*program, machine, {}),
                               schedule::make_template(*program, machine, {})}) {
      REQUIRE(static_cast<bool>(script));
      const std::string lines = schedule::print(*script);
      CAPTURE(lines);
      for (const char* feature : {"param Tb", " layout ", "B.in: k by", ": A[", "par "})
        drawn[feature] += lines.find(feature) != std::string::npos ? 1 : 0;
      check_executed(program, *script, machine, run);
    }
  }
  for (const auto& [feature, times] : drawn) {
    CAPTURE(feature);
    CHECK(times >= 1);  // or nothing was tried
  }
}

}  // namespace polyte::fuzz::products_test
