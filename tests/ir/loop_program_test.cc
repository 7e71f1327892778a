// Loop programs: text, verification, rewriting, and what their interpreter catches.
#include "ir/loop_program.h"

#include <doctest/doctest.h>

#include "ir/interpret.h"
#include "support/error.h"

namespace polyte::ir {

namespace {

const char* const kAllForms = R"(loops sample(N)
  in x: f32[N, 40]
  in id: i32[40]
  const s: f32[]
  out y: f32[N, 40]

  alloc t: f32[2, 16] in register
    parallel i in 0..N
      if i >= 1 and i <= N - 2
        vector j in max(0, i - 3)..min(40, N - 2*i, (i + 1)//2 + 6) as j.o
          y[i, j] = select((x[i, j] < f32(1.5)), neg(x[i, j]), max(s[], index_f32(j + i % 4)))  @y(i, j)
      for k.i in 0..2
        t[k.i, 0; 16 by 0,1] = x16(f32(-0.25))
        y[i, 16*k.i; 16 by 0,1 if 40 - 16*k.i] = fma(x[i, 16*k.i; 16 by 0,1 if 40 - 16*k.i], x16(s[]), t[k.i, 0; 16 by 0,1])  @y.update(i, 16*k.i; 0,1)
        prefetch x[i + 1, 16*k.i] level 2
        nontemporal y[i, k.i] = s[]
        fence
      unrolled r in 0..3
        if ?(x[i, r] <= f32(inf))
          y[i, r] = ((x[i, r - 1] where r >= 1 else f32(0)) + cast_f32(index_i64(2*r)))
      for q in 0..40
        y[i, q] = x[i, {id[q]}]
)";

LoopProgram parsed(const std::string& text) { return parse_loop_program(text, "test"); }

std::string loop_problems(const std::string& text, Form form = Form::Nest) {
  std::string all;
  for (const std::string& problem : verify(parsed(text), form))
    all += (all.empty() ? "" : "; ") + problem;
  return all;
}

std::string run(const std::string& text, Environment buffers = {}) {
  try {
    interpret(parsed(text), buffers, {});
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("loop text parses and prints the same") {
  const LoopProgram program = parsed(kAllForms);
  CHECK(print(program) == std::string(kAllForms));
  CHECK(equal(parsed(print(program)).body, program.body));
  CHECK(verify(program, Form::Nest) == std::vector<std::string>{});
  const std::string empty = "loops p\n  out y: f32[4]\n\n  for i in 0..4\n    nothing\n";
  CHECK(print(parsed(empty)) == empty);
}

TEST_CASE("every problem of a text is reported with its line") {
  try {
    parsed(
        "loops bad\n  out y: f32[4]\n"
        "\n  y[0] = z[1]\n  for i in 0..4\n    y[i] = frobnicate(f32(1))\n  jump\n");
    FAIL("accepted");
  } catch (const UserError& error) {
    REQUIRE(error.problems().size() == 3);
    CHECK(error.problems()[0] == "test:4: no buffer 'z'");
    CHECK(error.problems()[1] == "test:6: no function 'frobnicate' of 1 operands");
    CHECK(error.problems()[2] == "test:7: 'jump' is not a statement");
  }
}

TEST_CASE("a broadcast is of one lane, to a number of lanes that fits") {
  const auto refusal = [](const std::string& value) {
    try {
      parsed("loops p\n  out y: f32[8]\n\n  y[0; 8 by 1] = " + value + "\n");
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("no problem");
  };
  CHECK(refusal("x8(f32(1))") == "no problem");
  CHECK(refusal("x99999999999(f32(1))") ==
        "test:4: 'x99999999999' has 99999999999 lanes, expected 1 to 2147483647");
  CHECK(refusal("x0(f32(1))") == "test:4: 'x0' has 0 lanes, expected 1 to 2147483647");
  CHECK(refusal("x2(x4(f32(1)))") == "test:4: 'x2' of 4 lanes, expected one");
  CHECK(refusal("x8y(f32(1))") == "test:4: no function 'x8y' of 1 operands");
}

TEST_CASE("the verifier names what is wrong") {
  const std::string head = "loops p\n  in x: f32[4]\n  out y: f32[4, 4]\n\n";
  CHECK(loop_problems(head + "  y[0, 0] = x[i]\n") == "load of 'x': 'i' is not bound here");
  CHECK(loop_problems(head + "  y[0] = x[0]\n") == "store to 'y': 1 subscripts, expected 2");
  CHECK(loop_problems(head + "  y[0] = x[0]\n", Form::Flat) == "");
  CHECK(loop_problems(head + "  x[0] = f32(1)\n") == "store to 'x': the buffer is read-only");
  CHECK(loop_problems(head + "  y[0, 0] = f64(1)\n") ==
        "store to 'y': value of type f64, expected f32");
  CHECK(loop_problems(head + "  y[0, 0; 4 by 0,1] = f32(1)\n") ==
        "store to 'y': value of 1 lanes, expected 4");
  CHECK(loop_problems(head + "  y[0, 0; 4 by 0,0] = x4(f32(1))\n") ==
        "store to 'y': every lane writes the same element");
  CHECK(loop_problems(head + "  for i in 0..4\n    for i in 0..4\n      y[i, i] = f32(1)\n")
            .find("loop 'i': the name is taken") == 0);
  CHECK(loop_problems(head + "  vector i in 0..4\n    y[0, i] = f32(1)\n", Form::Native) ==
        "loop 'i': vector in native form");
}

namespace {

// Threads of two warps read each other's registers; `region` is the loop, `inside` what stands
// around the exchange.
std::string exchange_text(const std::string& region, const std::string& inside,
                          const std::string& value) {
  return "loops p\n  in x: f32[64]\n"
         "  out y: f32[64]\n\n  block b in 0..1\n    alloc q: f32[2] in register of each thread\n"
         "      thread t in 0..64\n        q[0] = x[t]\n      " +
         region + "\n        alloc l: f32[1] in register\n" + inside +
         (inside.empty() ? "" : "  ") + "          l[0] = " + value + "\n          y[u] = l[0]\n";
}

}  // namespace

TEST_CASE("registers of other lanes: text, and what the interpreter makes of it") {
  const std::string text =
      exchange_text("thread u in 0..64", "          if b <= 0\n", "lane_read(q[0], -u + 31)");
  const LoopProgram program = parsed(text);
  CHECK(parsed(print(program)).body != nullptr);
  CHECK(equal(parsed(print(program)).body, program.body));
  CHECK(print(program).find("l[0] = lane_read(q[0], 31 - u)") != std::string::npos);
  CHECK(loop_problems(text) == "");
  Environment buffers;
  buffers["x"] = make_contents(DType::F32, {64});
  for (std::int64_t i = 0; i < 64; ++i) set_real(buffers["x"], i, static_cast<double>(i));
  interpret(program, buffers, {});
  for (std::int64_t i = 0; i < 64; ++i)
    CHECK(get_real(buffers["y"], i) == static_cast<double>(i < 32 ? 31 - i : 95 - i));
}

TEST_CASE("registers of other lanes: where not all lanes take part, or name one register") {
  const std::string some =
      "store to 'l': a register of another lane, where not all lanes take part";
  const std::string value = "lane_read(q[0], u + 1)";
  CHECK(loop_problems(exchange_text("thread u in 0..48", "", value)) == some);
  CHECK(loop_problems(exchange_text("thread u in 0..64", "          if u <= 40\n", value)) == some);
  CHECK(loop_problems(exchange_text("thread u in 0..64", "          for k in 0..u\n", value)) ==
        some);
  CHECK(loop_problems(exchange_text("thread u in 0..64", "          for k in 0..2\n", value)) ==
        "");
  CHECK(loop_problems(exchange_text("thread u in 0..64", "", "lane_read(q[u % 2], u + 1)")) ==
        "load of 'q': lanes name different registers");
  CHECK(loop_problems(exchange_text("thread u in 0..64", "", "lane_read(l[0], u + 1)")) ==
        "load of 'l': 'l' is no register of each thread");
  CHECK(
      loop_problems(exchange_text("thread u in 0..64", "", "(f32(1) + lane_read(q[0], u + 1))")) ==
      "store to 'l': a register of another lane within an expression");
}

TEST_CASE("substitution and renaming reach every part") {
  const LoopProgram program = parsed(
      "loops p\n  out y: f32[64]\n\n  alloc t: f32[2] in stack\n    for i in 0..2\n"
      "      t[i] = index_f32(i + 4*k)\n      if i < k\n        y[i + k] = t[i]  @y(i)\n");
  const Stmt at_three = substitute(program.body, {{"k", 3}});
  CHECK(print({"p", {}, program.buffers, at_three}).find("k]") == std::string::npos);
  const Stmt renamed =
      rename_bound(program.body, [](const std::string& name) { return name + "_7"; });
  const std::string text = print({"p", {}, program.buffers, renamed});
  CHECK(text.find("alloc t_7") != std::string::npos);
  CHECK(text.find("y[i_7 + k] = t_7[i_7]  @y(i_7)") != std::string::npos);
  CHECK(rewrite_children(program.body, [](const Stmt& s) { return s; }) == program.body);
}

TEST_CASE("the interpreter finds reads of what nobody wrote, and accesses outside") {
  const std::string head = "loops p\n  out y: f32[4]\n\n";
  CHECK(run(head + "  for i in 0..5\n    y[i] = f32(1)  @S(i)\n") ==
        "S(4): y[4] is outside the buffer, shape [4]");
  CHECK(run(head + "  y[0] = y[1]  @S()\n") == "S(): reads y[1], which was never written");
  CHECK(
      run(head +
          "  for i in 0..2\n    alloc t: f32[2] in stack\n      if i == 0\n        t[0] = f32(1)\n"
          "      y[i] = t[0]  @S(i)\n") == "S(1): reads t[0], which was never written");
  const std::string copied =
      head +
      "  alloc t: f32[2] in stack\n    alloc c: f32[2] in stack\n      t[0] = f32(1)  @S()\n"
      "      for i in 0..2\n        c[i] = t[i]\n";
  CHECK(run(copied + "      y[0] = c[0]  @R(0)\n") == "");
  CHECK(run(copied + "      y[0] = c[1]  @R(1)\n") == "R(1): reads c[1], which was never written");
  CHECK(run(copied + "      y[0] = c[1]\n") ==
        "output 'y' ends with a copy of what was never written, element 0");
  CHECK(run(copied + "      y[0] = c[1]\n      y[1] = y[0]  @R(1)\n") ==
        "R(1): reads y[0], which was never written");
  CHECK(run(copied + "      y[0] = c[1]\n      y[0] = f32(2)  @R(0)\n") == "");
  // A vector of registers may be computed of it: who reads that is at fault, and so is a subscript.
  const std::string registers =
      head +
      "  alloc t: f32[4] in stack\n    alloc k: i32[4] in stack\n"
      "      alloc r: f32[4] in register\n        t[0; 4 by 1 if 2] = x4(f32(1))\n";
  const std::string computed =
      registers + "        r[0; 4 by 1] = (t[0; 4 by 1] + t[0; 4 by 1])  @S()\n";
  CHECK(run(computed + "        y[0; 4 by 1 if 2] = r[0; 4 by 1]\n") == "");
  CHECK(run(computed + "        y[0; 4 by 1 if 3] = r[0; 4 by 1 if 3]  @R()\n") ==
        "R(): reads r[2], which was never written");
  CHECK(run(computed + "        y[0; 4 by 1] = r[0; 4 by 1]\n") ==
        "output 'y' ends with a copy of what was never written, element 2");
  CHECK(run(registers + "        r[0; 4 by 1] = t[{k[0; 4 by 1]}; 4 by 0]  @S()\n") ==
        "S(): reads k[0], which was never written");
  CHECK(run(head + "  y[0; 8 by 1 if 4] = x8(f32(1))\n") == "");
  CHECK(run(head + "  y[0; 8 by 1 if 5] = x8(f32(1))  @S()\n") ==
        "S(): y[4] is outside the buffer, shape [4]");
  CHECK(run(head + "  y[-3; 8 by 1 if 3..7] = x8(f32(1))\n") == "");
  CHECK(run(head + "  y[-3; 8 by 1 if 2..7] = x8(f32(1))  @S()\n") ==
        "S(): y[-1] is outside the buffer, shape [4]");
  CHECK(run("loops p\n  in x: f32[2]\n  out y: f32[2]\n\n  y[0] = x[0]\n") ==
        "buffer 'x' is missing");
}

TEST_CASE("the interpreter finds races of parallel and vector loops") {
  const std::string head = "loops p\n  out y: f32[8]\n\n";
  const std::string race = "touched in iterations 0 and 1 of a parallel or vector loop";
  CHECK(run(head + "  parallel i in 0..2\n    y[0] = f32(1)  @S(i)\n") ==
        "S(1): race on y[0], " + race);
  CHECK(run(head + "  y[0] = f32(1)\n  vector i in 0..4\n    y[i + 1] = y[i]  @S(i)\n") ==
        "S(1): race on y[1], " + race);
  CHECK(
      run(head +
          "  y[1] = f32(1)\n  y[2] = f32(1)\n  parallel i in 0..2\n    y[i] = y[i + 1]  @S(i)\n") ==
      "S(1): race on y[1], " + race);
  CHECK(run(head + "  parallel i in 0..4\n    for k in 0..2\n      y[i] = index_f32(k)\n      y[i] "
                   "= y[i]\n") == "");
  CHECK(run(head + "  for k in 0..3\n    parallel i in 0..4\n      y[i + k] = f32(1)\n") == "");
  CHECK(run(head + "  parallel i in 0..4\n    alloc t: f32[1] in stack\n      t[0] = f32(2)\n      "
                   "y[i] = t[0]\n") == "");
  CHECK(run(head + "  y[0] = f32(1)\n  parallel i in 0..2\n    vector j in 0..2\n      y[4*i + 2*j "
                   "+ 1] = y[0]\n") == "");
  CHECK(run(head +
            "  parallel i in 0..2\n    vector j in 0..2\n      y[i + j] = f32(1)  @S(i, j)\n") ==
        "S(1, 0): race on y[1], touched in iterations 0 and 1 of a parallel or vector loop");
}

}  // namespace polyte::ir
