// Every operation on every type, scalar and in vectors, on every x86-64 level this machine runs,
// against the interpreters' arithmetic: bit for bit, on special values and random bit patterns.
#include "ir/arithmetic.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "support/error.h"
#include "tests/codegen/native.h"

using namespace polyte;
using namespace polyte::codegen::testing;
using ir::BinaryOp;
using ir::UnaryOp;

namespace {

// Elements; the last lanes of a vector loop are masked by construction.
constexpr int kCount = 1024;

constexpr UnaryOp kExactUnary[] = {UnaryOp::Neg,   UnaryOp::Abs,   UnaryOp::Not,
                                   UnaryOp::Sqrt,  UnaryOp::Floor, UnaryOp::Ceil,
                                   UnaryOp::Round, UnaryOp::Trunc, UnaryOp::Tf32};
constexpr BinaryOp kExactBinary[] = {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div,
                                     BinaryOp::Mod, BinaryOp::Min, BinaryOp::Max, BinaryOp::And,
                                     BinaryOp::Or,  BinaryOp::Xor, BinaryOp::Shl, BinaryOp::Shr,
                                     BinaryOp::Eq,  BinaryOp::Ne,  BinaryOp::Lt,  BinaryOp::Le};

constexpr double kSpecials[] = {0.0,
                                -0.0,
                                1,
                                -1,
                                0.5,
                                1.5,
                                2.5,
                                -2.5,
                                3,
                                127,
                                128,
                                255,
                                256,
                                32767.5,
                                65504,
                                65520,
                                2147483647.0,
                                2147483648.0,
                                -129,
                                1e-8,
                                5.9e-8,
                                1e-40,
                                4294967295,
                                9.3e18,
                                1.9e19,
                                -9.3e18,
                                1e300,
                                1e39,
                                3e38,
                                1e-310,
                                3.4e38,
                                8388607.5,
                                8388608.5,
                                4503599627370495.5,
                                -0.4999999999999999};

// Random bits of the type; some near one another, some special.
ir::Contents patterns(DType type, unsigned seed) {
  ir::Contents contents = zeros(type, {kCount});
  std::mt19937_64 random(seed);
  const auto size = static_cast<std::size_t>(size_in_bytes(type));
  std::size_t element = 0;
  for (std::size_t at = 0; at < contents.bytes.size(); at += size, ++element) {
    const std::uint64_t bits = random();
    const auto put = [&](ir::arithmetic::Scalar value) {
      ir::arithmetic::store(type, &contents.bytes[at], value);
    };
    switch (bits % 4) {
      case 0:  // any bits
        for (std::size_t i = 0; i < size; ++i)
          contents.bytes[at + i] = static_cast<std::byte>(random() & 0xff);
        if (type == DType::Bool) contents.bytes[at] &= std::byte{1};
        break;
      case 1:  // a special value
        put(ir::arithmetic::cast(
            type, DType::F64,
            ir::arithmetic::of_real(kSpecials[(bits >> 8) % std::size(kSpecials)])));
        break;
      case 2:  // a small number, often equal to its partner
        put(ir::arithmetic::cast(
            type, DType::F64,
            ir::arithmetic::of_real(static_cast<double>((bits >> 8) % 9) / 2 - 2)));
        break;
      default:  // infinities and NaN, or the extremes of an integer type
        const double ends[] = {HUGE_VAL, -HUGE_VAL, std::nan("")};
        put(ir::arithmetic::cast(type, DType::F64, ir::arithmetic::of_real(ends[(bits >> 8) % 3])));
    }
  }
  return contents;
}

struct Operation {
  std::string text;  // over a, b, c
  DType result;
};

std::vector<Operation> operations_on(DType type) {
  std::vector<Operation> list;
  for (const UnaryOp op : kExactUnary) {
    if (!is_defined(op, type)) continue;
    list.push_back({(op == UnaryOp::Neg ? "neg" : to_string(op)) + "(A)", type});
  }
  for (const BinaryOp op : kExactBinary) {
    if (!is_defined(op, type)) continue;
    const bool word = op == BinaryOp::Min || op == BinaryOp::Max;
    list.push_back({word ? to_string(op) + "(A, B)" : "(A " + to_string(op) + " B)",
                    ir::is_comparison(op) ? DType::Bool : type});
  }
  if (type != DType::Bool) list.push_back({"fma(A, B, C)", type});
  list.push_back({"select((A < B), C, A)", type});
  for (int to = 0; to < kDTypeCount; ++to) {
    const auto target = static_cast<DType>(to);
    if (target != type) list.push_back({"cast_" + name_of(target) + "(A)", target});
  }
  return list;
}

std::string program_of(DType type, int lanes) {
  const std::string size = "[" + std::to_string(kCount) + "]\n";
  std::string text = "loops arithmetic\n";
  for (const char* input : {"a", "b", "c"})
    text += std::string("  in ") + input + ": " + name_of(type) + size;
  const auto operations = operations_on(type);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    text += "  out y" + std::to_string(i) + ": " + name_of(operations[i].result) + size;
  }
  const std::string at =
      lanes == 1 ? "[i]" : "[" + std::to_string(lanes) + "*i; " + std::to_string(lanes) + " by 1]";
  text += "\n  for i in 0.." + std::to_string(kCount / lanes) + "\n";
  for (std::size_t i = 0; i < operations.size(); ++i) {
    std::string value = operations[i].text;
    for (std::size_t c = 0; c < value.size(); ++c) {
      if (value[c] == 'A' || value[c] == 'B' || value[c] == 'C') {
        value.replace(c, 1, std::string(1, static_cast<char>(value[c] - 'A' + 'a')) + at);
      }
    }
    text += "    y" + std::to_string(i) + at + " = " + value + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("every operation on every type") {
  for (int t = 0; t < kDTypeCount; ++t) {
    const auto type = static_cast<DType>(t);
    const ir::Environment inputs = {
        {"a", patterns(type, 1)}, {"b", patterns(type, 2)}, {"c", patterns(type, 3)}};
    for (const int lanes : {1, 2, 3, 4, 16}) {
      const auto program = ir::parse_loop_program(program_of(type, lanes), "test");
      ir::Environment expected = inputs;
      ir::interpret(program, expected, {});
      for (const codegen::Target& target : runnable_targets()) {
        ir::Environment got = inputs;
        run_native(program, got, {.target = target});
        const std::string found = differences(program, expected, got);
        INFO(to_string(type) << " in " << lanes << " lanes on " << target.machine.cpu);
        if (!found.empty()) MESSAGE(program_of(type, lanes));
        CHECK(found == "");
      }
    }
  }
}

TEST_CASE("an operation that its type does not have is refused by name") {
  auto literal =
      std::make_shared<const ir::ExprNode>(ir::ExprNode{DType::I32, 1, ir::Literal{0, 4}});
  auto root = std::make_shared<const ir::ExprNode>(
      ir::ExprNode{DType::I32, 1, ir::Unary{UnaryOp::Sqrt, literal}});
  ir::LoopProgram program{"k", {}, {{"y", ir::Role::Out, DType::I32, {ir::Affine(1)}}}, nullptr};
  program.body = ir::make_store({"y", {ir::Index(ir::Affine(0))}, root, {}, {}});
  codegen::Kernel kernel{program, {}};
  CHECK_THROWS_WITH_AS(codegen::compile({&kernel, 1}, codegen::detect_host()),
                       "operation 'sqrt' is not defined for type i32", UserError);
}
