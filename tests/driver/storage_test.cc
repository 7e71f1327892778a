// What may share memory: facts proved from accesses, refused where they do not hold, and networks
// that rest on them.
#include <doctest/doctest.h>

#include <cstring>

#include "codegen/target.h"
#include "driver/compile/storage_facts.h"
#include "driver/package/package_model.h"
#include "graph/evaluate.h"
#include "ir/program_text.h"
#include "runtime/session.h"
#include "schedule/script/replay.h"

namespace {

using namespace polyte;
using namespace polyte::driver;
using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

std::size_t runs_of(const std::string& text) {
  const auto runs = copied_runs(ir::parse_program(text, "test"));
  return runs ? runs->size() : 0;
}

TEST_CASE("copies of runs are found by their accesses") {
  const auto concat = copied_runs(ir::parse_program(R"(program concat()
  in  a: f32[1, 2, 3, 4]
  in  b: f32[1, 5, 3, 4]
  out w: f32[1, 7, 3, 4]
  w[n, c, y, x] = a[n, c, y, x] for c in 0..2
  B: w[n, c + 2, y, x] = b[n, c, y, x] for c in 0..5
)",
                                                    "test"));
  REQUIRE(concat);
  REQUIRE(concat->size() == 2);
  CHECK((*concat)[1].from == 1);
  CHECK((*concat)[1].to == 2);
  CHECK((*concat)[1].to_offset == 2 * 3 * 4 * 4);
  CHECK((*concat)[1].bytes == 5 * 3 * 4 * 4);
  CHECK(runs_of("program slice()\n in x: f16[9, 4]\n out y: f16[3, 4]\n y[i, j] = x[i + 2, j]\n") ==
        1);
  CHECK(runs_of("program unit()\n in x: f32[1, 6]\n out y: f32[6, 1]\n y[i, j] = x[j, i]\n") == 1);
}

TEST_CASE("what is no run is none") {
  CHECK(runs_of("program t()\n in x: f32[3, 6]\n out y: f32[6, 3]\n y[i, j] = x[j, i]\n") == 0);
  CHECK(runs_of("program stride()\n in x: f32[9]\n out y: f32[4]\n y[i] = x[2*i]\n") == 0);
  CHECK(runs_of("program back()\n in x: f32[4]\n out y: f32[4]\n y[i] = x[3 - i]\n") == 0);
  CHECK(runs_of("program sum()\n in x: f32[4]\n out y: f32[4]\n y[i] = x[i] + 0\n") == 0);
  CHECK(runs_of("program cast()\n in x: f32[4]\n out y: f16[4]\n y[i] = f16(x[i])\n") == 0);
  CHECK(runs_of("program twice()\n in x: f32[4]\n out y: f32[2, 4]\n y[i, j] = x[j]\n") == 0);
  CHECK(runs_of("program inner()\n"
                " in x: f32[2, 8]\n out y: f32[2, 3]\n y[i, j] = x[i, j] for j in 0..3\n") == 0);
}

Pairs pairs_of(const std::string& text, const std::string& directives = "") {
  const auto program = std::make_shared<const ir::Program>(ir::parse_program(text, "test"));
  const std::string header = "schedule test/1 for " + program->name + " f32 exact\n";
  const auto state =
      schedule::replay(program, schedule::parse_script(header + directives + "\n", "test"),
                       codegen::detect_host().machine, {});
  REQUIRE_MESSAGE(state, (state ? "" : schedule::to_string(state.error(), "test", "")));
  return in_place_pairs(*state);
}

TEST_CASE("a result may lie over what is read element by element") {
  const std::string bias = "program bias()\n in x: f32[7, 5]\n in b: f32[5]\n out y: f32[7, 5]\n";
  CHECK(pairs_of(bias + " y[i, j] = max(x[i, j] + b[j], 0) * x[i, j]\n") == Pairs{{2, 0}});
  CHECK(pairs_of("program two()\n in x: f32[6]\n"
                 " out y: f32[2, 3]\n y[i, j] = x[3*i + j] * x[3*i + j]\n") == Pairs{{1, 0}});
  const std::string flat =
      "program flat()\n in x: f32[8, 8]\n out y: f32[64]\n y[8*i + j] = x[i, j] + 1"
      " for i in 0..8, j in 0..8\n";
  CHECK(pairs_of(flat) == Pairs{{1, 0}});
  CHECK(pairs_of(flat, "view y as [8, 8]") == Pairs{{1, 0}});  // its accesses have two subscripts
  CHECK(pairs_of(flat, "view x as [64]") == Pairs{{1, 0}});
  CHECK(pairs_of("program cast()\n in x: i32[6]\n out y: f32[6]\n y[i] = f32(x[i])\n").empty());
  CHECK(pairs_of("program conv()\n in x: f32[9]\n in r: f32[7]\n"
                 " out y: f32[7]\n acc[i] = sum[k] x[i + k] * 2 for i in 0..7, k in 0..3\n"
                 " y[i] = max(acc[i] + r[i], 0)\n") == Pairs{{2, 1}});
}

