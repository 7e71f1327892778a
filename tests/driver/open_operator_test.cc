// Operators whose sizes stay open, through the C++ API: one kernel gives the bits of the kernel
// that is compiled for the sizes of a call, and what does not fit is refused before anything runs.
#include <doctest/doctest.h>

#include "driver/api/polyte.h"
#include "tests/runtime/temp_dir.h"

using namespace polyte;
using namespace polyte::api;

namespace {

using Dims = std::vector<std::int64_t>;

Program notation(const std::string& text) {
  const Outcome<Program> program = parse_notation(text, DType::F32);
  REQUIRE(program);
  return *program;
}

Program program_of(const std::string& text) {
  const Outcome<Program> program = parse_program(text);
  REQUIRE_MESSAGE(program, program.error().messages.front());
  return *program;
}

Kernel compiled(const Program& program, const CompileOptions& options) {
  const Outcome<Kernel> kernel = compile(program, options);
  REQUIRE_MESSAGE(kernel, kernel.error().messages.front());
  return *kernel;
}

std::size_t count(const Dims& shape) {
  std::size_t elements = 1;
  for (const std::int64_t extent : shape) elements *= static_cast<std::size_t>(extent);
  return elements;
}

// Every tensor at these sizes, small whole numbers in all, and room behind that has to stay
// as it is.
struct Memory {
  static constexpr std::size_t kBehind = 64;
  static constexpr float kMark = 77;
  std::vector<std::vector<float>> data;
  std::vector<Argument> arguments;

  Memory(const Kernel& kernel, const std::vector<Dims>& shapes) : data(shapes.size()) {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const std::size_t elements = count(shapes[i]);
      data[i].assign(elements + kBehind, kMark);
      for (std::size_t j = 0; j < elements; ++j)
        data[i][j] = static_cast<float>(static_cast<int>((j * 7 + j / 5 + i) % 5) - 2);
      arguments.push_back(
          argument<float>(kernel.tensors()[i].name, std::span(data[i]).first(elements), shapes[i]));
    }
  }
};

Sizes sized(const std::vector<std::string>& names, const Dims& values) {
  Sizes sizes;
  for (std::size_t i = 0; i < names.size(); ++i) sizes[names[i]] = values[i];
  return sizes;
}

void check_same(const Program& program, const std::vector<std::string>& names,
                const std::vector<Dims>& all, Scheduler scheduler, int threads = 1) {
  CompileOptions options{.scheduler = scheduler, .threads = threads};
  for (const std::string& name : names) options.open[name] = {0, 64, 4096};
  const Kernel open = compiled(program, options);
  CHECK(!open.scheduling().declined);
  for (const Dims& values : all) {
    CAPTURE(values.size());
    CAPTURE(values[0]);
    CAPTURE(values.back());
    const Kernel closed = compiled(
        program, {.scheduler = scheduler, .sizes = sized(names, values), .second_judge = false});
    const Outcome<std::vector<Dims>> shapes = closed.shapes_at({});
    REQUIRE(shapes);
    Memory here(open, *shapes), there(closed, *shapes);
    const Outcome<Done> done = open.run(here.arguments, threads);
    REQUIRE_MESSAGE(done, done.error().messages.front());
    REQUIRE(closed.run(there.arguments));
    for (std::size_t i = 0; i < here.data.size(); ++i) CHECK(here.data[i] == there.data[i]);
  }
}

const std::vector<Dims> kCubes = {
    {0, 3, 4},    {3, 0, 4},    {3, 4, 0},     {1, 1, 1},    {1, 64, 1},   {2, 3, 5},
    {7, 1, 9},    {13, 17, 19}, {15, 16, 17},  {16, 16, 16}, {31, 32, 33}, {32, 31, 1},
    {37, 41, 43}, {63, 65, 64}, {64, 64, 64},  {65, 63, 2},  {67, 71, 73}, {1, 127, 129},
    {128, 5, 6},  {97, 1, 1},   {101, 3, 255}, {257, 31, 8}};

}  // namespace

TEST_CASE("a product of open sizes has the bits of the kernels that are compiled for them") {
  const Program product = notation("C[m,n] = sum[k] A[m,k]*B[k,n]");
  for (const Scheduler scheduler :
       {Scheduler::Naive, Scheduler::Isl, Scheduler::Poly, Scheduler::Template}) {
    CAPTURE(static_cast<int>(scheduler));
    check_same(product, {"M", "N", "K"}, kCubes, scheduler);
  }
}

