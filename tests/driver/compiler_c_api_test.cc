// The C API to compile (driver/api/polyte_compiler.h), as a C program calls it.
#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "driver/api/polyte_compiler.h"

namespace {

const polyte_compiler_api* const kApi = polyte_compiler_get_api(1);

struct Text {
  int status = 0;
  std::string text;
};
// What a call that is given a place for its failure says.
template <class F>
Text failure_of(F call) {
  polyte_failure* failure = nullptr;
  Text said{call(&failure), failure ? kApi->failure_text(failure) : ""};
  CHECK(kApi->failure_status(failure) == said.status);
  kApi->failure_free(failure);
  return said;
}

constexpr const char* kDense =
    "program dense(M, N, K)\n  in    x: f32[M, K]\n  const w: f32[K, N]\n  out   y: f32[M, N]\n"
    "  y[m, n] = sum[k] x[m, k] * w[k, n]\n";

struct Dense {
  polyte_program* program = nullptr;
  polyte_options* options = kApi->options_new();
  polyte_kernel_object* kernel = nullptr;

  explicit Dense(const char* scheduler = "poly") {
    REQUIRE(kApi->program_from_text(kDense, nullptr, &program, nullptr) == 0);
    for (const auto& [name, text] :
         {std::pair{"size.M", "5"}, {"size.N", "7"}, {"size.K", "3"}, {"scheduler", scheduler}})
      REQUIRE(kApi->options_set(options, name, text, nullptr) == 0);
    REQUIRE(kApi->compile(program, options, &kernel, nullptr) == 0);
  }
  ~Dense() {
    kApi->kernel_free(kernel);
    kApi->options_free(options);
    kApi->program_free(program);
  }
};

struct Operands {
  std::vector<float> x = std::vector<float>(15), w = std::vector<float>(21),
                     y = std::vector<float>(35);
  Operands() {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 4);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 5) - 2;
  }
  std::vector<void*> data() { return {x.data(), w.data(), y.data()}; }
  bool is_right() const {
    for (std::size_t m = 0; m < 5; ++m)
      for (std::size_t n = 0; n < 7; ++n) {
        float sum = 0;
        for (std::size_t k = 0; k < 3; ++k) sum += x[m * 3 + k] * w[k * 7 + n];
        if (sum != y[m * 7 + n]) return false;
      }
    return true;
  }
};

}  // namespace

TEST_CASE("the C API compiles, says what it made, and calls it on any memory") {
  REQUIRE(kApi);
  CHECK(kApi->size == sizeof(polyte_compiler_api));
  CHECK(polyte_compiler_get_api(POLYTE_COMPILER_API_VERSION + 1) == nullptr);
  CHECK(polyte_compiler_get_api(0) == nullptr);
  for (const char* scheduler : {"naive", "isl", "poly", "template"}) {
    const Dense dense(scheduler);
    CHECK(kApi->kernel_text(dense.kernel, POLYTE_SCHEDULER) == std::string(scheduler));
    CHECK(kApi->kernel_text(dense.kernel, POLYTE_DECLINED) == std::string());
    CHECK(std::strstr(kApi->kernel_text(dense.kernel, POLYTE_SCRIPT), "schedule dense/"));
    CHECK(std::strstr(kApi->kernel_text(dense.kernel, POLYTE_LOOPS), "loops dense"));
    CHECK(kApi->kernel_text(dense.kernel, 5) == nullptr);
    Operands first, second;
    polyte_execution* execution = nullptr;
    REQUIRE(kApi->execution_new(dense.kernel, first.data().data(), 2, nullptr, &execution,
                                nullptr) == 0);
    for (Operands* each : {&first, &second, &first}) {
      each->y.assign(35, -1);
      CHECK(kApi->execution_run(execution, each->data().data(), 3, nullptr) == 0);
      CHECK(each->is_right());
    }
    kApi->execution_free(execution);
  }
}

