// The C++ API: results against plain loops on small integers (bit for bit), and that no problem
// is an exception.
#include "driver/api/polyte.h"

#include <doctest/doctest.h>

#include <unistd.h>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "runtime/session.h"

namespace polyte::api {
namespace {

constexpr const char* kDense = R"(program dense_relu(M, N, K)
  in    x: f32[M, K]
  const w: f32[K, N]
  in    b: f32[N]
  out   y: f32[M, N]

  acc[m, n] = sum[k] x[m, k] * w[k, n]
  y[m, n]   = max(acc[m, n] + b[n], 0)
)";

constexpr const char* kDenseScript = R"(schedule mine/1 for dense_relu  f32  exact
split m by 4, n by 16   tail cut
let tile = [m.i] > <n.i>
nest  par n.o > m.o > { tile > acc.init; k > tile > acc.update; tile > y }
stage acc at m.o in register
)";

struct Dense {
  std::size_t M, N, K;
  std::vector<float> x, w, b, y, expected;

  Dense(std::size_t m, std::size_t n, std::size_t k)
      : M(m), N(n), K(k), x(m * k), w(k * n), b(n), y(m * n, -7.0F), expected(m * n) {
    auto fill = [](std::vector<float>& v, int seed) {
      for (std::size_t i = 0; i < v.size(); ++i)
        v[i] = static_cast<float>((static_cast<int>(i) * seed) % 9 - 4);
    };
    fill(x, 5), fill(w, 7), fill(b, 3);
    for (std::size_t i = 0; i < M; ++i)
      for (std::size_t j = 0; j < N; ++j) {
        float sum = 0;
        for (std::size_t l = 0; l < K; ++l) sum += x[i * K + l] * w[l * N + j];
        expected[i * N + j] = std::max(sum + b[j], 0.0F);
      }
  }
  std::vector<Argument> arguments() {
    return {argument<const float>("x", x), argument<const float>("w", w),
            argument<const float>("b", b), argument<float>("y", y)};
  }
  Sizes sizes() const {
    return {{"M", static_cast<std::int64_t>(M)},
            {"N", static_cast<std::int64_t>(N)},
            {"K", static_cast<std::int64_t>(K)}};
  }
};

std::string joined(const Failure& failure) {
  std::string text;
  for (const std::string& message : failure.messages) text += message + "\n";
  return text;
}

Program dense_program() {
  Outcome<Program> program = parse_program(kDense, "dense.program");
  REQUIRE_MESSAGE(static_cast<bool>(program), (program ? "" : joined(program.error())));
  return *program;
}

void check_dense(const CompileOptions& options, int threads) {
  Dense dense(13, 37, 21);
  CompileOptions all = options;
  all.sizes = dense.sizes();
  const Outcome<Kernel> kernel = compile(dense_program(), all);
  REQUIRE_MESSAGE(static_cast<bool>(kernel), (kernel ? "" : joined(kernel.error())));
  const Outcome<Done> done = kernel->run(dense.arguments(), threads);
  REQUIRE_MESSAGE(static_cast<bool>(done), (done ? "" : joined(done.error())));
  CHECK(dense.y == dense.expected);
}

TEST_CASE("every scheduler and a script give the reference's bits, on one thread and two") {
  for (const int threads : {1, 2}) {
    for (const Scheduler scheduler :
         {Scheduler::Naive, Scheduler::Isl, Scheduler::Poly, Scheduler::Template}) {
      CAPTURE(static_cast<int>(scheduler));
      check_dense({.scheduler = scheduler}, threads);
    }
    check_dense({.script = kDenseScript}, threads);
  }
}