TEST_CASE("transposed operands, sums of sizes and temporaries of open size") {
  const std::vector<Dims> squares = {{1, 1},   {2, 9},  {17, 16}, {33, 31},
                                     {64, 65}, {67, 2}, {5, 127}};
  for (const Scheduler scheduler : {Scheduler::Poly, Scheduler::Template}) {
    CAPTURE(static_cast<int>(scheduler));
    check_same(notation("C[m,n] = sum[k] A[k,m]*B[n,k]"), {"M", "N", "K"}, kCubes, scheduler);
    check_same(
        program_of(
            "program columns(M, N)\n  in  x: f32[M, N]\n  out y: f32[N]\n  out z: f32[N, M]\n"
            "  t[i, j] = x[i, j] + 1\n  y[j] = sum[i] t[i, j]\n  z[j, i] = t[i, j] * y[j]\n"),
        {"M", "N"}, squares, scheduler);
    check_same(
        program_of("program filter(N, R) where R >= 1\n  in  x: f32[N + R - 1]\n  in  w: f32[R]\n"
                   "  out y: f32[N]\n  y[i] = sum[r] x[i + r] * w[r]\n"),
        {"N", "R"}, squares, scheduler);
    check_same(
        program_of(
            "program dense(M, N, K)\n  in  x: f32[M, K]\n  const w: f32[K, N]\n  out y: f32[M, N]\n"
            "  acc[m, n] = sum[k] x[m, k] * w[k, n]\n  y[m, n] = max(acc[m, n], 0)\n"),
        {"M", "N", "K"}, kCubes, scheduler, 2);
  }
}

TEST_CASE("what is open has a range and a name; shapes say what it is") {
  const Kernel kernel = compiled(notation("C[m,n] = sum[k] A[m,k]*B[k,n]"),
                                 {.sizes = {{"k", 3}}, .open = {{"m", {}}, {"n", {2, 20, 40}}}});
  REQUIRE(kernel.sizes().size() == 2);
  CHECK(kernel.sizes()[0].name == "M");
  CHECK(kernel.sizes()[0].least == 1);
  CHECK(kernel.sizes()[0].most == 65536);
  CHECK(kernel.sizes()[1].most == 40);
  CHECK(kernel.tensors()[0].shape == Dims{kOpenExtent, 3});
  CHECK(kernel.tensors()[0].extents == std::vector<std::string>{"M", "3"});
  CHECK(*kernel.sizes_by({{"A", {5, 3}}, {"B", {3, 7}}}) == Dims{5, 7});
  CHECK(*kernel.sizes_by({{"C", {5, 7}}}) == Dims{5, 7});
  CHECK(*kernel.sizes_by({{"A", {5, 3}}}, {{"n", 7}}) == Dims{5, 7});
  const Dims sizes{5, 7};
  CHECK(*kernel.shapes_at(sizes) == std::vector<Dims>{{5, 3}, {3, 7}, {5, 7}});
  using Messages = std::vector<std::string>;
  CHECK(kernel.sizes_by({{"A", {5, 4}}, {"B", {3}}}).error().messages ==
        Messages{"argument 'B' has 1 dimensions, expected 2: [3, N]"});
  CHECK(kernel.sizes_by({{"A", {5, 4}}, {"B", {3, 7}}, {"C", {6, 7}}}).error().messages ==
        Messages{"argument 'A' has shape [5, 4], expected [5, 3]: [M, 3]",
                 "argument 'C' has shape [6, 7], expected [5, 7]: [M, N], M is 5 by 'A'"});
  CHECK(kernel.sizes_by({{"A", {5, 3}}}).error().messages ==
        Messages{"size 'N' follows from no shape: give it"});
  CHECK(kernel.sizes_by({{"A", {0, 3}}, {"B", {3, 41}}}).error().messages ==
        Messages{"size 'M' is 0, expected 1 to 65536", "size 'N' is 41, expected 2 to 40"});
  CHECK(kernel.shapes_at({}).error().messages ==
        Messages{"0 sizes, expected one for each of the 2 that are open"});
}

