// Networks of open sizes: one artifact, the bits of the reference order at every size.
#include <doctest/doctest.h>

#include "driver/package/package_model.h"
#include "frontend/onnx_import.h"
#include "runtime/fill.h"
#include "runtime/session.h"
#include "tests/driver/integer_network.h"
#include "tests/frontend/model_builder.h"

using namespace polyte;
using driver::Scheduler;
using testing::List;
using testing::ModelBuilder;
using testing::set;

namespace {

using Sizes = ir::Values;
using Model = std::function<void(ModelBuilder&, const Sizes&)>;

graph::Graph graph_of(const Model& model, const Sizes& sizes) {
  ModelBuilder b;
  model(b, sizes);
  return frontend::import_onnx_bytes(b.bytes(), "m.onnx", ".").graph;
}

driver::Network network_of(const Model& model, const std::vector<driver::OpenSymbol>& symbols) {
  return {symbols, [&](const Sizes& sizes) { return graph_of(model, sizes); }};
}

runtime::Session session_of(const driver::Network& network, Scheduler scheduler, int threads,
                            driver::ModelOptions options = {}) {
  options.scheduler = scheduler;
  options.strict = true;
  driver::PackagedModel compiled = driver::package_model(network, codegen::detect_host(), options);
  for (const driver::BuiltKernel& kernel : compiled.kernels) CHECK_FALSE(kernel.declined);
  return runtime::Session(runtime::Artifact::from_parts(std::move(compiled.parts)),
                          {.threads = threads});
}

// On whole numbers, at these sizes.
std::vector<runtime::Tensor> outputs_of(const runtime::Session& session, const Sizes& sizes) {
  std::vector<std::int64_t> values;
  for (const runtime::SymbolSpec& symbol : session.symbols())
    values.push_back(sizes.at(symbol.name));
  std::vector<runtime::Tensor> inputs;
  for (const runtime::TensorSpec& spec : session.inputs()) {
    inputs.emplace_back(spec.dtype, shape_at(spec, values));
    runtime::fill(inputs.back(), {runtime::Fill::Kind::Int, 1}, spec.name);
  }
  return session.run(inputs);
}

void check_all_sizes(const Model& model, const std::vector<driver::OpenSymbol>& symbols,
                     const std::vector<Sizes>& all_sizes,
                     const driver::ModelOptions& options = {}) {
  const driver::Network network = network_of(model, symbols);
  std::vector<std::vector<runtime::Tensor>> expected;
  for (const Sizes& sizes : all_sizes)
    expected.push_back(outputs_of(session_of(graph_of(model, sizes), Scheduler::Naive, 1), {}));
  for (const Scheduler scheduler : {Scheduler::Naive, Scheduler::Template, Scheduler::Poly}) {
    for (const int threads : {1, 2}) {
      CAPTURE(to_string(scheduler));
      const runtime::Session session = session_of(network, scheduler, threads, options);
      for (std::size_t i = 0; i < all_sizes.size(); ++i) {
        CAPTURE(all_sizes[i].begin()->second);
        const std::vector<runtime::Tensor> got = outputs_of(session, all_sizes[i]);
        REQUIRE(got.size() == expected[i].size());
        for (std::size_t o = 0; o < got.size(); ++o) {
          CHECK(got[o].shape() == expected[i][o].shape());
          CHECK(testing::same_bits(got[o], expected[i][o]));
        }
      }
    }
  }
}

std::vector<Sizes> sizes_of(const std::string& name, const std::vector<std::int64_t>& values) {
  std::vector<Sizes> sizes;
  for (const std::int64_t value : values) sizes.push_back({{name, value}});
  return sizes;
}

std::vector<float> numbers(std::int64_t count, std::int64_t seed) {
  std::vector<float> result;
  for (std::int64_t i = 0; i < count; ++i)
    result.push_back(static_cast<float>((i * seed + i / 7) % 5 - 2));
  return result;
}

// Why a model does not stay open.
std::vector<std::string> problems_of(const Model& model,
                                     const std::vector<driver::OpenSymbol>& symbols) {
  try {
    driver::ModelOptions options;
    options.fuse = false;
    driver::partition_model(network_of(model, symbols), codegen::detect_host().machine, options);
  } catch (const UserError& error) {
    return error.problems();
  }
  return {};
}

}  // namespace

