// The catalogue of instructions, and nests compared with it.
#include "ir/intrinsics.h"

#include <doctest/doctest.h>

#include <set>

namespace polyte::ir {

namespace {

const char* const kTile = R"(loops tile
  in x: u8[64]
  in w: i8[64]
  inout y: i32[16]

  tensorized vnni_dot_i32x16
    for n in 0..16
      for k in 0..4
        y[n] = (y[n] + (cast_i32(x[k + 4*n]) * cast_i32(w[k + 4*n])))  @y(n, k)
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string intrinsic_problems(const std::string& text, Form form = Form::Flat) {
  std::string all;
  for (const std::string& problem : verify(parse_loop_program(text, "test"), form))
    all += (all.empty() ? "" : "; ") + problem;
  return all;
}

// Of kTile with one thing changed.
std::string changed(const std::string& from, const std::string& to) {
  const std::string problems = intrinsic_problems(replaced(kTile, from, to));
  const std::string prefix = "tensorized 'vnni_dot_i32x16': ";
  return problems.substr(0, prefix.size()) == prefix ? problems.substr(prefix.size()) : problems;
}

}  // namespace

TEST_CASE("rows of the catalogue") {
  std::set<std::string> names;
  for (const Intrinsic& row : intrinsics()) {
    CAPTURE(row.name);
    CHECK(names.insert(row.name).second);
    CHECK(row.program.statements.size() == 1);
    CHECK(row.program.buffers.back().name == "c");
    const auto one = [&](const std::string& buffer) {
      std::vector<std::optional<std::int64_t>> strides;
      std::int64_t stride = 1;
      const std::vector<std::int64_t> shape = constant_shape(row.program.buffer(buffer));
      for (std::size_t d = shape.size(); d-- > 0; stride *= shape[d])
        strides.insert(strides.begin(), stride);
      return strides;
    };
    CHECK(static_cast<bool>(match(row, row.nest, one)));  // each row is itself
    const Statement& s = row.program.statements.front();
    const bool sums = !s.reductions.empty();
    // Its own order of a sum cannot show, or it says so.
    CHECK((!sums || is_integer(row.program.buffers.back().dtype) || row.rounds));
    for_each_stmt(row.nest, [&](const Stmt& at) {
      if (const auto* loop = std::get_if<For>(&at->op)) CHECK(loop->upper.front().constant() > 1);
    });
  }
  CHECK(formula_of(find_intrinsic("vnni_pair_i32x8")->nest) ==
        "c[i] = c[i] + i32(a[i, k]) * i32(b[i, k])  for i in 0..8, k in 0..2");
  CHECK(find_intrinsic("nonsense") == nullptr);
}

TEST_CASE("what a processor lacks") {
  Machine machine;
  machine.vector_bits = 256;
  machine.features = {"+avx2", "-avx512vnni"};
  const Intrinsic& row = *find_intrinsic("vnni_dot_i32x8");
  CHECK(missing_for(row, machine) == "avx512vnni and avx512vl or avxvnni");
  machine.features = {"+avxvnni"};
  CHECK(missing_for(row, machine).empty());
  CHECK(missing_for(*find_intrinsic("fma_f32x16"), machine).empty());
  machine.features = {"+avx512vnni"};
  CHECK(missing_for(*find_intrinsic("vnni_dot_i32x16"), machine) == "vectors of 512 bits");
}

TEST_CASE("a tile in text, and what else matches") {
  const LoopProgram program = parse_loop_program(kTile, "test");
  CHECK(print(program) == std::string(kTile));
  CHECK(equal(parse_loop_program(print(program), "test").body, program.body));
  CHECK(intrinsic_problems(kTile) == "");
  CHECK(changed("cast_i32(x[k + 4*n]) * cast_i32(w[k + 4*n])",
                "cast_i32(w[k + 4*n]) * cast_i32(x[k + 4*n])") == "");
  CHECK(changed("(y[n] + (cast_i32(x[k + 4*n]) * cast_i32(w[k + 4*n])))",
                "((cast_i32(x[k + 4*n]) * cast_i32(w[k + 4*n])) + y[n])") == "");
  CHECK(changed("cast_i32(x[k + 4*n])", "cast_i32(x[k + 8])") == "");              // a broadcast
  CHECK(changed("cast_i32(x[k + 4*n])", "cast_i32(x[7])") == "");                  // of one element
  CHECK(changed("cast_i32(x[k + 4*n])", "cast_i32(cast_i16(x[k + 4*n]))") == "");  // loses nothing
  CHECK(changed("    for n in 0..16\n      for k in 0..4",
                "    for k in 0..4\n      for n in 0..16") == "");
}

TEST_CASE("the first difference") {
  CHECK(changed("n in 0..16", "n in 0..8") == "loop n runs 8 times, expected 16");
  CHECK(changed("      for k in 0..4\n  ", "") != "");
  CHECK(changed("x: u8", "x: i8") == "x is i8, expected u8 (a[i, k])");
  CHECK(changed("x[k + 4*n]) * cast", "x[k + 4*n]) - cast") ==
        "where i32(a[i, k]) * i32(b[i, k]) is expected, the nest has i32(x[k + 4*n]) - i32(w[k + "
        "4*n])");
  CHECK(changed("w[k + 4*n]", "w[n + 16*k]") ==
        "w (operand b) moves by 1 element with n, expected 4 (or 0, a broadcast)");
  CHECK(changed("w[k + 4*n]", "w[4*n]") == "w (operand b) moves by 0 elements with k, expected 1");
  CHECK(changed("w[k + 4*n]", "w[(k + 4*n)//2]") == "w is not read or written evenly along k");
  CHECK(changed("cast_i32(x[k + 4*n])", "cast_i32(cast_u8(cast_i8(x[k + 4*n])))") ==
        "where a[i, k] is expected, the nest has u8(i8(x[k + 4*n]))");
  CHECK(changed("        y[n] =", "        nontemporal y[n] =") ==
        "the stores to y go past the caches");
  CHECK(changed("cast_i32(w[k + 4*n])", "cast_i32((w[k + 4*n] where n >= 1 else i8(0)))") ==
        "the read w[k + 4*n] if n >= 1 else 0 has a guard");
  CHECK(changed("(y[n] + (", "(y[n + 0] - (") ==
        "where c[i] + i32(a[i, k]) * i32(b[i, k]) is expected, the nest has y[n] - i32(x[k + 4*n]) "
        "* i32(w[k + 4*n])");
}

// An instruction reads all before it writes.
TEST_CASE("what is written is no other operand") {
  const std::string sums = R"(loops sums
  inout s: i32[32]

  tensorized sum_i32x4
    for j in 0..4
      s[0] = (s[0] + s[j])
)";
  CHECK(intrinsic_problems(sums) ==
        "tensorized 'sum_i32x4': s is written, and read as another operand (a)");
}

TEST_CASE("tensorized loops that are none") {
  const auto nest = [](const std::string& from, const std::string& to) {
    return intrinsic_problems(replaced(kTile, from, to), Form::Nest);
  };
  CHECK(nest("vnni_dot_i32x16", "nonsense") == "tensorized 'nonsense': no such intrinsic");
  const std::string not_a_nest =
      "tensorized 'vnni_dot_i32x16': expected loops of constant extent around one store";
  CHECK(nest("for k in 0..4", "unrolled k in 0..4") == not_a_nest);
  CHECK(nest("for k in 0..4", "for k in 0..n") == not_a_nest);
  CHECK(nest("        y[n] =", "        fence\n        y[n] =") == not_a_nest);
}

}  // namespace polyte::ir