TEST_CASE("sizes that cannot be left open are refused") {
  const Program product = notation("C[m,n] = sum[k] A[m,k]*B[k,n]");
  const Outcome<Kernel> none = compile(
      product, {.sizes = {{"m", 4}, {"q", 4}}, .open = {{"m", {}}, {"k", {2, 1, 4}}, {"r", {}}}});
  REQUIRE(!none);
  CHECK(none.error().status == ExitStatus::Usage);
  CHECK(none.error().messages ==
        std::vector<std::string>{
            "size 'q': program 'op' has no such size",
            std::string(
                "size 'k' is open from 2 to 4, typically 1, expected 0 <= least <= typical <= ") +
                "most <= 2147483648",
            "size 'm' is given, and left open", "size 'r': program 'op' has no such size",
            "size 'N' is missing"});
  const Outcome<Kernel> gpu =
      compile(product, {.sizes = {{"m", 4}, {"n", 4}}, .open = {{"k", {}}}, .target = "cuda:h100"});
  REQUIRE(!gpu);
  CHECK(gpu.error().status == ExitStatus::Unsupported);
}

TEST_CASE("one execution runs at other sizes, and refuses those that do not fit") {
  const Program dense = program_of(
      "program dense(M, N)\n  in  x: f32[M, N]\n  const w: f32[N]\n  out y: f32[M, N]\n"
      "  y[m, n] = x[m, n] + w[n]\n");
  const Kernel kernel = compiled(dense, {.open = {{"M", {}}, {"N", {}}}});
  std::vector<float> x(12, 1), w{1, 2, 3, 4}, y(12, 0);
  const auto constant = argument<const float>("w", w, Dims{3});
  const auto refused = [](const auto& outcome) { return outcome.error().messages.front(); };
  CHECK(refused(kernel.prepare_calls({argument<const float>("w", w, Dims{3})})) ==
        "argument 'w' has 4 elements, expected 3: [3]");
  const auto three = argument<const float>("w", std::span<const float>(w).first(3));
  Outcome<Execution> execution = kernel.prepare_calls({three});
  REQUIRE(execution);
  void* data[] = {x.data(), nullptr, y.data()};
  CHECK(refused(execution->run_on(data)) == "sizes are open: run_on takes their values");
  const Dims two{2, 3}, four{4, 3}, wide{3, 4};
  REQUIRE(execution->run_on(data, two));
  CHECK(y == std::vector<float>{2, 3, 4, 2, 3, 4, 0, 0, 0, 0, 0, 0});
  CHECK(refused(execution->run_on(data, wide)) ==
        "constant 'w' has shape [3], expected [4] at these sizes");
  REQUIRE(execution->run_on(data, four));
  CHECK(y == std::vector<float>{2, 3, 4, 2, 3, 4, 2, 3, 4, 2, 3, 4});
  y.assign(12, 0);
  REQUIRE(execution->run_on(data));  // at the sizes of the run before
  CHECK(y[11] == 4);
  data[2] = x.data() + 11;
  CHECK(refused(execution->run_on(data)) == "argument 'y' is written and overlaps argument 'x'");
  data[2] = x.data() + 6;
  CHECK(refused(execution->run_on(data)) == "argument 'y' is written and overlaps argument 'x'");
  CHECK(execution->run_on(data, two));  // 6 elements each
}

TEST_CASE("a tensor without elements overlaps nothing, wherever it is said to lie") {
  const Program program = program_of(
      "program p(N)\n  in  x: f32[N]\n  out y: f32[4]\n\n"
      "  y[i] = sum[k] x[k]  for i in 0..4\n");
  const Kernel kernel = compiled(program, {.sizes = {{"N", 0}}});
  Outcome<Execution> execution = kernel.prepare_calls({});
  REQUIRE(execution);
  std::vector<float> y(4, 1);
  void* data[] = {y.data() + 1, y.data()};
  CHECK(execution->run_on(data));
  CHECK(y == std::vector<float>(4, 0));
}

