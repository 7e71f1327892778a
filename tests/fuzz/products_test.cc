// Products with operands in any layout, in batches or not, with what stands before and behind them,
// of sums over one loop or two, on a machine whose caches hold next to nothing: panels, squares,
// blocks of tiles, steps written out; and convolutions in blocks of channels. Blocks of the steps
// of one loop need sums too long to be executed here.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

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
  const bool has_two = random.chance(40);  // loops of the sum, in another order in B
  // With two, results that stay in a cache while the steps come in blocks.
  const std::string m = has_two ? size(12, 24) : size(20, 40), b = size(2, 3),
                    n = has_two ? size(16, 32) : size(24, 60),
                    first = has_two ? size(6, 12) : size(8, 24), second = size(2, 4),
                    k = has_two ? first + ", " + second : first,
                    of_b = has_two ? second + ", " + first : first;
  const bool has_batch = random.chance(35), shares_right = random.chance(40);
  const bool is_left_turned = random.chance(40), is_right_turned = random.chance(60);
  const std::string batch = has_batch ? "b, " : "", of_right = shares_right ? "" : batch;
  const auto shape = [&](const std::string& of, bool is_turned, const std::string& rows,
                         const std::string& columns) {
    return type + "[" + (of.empty() ? "" : b + ", ") + (is_turned ? columns : rows) + ", " +
           (is_turned ? rows : columns) + "]";
  };
  const bool is_update = random.chance(40), has_epilogue = !is_update && random.chance(50);
  const bool is_written = is_update && !has_two && random.chance(50);  // A, before
  std::string text = std::string("program product()\n  ") + (is_written ? "inout" : "in   ") +
                     " A: " + shape(batch, is_left_turned, m, k) +
                     "\n  in    B: " + shape(of_right, is_right_turned, of_b, n) +
                     "\n  in    v: " + type + "[" + n + "]\n  " + (is_update ? "inout" : "out  ") +
                     " C: " + shape(batch, false, m, n) + "\n";
  const char* const steps = has_two ? "k, l" : "k";
  const std::string term = "A" + subscripts(batch, is_left_turned, "m", steps) + " * B" +
                           subscripts(of_right, is_right_turned, has_two ? "l, k" : steps, "n");
  const std::string cell = "[" + batch + "m, n]";
  const std::string ranges = std::string(has_batch ? "b in 0.." + b + ", " : "") + "m in 0.." + m +
                             ", n in 0.." + n + ", k in 0.." + first +
                             (has_two ? ", l in 0.." + second : "");
  const std::string all = "[" + std::string(has_batch ? "x, " : "") + "y, z]";
  if (is_written) text += "  A" + all + " = A" + all + " * 2\n";
  if (is_update) return text + "  C" + cell + " += " + term + "   for " + ranges + "\n";
  const std::string sum = has_epilogue ? "acc" : "C";
  text += "  " + sum + cell + " = sum[" + steps + "] " + term + "\n";
  if (has_epilogue) text += "  C" + cell + " = max(acc" + cell + " + v[n], 0)\n";
  return text;
}

// A convolution of images in blocks of eight channels.
std::string drawn_convolution(Random& random) {
  const auto size = [&](int low, int high) { return std::to_string(random.between(low, high)); };
  const int of_c = random.between(2, 4), high = random.between(2, 4), wide = random.between(3, 6),
            of_r = random.between(1, 3), of_s = random.between(1, 3);
  const auto text = [](int number) { return std::to_string(number); };
  const std::string b = size(2, 4), c = text(of_c), h = text(high), w = text(wide), r = text(of_r),
                    s = text(of_s), rows = text(high + of_r - 1), columns = text(wide + of_s - 1);
  return "program convolution()\n  in    x: f32[" + c + ", " + rows + ", " + columns +
         ", 8]\n  in    w: f32[" + b + ", " + text(8 * of_c) + ", " + r + ", " + s +
         ", 8]\n  out   y: f32[" + b + ", " + h + ", " + w +
         ", 8]\n  y[b, h, q, o] = sum[c in 0.." + c +
         ", d, r, s] x[c, h + r, q + s, d] * w[b, 8*c + d, r, s, o]\n";
}