TEST_CASE("memory with strides is copied") {
  const Dense dense;
  Operands operands;
  polyte_execution* execution = nullptr;
  REQUIRE(kApi->execution_new(dense.kernel, operands.data().data(), 1, nullptr, &execution,
                              nullptr) == 0);
  std::vector<float> turned(35, -1);  // y by columns
  const std::int64_t strides[] = {1, 5};
  REQUIRE(kApi->execution_set_strides(execution, 2, strides, 2, nullptr) == 0);
  auto data = operands.data();
  data[2] = turned.data();
  REQUIRE(kApi->execution_run(execution, data.data(), 3, nullptr) == 0);
  for (std::size_t m = 0; m < 5; ++m)
    for (std::size_t n = 0; n < 7; ++n) operands.y[m * 7 + n] = turned[n * 5 + m];
  CHECK(operands.is_right());
  REQUIRE(kApi->execution_set_strides(execution, 2, nullptr, 0, nullptr) == 0);
  operands.y.assign(35, -1);
  REQUIRE(kApi->execution_run(execution, operands.data().data(), 3, nullptr) == 0);
  CHECK(operands.is_right());
  const Text refused =
      failure_of([&](auto f) { return kApi->execution_set_strides(execution, 2, strides, 1, f); });
  CHECK(refused.status == 2);
  CHECK(refused.text == "argument 'y' has 1 strides, expected 2: [5, 7]");
  CHECK(kApi->execution_set_strides(nullptr, 0, strides, 2, nullptr) == 2);
  kApi->execution_free(execution);
}

TEST_CASE("tensors by their infos") {
  const Dense dense;
  REQUIRE(kApi->kernel_tensor_count(dense.kernel) == 3);
  polyte_kernel_tensor tensor;
  REQUIRE(kApi->kernel_tensor(dense.kernel, 1, &tensor) == 0);
  CHECK(tensor.name == std::string("w"));
  CHECK(tensor.role == POLYTE_CONST);
  CHECK(tensor.dtype.code == POLYTE_DL_FLOAT);
  CHECK(tensor.dtype.bits == 32);
  REQUIRE(tensor.ndim == 2);
  CHECK(tensor.shape[0] == 3);
  CHECK(tensor.shape[1] == 7);
  CHECK(kApi->kernel_tensor(dense.kernel, 3, &tensor) == 2);
  CHECK(kApi->kernel_tensor(dense.kernel, -1, &tensor) == 2);
}

TEST_CASE("a kernel's own script compiles to it again, and its params can be set") {
  Dense dense("template");
  const std::string loops = kApi->kernel_text(dense.kernel, POLYTE_LOOPS);
  REQUIRE(kApi->options_set(dense.options, "script", kApi->kernel_text(dense.kernel, POLYTE_SCRIPT),
                            nullptr) == 0);
  polyte_kernel_object* again = nullptr;
  REQUIRE(kApi->compile(dense.program, dense.options, &again, nullptr) == 0);
  CHECK(kApi->kernel_text(again, POLYTE_LOOPS) == loops);
  CHECK(kApi->kernel_text(again, POLYTE_SCHEDULER) == std::string("script"));
  kApi->kernel_free(again);
  REQUIRE(kApi->options_set(dense.options, "param.Qq", "3", nullptr) == 0);
  const Text refused =
      failure_of([&](auto f) { return kApi->compile(dense.program, dense.options, &again, f); });
  CHECK(refused.status == 2);
  CHECK(refused.text.find("Qq") != std::string::npos);
}

TEST_CASE("parallel loops run on the caller's threads") {
  struct Caller {
    std::atomic<int> calls{0};
    static void parallel_for(void* self, polyte_parallel_body body, void* context,
                             std::int64_t begin, std::int64_t end) {
      ++static_cast<Caller*>(self)->calls;
      for (std::int64_t i = begin; i < end; ++i) body(context, i, i + 1, i % 3);
    }
  } caller;
  polyte_host host{};
  host.size = sizeof(polyte_host);
  host.workers = 3;
  host.self = &caller;
  host.parallel_for = Caller::parallel_for;
  polyte_program* program = nullptr;
  polyte_kernel_object* kernel = nullptr;
  polyte_execution* execution = nullptr;
  REQUIRE(kApi->program_from_notation("y[i] = x[i] + x[i]", "f32", &program, nullptr) == 0);
  polyte_options* options = kApi->options_new();
  REQUIRE(kApi->options_set(options, "size.i", "1000000", nullptr) == 0);
  REQUIRE(kApi->options_set(options, "threads", "3", nullptr) == 0);
  REQUIRE(kApi->compile(program, options, &kernel, nullptr) == 0);
  REQUIRE(kApi->execution_new(kernel, nullptr, 0, &host, &execution, nullptr) == 0);
  std::vector<float> x(1000000, 2), y(1000000);
  void* data[] = {x.data(), y.data()};
  CHECK(kApi->execution_run(execution, data, 2, nullptr) == 0);
  CHECK(caller.calls > 0);
  CHECK(y == std::vector<float>(1000000, 4));
  kApi->execution_free(execution);
  kApi->kernel_free(kernel);
  kApi->options_free(options);
  kApi->program_free(program);
}