TEST_CASE(
    "a folder of templates: what stands there is taken, only by the scheduler that has templates") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("polyte_api_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "rows_alone.sched")
      << "template rows_alone for contraction\nloop row = ?\n"
         "param Mr = 3\neach statement: split statement: row by Mr tail cut\nnest free > row.o > { "
         "[row.i] > init; steps > [row.i] > update; each after: [row.i] > after }\n";
  check_dense({.scheduler = Scheduler::Template, .templates = folder.string()}, 1);
  const Outcome<Kernel> kernel =
      compile(dense_program(), {.scheduler = Scheduler::Template,
                                .templates = folder.string(),
                                .sizes = {{"M", 13}, {"N", 37}, {"K", 21}}});
  REQUIRE_MESSAGE(static_cast<bool>(kernel), (kernel ? "" : joined(kernel.error())));
  CHECK(kernel->script().find("param Mr = 3") != std::string::npos);
  CHECK(!compile(dense_program(),
                 {.templates = folder.string(), .sizes = {{"M", 13}, {"N", 37}, {"K", 21}}}));
  CHECK(!compile(dense_program(), {.scheduler = Scheduler::Template, .templates = "nowhere"}));
  std::filesystem::remove_all(folder);
}

TEST_CASE("a printed schedule given back leads to the same loops") {
  const Sizes sizes{{"M", 32}, {"N", 64}, {"K", 16}};
  const Outcome<Kernel> first = compile(dense_program(), {.sizes = sizes});
  REQUIRE(first);
  const Outcome<Kernel> second =
      compile(dense_program(), {.script = first->script(), .sizes = sizes});
  REQUIRE_MESSAGE(static_cast<bool>(second), (second ? "" : joined(second.error())));
  CHECK(second->loops() == first->loops());
  CHECK(first->loops().find("acc") != std::string::npos);
  CHECK(first->directives().find("split") != std::string::npos);
}

TEST_CASE("a Program built in C++ is the one of the text") {
  const Outcome<Program> built = build_program("scale", {"N"}, [](ir::ProgramBuilder& p) {
    const ir::Affine n = ir::Affine::symbol("N"), i = ir::Affine::symbol("i");
    p.declare("x", ir::Role::In, DType::F64, {n});
    p.declare("y", ir::Role::Out, DType::F64, {n});
    p.define({"y", {i}}, {{"i", 0, n}},
             ir::make_binary(ir::BinaryOp::Mul, p.load("x", {i}), ir::make_literal(DType::F64, 3)));
  });
  REQUIRE_MESSAGE(static_cast<bool>(built), (built ? "" : joined(built.error())));
  const Outcome<Program> parsed = parse_program(built->text());
  REQUIRE(parsed);
  CHECK(ir::equal(parsed->ir(), built->ir()));

  const Outcome<Kernel> kernel = compile(*built, {.sizes = {{"N", 5}}});
  REQUIRE(kernel);
  const std::vector<double> x{1, -2, 3, 4, 5};
  std::vector<double> y(5);
  REQUIRE(kernel->run({argument<double>("y", y), argument<const double>("x", x)}));
  CHECK(y == std::vector<double>{3, -6, 9, 12, 15});
}

TEST_CASE("an execution runs again on new contents of the same memory") {
  const Outcome<Program> program = parse_notation("y[i] = x[i] + x[i]", DType::I32);
  REQUIRE(program);
  const Outcome<Kernel> kernel = compile(*program, {.sizes = {{"i", 3}}});
  REQUIRE(kernel);
  std::vector<std::int32_t> x{1, 2, 3}, y(3);
  Outcome<Execution> execution =
      kernel->prepare({argument<std::int32_t>("x", x), argument<std::int32_t>("y", y)});
  REQUIRE(execution);
  REQUIRE(execution->run());
  CHECK(y == std::vector<std::int32_t>{2, 4, 6});
  x = {10, 20, 30};
  REQUIRE(execution->run());
  CHECK(y == std::vector<std::int32_t>{20, 40, 60});
}

// ---- problems, all at once, with the words a user sees

TEST_CASE("all faults of a text") {
  const Outcome<Program> program = parse_program(
      "program p(N)\n  in x: f32[N]\n  out y: f33[N]\n  y[i] = x[i] +\n  z[i] = frob(x[i])\n",
      "p.program");
  REQUIRE(!program);
  CHECK(program.error().status == ExitStatus::InvalidInput);
  CHECK(program.error().messages.size() >= 3);
  for (const std::string& message : program.error().messages)
    CHECK(message.rfind("p.program:", 0) == 0);
}

