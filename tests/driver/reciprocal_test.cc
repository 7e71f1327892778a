// `reciprocal` down to machine code: the division of a row stands outside the loop over the row.
#include <doctest/doctest.h>

#include <sstream>

#include "codegen/target.h"
#include "driver/compile/build_kernel.h"
#include "ir/program_text.h"

namespace {

using namespace polyte;

driver::KernelOptions options_with(const schedule::Script& script) {
  driver::KernelOptions options;
  options.scheduler = driver::Scheduler::Script;
  options.script = &script;
  return options;
}

// Divisions of machine code: those in blocks that store, and those in others.
struct Divisions {
  int beside_stores = 0, elsewhere = 0;
};

Divisions divisions_of(const std::string& directives) {
  const auto program = std::make_shared<const ir::Program>(ir::parse_program(R"(program shares()
  in  x: f32[100, 256]
  in  w: f32[100]
  out y: f32[100, 256]
  y[i, j] = x[i, j] / w[i]
)",
                                                                             "test"));
  const schedule::Script script = schedule::parse_script(
      "schedule rows/1 for shares f32 exact\n" + directives + "split y: j by 8\nvectorize y: j.i\n",
      "test");
  const codegen::Target target = codegen::target_for_cpu("x86-64-v3");
  const driver::BuiltKernel built =
      driver::build_kernel(program, target.machine, options_with(script));
  std::istringstream lines(codegen::emit_asm({&built.kernel, 1}, target));
  Divisions all;
  int divisions = 0, stores = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] != '\t') {  // a label
      (stores > 0 ? all.beside_stores : all.elsewhere) += divisions;
      divisions = stores = 0;
    }
    divisions += line.starts_with("\tvdiv");
    stores += line.starts_with("\tvmovups\t%ymm");
  }
  return all;
}

TEST_CASE("a reciprocal is taken once per row") {
  const Divisions before = divisions_of("");
  CHECK(before.beside_stores > 0);
  CHECK(before.elsewhere == 0);
  const Divisions after = divisions_of("reciprocal y\n");
  CHECK(after.beside_stores == 0);
  CHECK(after.elsewhere == 1);
}

TEST_CASE("a script that multiplies by reciprocals is no exact one") {
  const auto program = std::make_shared<const ir::Program>(ir::parse_program(
      "program p()\n in x: f32[8]\n in w: f32[1]\n out y: f32[8]\n y[i] = x[i] / w[0]\n", "test"));
  const schedule::Script script =
      schedule::parse_script("schedule s/1 for p f32 exact\nreciprocal y\n", "test");
  driver::KernelOptions options = options_with(script);
  const Machine machine = codegen::target_for_cpu("x86-64-v3").machine;
  CHECK_NOTHROW(driver::build_kernel(program, machine, options));
  options.exact = true;
  CHECK_THROWS_WITH_AS(
      driver::build_kernel(program, machine, options),
      "script 's/1' multiplies by reciprocals in place of dividing, and --exact is set", UserError);
}

}  // namespace