TEST_CASE("what fails says all of it, and null is no crash") {
  polyte_program* program = nullptr;
  polyte_kernel_object* kernel = nullptr;
  polyte_execution* execution = nullptr;
  CHECK(failure_of([&](auto f) {
          return kApi->program_from_text("program p()\n  y[i] = x[i]\n", "p", &program, f);
        }).status == 3);
  CHECK(failure_of([&](auto f) {
          return kApi->program_from_notation("y[i] = x[i]", "f33", &program, f);
        }).text == "dtype 'f33': expected f64, f32, f16, bf16, i8 .. i64, u8 .. u64, bool");
  CHECK(program == nullptr);
  const Dense dense;
  struct Case {
    const char *name, *text, *expected;
  };
  for (const Case& each : {Case{"size.M", "many", "expected a number"},
                           {"threads", "-1", "expected a number from 0 to 1024"},
                           {"scheduler", "fast", "expected naive, isl, poly or template"},
                           {"strict", "yes", "expected 0 or 1"},
                           {"speed", "1", "expected another name: scheduler"}}) {
    const Text said = failure_of(
        [&](auto f) { return kApi->options_set(dense.options, each.name, each.text, f); });
    CHECK(said.status == 2);
    CHECK(said.text.find(each.expected) != std::string::npos);
  }
  const Text unbound =
      failure_of([&](auto f) { return kApi->compile(dense.program, nullptr, &kernel, f); });
  CHECK(unbound.text == "size 'M' is missing\nsize 'N' is missing\nsize 'K' is missing");
  CHECK(failure_of([&](auto f) {
          return kApi->execution_new(dense.kernel, nullptr, 0, nullptr, &execution, f);
        }).text == "threads is 0, expected a number from 1 to 1024");
  CHECK(failure_of([&](auto f) {
          return kApi->execution_new(dense.kernel, nullptr, 1, nullptr, &execution, f);
        }).text == "argument 'w' is missing");
  CHECK(failure_of([&](auto f) { return kApi->compile(nullptr, nullptr, &kernel, f); }).status ==
        2);
  CHECK(failure_of([&](auto f) { return kApi->execution_run(nullptr, nullptr, 0, f); }).status ==
        2);
  CHECK(kApi->program_text(nullptr) == nullptr);
  CHECK(kApi->kernel_tensor_count(nullptr) == 0);
  kApi->program_free(nullptr);
  kApi->kernel_free(nullptr);
  kApi->execution_free(nullptr);
  kApi->failure_free(nullptr);
}

TEST_CASE("addresses that fit no tensor are refused, each with its reason") {
  polyte_execution* execution = nullptr;
  const Dense dense;
  Operands operands;
  REQUIRE(kApi->execution_new(dense.kernel, operands.data().data(), 1, nullptr, &execution,
                              nullptr) == 0);
  std::vector<void*> data = operands.data();
  CHECK(failure_of([&](auto f) {
          return kApi->execution_run(execution, data.data(), 2, f);
        }).text == "2 addresses, expected one for each of 3 tensors");
  data[2] = operands.x.data();
  CHECK(failure_of([&](auto f) {
          return kApi->execution_run(execution, data.data(), 3, f);
        }).text == "argument 'y' is written and overlaps argument 'x'");
  data[2] = nullptr;
  CHECK(failure_of([&](auto f) {
          return kApi->execution_run(execution, data.data(), 3, f);
        }).text == "argument 'y' has no memory");
  data[2] = reinterpret_cast<char*>(operands.y.data()) + 1;
  CHECK(failure_of([&](auto f) {
          return kApi->execution_run(execution, data.data(), 3, f);
        }).text == "argument 'y' is not aligned to its element");
  kApi->execution_free(execution);
}

