#include "driver/judge/fuzz/fuzz_import.h"

#include <algorithm>

#include "frontend/onnx_import.h"
#include "graph/optimize.h"

namespace polyte::fuzz {
namespace {

// Protobuf's wire format, as far as models need it: a key (field number << 3 | wire type), then a
// varint (type 0) or a length and bytes (type 2). The fuzzer shares no code with the reader.
// Numbers of fields and types below are those of onnx.proto.
class Message {
 public:
  Message& integer(int field, std::int64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& text(int field, const std::string& value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  // Seven bits per byte, the lowest first; the top bit says that more follow.
  void varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_ += static_cast<char>((value & 127) | 128);
    bytes_ += static_cast<char>(value);
  }
};

// ValueInfoProto { name = 1, type = 2 }, TypeProto { tensor_type = 1 }, Tensor { elem_type = 1,
// shape = 2 }, TensorShapeProto { dim = 1 }, Dimension { dim_value = 1 }. Element type 1 is
// float.
Message value_info(const std::string& name, const std::vector<std::int64_t>& shape) {
  Message dims, tensor, type, info;
  for (const std::int64_t extent : shape) dims.message(1, Message().integer(1, extent));
  tensor.integer(1, 1).message(2, dims);
  type.message(1, tensor);
  return info.text(1, name).message(2, type);
}

// AttributeProto: name = 1, i = 3, ints = 8, type = 20, which is INT (2) or INTS (7).
Message attribute(const std::string& name, const std::vector<std::int64_t>& values) {
  Message result;
  result.text(1, name).integer(20, 7);
  // A repeated field occurs once per value.
  for (const std::int64_t value : values) result.integer(8, value);
  return result;
}
Message attribute(const std::string& name, std::int64_t value) {
  return Message().text(1, name).integer(20, 2).integer(3, value);
}

// A tensor of zeros, of float (1) or int64 (7); now and then a byte is missing.
Message initializer(const std::string& name, const std::vector<std::int64_t>& shape, int type,
                    Random& random) {
  Message tensor;
  // TensorProto: dims = 1, data_type = 2, name = 8, raw_data = 9.
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) tensor.integer(1, extent), count *= extent;
  std::string raw(static_cast<std::size_t>(count) * (type == 7 ? 8 : 4), '\0');
  if (random.chance(5)) raw.pop_back();
  return tensor.integer(2, type).text(8, name).text(9, raw);
}

class ModelWriter {
 public:
  explicit ModelWriter(Random& random) : random_(random) {}

  // GraphProto: node = 1, name = 2, initializer = 5, input = 11, output = 12. ModelProto:
  // ir_version = 1, graph = 7, opset_import = 8, an OperatorSetIdProto { domain = 1, version =
  // 2 }.
  std::string write() {
    const std::int64_t channels = random_.between(1, 3), size = random_.between(5, 9);
    Message graph;
    graph.text(2, "g");
    for (int n = random_.between(1, 5); n > 0; --n) graph_ops_.push_back(node(channels, size));
    for (const Message& op : graph_ops_) graph.message(1, op);
    for (const Message& weight : weights_) graph.message(5, weight);
    graph.message(11, value_info("x", {1, channels, size, size}))
        .message(12, value_info(current_, {}));
    Message model;
    model.integer(1, 8).message(7, graph);
    return model.message(8, Message().text(1, "").integer(2, random_.between(7, 17))).bytes();
  }

 private:
  Random& random_;
  std::vector<Message> graph_ops_, weights_;
  std::string current_ = "x";
  int fresh_ = 0;

  std::string weight(const std::vector<std::int64_t>& shape, int type = 1) {
    const std::string name = "w" + std::to_string(fresh_++);
    weights_.push_back(initializer(name, shape, type, random_));
    return name;
  }

  // NodeProto: input = 1, output = 2, name = 3, op_type = 4, attribute = 5. The chain's value
  // goes in and a new one comes out; an operator that nobody imports is drawn at times, for its
  // message.
  Message node(std::int64_t channels, std::int64_t size) {
    static const std::vector<std::string> kOps = {
        "Relu",    "Conv",     "MaxPool", "AveragePool", "GlobalAveragePool",
        "Add",     "Mul",      "Reshape", "Flatten",     "Transpose",
        "Softmax", "Identity", "Clip",    "Sigmoid",     "BatchNormalization",
        "Concat",  "Gemm",     "MatMul"};
    const std::string op = random_.chance(2) ? "NonMaxSuppression" : random_.pick(kOps);
    Message result;
    result.text(1, current_);
    for (const std::string& input : other_inputs(op, channels, size)) result.text(1, input);
    const std::string output = "v" + std::to_string(fresh_++);
    result.text(2, output).text(3, "n" + std::to_string(fresh_)).text(4, op);
    for (const Message& a : attributes(op)) result.message(5, a);
    current_ = output;
    return result;
  }

