#include "driver/judge/fuzz/fuzz_graph.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "driver/judge/bit_check.h"
#include "driver/package/package_model.h"
#include "graph/evaluate.h"
#include "graph/fuse.h"
#include "graph/fusion_graph.h"
#include "graph/optimize.h"
#include "graph/random_graph.h"
#include "runtime/session.h"

namespace polyte::fuzz {
namespace {

using graph::Tensor;

// Equal as numbers: -0 equals 0. No number equals no number: a maximum over padding alone is
// -inf, and -inf * 0 NaN.
bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool same_numbers(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) {
    return std::ranges::equal(graph::elements_as_real(x), graph::elements_as_real(y), same_number);
  });
}

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) {
    return x.type == y.type && *x.bytes == *y.bytes;
  });
}

// Each group as a Program in the interpreter, against the operators one by one: fusion alone is
// under test, so the bits have to agree.
bool groups_give(const graph::Graph& g, const std::vector<Tensor>& inputs,
                 const std::vector<Tensor>& expected) {
  return same_bits(
      graph::evaluate_groups(g, graph::fuse(graph::make_fusion_graph(g)).groups, inputs), expected);
}

// All outputs of the network as it is deployed: partitioned, compiled, packaged, run by a session.
std::vector<runtime::Tensor> run_network(const graph::Graph& g, std::span<const Tensor> inputs,
                                         const codegen::Target& target,
                                         const driver::ModelOptions& options,
                                         const runtime::SessionOptions& how = {.threads = 2}) {
  const runtime::Session session(
      runtime::Artifact::from_parts(std::move(driver::package_model(g, target, options).parts)),
      how);
  std::vector<runtime::Tensor> given;
  for (const Tensor& input : inputs) {
    runtime::Tensor& tensor = given.emplace_back(input.type.dtype, input.type.shape);
    if (!input.bytes->empty()) std::memcpy(tensor.data(), input.bytes->data(), input.bytes->size());
  }
  return session.run(given);
}

bool same_bytes(const runtime::Tensor& a, const runtime::Tensor& b) {
  return a.bytes() == b.bytes() &&
         (a.bytes() == 0 ||
          std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0);
}

// The plan of the memory: the same kernels where values share bytes and where none do.
bool sharing_keeps_bits(const graph::Graph& g, std::span<const Tensor> inputs, std::uint64_t seed,
                        const codegen::Target& target) {
  driver::ModelOptions options;
  options.scheduler = seed % 2 == 0 ? driver::Scheduler::Template : driver::Scheduler::Poly;
  options.jobs = 1;
  const std::vector<runtime::Tensor> shared = run_network(g, inputs, target, options);
  options.share = false;
  const std::vector<runtime::Tensor> apart = run_network(g, inputs, target, options);
  return std::ranges::equal(shared, apart, same_bytes);
}

// The whole network by both schedulers, its threads emulated in a random order, every access
// watched: the bits of this CPU.
std::optional<GraphFault> check_on_gpu(const graph::Graph& g, std::uint64_t seed,
                                       const std::vector<Tensor>& inputs,
                                       const codegen::Target& target) {
  runtime::SessionOptions how;
  how.emulator = {.order = runtime::ThreadOrder::Random,
                  .seed = static_cast<std::uint32_t>(seed),
                  .interleave = true,
                  .late_copies = seed % 2 == 0};
  driver::ModelOptions options;
  options.jobs = 1;
  options.exact = true;
  options.layout = seed % 2 == 0 ? graph::Layout::Blocked : graph::Layout::Plain;
  options.scheduler = driver::Scheduler::Naive;
  const std::vector<runtime::Tensor> expected =
      run_network(g, inputs, codegen::detect_host(), options);
  options.emulated = true;
  for (const driver::Scheduler scheduler : {driver::Scheduler::Poly, driver::Scheduler::Template}) {
    options.scheduler = scheduler;
    if (!std::ranges::equal(run_network(g, inputs, target, options, how), expected, same_bytes))
      return GraphFault{"gpu", std::string(driver::to_string(scheduler)) + " gives other bits",
                        graph::print(g)};
  }
  return std::nullopt;
}

// Channels in blocks wherever they can be, of a length that few extents are multiples of.
std::optional<GraphFault> check_in_blocks(graph::Graph g, std::uint64_t seed,
                                          const std::vector<Tensor>& inputs,
                                          const std::vector<Tensor>& expected) {
  const std::string text = graph::print(g);
  graph::OptimizeOptions options;
  options.layout = {graph::Layout::Blocked, {std::int64_t{2} << seed % 4, 1}};
  // Every other one by Winograd's method, on whose sums small integers stay exact.
  options.convolutions = {
      seed / 4 % 2 == 0 ? graph::Convolutions::Direct : graph::Convolutions::Winograd,
      {options.layout.unit}};
  graph::optimize(g, options);
  const std::vector<Tensor> in_blocks = graph::evaluate_graph(g, inputs);
  if (!same_numbers(in_blocks, expected))
    return GraphFault{"layouts", "channels in blocks change a result", text};
  if (!groups_give(g, inputs, in_blocks))
    return GraphFault{"layouts", "fused in blocks, bits differ", text};
  return std::nullopt;
}

}  // namespace

// From the cheapest check to the most expensive one: groups, passes, layouts, then machine code
// and the memory plan. Inputs are small integers, whose sums are exact.
std::optional<GraphFault> check_graph(graph::Graph g, std::uint64_t seed, bool native,
                                      const codegen::Target& target) {
  const std::string text = graph::print(g);
  std::vector<Tensor> inputs;
  for (const graph::ValueId id : g.inputs)
    inputs.push_back(graph::random_integers(g.value(id).type, seed));
  const std::vector<Tensor> expected = graph::evaluate_graph(g, inputs);
  if (!groups_give(g, inputs, expected))
    return GraphFault{"fusion", "fused groups give other bits", text};
  // Passes may change roundings, and the sign of a zero, so numbers are compared after them;
  // groups of the optimised graph have its bits again.
  const graph::Graph original = g;
  graph::optimize(g);
  const std::vector<Tensor> optimized = graph::evaluate_graph(g, inputs);
  if (!same_numbers(optimized, expected))
    return GraphFault{"passes", "the passes change a result", text};
  if (!groups_give(g, inputs, optimized))
    return GraphFault{"passes", "fused after the passes, bits differ", text};
  if (auto fault = check_in_blocks(original, seed, inputs, expected)) return fault;
  if (!native) return std::nullopt;
  if (target.kind == TargetKind::Cuda) return check_on_gpu(original, seed, inputs, target);
  driver::BitCheckOptions roads;
  roads.layout = seed % 2 == 0 ? graph::Layout::Blocked : graph::Layout::Plain;
  driver::BitCheck bits(target, roads);
  bits.model(original);
  if (!bits.report().problems.empty())
    return GraphFault{"native", bits.report().problems.front(), text};
  if (!sharing_keeps_bits(original, inputs, seed, target))
    return GraphFault{"memory", "the network gives other bits where values share memory", text};
  return std::nullopt;
}

std::optional<GraphFault> check_random_graph(std::uint64_t seed, int nodes, bool native,
                                             const codegen::Target& target) {
  std::string text;
  try {
    graph::Graph g = graph::random_graph(seed, {.most_nodes = nodes, .most_elements = 512});
    text = graph::print(g);
    return check_graph(std::move(g), seed, native, target);
  } catch (const std::exception& e) {
    return GraphFault{"exception", e.what(), text};
  }
}

}  // namespace polyte::fuzz