// A convolution in groups, whose channels read those of their group: of one size or another, so
// that vectors and tiles of channels fit into a group or do not, with borders or without, and of
// all channels or of those from one in the middle of a group on.
std::string drawn_groups(Random& random) {
  const auto text = [](int number) { return std::to_string(number); };
  const int groups = random.between(2, 3),
            own = random.pick(std::vector<int>{8, 16, 24, 5, 12}),  // channels of a result
      of = random.between(2, 5), high = random.between(2, 4), wide = random.between(3, 7),
            taps = random.pick(std::vector<int>{1, 3, 5}), stride = random.between(1, 2);
  const bool has_border = random.chance(60);
  const std::string begin = text(random.chance(30) ? random.between(1, own) : 0);
  const int left = has_border ? taps / 2 : 0;
  const auto extent = [&](int results) {
    return text(stride * (results - 1) + taps - left * (has_border ? 2 : 0));
  };
  const auto at = [&](const char* loop, const char* tap) {
    return text(stride) + "*" + loop + " + " + tap + (left > 0 ? " - " + text(left) : "");
  };
  const std::string read =
      "x[d + " + text(of) + "*(c//" + text(own) + "), " + at("h", "r") + ", " + at("q", "s") + "]";
  return "program groups()\n  in    x: f32[" + text(groups * of) + ", " + extent(high) + ", " +
         extent(wide) + "]\n  const w: f32[" + text(groups * own) + ", " + text(of) + ", " +
         text(taps) + ", " + text(taps) + "]\n  out   y: f32[" + text(groups * own) + ", " +
         text(high) + ", " + text(wide) + "]\n  Z: y[c, h, q] = 0  for c in 0.." + begin +
         ", h in 0.." + text(high) + ", q in 0.." + text(wide) + "\n  y[c, h, q] = sum[d, r, s] " +
         (has_border ? "(" + read + " else 0)" : read) + " * w[c, d, r, s]  for c in " + begin +
         ".." + text(groups * own) + ", h in 0.." + text(high) + ", q in 0.." + text(wide) +
         ", d in 0.." + text(of) + ", r in 0.." + text(taps) + ", s in 0.." + text(taps) + "\n";
}

// What is drawn, and words of its schedules of which each must be seen.
struct Family {
  std::string (*draw)(Random&);
  Cache l1, l2, l3;
  std::uint64_t runs;
  std::vector<const char*> features;
};

void check_drawn(const Family& family) {
  Machine machine = codegen::target_for_cpu("x86-64-v3").machine;
  machine.l1 = family.l1;
  machine.l2 = family.l2;
  machine.l3 = family.l3;
  std::map<std::string, int> drawn;
  for (std::uint64_t run = 0; run < family.runs; ++run) {
    Random random(33, run);
    const std::string text = family.draw(random);
    CAPTURE(text);
    const auto program = std::make_shared<const ir::Program>(ir::parse_program(text, "drawn"));
    machine.cores = random.between(1, 2);
    for (const auto& script : {poly::auto_schedule(*program, machine, {}),
                               schedule::make_template(*program, machine, {})}) {
      REQUIRE(static_cast<bool>(script));
      const std::string lines = schedule::print(*script);
      CAPTURE(lines);
      for (const char* feature : family.features)
        drawn[feature] += lines.find(feature) != std::string::npos ? 1 : 0;
      check_executed(program, *script, machine, run);
    }
  }
  for (const auto& [feature, times] : drawn) {
    CAPTURE(feature);
    CHECK(times >= 1);  // or nothing was tried
  }
}

}  // namespace

TEST_CASE("products are what they were in panels, squares and blocks of tiles") {
  check_drawn({drawn_product,
               {512, 8, 64},
               {2 << 10, 8, 64},
               {3 << 10, 16, 64},
               16,
               {"param Tb", "[l] >", " layout ", "B.in: k by", ": A[", "par "}});
}

TEST_CASE("a panel that is copied inside a loop is not cut along it") {
  check_drawn({[](Random&) {
                 return std::string(
                     "program product()\n  in    A: f32[3, 4, 4, 41]\n  in    B: f32[17, 4, 4]\n"
                     "  inout C: f32[3, 41, 17]\n  C[b, m, n] += A[b, k, l, m] * B[n, l, k]"
                     "   for b in 0..3, m in 0..41, n in 0..17, k in 0..4, l in 0..4\n");
               },
               {512, 8, 64},
               {2 << 10, 8, 64},
               {3 << 10, 16, 64},
               1,
               {"stage A at C.update:m "}});
}

TEST_CASE("convolutions are what they were in blocks of channels, their windows written out") {
  check_drawn({drawn_convolution,
               {1 << 10, 8, 64},
               {4 << 10, 8, 64},
               {8 << 10, 16, 64},
               6,
               {"param Kc", "[s] >", "param Mo"}});
}

TEST_CASE("convolutions in groups are what they were, lanes along channels or along a row") {
  check_drawn({drawn_groups,
               {512, 8, 64},
               {2 << 10, 8, 64},
               {3 << 10, 16, 64},
               14,
               {"<c.i> > y.update", "<q.i> > y.update", "[c.i]", "view x as"}});
}

}  // namespace polyte::fuzz::products_test
