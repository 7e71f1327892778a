// Tensors whose elements lie in files beside the model: every place where a model may have one, and
// files of more gigabytes than there is memory to spare.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include <doctest/doctest.h>
#include "frontend/onnx_import.h"
#include "graph/evaluate.h"
#include "support/error.h"
#include "tests/frontend/model_builder.h"
#include "tests/frontend/temporary_folder.h"

using namespace polyte;
using onnx::TensorProto;
using testing::ModelBuilder;
using testing::TemporaryFolder;

namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

void make_external(TensorProto& tensor, const Entries& entries) {
  tensor.set_data_location(TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
}

void describe(TensorProto& tensor, const testing::List& shape) {
  tensor.set_data_type(TensorProto::FLOAT);
  for (const std::int64_t extent : shape) tensor.add_dims(extent);
}

// The first floats of w.bin are 0, 1, 2, ...
TemporaryFolder folder_with_floats(int count) {
  TemporaryFolder folder;
  std::ofstream file(folder.path / "w.bin", std::ios::binary);
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<float>(i);
    file.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return folder;
}

frontend::Imported import_in(const TemporaryFolder& folder, const ModelBuilder& b) {
  return frontend::import_onnx_bytes(b.bytes(), "m.onnx", folder.path);
}

std::vector<double> output_of(const TemporaryFolder& folder, const ModelBuilder& b) {
  const graph::Graph graph = import_in(folder, b).graph;
  std::vector<graph::Tensor> inputs;
  for (const graph::ValueId id : graph.inputs) {
    const graph::TensorType& type = graph.value(id).type;
    inputs.push_back(graph::make_tensor(
        type, std::vector<double>(static_cast<std::size_t>(graph::element_count(type.shape)))));
  }
  return elements_as_real(evaluate_graph(graph, inputs).front());
}

std::int64_t anonymous_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stoll(line.substr(8));
  }
  return 0;
}

}  // namespace

TEST_CASE("external data: parts of one file, a length that is not said, keys that are not known") {
  const TemporaryFolder folder = folder_with_floats(8);
  ModelBuilder b;
  b.input("x", {4});
  make_external(b.tensor("v", {4}),
                {{"length", "16"}, {"location", "w.bin"}, {"checksum", "f00d"}});
  make_external(b.tensor("w", {4}), {{"location", "w.bin"}, {"offset", "16"}});
  b.node("Mul", {"v", "w"}, {"p"});
  b.node("Add", {"p", "x"}, {"y"});
  b.output("y");
  CHECK(output_of(folder, b) == std::vector<double>{0, 5, 12, 21});
}

TEST_CASE("external data: of a constant, of a branch, of a function") {
  const TemporaryFolder folder = folder_with_floats(3);
  const auto fill = [](TensorProto& tensor) {
    describe(tensor, {3});
    make_external(tensor, {{"location", "w.bin"}});
  };
  const auto constant = [&](onnx::NodeProto& node, const std::string& output) {
    node.set_op_type("Constant");
    node.add_output(output);
    auto& value = *node.add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    fill(*value.mutable_t());
  };
  ModelBuilder b;
  b.input("x", {3});
  constant(*b.graph().add_node(), "c");
  b.tensor("yes", {}, TensorProto::BOOL).add_int32_data(1);
  onnx::NodeProto& choice = b.node("If", {"yes"}, {"i"});
  for (const char* label : {"then_branch", "else_branch"}) {
    auto& attribute = *choice.add_attribute();
    attribute.set_name(label);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    auto& tensor = *attribute.mutable_g()->add_initializer();
    tensor.set_name("t");
    fill(tensor);
    attribute.mutable_g()->add_output()->set_name("t");
  }
  onnx::FunctionProto& f = *b.model.add_functions();
  f.set_domain("acme");
  f.set_name("f");
  f.add_output("z");
  f.add_opset_import()->set_version(13);
  constant(*f.add_node(), "z");
  b.node("f", {}, {"k"}).set_domain("acme");
  b.node("Sum", {"x", "c", "i", "k"}, {"y"});
  b.output("y");
  CHECK(output_of(folder, b) == std::vector<double>{0, 3, 6});
  std::filesystem::remove(folder.path / "w.bin");
  try {
    import_in(folder, b);
    FAIL("imported without its data");
  } catch (const UserError& error) {
    CHECK(error.problems().size() == 3);
    for (const std::string& problem : error.problems())
      CHECK(problem.find("external data 'w.bin': cannot be opened") != std::string::npos);
  }
}