TEST_CASE("and not over what another instance, statement or repetition reads") {
  const std::string head = "program p()\n in x: f32[8]\n out y: f32[8]\n";
  CHECK(pairs_of(head + " y[i] = x[i] + x[7 - i]\n").empty());
  CHECK(pairs_of(head + " m[j] = sum[i] x[i] for j in 0..1, i in 0..8\n y[i] = x[i] / m[0]\n")
            .empty());
  CHECK(pairs_of("program t()\n in x: f32[3, 3]\n out y: f32[3, 3]\n y[i, j] = x[j, i]\n").empty());
  CHECK(
      pairs_of("program s()\n in x: f32[8]\n out y: f32[4]\n y[i] = x[i] for i in 0..4\n").empty());
  const std::string ten = "program p()\n in x: f32[10]\n out y: f32[10]\n y[i] = x[i] + 1\n";
  CHECK(pairs_of(ten, "split i by 4") == Pairs{{1, 0}});
  CHECK(pairs_of(ten, "split i by 4 tail shift").empty());  // two iterations compute y[6] and y[7]
}

// A squeeze-and-expand block with a residual sum, a slice of it and a reshape to the output.
graph::Graph network() {
  graph::Graph g;
  auto add = [&](graph::OpKind op, graph::Attributes attributes, std::vector<graph::ValueId> inputs,
                 const char* name) {
    return g.node(g.add_node(name, op, std::move(attributes), std::move(inputs), {name}))
        .outputs[0];
  };
  auto weights = [&](const char* name, graph::Dims shape) {
    std::vector<double> elements(static_cast<std::size_t>(graph::element_count(shape)));
    for (std::size_t i = 0; i < elements.size(); ++i)
      elements[i] = static_cast<double>(i * 7 % 5) - 2;
    return g.add_constant(name, graph::make_tensor({DType::F32, std::move(shape)}, elements));
  };
  const graph::ConvAttributes point{{{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}, 1, {}};
  const graph::ConvAttributes three{{{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, 1, {}};
  const auto x = g.add_input("x", {DType::F32, {1, 8, 9, 7}});
  const auto s =
      add(graph::OpKind::Relu, {},
          {add(graph::OpKind::Conv, point, {x, weights("w1", {4, 8, 1, 1})}, "c1")}, "s");
  const auto e1 = add(graph::OpKind::Conv, point, {s, weights("w2", {6, 4, 1, 1})}, "e1");
  const auto e3 = add(graph::OpKind::Conv, three, {s, weights("w3", {6, 4, 3, 3})}, "e3");
  const auto cat = add(graph::OpKind::Concat, graph::AxisAttributes{1}, {e1, e3}, "cat");
  const auto c4 = add(graph::OpKind::Conv, point, {cat, weights("w4", {12, 12, 1, 1})}, "c4");
  const auto sum = add(graph::OpKind::Add, {}, {c4, cat}, "sum");
  const auto half =
      add(graph::OpKind::Slice, graph::SliceAttributes{{0, 6, 0, 0}, {1, 1, 1, 1}, {1, 6, 9, 7}},
          {sum}, "half");
  const auto y = add(graph::OpKind::Conv, three, {half, weights("w5", {2, 6, 3, 3})}, "y");
  g.outputs = {y, sum, x};
  return g;
}

TEST_CASE("a network in shared memory computes the interpreter's bits, on any number of threads") {
  const graph::Graph g = network();
  runtime::Tensor x(DType::F32, {1, 8, 9, 7});
  for (int i = 0; i < 504; ++i)
    x.as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i * 11 % 7 - 3);
  graph::Tensor given = graph::make_tensor(
      {DType::F32, {1, 8, 9, 7}}, std::vector<double>(x.as<float>().begin(), x.as<float>().end()));
  const std::vector<graph::Tensor> expected = graph::evaluate_graph(g, std::vector{given});
  for (const Scheduler scheduler : {Scheduler::Naive, Scheduler::Template, Scheduler::Poly}) {
    ModelOptions options;
    options.scheduler = scheduler;
    PackagedModel model = package_model(g, codegen::detect_host(), options);
    const runtime::ArtifactManifest manifest = model.parts.manifest;
    for (const runtime::StepSpec& step : manifest.steps)
      CHECK(step.group.find("concat") == std::string::npos);
    const auto artifact = runtime::Artifact::from_parts(std::move(model.parts));
    for (const int threads : {1, 2}) {
      const runtime::Session session(artifact, {.threads = threads});
      std::vector<runtime::Tensor> inputs;
      inputs.push_back(x.clone());
      const std::vector<runtime::Tensor> outputs = session.run(inputs);
      REQUIRE(outputs.size() == expected.size());
      for (std::size_t i = 0; i < outputs.size(); ++i)
        CHECK(std::memcmp(outputs[i].data(), expected[i].bytes->data(),
                          expected[i].bytes->size()) == 0);
    }
  }
}

}  // namespace