TEST_CASE("arguments say the sizes, and all that does not fit is listed") {
  const Kernel kernel = compiled(notation("C[m,n] = sum[k] A[m,k]*B[k,n]"),
                                 {.open = {{"m", {}}, {"n", {}}, {"k", {}}}});
  std::vector<float> a(6, 1), b(6, 1), c(4, 0);
  using Messages = std::vector<std::string>;
  const auto run = [&](const Argument& second, const Sizes& sizes = {}) {
    return kernel.run({argument<float>("A", a, Dims{2, 3}), second, argument<float>("C", c)}, 1,
                      sizes);
  };
  CHECK(run(argument<float>("B", b, Dims{3, 2})));
  CHECK(c == std::vector<float>{3, 3, 3, 3});
  CHECK(run(argument<float>("B", b, Dims{2, 3})).error().messages ==
        Messages{"argument 'B' has shape [2, 3], expected [3, 3]: [K, N], K is 3 by 'A'"});
  CHECK(run(argument<float>("B", b)).error().messages ==
        Messages{"size 'N' follows from no shape: give it"});
  CHECK(run(argument<float>("B", b), {{"n", 2}}));
  CHECK(run(argument<float>("B", b), {{"n", 3}}).error().messages ==
        Messages{"argument 'B' has 6 elements, expected 9: [3, 3]",
                 "argument 'C' has 4 elements, expected 6: [2, 3]"});
  CHECK(run(argument<float>("B", b), {{"q", 3}}).error().messages ==
        Messages{"size 'q': the kernel leaves no such size open"});
  CHECK(run(argument<float>("D", b)).error().messages ==
        Messages{"argument 'B' is missing", "argument 'D': there is no such tensor"});
}

TEST_CASE("the Program's own conditions hold for the sizes of a call") {
  const Kernel kernel =
      compiled(program_of("program band(M, N) where M >= N + 2\n  in  x: f32[M]\n  out y: f32[N]\n"
                          "  y[i] = x[i] + x[i + 2] for i in 0..N\n"),
               {.open = {{"M", {}}, {"N", {}}}});
  std::vector<float> x(8, 1), y(8, 0);
  const auto run = [&](std::size_t m, std::size_t n) {
    return kernel.run(
        {argument<float>("x", std::span(x).first(m)), argument<float>("y", std::span(y).first(n))});
  };
  CHECK(run(8, 6));
  CHECK(run(7, 6).error().messages.front() == "program 'band': the sizes violate N <= M - 2");
}

TEST_CASE("typical sizes are moved until all conditions hold, whichever is looked at first") {
  for (const auto& [least, most] : {std::pair<std::string, std::string>{"M", "K"}, {"K", "M"}}) {
    CAPTURE(most);
    const Kernel kernel =
        compiled(program_of("program steps(M, N, K) where " + most + " >= N + 2 and N >= " + least +
                            " + 2\n  in  x: f32[" + most + "]\n  out y: f32[" + least +
                            "]\n  out z: f32[N]\n  y[i] = x[i] + x[i + 4] for i in 0.." + least +
                            "\n  z[i] = x[i + 2] for i in 0..N\n"),
                 {.open = {{"M", {}}, {"N", {}}, {"K", {}}}});
    std::vector<float> x(9, 1), y(4, 0), z(6, 0);
    CHECK(kernel.run({argument<float>("x", std::span(x)), argument<float>("y", std::span(y)),
                      argument<float>("z", std::span(z))}));
  }
}

TEST_CASE("kernels of open size are kept in files and in the cache") {
  const Program program = program_of(
      "program columns(M, N)\n  in  x: f32[M, N]\n  out y: f32[N, M]\n"
      "  t[i, j] = x[i, j] + 1\n  y[j, i] = t[i, j] * t[M - 1 - i, j]\n");
  const testing::TempDir folder;
  CompileOptions options{.scheduler = Scheduler::Naive,
                         .open = {{"M", {}}, {"N", {1, 8, 30}}},
                         .cache = folder.file("cache")};
  const Kernel made = compiled(program, options), found = compiled(program, options);
  REQUIRE(made.save(folder.file("k.kernel")));
  const Outcome<Kernel> loaded = Kernel::load(folder.file("k.kernel"));
  REQUIRE(loaded);
  for (const Kernel* kernel : {&made, &found, &*loaded}) {
    CHECK(kernel->sizes()[1].most == 30);
    const std::vector<float> x{0, 1, 2, 3, 4, 5};
    std::vector<float> y(6, 0);
    REQUIRE(kernel->run(
        {argument<const float>("x", x, Dims{2, 3}), argument<float>("y", y, Dims{3, 2})}));
    CHECK(y == std::vector<float>{4, 4, 10, 10, 18, 18});
  }
  options.open["N"].most = 31;
  CHECK(compiled(program, options).sizes()[1].most == 31);  // another request
}
