// Kernels that are called on changing memory, and schedules by themselves, through the C++ API.
#include <doctest/doctest.h>

#include "driver/api/polyte.h"

using namespace polyte;
using namespace polyte::api;

namespace {

Program matmul() {
  const Outcome<Program> program = parse_notation("C[m,n] = sum[k] A[m,k]*B[k,n]", DType::F32);
  REQUIRE(program);
  return *program;
}

}  // namespace

TEST_CASE("one execution runs on other memory, and both share threads") {
  const Outcome<Program> program = parse_notation("y[i] = x[i] + x[i]", DType::I32);
  REQUIRE(program);
  const Outcome<Kernel> kernel = compile(*program, {.sizes = {{"i", 3}}});
  REQUIRE(kernel);
  const Workers workers(2);
  CHECK(workers.threads() == 2);
  Outcome<Execution> one = kernel->prepare_calls({}, workers),
                     other = kernel->prepare_calls({}, workers);
  REQUIRE(one);
  REQUIRE(other);
  for (Outcome<Execution>* each : {&one, &other}) {
    std::vector<std::int32_t> x{1, 2, 3}, y(3);
    void* data[] = {x.data(), y.data()};
    CHECK((*each)->run_on(data));
    CHECK(y == std::vector<std::int32_t>{2, 4, 6});
  }
  CHECK(
      one->run().error().messages ==
      std::vector<std::string>{"the execution was prepared for calls: run_on takes their memory"});
}

TEST_CASE("run_on leaves what run works on") {
  const Outcome<Program> program = parse_notation("y[i] = x[i] + x[i]", DType::I32);
  const Outcome<Kernel> kernel = compile(*program, {.sizes = {{"i", 1}}});
  REQUIRE(kernel);
  std::vector<std::int32_t> x{1}, y{0}, other_x{5}, other_y{0};
  Outcome<Execution> execution =
      kernel->prepare({argument<std::int32_t>("x", x), argument<std::int32_t>("y", y)});
  REQUIRE(execution);
  void* data[] = {other_x.data(), other_y.data()};
  REQUIRE(execution->run_on(data));
  REQUIRE(execution->run());
  CHECK(other_y.front() == 10);
  CHECK(y.front() == 2);
}

TEST_CASE("a script is checked for all sizes, or for those given") {
  const Outcome<CheckedScript> open =
      check(matmul(), {.script = "schedule a/1 for op\nsplit m by 8\n"});
  REQUIRE(open);
  CHECK(open->nest == "{ m.o > m.i > n > C.init; m.o > m.i > n > k > C.update }");
  CHECK(open->rounding.empty());
  const std::string into = "schedule a/1 for op\nsplit C.update: k into 4\n";
  CHECK(check(matmul(), {.script = into}).error().refusal->kind == "unknown");
  CHECK(check(matmul(), {.script = into, .sizes = {{"k", 20}}}));
}

TEST_CASE("a refusal comes as data") {
  const Outcome<CheckedScript> refused =
      check(matmul(), {.script = "schedule a/1 for op\nparallel C.update:k\n"});
  REQUIRE(!refused);
  CHECK(refused.error().status == ExitStatus::Refused);
  REQUIRE(refused.error().refusal);
  const Refusal& refusal = *refused.error().refusal;
  CHECK(refusal.kind == "illegal");
  CHECK(refusal.line == 2);
  CHECK(refusal.directive == "parallel C.update:k");
  REQUIRE(refusal.counterexamples.size() == 1);
  CHECK(refusal.counterexamples.front().sizes ==
        std::map<std::string, std::int64_t>{{"M", 1}, {"N", 1}, {"K", 2}});
  const Outcome<CheckedScript> unreadable =
      check(matmul(), {.script = "schedule a/1 for op\nsplt m by 8\n"});
  CHECK(unreadable.error().status == ExitStatus::InvalidInput);
  CHECK(!unreadable.error().refusal);
}

TEST_CASE("params are filled in, and a scheduler's script is written for so many threads") {
  const CompileOptions options{.sizes = {{"m", 64}, {"n", 64}, {"k", 64}}, .threads = 3};
  const Outcome<CheckedScript> written = write_script(matmul(), options);
  REQUIRE(written);
  CHECK(written->script.find("with 3 threads") != std::string::npos);
  const Outcome<CheckedScript> edited =
      check(matmul(), {.script = written->script, .params = {{"Mr", "4"}}, .sizes = options.sizes});
  REQUIRE(edited);
  CHECK(edited->script.find("param Mr = 4") != std::string::npos);
  CHECK(!check(matmul(),
               {.script = written->script, .params = {{"Zz", "4"}}, .sizes = options.sizes}));
  CHECK(!compile(matmul(), {.sizes = options.sizes, .threads = -1}));
}