  // Shapes that fit a chain of images of these channels and this size, which earlier nodes may
  // have changed: then the importer has to say so.
  std::vector<std::string> other_inputs(const std::string& op, std::int64_t channels,
                                        std::int64_t size) {
    if (op == "Conv") return {weight({channels, channels, 3, 3})};
    if (op == "Concat") return {current_};
    if (op == "Add" || op == "Mul")
      return {random_.chance(50) ? current_ : weight({channels, 1, 1})};
    if (op == "Reshape") return {weight({random_.between(1, 3)}, 7)};
    if (op == "Gemm" || op == "MatMul") return {weight({size, 2})};
    if (op == "BatchNormalization")
      return {weight({channels}), weight({channels}), weight({channels}), weight({channels})};
    return {};
  }

  // Now and then a number that no attribute expects: sizes that overflow a product, negative
  // axes.
  std::int64_t number() {
    static const std::vector<std::int64_t> kWild = {-1, 0, 7, std::int64_t{1} << 40,
                                                    -(std::int64_t{1} << 62)};
    return random_.chance(2) ? random_.pick(kWild) : random_.between(1, 3);
  }
  std::vector<std::int64_t> numbers(int count) {
    std::vector<std::int64_t> result;
    for (int i = 0; i < count + (random_.chance(1) ? 1 : 0); ++i) result.push_back(number());
    return result;
  }
  std::vector<Message> attributes(const std::string& op) {
    std::vector<Message> result;
    const bool is_pool = op == "MaxPool" || op == "AveragePool";
    if (is_pool) result.push_back(attribute("kernel_shape", numbers(2)));
    if (is_pool || op == "Conv") {
      if (random_.chance(50)) result.push_back(attribute("strides", numbers(2)));
      if (random_.chance(30)) result.push_back(attribute("pads", numbers(4)));
      if (random_.chance(5)) result.push_back(attribute("dilations", numbers(2)));
      if (random_.chance(5)) result.push_back(attribute("group", number()));
    }
    if (op == "Transpose" && random_.chance(70))
      result.push_back(attribute("perm", {0, 2, 3, random_.chance(98) ? 1 : 0}));
    if (op == "Softmax" || op == "Flatten" || op == "Concat")
      result.push_back(attribute("axis", number()));
    if (op == "Gemm") result.push_back(attribute("transB", random_.between(0, 1)));
    if (random_.chance(1)) result.push_back(attribute("nonsense", number()));
    return result;
  }
};

}  // namespace

std::string random_model(Random& random) { return ModelWriter(random).write(); }

// A flipped byte six times of ten; else a piece cut out, repeated, the end cut off, or nine
// bytes of ones, an endless varint.
std::string damaged(std::string bytes, Random& random) {
  for (int times = random.chance(40) ? 0 : random.between(1, 4); times > 0 && !bytes.empty();
       --times) {
    const std::size_t at = random.below(bytes.size()),
                      length = std::min(bytes.size() - at, 1 + random.below(8));
    const int form = random.between(0, 9);
    if (form < 6)
      bytes[at] = static_cast<char>(random.next());
    else if (form < 7)
      bytes.erase(at, length);
    else if (form < 8)
      bytes.insert(at, bytes.substr(at, length));
    else if (form < 9)
      bytes.resize(at);
    else
      bytes.insert(at, std::string(9, '\xff'));
  }
  return bytes;
}

// 16 MiB at most per tensor: the random sizes ask for far more, and refusing that is one of the
// answers. Graph passes run too, for shapes that the importer took may still trip them.
ImportResult import_bytes(const std::string& bytes) {
  frontend::ImportOptions options;
  options.max_tensor_bytes = std::int64_t{1} << 24;
  try {
    frontend::Imported imported =
        frontend::import_onnx_bytes(bytes, "random.onnx", "/nonexistent", options);
    graph::optimize(imported.graph);
    return {.imported = true, .fault = std::nullopt};
  } catch (const UserError& e) {
    // A fault of the file may be reported as any of these; anything else, and a message without
    // words, is a defect of ours.
    const bool is_answer = e.status() == ExitStatus::InvalidInput ||
                           e.status() == ExitStatus::Unsupported ||
                           e.status() == ExitStatus::ResourceLimit;
    if (is_answer && !e.problems().empty() && !e.problems().front().empty()) return {};
    return {.imported = false,
            .fault = "a UserError of status " + std::to_string(static_cast<int>(e.status())) +
                     ": " + e.what()};
  } catch (const std::exception& e) {
    return {.imported = false, .fault = e.what()};
  }
}

}  // namespace polyte::fuzz
