// The exact words a person sees for a Program that is wrong.
#include <doctest/doctest.h>

#include "ir/builder.h"
#include "ir/loop_program.h"
#include "ir/program_text.h"
#include "support/error.h"

using namespace polyte;
using namespace polyte::ir;

namespace {

std::string problems_of(const std::string& text) {
  try {
    parse_programs(text, "t.program");
  } catch (const UserError& error) {
    CHECK(error.status() == ExitStatus::InvalidInput);
    return error.what();
  }
  return "no problem";
}

// Of statements among declarations on line 1 to 7; the first statement is on line 8.
std::string refusal(const std::string& statements) {
  const std::string text = problems_of(R"(program p(M, N)
  in    x: f32[N, N]
  in    v: f32[N]
  in    idx: i32[N]
  in    mask: bool[N]
  inout z: i32[N]
  inout y: f32[N]
  )" + statements + "\n");
  const std::string prefix = "t.program:8: ";
  return text.rfind(prefix, 0) == 0 ? text.substr(prefix.size()) : text;
}

std::string notation_refusal(const std::string& text) {
  try {
    parse_index_notation(text, DType::F32);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no problem";
}

}  // namespace

TEST_CASE("subscripts stay within what memory holds, index values within 63 bits") {
  const std::string step = "4611686018427387904*i", far = ", goes farther than 2^47 elements";
  CHECK(refusal("y[i] = v[" + step + "] else 0  for i in 0..3") ==
        "statement 'y': a subscript of v, " + step + far);
  CHECK(refusal("y[i] = v[" + step + "]  for i in 0..1") ==
        "statement 'y': a subscript of v, " + step + far);
  CHECK(refusal("temp t: f32[1, 4096]\n  t[34359738369*i, j] = 0  for i in 0..1, j in 0..9") ==
        "t.program:9: statement 't': a subscript of t, 34359738369*i" + far);
  CHECK(refusal("y[i] = v[34359738369*i] else 0  for i in 0..4096") == "no problem");
  CHECK(refusal("y[i] = v[i] + f32(" + step + ")  for i in 0..3") ==
        "statement 'y': an index value, " + step + ", does not fit in 63 bits");
}

TEST_CASE("named constants") {
  CHECK(refusal("const a = ") == "expected a value, got the end of the line");
  CHECK(refusal("const a: f32 = 2") == "'a' has a type and a value: a constant is 'const a = ...'");
  CHECK(refusal("const N = 2") == "constant 'N' has the name of a parameter");
  CHECK(refusal("const v = 2") == "constant 'v' has the name of a tensor");
  CHECK(refusal("const a = v[0]") ==
        "constant 'a' reads the tensor 'v': expected numbers and parameters");
  CHECK(refusal("const a = b + 1") ==
        "constant 'a': 'b' is no parameter, and no constant defined before");
  CHECK(refusal("const a = 2\n  const a = 3") == "t.program:9: constant 'a' is defined already");
  CHECK(refusal("const a = 2\n  y[a] = 1\n  a[i] = 2") ==
        "t.program:10: 'a' is a constant, which nothing writes");
  CHECK(refusal("const a = 2\n  y[i] = a[i]") ==
        "t.program:9: 'a' is a constant, which has no subscripts");
  CHECK(refusal("const a = 2\n  y[0] = 1 for a in 0..N") ==
        "t.program:9: iterator 'a' has the name of a constant");
  CHECK(refusal("const a = 2\n  loop a in 0..N\n    y[0] = 1")
            .starts_with("t.program:9: iterator 'a' has the name of"));
  CHECK(refusal("const a = 2.5\n  y[a] = 1") == "the literal 2.5 is no i64");
  CHECK(refusal("const a = 2\n  temp a: f32[N]\n  y[i] = 1") ==
        "t.program:9: tensor 'a' has the name of a constant");
  CHECK(refusal("const a = ) 1\n  y[i] = a") == "expected a value, got ')'");
  CHECK(refusal("in q: f32 N]\n  y[i] = q") == "expected '[' or the end of the line, got 'N'");
  std::string chain = "const a0 = 1.5";
  for (int i = 1; i < 40; ++i)
    chain += "\n  const a" + std::to_string(i) + " = a" + std::to_string(i - 1) + " * a" +
             std::to_string(i - 1);
  CHECK(refusal(chain) ==
        "t.program:16: constant 'a8' written out has 1021 parts, expected at most 1000");
}

TEST_CASE("syntax") {
  CHECK(refusal("y[i] = v[i") == "expected ']', got the end of the line");
  CHECK(refusal("y[i] = v[i] extra") ==
        "expected 'for', 'if', 'when' or the end of the statement, got 'extra'");
  CHECK(refusal("y[i] = v[i] $ 2") == "unexpected character '$'");
  CHECK(refusal("y[i] /= 2") ==
        "expected '=', '+=', '-=', '*=', 'max=' or another update, got '/'");
  CHECK(refusal("y[for] = 1") == "'for' is a reserved word, expected a value");
  CHECK(refusal("y[i] = v[i] for i in 0..") == "expected a value, got the end of the line");
  CHECK(refusal("y[i] = 1 + sum[k] x[i, k]") ==
        "'sum[...]' stands alone on the right-hand side: give it a statement of its own, such as "
        "'acc[...] = sum[...] ...', in a file of Program text");
  CHECK(refusal("loop t in 0..N step 2\n    y[i] = 0") == "the step of a loop is 1 or -1, got 2");
  CHECK(refusal("loop t in 0..N\n  y[i] = 0") == "loop t: the body is empty");
  CHECK(refusal("y[i] = 0\n     z[i] = 1") ==
        "t.program:9: unexpected indentation of 5, expected 2");
  CHECK(refusal("y[i] = " + std::string(300, '(')) == "the expression is nested too deeply");
  CHECK(problems_of("") == "t.program:1: expected 'program NAME(...)', got an empty text");
  CHECK(problems_of("hello") == "t.program:1: expected 'program NAME(...)', got 'hello'");
  CHECK(problems_of("program p()\n\tout y: f32[3]\n  y[i] = 0") ==
        "t.program:2: a tab in the indentation: use spaces");
}

TEST_CASE("declarations") {
  CHECK(refusal("out y: f32[N]") == "tensor 'y' is declared already");
  CHECK(refusal("in u: f33[N]") ==
        "'f33' is no element type; there are f64 f32 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool");
  CHECK(refusal("in u: f32[K]") == "'K' is no parameter");
  CHECK(refusal("in u: f32[M*N]") ==
        "the extent is not affine: sums of iterators and parameters times constants, // and % by "
        "constants");
  CHECK(problems_of("program p(M, M)\n  out y: f32[M]\n  y[i] = 0") ==
        "t.program:1: parameter M is declared twice");
  CHECK(problems_of("program p()\n  out y: f32[-1]\n  y[i] = 0") ==
        "t.program:2: buffer 'y': the extent -1 is negative");
  CHECK(problems_of("program p(N)\n  out y: f32[N]") ==
        "t.program:2: buffer 'y': the output is never written");
}

TEST_CASE("names and subscripts") {
  CHECK(refusal("y[i] = w[i]") == "tensor 'w' is not declared, and nothing before writes it");
  CHECK(refusal("y[i] = v[i, i]") == "tensor 'v' has 1 dimension, but 2 subscripts");
  CHECK(refusal("y = 1") == "tensor 'y' has 1 dimension, but 0 subscripts");
  CHECK(refusal("y[i] = x") == "tensor 'x' has 2 dimensions, but no subscripts");
  CHECK(refusal("y[i] = x[i, k]") ==
        "'k' is no iterator, parameter or tensor; a sum over k is written sum[k] ...");
  CHECK(refusal("y[i] = v[v[i]]") == "a subscript is f32, expected an integer");
  CHECK(refusal("y[i] = v[i//0]") == "'//' of iterators takes a positive constant, got 0");
  CHECK(refusal("y[i] = v[i+1]") ==
        "statement 'y': subscript i + 1 of v (dimension 0) reaches beyond the extent N: say 'for i "
        "in ...' to N - 1");
  CHECK(
      refusal("y[i] = v[i-1]") ==
      "statement 'y': subscript i - 1 of v (dimension 0) goes below 0: say 'for i in ...' from 1");
  CHECK(refusal("v[i] = 1") == "statement 'v': it writes v, which is declared 'in'");
}

TEST_CASE("types") {
  CHECK(refusal("y[i] = idx[i]") == "got i32, expected f32: write a cast, f32(...)");
  CHECK(refusal("y[i] = v[i] + idx[i]") == "got i32, expected f32: write a cast, f32(...)");
  CHECK(refusal("y[i] = 0 when v[i]") == "got f32, expected bool: write a cast, bool(...)");
  CHECK(refusal("z[i] = 0.5") == "the literal 0.5 is no i32");
  CHECK(refusal("z[i] = 99999999999") == "the literal 99999999999 does not fit i32");
  CHECK(refusal("z[i] = exp(z[i])") == "'exp' of i32 is not defined");
  CHECK(refusal("y[i] = max(v[i])") == "'max' takes 2 values, got 1");
  CHECK(refusal("y[i] = v[i] // 2") ==
        "'//' takes an iterator and a positive constant; of values write / and floor");
  CHECK(refusal("y[i] or= v[i]") == "'or' of f32 is not defined");
  CHECK(refusal("y[i] = foo(v[i])")
            .rfind("'foo' is no function; there are fma max min pow select abs", 0) == 0);
}

TEST_CASE("ranges and predicates") {
  CHECK(refusal("y[2*i] = v[i+1]") == "the range of 'i' cannot be inferred: say 'for i in ...'");
  CHECK(refusal("y[i] = v[i] + x[0, i] + t for t in 0..3") == "no problem");
  CHECK(refusal("y[i] = v[i] for i in 0..N, i in 0..N") == "iterator 'i' has two ranges");
  CHECK(refusal("y[i] = v[i] for N in 0..3") == "iterator 'N' has the name of a parameter");
  CHECK(refusal("y[i] = v[i] for v in 0..3") == "iterator 'v' has the name of a tensor");
  CHECK(refusal("loop t in 0..3\n    y[i] = v[i] for t in 0..3") ==
        "t.program:9: iterator 't' belongs to the loop around");
  CHECK(refusal("y[i] = v[i] for i in 0..N if i != 3") ==
        "'!=' splits a domain: a predicate is one conjunction of <, <=, ==, >=, >; use 'when'");
  CHECK(refusal("y[i] = v[i] for i in 0..N if v[i] > 0") ==
        "the predicate is not affine: sums of iterators and parameters times constants, // and % "
        "by constants; a choice "
        "by data is select(x[i] > 0, a, b), a statement by data ends in 'when x[i] > 0'");
  CHECK(refusal("y[i] = v[i] for i if i >= 0") == "statement 'y': iterator i has no upper bound");
  CHECK(problems_of("program p(M, N)\n"
                    "  in a: f32[M]\n  in b: f32[N]\n  out s: f32[]\n  s[] = sum[i] a[i] * b[i]") ==
        "t.program:5: the range of 'i' is ambiguous: M by a, N by b: say 'for i in ...'");
  // Numbers apart, but no tensor is written along i: one of the two would be summed in part.
  CHECK(problems_of("program p(N)\n  in a: f32[N]\n"
                    "  in b: f32[N + 1]\n  out s: f32[]\n  s[] = sum[i] a[i] * b[i]") ==
        "t.program:5: the range of 'i' is ambiguous: N by a, N + 1 by b: say 'for i in ...'");
  // What is written is written whole: a read that has less is named.
  CHECK(problems_of("program p(N)\n  in a: f32[N]\n  out s: f32[N + 1]\n  s[i] = a[i]") ==
        "t.program:4: statement 's': subscript i of a (dimension 0) reaches beyond the extent N: "
        "say 'for i in ...' to N");
}

TEST_CASE("statements") {
  CHECK(refusal("y[i] = v[i]; y[i] = 2 * v[i]") ==
        "a statement 'y' exists already: give it a label, as in 'S1: ...'");
  CHECK(refusal("q[i] += v[i]") == "tensor 'q' is updated, but nothing before writes it");
  CHECK(refusal("q[i] = q[i-1] for i in 1..N") ==
        "tensor 'q' reads itself: declare it, 'temp q: ...'");
  CHECK(refusal("w[idx[i]] = v[i] for i in 0..N") ==
        "the shape of 'w' cannot be inferred: declare it, 'temp w: ...'");
  CHECK(refusal("y[i] = argmax[k] x[i, k]") == "'argmax' writes two tensors, (value, position)");
  CHECK(refusal("(y, z)[i] = sum[k] (x[i, k], 1)") == "'sum' writes one tensor");
  CHECK(refusal("temp q: f32[N]\n  y[i] = q[i]\n  q[i] = 0") ==
        "t.program:9: statement 'y': it reads q before anything writes it");
}

TEST_CASE("all problems are reported, each once") {
  CHECK(refusal("a[i] = w[i] + v[i]\n  b[i] = a[i] * 2\n  y[i] = b[i] + v[i, 0]\n  z[i] = 0.5") ==
        "tensor 'w' is not declared, and nothing before writes it\n"
        "t.program:11: the literal 0.5 is no i32");
  CHECK(problems_of("program p(N)\n"
                    "  in x: f16[N\n  out y: f99[N]\nprogram q(N)\n  out y: f32[N]\n  y[i] = k") ==
        "t.program:2: expected ',', got the end of the line\n"
        "t.program:3: 'f99' is no element type; "
        "there are f64 f32 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool\n"
        "t.program:6: 'k' is no iterator, parameter or tensor; a sum over k is written sum[k] ...");
}

TEST_CASE("a label alone breaks nothing but its own line") {
  CHECK(refusal("S1:\n  y[i] = (v[i, i])\n  z[i] = 0.5") ==
        "expected a tensor to write, got the end of the line\n"
        "t.program:9: tensor 'v' has 1 dimension, but 2 subscripts\n"
        "t.program:10: the literal 0.5 is no i32");
}

TEST_CASE("index notation") {
  CHECK(notation_refusal("") ==
        "notation:1: expected a statement, as in 'C[m,n] = sum[k] A[m,k]*B[k,n]'");
  CHECK(notation_refusal("C[m,n] = ") == "notation:1: expected a value, got the end of the line");
  CHECK(notation_refusal("C[m,n] = sum[k] A[m,k]*B[k]; D[m,n] = B[m,n]") ==
        "notation:1: tensor 'B' has 1 and 2 subscripts");
  CHECK(notation_refusal("y[i] = x[idx[i]]") ==
        "notation:1: the extents of 'x' do not follow from a gather: write a program that declares "
        "it");
  CHECK(notation_refusal("y[i] = x[i-1]") ==
        "notation:1: statement 'y': subscript i - 1 of x (dimension 0) goes below 0: say 'for i in "
        "...' from 1");
  CHECK(notation_refusal("y[i] = x[i] + z[j]") ==
        "notation:1: 'j' is no iterator, parameter or tensor; a sum over j is written sum[j] ...");
}

TEST_CASE("regions and loops within each other have a limit") {
  const auto regions = [](int depth) {
    std::string text = "program p(N)\n  out y: f32[N]\n", indent = "  ";
    for (int i = 0; i < depth; ++i, indent += "  ")
      text += indent + "loop t" + std::to_string(i) + " in 0..1\n";
    return text + indent + "y[i] = 1\n";
  };
  CHECK_NOTHROW(parse_program(regions(64), "p"));
  CHECK_THROWS_WITH_AS(parse_program(regions(65), "p"),
                       "p:67: more than 64 ordered regions are nested", UserError);
  const std::string head = "loops p\n  out y: f32[1]\n\n";
  const auto value = [&](int depth) {
    const auto count = static_cast<std::size_t>(depth);
    std::string text = head + "  y[0] = ";
    for (std::size_t i = 0; i < count; ++i) text += "exp(";
    return text + "f32(1)" + std::string(count, ')') + "\n";
  };
  CHECK_NOTHROW(parse_loop_program(value(100), "p"));
  CHECK_THROWS_WITH_AS(parse_loop_program(value(20'000), "p"),
                       "p:4: the expression is nested too deeply", UserError);
  std::string loops = head, indent = "  ";
  for (int i = 0; i < 300; ++i, indent += "  ")
    loops += indent + "for i" + std::to_string(i) + " in 0..1\n";
  CHECK_THROWS_AS(parse_loop_program(loops + indent + "y[0] = f32(1)\n", "p"), UserError);
}

TEST_CASE("built programs are verified") {
  const Affine i = Affine::symbol("i");
  ProgramBuilder b("built");
  b.declare("x", Role::In, DType::F32, {4});
  b.declare("y", Role::Out, DType::F32, {4});
  b.define({"y", {i}}, {{"i", 0, 4}}, make_load(DType::F64, "x", {i, i}));
  b.define({"y", {i}}, {{"i", 0, 5}}, b.load("x", {i}));
  CHECK_THROWS_WITH_AS(
      b.build(),
      "program 'built': statement 'y': a statement of this name exists already: give it a label\n"
      "program 'built': statement 'y': the value is f64, but y is f32\n"
      "program 'built': statement 'y': it reads x as f64, but it is f32\n"
      "program 'built': statement 'y': x has 1 dimension, but 2 subscripts\n"
      "program 'built': statement 'y': subscript i of y (dimension 0) reaches beyond the extent 4: "
      "say 'for i in ...' to 4\n"
      "program 'built': statement 'y': subscript i of x (dimension 0) reaches beyond the extent 4: "
      "say 'for i in ...' to 4",
      UserError);
}