TEST_CASE("external data: beside the model, not beside a link to it") {
  const TemporaryFolder folder = folder_with_floats(4), elsewhere;
  ModelBuilder b;
  b.input("x", {4});
  make_external(b.tensor("w", {4}), {{"location", "w.bin"}});
  b.node("Add", {"x", "w"}, {"y"});
  b.output("y");
  std::ofstream(folder.path / "m.onnx", std::ios::binary) << b.bytes();
  std::filesystem::create_symlink(folder.path / "m.onnx", elsewhere.path / "link.onnx");
  const graph::Graph graph = frontend::import_onnx(elsewhere.path / "link.onnx").graph;
  const auto weights =
      std::ranges::find_if(graph.values, [](const auto& value) { return value.name == "w"; });
  REQUIRE(weights != graph.values.end());
  CHECK(element_as_real(weights->tensor(), 3) == 3);
}

TEST_CASE("external data: a file that is changed and cut off after it was read changes nothing") {
  constexpr std::int64_t kElements = std::int64_t{3} << 20;
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path / "w.bin";
  std::vector<float> values(static_cast<std::size_t>(kElements), 7);
  const auto write = [&] {
    std::fstream stream(file, std::ios::binary | std::ios::out);
    stream.write(reinterpret_cast<const char*>(values.data()), kElements * 4);
  };
  write();
  ModelBuilder b;
  b.input("x", {kElements});
  make_external(b.tensor("w", {kElements}), {{"location", "w.bin"}});
  b.node("Add", {"x", "w"}, {"y"});
  b.output("y");
  const graph::Graph graph = import_in(folder, b).graph;
  const auto weights =
      std::ranges::find_if(graph.values, [](const auto& value) { return value.name == "w"; });
  REQUIRE(weights != graph.values.end());
  values.assign(values.size(), 8);
  write();
  CHECK(element_as_real(weights->tensor(), kElements - 1) == 7);
  std::filesystem::resize_file(file, 0);
  CHECK(element_as_real(weights->tensor(), 0) == 7);
  CHECK(element_as_real(weights->tensor(), kElements - 1) == 7);
}

// 2.5 GB of which one page is there.
TEST_CASE("external data: the holes of a file of more than 2 GB cost no memory") {
  constexpr std::int64_t kRows = 640, kColumns = std::int64_t{1} << 20;
  constexpr std::int64_t kBytes = kRows * kColumns * 4;
  const TemporaryFolder folder;
  const int file = open((folder.path / "w.bin").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  REQUIRE(file >= 0);
  const float last = 7;
  const bool is_written = pwrite(file, &last, sizeof last, kBytes - 4) == sizeof last;
  close(file);
  if (!is_written) {
    MESSAGE("skipped: no file of " << kBytes << " bytes can be made in " << folder.path);
    return;
  }
  ModelBuilder b;
  b.input("i", {1}, TensorProto::INT64);
  make_external(b.tensor("w", {kRows, kColumns}), {{"location", "w.bin"}});
  b.node("Gather", {"w", "i"}, {"y"});
  b.output("y");
  const std::int64_t before = anonymous_kilobytes();
  const graph::Graph graph = import_in(folder, b).graph;
  CHECK(anonymous_kilobytes() - before < 64 * 1024);
  const auto weights =
      std::ranges::find_if(graph.values, [](const auto& value) { return value.name == "w"; });
  REQUIRE(weights != graph.values.end());
  CHECK(weights->data->size() == static_cast<std::size_t>(kBytes));
  CHECK(element_as_real(weights->tensor(), kRows * kColumns - 1) == 7);
  CHECK(element_as_real(weights->tensor(), 0) == 0);
}