TEST_CASE("constants are those of the execution, packed or not") {
  Dense dense("naive");
  Operands operands;
  polyte_execution* execution = nullptr;
  REQUIRE(kApi->execution_new(dense.kernel, operands.data().data(), 1, nullptr, &execution,
                              nullptr) == 0);
  void* data[] = {operands.x.data(), nullptr, operands.y.data()};
  CHECK(kApi->execution_run(execution, data, 3, nullptr) == 0);
  CHECK(operands.is_right());
  kApi->execution_free(execution);
}

TEST_CASE("sizes of a kernel may be those of each call") {
  polyte_program* program = nullptr;
  polyte_options* options = kApi->options_new();
  polyte_kernel_object* kernel = nullptr;
  polyte_execution* execution = nullptr;
  REQUIRE(kApi->program_from_text(kDense, nullptr, &program, nullptr) == 0);
  CHECK(failure_of([&](auto f) { return kApi->options_set(options, "open.M", "1..8", f); }).text ==
        "option 'open.M' = '1..8': expected nothing, or least..typical..most: 1..256..65536");
  for (const auto& [name, text] :
       {std::pair{"open.M", "1..8..64"}, {"size.N", "7"}, {"size.K", "3"}})
    REQUIRE(kApi->options_set(options, name, text, nullptr) == 0);
  REQUIRE(kApi->compile(program, options, &kernel, nullptr) == 0);
  REQUIRE(kApi->kernel_open_size_count(kernel) == 1);
  polyte_open_size size;
  REQUIRE(kApi->kernel_open_size(kernel, 0, &size) == 0);
  CHECK(std::string(size.name) == "M");
  CHECK(size.least == 1);
  CHECK(size.most == 64);
  CHECK(kApi->kernel_open_size(kernel, 1, &size) == 2);
  polyte_kernel_tensor x;
  REQUIRE(kApi->kernel_tensor(kernel, 0, &x) == 0);
  CHECK(x.shape[0] == -1);
  CHECK(x.shape[1] == 3);
  std::int64_t rows = 5, shape[2] = {};
  REQUIRE(kApi->kernel_shape(kernel, 2, &rows, 1, shape, nullptr) == 0);
  CHECK(shape[0] == 5);
  CHECK(shape[1] == 7);

  Operands operands;
  REQUIRE(kApi->execution_new(kernel, operands.data().data(), 1, nullptr, &execution, nullptr) ==
          0);
  const std::vector<void*> data = operands.data();
  CHECK(failure_of([&](auto f) {
          return kApi->execution_run(execution, data.data(), 3, f);
        }).text == "sizes are open: run_on takes their values");
  CHECK(kApi->execution_run_at(execution, data.data(), 3, &rows, 1, nullptr) == 0);
  CHECK(operands.is_right());
  rows = 65;
  CHECK(failure_of([&](auto f) {
          return kApi->execution_run_at(execution, data.data(), 3, &rows, 1, f);
        }).text == "size 'M' is 65, expected 1 to 64");
  CHECK(failure_of([&](auto f) {
          return kApi->execution_run_at(execution, data.data(), 3, &rows, 0, f);
        }).text == "0 sizes, expected one for each of the 1 that are open");
  kApi->execution_free(execution);
  kApi->kernel_free(kernel);
  kApi->options_free(options);
  kApi->program_free(program);
}

TEST_CASE("a constant of open size is refused before anything is read") {
  polyte_program* program = nullptr;
  polyte_options* options = kApi->options_new();
  polyte_kernel_object* kernel = nullptr;
  REQUIRE(kApi->program_from_text(kDense, nullptr, &program, nullptr) == 0);
  for (const char* name : {"open.M", "open.N", "open.K"})
    REQUIRE(kApi->options_set(options, name, "", nullptr) == 0);
  REQUIRE(kApi->compile(program, options, &kernel, nullptr) == 0);
  Operands operands;
  polyte_execution* execution = nullptr;
  const Text failure = failure_of([&](auto f) {
    return kApi->execution_new(kernel, operands.data().data(), 1, nullptr, &execution, f);
  });
  CHECK(failure.text ==
        "constant 'w' is of open size, which an address does not say: declare it `in`");
  CHECK(execution == nullptr);
  kApi->kernel_free(kernel);
  kApi->options_free(options);
  kApi->program_free(program);
}