TEST_CASE("a builder's complaint is an outcome") {
  const Outcome<Program> program = build_program("p", {}, [](ir::ProgramBuilder& p) {
    p.declare("x", ir::Role::In, DType::F32, {4});
    p.declare("y", ir::Role::Out, DType::F32, {4});
    p.define({"y", {ir::Affine::symbol("i")}}, {{"i", 0, 5}},
             p.load("x", {ir::Affine::symbol("i")}));
  });
  REQUIRE(!program);
  CHECK(program.error().status == ExitStatus::InvalidInput);
  const Outcome<Program> thrown = build_program("p", {}, [](ir::ProgramBuilder&) { throw 42; });
  REQUIRE(!thrown);
  CHECK(thrown.error().messages ==
        std::vector<std::string>{"internal error: an exception of unknown type"});
}

TEST_CASE("sizes, unknown and missing ones together") {
  const Outcome<Kernel> kernel =
      compile(dense_program(), {.sizes = {{"M", 4}, {"Q", 4}, {"R", 1}}});
  REQUIRE(!kernel);
  CHECK(kernel.error().status == ExitStatus::Usage);
  CHECK(kernel.error().messages ==
        std::vector<std::string>{"size 'Q': program 'dense_relu' has no such size",
                                 "size 'R': program 'dense_relu' has no such size",
                                 "size 'N' is missing", "size 'K' is missing"});
}

TEST_CASE("arguments, all that do not fit together") {
  Dense dense(4, 8, 3);
  const Outcome<Kernel> kernel = compile(dense_program(), {.sizes = dense.sizes()});
  REQUIRE(kernel);
  std::vector<double> wide(12);
  const std::vector<float> constant(32);
  const Outcome<Done> done =
      kernel->run({argument<double>("x", wide), argument<float>("b", std::span(dense.b).first(7)),
                   argument<const float>("y", constant), argument<float>("q", dense.x)},
                  0);
  REQUIRE(!done);
  CHECK(done.error().status == ExitStatus::InvalidInput);
  CHECK(done.error().messages ==
        std::vector<std::string>{"argument 'x' is f64, expected f32", "argument 'w' is missing",
                                 "argument 'b' has 7 elements, expected 8: [8]",
                                 "argument 'y' is written: its memory must not be const",
                                 "argument 'q': there is no such tensor",
                                 "threads is 0, expected at least 1"});
}

TEST_CASE("an illegal schedule is a refusal with its counterexample") {
  const Outcome<Program> program =
      parse_program("program p(N)\n  inout x: f32[N]\n\n  x[i] = x[i-1] + 1   for i in 1..N\n");
  REQUIRE_MESSAGE(static_cast<bool>(program), (program ? "" : joined(program.error())));
  const Outcome<Kernel> kernel = compile(
      *program, {.script = "schedule s/1 for p  f32  exact\nparallel i\n", .sizes = {{"N", 16}}});
  REQUIRE(!kernel);
  CHECK(kernel.error().status == ExitStatus::Refused);
  CHECK(joined(kernel.error()).find("illegal") != std::string::npos);
}

TEST_CASE("an unknown processor") {
  const Outcome<Kernel> kernel =
      compile(dense_program(), {.sizes = {{"M", 4}, {"N", 4}, {"K", 4}}, .target = "znver99"});
  REQUIRE(!kernel);
  CHECK(joined(kernel.error()).find("znver99") != std::string::npos);
}

// ---- models

struct ScratchFile {
  std::string path =
      (std::filesystem::temp_directory_path() / ("polyte-api-" + std::to_string(getpid())))
          .string();
  ~ScratchFile() { std::remove(path.c_str()); }
};

