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

namespace {

// [2, 3] within [4, 8], from the last of rows that are two apart, every second column.
struct Part {
  std::vector<float> memory = std::vector<float>(32, 99);
  static constexpr std::int64_t kStrides[] = {-16, 2};
  float* first() { return memory.data() + 17; }
  float& at(std::int64_t i, std::int64_t j) { return first()[i * kStrides[0] + j * kStrides[1]]; }
  Argument argument(const std::string& name) {
    return {name, DType::F32, first(), 6, true, {2, 3}, {-16, 2}};
  }
};

Program doubled() {
  const Outcome<Program> program = parse_program(
      "program doubled(M, N)\n  in x: f32[M, N]\n  out y: f32[M, N]\n  y[m, n] = 2 * x[m, n]\n");
  REQUIRE(program);
  return *program;
}

// Elements of a part, and that nothing else was written.
void check_doubled(const std::vector<float>& x, Part& y) {
  int others = 0;
  for (const float value : y.memory) others += value == 99 ? 1 : 0;
  CHECK(others == 32 - 6);
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 3; ++j)
      CHECK(y.at(i, j) == 2 * x[static_cast<std::size_t>(3 * i + j)]);
}

}  // namespace

TEST_CASE("arguments with strides are copied, and written back") {
  const Outcome<Kernel> fixed = compile(doubled(), {.sizes = {{"M", 2}, {"N", 3}}});
  const Outcome<Kernel> open = compile(doubled(), {.open = {{"M", {}}, {"N", {}}}});
  for (const Outcome<Kernel>* kernel : {&fixed, &open}) {
    REQUIRE(*kernel);
    const std::vector<float> x{1, 2, 3, 4, 5, 6};
    Part given, y;
    for (std::int64_t i = 0; i < 2; ++i)
      for (std::int64_t j = 0; j < 3; ++j) given.at(i, j) = x[static_cast<std::size_t>(3 * i + j)];
    REQUIRE((*kernel)->run({given.argument("x"), y.argument("y")}));
    check_doubled(x, y);
    Outcome<Execution> execution = (*kernel)->prepare({given.argument("x"), y.argument("y")});
    REQUIRE(execution);
    given.at(1, 2) = 7;  // elements are read by each run
    REQUIRE(execution->run());
    CHECK(y.at(1, 2) == 14);
  }
}

TEST_CASE("run_on takes memory with strides") {
  const Outcome<Kernel> open = compile(doubled(), {.open = {{"M", {}}, {"N", {}}}});
  REQUIRE(open);
  Outcome<Execution> execution = open->prepare_calls({});
  REQUIRE(execution);
  std::vector<float> x{1, 2, 3, 4, 5, 6}, dense(6);
  Part y;
  const std::int64_t sizes[] = {2, 3}, larger[] = {1, 1};
  void* apart[] = {x.data(), y.first()};
  void* together[] = {x.data(), dense.data()};
  REQUIRE(execution->set_strides(1, Part::kStrides));
  REQUIRE(execution->run_on(apart, larger));
  CHECK(y.at(0, 0) == 2);
  REQUIRE(execution->run_on(apart, sizes));
  check_doubled(x, y);
  REQUIRE(execution->set_strides(1, {}));
  REQUIRE(execution->run_on(together, sizes));
  CHECK(dense == std::vector<float>{2, 4, 6, 8, 10, 12});
  // What is read may be in one place for all.
  const std::int64_t same[] = {0, 1};
  REQUIRE(execution->set_strides(0, same));
  REQUIRE(execution->run_on(together, sizes));
  CHECK(dense == std::vector<float>{2, 4, 6, 2, 4, 6});
}

TEST_CASE("strides that do not fit") {
  const Outcome<Kernel> kernel = compile(doubled(), {.sizes = {{"M", 2}, {"N", 3}}});
  REQUIRE(kernel);
  Part part;
  std::vector<float> x(6);
  const auto refused = [&](std::vector<std::int64_t> strides) {
    Argument y = part.argument("y");
    y.strides = std::move(strides);
    return kernel->run({argument<float>("x", x), y}).error();
  };
  CHECK(refused({1}).messages ==
        std::vector<std::string>{"argument 'y' has 1 strides, expected 2: [2, 3]"});
  CHECK(refused({0, 1}).messages ==
        std::vector<std::string>{
            "argument 'y' is written, and its strides [0, 1] put several elements in one place"});
  Outcome<Execution> execution = kernel->prepare_calls({});
  REQUIRE(execution);
  const std::int64_t one[] = {1}, same[] = {1, 1};
  CHECK(execution->set_strides(0, one).error().status == ExitStatus::Usage);
  CHECK(execution->set_strides(2, one).error().messages ==
        std::vector<std::string>{"there is no tensor 2: the kernel has 2"});
  REQUIRE(execution->set_strides(1, same));
  void* data[] = {x.data(), part.first()};
  CHECK(execution->run_on(data).error().status == ExitStatus::InvalidInput);
  void* nothing[] = {nullptr, part.first()};
  REQUIRE(execution->set_strides(1, {}));
  REQUIRE(execution->set_strides(0, Part::kStrides));
  CHECK(execution->run_on(nothing).error().messages ==
        std::vector<std::string>{"argument 'x' has no memory"});
}

TEST_CASE("constants with strides are packed from where they are") {
  const Outcome<Program> program = parse_program(
      "program dense(M, N, K)\n  in x: f32[M, K]\n  const w: f32[K, N]\n  out y: f32[M, N]\n"
      "  y[m, n] = sum[k] x[m, k] * w[k, n]\n");
  REQUIRE(program);
  const Outcome<Kernel> kernel = compile(*program, {.sizes = {{"M", 1}, {"N", 2}, {"K", 3}}});
  REQUIRE(kernel);
  std::vector<float> x{1, 10, 100}, w{1, 2, 3, 4, 5, 6}, y(2);  // w: [2, 3], its transpose is meant
  Argument turned{"w", DType::F32, w.data(), 6, false, {3, 2}, {1, 3}};
  Outcome<Execution> execution = kernel->prepare_calls({turned});
  REQUIRE(execution);
  void* data[] = {x.data(), nullptr, y.data()};
  REQUIRE(execution->run_on(data));
  CHECK(y == std::vector<float>{321, 654});
  const std::int64_t strides[] = {1, 3};
  CHECK(execution->set_strides(1, strides).error().status == ExitStatus::Usage);
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