TEST_CASE("a network of convolutions takes every batch") {
  const Model model = [](ModelBuilder& b, const Sizes& sizes) {
    b.input("x", {sizes.at("batch"), 3, 8, 8});
    b.floats("w1", {16, 3, 3, 3}, numbers(16 * 27, 7));
    set(b.node("Conv", {"x", "w1"}, {"c1"}, "conv1"), "pads", List{1, 1, 1, 1});
    b.node("Relu", {"c1"}, {"r1"}, "relu1");
    b.floats("w2", {16, 16, 3, 3}, numbers(16 * 144, 11));
    set(b.node("Conv", {"r1", "w2"}, {"c2"}, "conv2"), "pads", List{1, 1, 1, 1});
    b.node("Add", {"c2", "r1"}, {"a"}, "add");
    auto& pool = b.node("MaxPool", {"a"}, {"p"}, "pool");
    set(pool, "kernel_shape", List{2, 2});
    set(pool, "strides", List{2, 2});
    b.node("GlobalAveragePool", {"p"}, {"m"}, "mean");
    b.node("Flatten", {"m"}, {"f"}, "flat");
    b.floats("w3", {16, 10}, numbers(160, 5));
    b.node("MatMul", {"f", "w3"}, {"y"}, "fc");
    b.output("p");
    b.output("y");
  };
  check_all_sizes(model, {{"batch"}}, sizes_of("batch", {1, 2, 5, 16, 17, 33}));
  driver::ModelOptions transformed;
  transformed.layout = graph::Layout::Blocked;
  transformed.convolutions = graph::Convolutions::Winograd;
  check_all_sizes(model, {{"batch"}}, sizes_of("batch", {1, 2, 7}), transformed);
}

TEST_CASE("layers of products take every length") {
  const Model model = [](ModelBuilder& b, const Sizes& sizes) {
    b.input("x", {1, sizes.at("length"), 48});
    b.floats("w1", {48, 70}, numbers(48 * 70, 3));
    b.node("MatMul", {"x", "w1"}, {"h"}, "fc1");
    b.node("Relu", {"h"}, {"r"}, "relu");
    b.floats("w2", {70, 48}, numbers(70 * 48, 13));
    b.node("MatMul", {"r", "w2"}, {"o"}, "fc2");
    b.node("Add", {"o", "x"}, {"y"}, "add");
    auto& top = b.node("ReduceMax", {"y"}, {"z"}, "top");
    set(top, "axes", List{-1});
    b.output("y");
    b.output("z");
  };
  check_all_sizes(model, {{"length", 1, 40, 512}}, sizes_of("length", {1, 3, 16, 41, 100, 512}));
}

TEST_CASE("a recurrent layer takes every number of steps, in both directions") {
  const Model model = [](ModelBuilder& b, const Sizes& sizes) {
    b.input("x", {sizes.at("steps"), 2, 6});
    b.floats("w", {2, 5, 6}, numbers(60, 7));
    b.floats("r", {2, 5, 5}, numbers(50, 3));
    auto& layer = b.node("RNN", {"x", "w", "r"}, {"y", "last"}, "layer");
    set(layer, "direction", std::string("bidirectional"));
    set(layer, "hidden_size", std::int64_t{5});
    set(layer, "clip", 3.0F);
    auto* activations = layer.add_attribute();
    activations->set_name("activations");
    activations->set_type(onnx::AttributeProto::STRINGS);
    for (int direction = 0; direction < 2; ++direction) activations->add_strings("Relu");
    b.output("y");
    b.output("last");
  };
  check_all_sizes(model, {{"steps", 1, 20, 600}}, sizes_of("steps", {1, 2, 7, 31, 600}));
}

TEST_CASE("sums over open sizes, and extents that are sums of them") {
  const Model model = [](ModelBuilder& b, const Sizes& sizes) {
    b.input("a", {sizes.at("M"), 9});
    b.input("b", {sizes.at("N"), 9});
    set(b.node("Concat", {"a", "b"}, {"c"}, "both"), "axis", std::int64_t{0});
    auto& sum = b.node("ReduceMax", {"c"}, {"s"}, "sum");
    set(sum, "axes", List{0});
    b.integers("rows", {2}, {-1, 3});
    b.node("Reshape", {"c", "rows"}, {"v"}, "view");
    b.node("Identity", {"a"}, {"copy"}, "through");
    b.output("s");
    b.output("v");
    b.output("copy");
  };
  check_all_sizes(model, {{"M"}, {"N"}},
                  {{{"M", 1}, {"N", 1}}, {{"M", 4}, {"N", 20}}, {{"M", 40}, {"N", 3}}});
}

TEST_CASE("places read at run time are within an open dimension") {
  const Model model = [](ModelBuilder& b, const Sizes& sizes) {
    b.input("x", {sizes.at("n"), 4});
    b.input("p", {3}, onnx::TensorProto::INT32);
    set(b.node("Gather", {"x", "p"}, {"y"}, "rows"), "axis", std::int64_t{0});
    b.output("y");
  };
  const runtime::Session session =
      session_of(network_of(model, {{"n", 1, 16, 64}}), Scheduler::Poly, 2);
  for (const std::int64_t n : {1, 2, 5, 64}) {
    runtime::Tensor x(DType::F32, {n, 4}), p(DType::I32, {3});
    for (std::int64_t i = 0; i < x.elements(); ++i)
      x.as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i);
    const std::int64_t places[] = {n - 1, 0, -n};
    for (std::size_t i = 0; i < 3; ++i)
      p.as<std::int32_t>()[i] = static_cast<std::int32_t>(places[i]);
    const auto run = [&] {
      std::vector<runtime::Tensor> inputs;
      inputs.push_back(x.clone());
      inputs.push_back(p.clone());
      return session.run(inputs);
    };
    const std::vector<runtime::Tensor> y = run();
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(y[0].as<float>()[i * 4 + 1] == static_cast<float>((places[i] + n) % n * 4 + 1));
    for (const std::int64_t outside :
         {n, n + 100, std::int64_t{INT32_MAX}, -n - 1, std::int64_t{INT32_MIN}}) {
      CAPTURE(outside);
      p.as<std::int32_t>()[1] = static_cast<std::int32_t>(outside);
      CHECK_THROWS_WITH_AS(run(), doctest::Contains("outside"), UserError);
    }
  }
}