TEST_CASE("an output in the memory of another tensor is refused") {
  const Outcome<Program> program = parse_program(
      "program twice(N)\n  in  x: f32[N]\n"
      "  out y: f32[N]\n  out z: f32[N]\n\n  y[i] = x[N - 1 - i] * 2\n  z[i] = x[i]\n");
  REQUIRE(program);
  const Outcome<Kernel> kernel = compile(*program, {.sizes = {{"N", 16}}});
  REQUIRE(kernel);
  std::vector<float> memory(48);
  const auto run = [&](std::size_t x, std::size_t y, std::size_t z) {
    const auto part = [&](std::size_t at) { return std::span<float>(memory).subspan(at, 16); };
    const Outcome<Done> done =
        kernel->run({argument<float>("x", part(x)), argument<float>("y", part(y)),
                     argument<float>("z", part(z))},
                    1);
    return done ? std::string() : joined(done.error());
  };
  CHECK(run(0, 16, 32) == "");
  CHECK(run(0, 0, 32) == "argument 'y' is written and overlaps argument 'x'\n");
  CHECK(run(0, 15, 32) == "argument 'y' is written and overlaps argument 'x'\n");
  CHECK(run(1, 32, 16) == "argument 'z' is written and overlaps argument 'x'\n");
  CHECK(run(0, 16, 31) == "argument 'y' is written and overlaps argument 'z'\n");
}

TEST_CASE("a model to an artifact, which the runtime runs") {
  const ScratchFile file;
  const Outcome<ModelReport> report = compile_model(
      "examples/digits/digits.onnx", file.path,
      {.scheduler = Scheduler::Template, .groups = {{"g9_softmax", Scheduler::Naive}}});
  REQUIRE_MESSAGE(static_cast<bool>(report), (report ? "" : joined(report.error())));
  REQUIRE(report->groups.size() == 9);
  CHECK(report->groups[0].name == "g0_conv_relu");
  CHECK(report->groups[0].script.rfind("schedule g0_conv_relu/template", 0) == 0);
  CHECK(report->groups[8].script.rfind("schedule g9_softmax/naive", 0) == 0);

  const runtime::Session session(runtime::Artifact::open(file.path), {.threads = 1});
  const runtime::Tensor image(DType::F32, {1, 1, 8, 8});
  const std::vector<runtime::Tensor> outputs = session.run({&image, 1});
  float sum = 0;
  for (const float p : outputs.at(0).as<float>()) sum += p;
  CHECK(sum == doctest::Approx(1));
}

TEST_CASE("a model whose batch stays open, for every batch of a range") {
  const ScratchFile file;
  const std::string model = "examples/digits/digits_batch.onnx";
  const Outcome<ModelReport> report =
      compile_model(model, file.path, {.open = {{"batch", {1, 4, 8}}}});
  REQUIRE_MESSAGE(static_cast<bool>(report), (report ? "" : joined(report.error())));
  const runtime::Session session(runtime::Artifact::open(file.path), {.threads = 1});
  for (const std::int64_t batch : {1, 3, 8}) {
    const runtime::Tensor images(DType::F32, {batch, 1, 8, 8});
    const std::vector<runtime::Tensor> outputs = session.run({&images, 1});
    CHECK(outputs.at(0).shape() == std::vector<std::int64_t>{batch, 10});
    float sum = 0;
    for (const float p : outputs.at(0).as<float>()) sum += p;
    CHECK(sum == doctest::Approx(batch));
  }
  const runtime::Tensor many(DType::F32, {9, 1, 8, 8});
  CHECK_THROWS_WITH_AS(session.run({&many, 1}), "input 'image': batch is 9, expected 1 to 8",
                       UserError);

  const Outcome<ModelReport> unknown = compile_model(model, "", {.open = {{"size", {1, 4, 8}}}});
  REQUIRE(!unknown);
  CHECK(joined(unknown.error()).find("no open symbol has this name (open are batch)") !=
        std::string::npos);
}

TEST_CASE("what is wrong with a model's options and file") {
  const Outcome<ModelReport> groups =
      compile_model("examples/digits/digits.onnx", "",
                    {.groups = {{"g77", Scheduler::Naive}, {"g78", Scheduler::Poly}}});
  REQUIRE(!groups);
  CHECK(groups.error().messages.size() == 2);
  const Outcome<ModelReport> missing = compile_model("no/such.onnx", "");
  REQUIRE(!missing);
  CHECK(missing.error().status == ExitStatus::InvalidInput);
}

}  // namespace
}  // namespace polyte::api
