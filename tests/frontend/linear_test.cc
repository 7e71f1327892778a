// The work of importing, optimising and fusing grows as the model does: counted in bytes allocated
// and, where the kernel lets a process count them, in instructions.
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <new>
#include <optional>

#include <doctest/doctest.h>
#include "frontend/onnx_import.h"
#include "graph/fuse.h"
#include "graph/fusion_graph.h"
#include "graph/optimize.h"
#include "tests/frontend/model_builder.h"

static thread_local std::int64_t bytes_allocated = 0;

void* operator new(std::size_t size) {
  bytes_allocated += static_cast<std::int64_t>(size);
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

using namespace polyte;
using testing::ModelBuilder;

namespace {

// Instructions of this thread in user mode.
class InstructionCounter {
 public:
  InstructionCounter() {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.size = sizeof attributes;
    attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
    attributes.exclude_kernel = attributes.exclude_hv = 1;
    descriptor_ = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
  }
  ~InstructionCounter() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  InstructionCounter(const InstructionCounter&) = delete;
  InstructionCounter& operator=(const InstructionCounter&) = delete;

  std::optional<std::int64_t> value() const {
    std::int64_t count = 0;
    if (descriptor_ < 0 || read(descriptor_, &count, sizeof count) != sizeof count || count == 0)
      return std::nullopt;
    return count;
  }

 private:
  int descriptor_ = -1;
};

struct Work {
  std::int64_t bytes = 0;
  std::optional<std::int64_t> instructions;
};

Work work_of(const ModelBuilder& b) {
  const std::string bytes = b.bytes();
  const InstructionCounter instructions;
  const std::int64_t bytes_before = bytes_allocated;
  const auto before = instructions.value();
  graph::Graph graph = frontend::import_onnx_bytes(bytes, "m.onnx", ".").graph;
  graph::optimize(graph);
  graph::fuse(graph::make_fusion_graph(graph));
  const auto after = instructions.value();
  Work work{bytes_allocated - bytes_before, std::nullopt};
  if (before && after) work.instructions = *after - *before;
  return work;
}

// Four times the nodes, at most five times the work.
void expect_linear(const std::function<ModelBuilder(int nodes)>& make) {
  constexpr int kNodes = 10'000;
  work_of(make(16));  // tables that are made once
  const Work small = work_of(make(kNodes / 4)), large = work_of(make(kNodes));
  CHECK(large.bytes < 5 * small.bytes);
  if (!small.instructions || !large.instructions) {
    MESSAGE("instructions are not counted: perf_event_open is not allowed here");
    return;
  }
  CHECK(*large.instructions < 5 * *small.instructions);
}

}  // namespace

TEST_CASE("linear: a chain of 10,000 nodes with weights and residuals") {
  expect_linear([](int nodes) {
    ModelBuilder b;
    b.input("x", {4, 8});
    std::string last = "x", residual = "x";
    for (int i = 0; i < nodes; ++i) {
      const std::string name = "v" + std::to_string(i), weight = "w" + std::to_string(i);
      if (i % 3 == 0) {
        std::vector<float> elements(64);
        elements[static_cast<std::size_t>(i) % 64] = static_cast<float>(i);
        b.floats(weight, {8, 8}, elements);
        b.node("MatMul", {last, weight}, {name});
      } else if (i % 3 == 1) {
        b.node("Add", {last, residual}, {name});
        residual = name;
      } else {
        b.node("Relu", {last}, {name});
      }
      last = name;
    }
    b.node("Identity", {last}, {"y"});
    b.output("y");
    return b;
  });
}

TEST_CASE("linear: 10,000 nodes that read one value, and are read by one") {
  expect_linear([](int nodes) {
    ModelBuilder b;
    b.input("x", {4});
    std::vector<std::string> all;
    for (int i = 0; i < nodes; ++i) {
      b.floats("w" + std::to_string(i), {1}, {static_cast<float>(i)});
      all.push_back("v" + std::to_string(i));
      b.node("Mul", {"x", "w" + std::to_string(i)}, {all.back()});
    }
    testing::set(b.node("Concat", all, {"y"}), "axis", std::int64_t{0});
    b.output("y");
    return b;
  });
}

TEST_CASE("linear: 10,000 nodes in 1,000 calls of a function") {
  expect_linear([](int nodes) {
    ModelBuilder b;
    onnx::FunctionProto& f = *b.model.add_functions();
    f.set_domain("acme");
    f.set_name("f");
    f.add_input("a");
    f.add_output("z");
    f.add_opset_import()->set_version(13);
    for (int i = 0; i < 10; ++i) {
      onnx::NodeProto& node = *f.add_node();
      node.set_op_type(i % 2 ? "Relu" : "Neg");
      node.add_input(i == 0 ? "a" : "t" + std::to_string(i - 1));
      node.add_output(i == 9 ? "z" : "t" + std::to_string(i));
    }
    b.input("x", {4});
    std::string last = "x";
    for (int i = 0; i < nodes / 10; ++i) {
      const std::string name = "v" + std::to_string(i);
      b.node("f", {last}, {name}).set_domain("acme");
      last = name;
    }
    b.node("Identity", {last}, {"y"});
    b.output("y");
    return b;
  });
}
