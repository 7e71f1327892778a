// Which attention one pass over the keys may compute, by which units, and why not.
#include "schedule/cost/attention_pass.h"

#include <doctest/doctest.h>

#include "ir/program_text.h"
#include "support/gpu_machines.h"

namespace polyte::schedule::attention_pass_test {
namespace {

// What differs between the cases; each of them is attention of one head.
struct Text {
  // No score: the sums are read.
  std::string operands = "f16", score = "t[i, j] / 8", scores = "f32", weights = "f16";
  std::string end = "  y[i, c] = o[i, c] / l[i]\n";
};

// An f32, or what is converted to one.
std::string read(const std::string& element, const std::string& type) {
  return type == "f32" ? element : "f32(" + element + ")";
}
std::string made(const std::string& value, const std::string& type) {
  return type == "f32" ? value : type + "(" + value + ")";
}

ir::Program program_of(const Text& text) {
  const auto operand = [&](const std::string& element) { return read(element, text.operands); };
  const std::string in = ": " + text.operands + "[128, 64]\n",
                    weight = read("e[i, j]", text.weights);
  const std::string score = text.score.empty() ? "t[i, j]" : read("s[i, j]", text.scores);
  return ir::parse_program(
      "program p()\n  in  q" + in + "  in  k" + in + "  in  v" + in + "  out " +
          (text.end.empty() ? "o" : "y") + ": f32[128, 64]\n\n  t[i, j] = sum[d] " +
          operand("q[i, d]") + " * " + operand("k[j, d]") + "\n" +
          (text.score.empty() ? "" : "  s[i, j] = " + made(text.score, text.scores) + "\n") +
          "  m[i] = max[j] " + score + "\n  e[i, j] = " +
          made("exp(" + score + " - m[i])", text.weights) + "\n  l[i] = sum[j] " + weight +
          "\n  o[i, c] = sum[j] " + weight + " * " + operand("v[j, c]") + "\n" + text.end,
      "test");
}

const AttentionSizes kSizes{.batches = 1, .rows = 128, .keys = 128, .steps = 64, .columns = 64};

// Why tensor cores do not take it; empty: they do.
std::string why_not_in_one(const ir::Program& program, const AttentionSizes& sizes,
                           const char* machine) {
  const auto form = find_softmax_product(program);
  REQUIRE(form);
  const auto found = find_warp_attention(program, *form, sizes, *gpu_machine(machine));
  return found ? "" : found.error().reason;
}
std::string why_not_by_warps(const Text& text, const AttentionSizes& sizes = kSizes,
                             const char* machine = "h100") {
  return why_not_in_one(program_of(text), sizes, machine);
}

AttentionSizes with(std::int64_t AttentionSizes::* size, std::int64_t value) {
  AttentionSizes sizes = kSizes;
  sizes.*size = value;
  return sizes;
}

TEST_CASE(
    "attention in one pass: tensor cores take 16-bit operands whose sides are whole matrices") {
  CHECK(why_not_by_warps({}) == "");
  CHECK(why_not_by_warps({}, kSizes, "a100") == "");
  CHECK(why_not_by_warps({.score = "t[i, j]", .scores = "f16"}) == "");
  CHECK(why_not_by_warps({}, with(&AttentionSizes::rows, 3)) == "");
  CHECK(why_not_by_warps({}, with(&AttentionSizes::keys, 8)) == "keys are few");
  CHECK(why_not_by_warps({}, with(&AttentionSizes::columns, 136)) ==
        "rows of the operands are long");
  CHECK(why_not_by_warps({}, with(&AttentionSizes::steps, 24)) ==
        "steps of a score are no multiple of 16");
  CHECK(why_not_by_warps({}, with(&AttentionSizes::columns, 20)) ==
        "columns of the result are no multiple of 8");
}

TEST_CASE("attention in one pass: what tensor cores leave to others, and why") {
  CHECK(why_not_by_warps({.score = ""}) == "nothing is made of t before its maximum");
  CHECK(why_not_by_warps({.operands = "f32", .weights = "f32"}) ==
        "no instruction of a warp computes t.update in tiles of 16 rows, 8 columns, 16 terms");
  CHECK(why_not_by_warps({.end = ""}) == "the sums themselves are a result");
  const ir::Program heads_last = ir::parse_program(
      "program p()\n  in  q: f16[128, 64, 4]\n  in  k: f16[4, 128, 64]\n  in  v: f16[4, 128, 64]\n"
      "  out y: f32[4, 128, 64]\n\n  t[h, i, j] = sum[d] f32(q[i, d, h]) * f32(k[h, j, d])\n"
      "  s[h, i, j] = t[h, i, j] / 8\n  m[h, i] = max[j] s[h, i, j]\n"
      "  e[h, i, j] = f16(exp(s[h, i, j] - m[h, i]))\n  l[h, i] = sum[j] f32(e[h, i, j])\n"
      "  o[h, i, c] = sum[j] f32(e[h, i, j]) * f32(v[h, j, c])\n"
      "  y[h, i, c] = o[h, i, c] / l[h, i]\n",
      "test");
  CHECK(why_not_in_one(heads_last, kSizes, "h100") ==
        "rows of q lie along a batch, not in chunks of 16 bytes");
}

TEST_CASE("attention in one pass: threads take f32") {
  const auto why_not = [](const Text& text, const AttentionSizes& sizes) {
    const ir::Program program = program_of(text);
    const auto form = find_softmax_product(program);
    REQUIRE(form);
    const auto declined = why_not_by_threads(program, *form, sizes);
    return declined ? declined->reason : "";
  };
  const Text plain{.operands = "f32", .weights = "f32"};
  CHECK(why_not(plain, kSizes) == "");
  CHECK(why_not(plain, with(&AttentionSizes::steps, 20)) == "");
  CHECK(why_not(plain, with(&AttentionSizes::steps, 130)) == "rows of the operands are long");
  CHECK(why_not({}, kSizes) == "e is not f32");
  CHECK(why_not({.operands = "f32", .scores = "f16", .weights = "f32"}, kSizes) == "s is not f32");
}

TEST_CASE(
    "attention in one pass: rows of 16-byte chunks are swizzled, or padded where no power of two "
    "is there") {
  CHECK(chunked_row(64).is_swizzled);
  CHECK(chunked_row(64).pad == 0);
  CHECK_FALSE(chunked_row(48).is_swizzled);
  CHECK(chunked_row(48).pad == 8);  // an even number of chunks
  CHECK(chunked_row(24).pad == 0);
}

}  // namespace
}  // namespace polyte::schedule::attention_pass_test