TEST_CASE("a range begins where the network does") {
  const Model model = [](ModelBuilder& b, const Sizes& sizes) {
    b.input("x", {sizes.at("n"), 8});
    b.integers("one", {1}, {1});
    b.integers("zero", {1}, {0});
    b.integers("end", {1}, {1000000});
    b.integers("last", {1}, {-1});
    b.node("Slice", {"x", "one", "end", "zero"}, {"u"}, "up");
    b.node("Slice", {"x", "zero", "last", "zero"}, {"d"}, "down");
    b.node("Sub", {"u", "d"}, {"y"}, "steps");
    b.output("y");
  };
  check_all_sizes(model, {{"n", 2, 16, 64}}, sizes_of("n", {2, 3, 17, 64}));
  const std::vector<std::string> problems = problems_of(model, {{"n"}});
  REQUIRE(problems.size() == 2);  // down fits: n - 1 is 0
  CHECK(problems[0] ==
        "n cannot stay open, for not every use is affine; give a size with --shape n=...");
  CHECK(
      problems[1].starts_with("node 'up' (Slice) is no affine function of the sizes: starts=1,0 "));
  CHECK(problems[1].find("sizes=0,8 where n = 1, ") != std::string::npos);
}

TEST_CASE("a table of positions ends the range") {
  const Model model = [](ModelBuilder& b, const Sizes& sizes) {
    b.input("x", {1, sizes.at("length"), 8});
    b.floats("positions", {64, 8}, numbers(64 * 8, 3));
    b.integers("from", {1}, {0});
    b.integers("until", {1}, {sizes.at("length")});
    b.node("Slice", {"positions", "from", "until", "from"}, {"p"}, "first");
    b.node("Add", {"x", "p"}, {"y"}, "add");
    b.output("y");
  };
  check_all_sizes(model, {{"length", 1, 64, 64}}, sizes_of("length", {1, 7, 61, 64}));
  CHECK_THROWS_AS(network_of(model, {{"length", 1, 64, 65}}), UserError);
}

TEST_CASE("what is no affine function of the sizes is refused, each node once") {
  const Model halves = [](ModelBuilder& b, const Sizes& sizes) {
    b.input("x", {1, 2, sizes.at("n")});
    auto& pool = b.node("MaxPool", {"x"}, {"p"}, "pool");
    set(pool, "kernel_shape", List{2});
    set(pool, "strides", List{2});
    b.node("Relu", {"p"}, {"y"}, "relu");
    b.output("y");
  };
  const std::vector<std::string> pooled = problems_of(halves, {{"n", 2, 16, 64}});
  REQUIRE(pooled.size() == 2);  // relu reads what pool is refused for
  CHECK(pooled[1] ==
        "node 'pool' (MaxPool): its result is no affine function of the sizes: f32[1, 2, 30] where "
        "n = 61, "
        "f32[1, 2, 31] where n = 62, f32[1, 2, 31] where n = 63, f32[1, 2, 1] where n = 2, f32[1, "
        "2, 32] "
        "where n = 64");
  const Model columns = [](ModelBuilder& b, const Sizes& sizes) {
    b.input("x", {sizes.at("n"), 4});
    set(b.node("Transpose", {"x"}, {"t"}, "turn"), "perm", List{1, 0});
    b.node("Relu", {"t"}, {"y"}, "relu");
    b.output("y");
  };
  const std::vector<std::string> turned = problems_of(columns, {{"n"}});
  REQUIRE(turned.size() == 4);
  CHECK(turned[1] ==
        "'t' of 'turn' is [4, n]: an open size that is not the outermost extent puts elements at "
        "products "
        "of sizes");
}

TEST_CASE("ranges that are none") {
  const Model model = [](ModelBuilder& b, const Sizes& sizes) {
    b.input("x", {sizes.at("n"), 4});
    b.node("Relu", {"x"}, {"y"}, "relu");
    b.output("y");
  };
  for (const driver::OpenSymbol& symbol :
       {driver::OpenSymbol{"n", 0, 16, 64}, driver::OpenSymbol{"n", 8, 4, 64},
        driver::OpenSymbol{"n", 1, 80, 64}})
    CHECK_THROWS_AS(network_of(model, {symbol}), UserError);
  CHECK(driver::OpenSymbol{"n", 1, 1, 1}.chosen_for() == 67);
  CHECK(driver::OpenSymbol{"n", 1, 100, 128}.chosen_for() == 101);
  CHECK(driver::OpenSymbol{"n", 1, 64, 64}.chosen_for() == 61);
  CHECK(driver::OpenSymbol{"n", 1, 512, 512}.chosen_for() == 509);
}
