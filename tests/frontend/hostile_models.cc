#include "tests/frontend/hostile_models.h"

#include <fstream>
#include <functional>
#include <limits>

#include "tests/frontend/model_builder.h"

namespace polyte::testing {

namespace {

namespace fs = std::filesystem;
using enum ExitStatus;
using onnx::TensorProto;
using Build = std::function<void(ModelBuilder&)>;

constexpr std::int64_t kHuge = std::int64_t{1} << 40;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

class Writer {
 public:
  explicit Writer(fs::path folder) : folder_(std::move(folder)) {}

  void bytes(const std::string& name, ExitStatus expected, const std::string& content) {
    std::ofstream(folder_ / (name + ".onnx"), std::ios::binary) << content;
    models.push_back({name, expected});
  }
  // A sound model of input x: f32[2, 3] and output y, to be made unsound.
  void model(const std::string& name, ExitStatus expected, const Build& build, int opset = 13) {
    ModelBuilder b(opset);
    b.input("x", {2, 3});
    b.output("y");
    build(b);
    bytes(name, expected, b.bytes());
  }
  // The same with one node: op(x, ...) -> y.
  void one(const std::string& name, ExitStatus expected, const std::string& op, const std::vector<std::string>& inputs,
           const Build& build = {}, const std::function<void(onnx::NodeProto&)>& attributes = {}) {
    model(name, expected, [&](ModelBuilder& b) {
      if (build) build(b);
      onnx::NodeProto& node = b.node(op, inputs, {"y"}, "n");
      if (attributes) attributes(node);
    });
  }

  const fs::path& folder() const { return folder_; }
  std::vector<HostileModel> models;

 private:
  fs::path folder_;
};

std::string sound_model() {
  ModelBuilder b;
  b.input("x", {2, 3});
  b.floats("w", {3}, {1, 2, 3});
  b.node("Add", {"x", "w"}, {"y"}, "add");
  b.output("y");
  return b.bytes();
}

void write_damaged_files(Writer& w) {
  const std::string sound = sound_model();
  w.bytes("sound", Success, sound);
  w.bytes("empty", InvalidInput, "");
  w.bytes("one_byte", InvalidInput, "\x08");
  w.bytes("text", InvalidInput, "this is no model\n");
  w.bytes("half", InvalidInput, sound.substr(0, sound.size() / 2));
  w.bytes("last_byte_missing", InvalidInput, sound.substr(0, sound.size() - 1));
  w.bytes("trailing_garbage", InvalidInput, sound + "\xff\xff\xff");
  w.bytes("zeros", InvalidInput, std::string(4096, '\0'));
  w.bytes("length_beyond_end", InvalidInput, std::string("\x08\x08\x3a\xff\xff\xff\xff\x07", 8));
  w.bytes("group_tags", InvalidInput, std::string(1000, '\x0b'));
}

// An If inside an If inside ...: deeper than any parser should follow.
void nest(onnx::GraphProto& graph, int depth) {
  onnx::GraphProto* inner = &graph;
  for (int i = 0; i < depth; ++i) {
    onnx::NodeProto& node = *inner->add_node();
    node.set_op_type("If");
    onnx::AttributeProto& branch = *node.add_attribute();
    branch.set_name("then_branch");
    branch.set_type(onnx::AttributeProto::GRAPH);
    inner = branch.mutable_g();
  }
}

void write_headers(Writer& w) {
  onnx::ModelProto no_graph;
  no_graph.set_ir_version(8);
  no_graph.add_opset_import()->set_version(13);
  w.bytes("no_graph", InvalidInput, no_graph.SerializeAsString());
  w.model("no_ir_version", InvalidInput, [](ModelBuilder& b) { b.model.set_ir_version(0); });
  w.one("no_opset", InvalidInput, "Relu", {"x"}, [](ModelBuilder& b) { b.model.clear_opset_import(); });
  w.one("two_opsets", InvalidInput, "Relu", {"x"},
        [](ModelBuilder& b) { b.model.add_opset_import()->set_version(12); });
  w.one("opset_negative", InvalidInput, "Relu", {"x"},
        [](ModelBuilder& b) { b.model.mutable_opset_import(0)->set_version(-3); });
  w.one("opset_99", Unsupported, "Relu", {"x"},
        [](ModelBuilder& b) { b.model.mutable_opset_import(0)->set_version(99); });
  w.one("opset_3", Unsupported, "Relu", {"x"},
        [](ModelBuilder& b) { b.model.mutable_opset_import(0)->set_version(3); });
  w.one("nested_200_deep", InvalidInput, "Relu", {"x"}, [](ModelBuilder& b) { nest(b.graph(), 200); });
  w.one("nested_20_deep", Unsupported, "Relu", {"x"}, [](ModelBuilder& b) { nest(b.graph(), 20); });
  w.one("local_function", Unsupported, "acme_relu", {"x"}, [](ModelBuilder& b) {
    onnx::FunctionProto& function = *b.model.add_functions();
    function.set_name("acme_relu");
    function.set_domain("acme");
  });
}

void write_wiring(Writer& w) {
  w.model("cycle", InvalidInput, [](ModelBuilder& b) {
    b.node("Add", {"x", "b"}, {"a"}, "first");
    b.node("Relu", {"a"}, {"b"}, "second");
    b.node("Relu", {"b"}, {"y"}, "third");
  });
  w.one("self_loop", InvalidInput, "Relu", {"y"});
  w.model("not_sorted", InvalidInput, [](ModelBuilder& b) {
    b.node("Relu", {"a"}, {"y"});
    b.node("Relu", {"x"}, {"a"});
  });
  w.model("computed_twice", InvalidInput, [](ModelBuilder& b) {
    b.node("Relu", {"x"}, {"y"}, "first");
    b.node("Abs", {"x"}, {"y"}, "second");
  });
  w.model("computes_an_input", InvalidInput, [](ModelBuilder& b) { b.node("Relu", {"x"}, {"x"}); });
  w.one("computes_an_initializer", InvalidInput, "Relu", {"x"}, [](ModelBuilder& b) { b.floats("y", {1}, {0}); });
  w.one("dangling_operand", InvalidInput, "Relu", {"nowhere"});
  w.one("missing_operand", InvalidInput, "Add", {"x", ""});
  w.one("too_few_operands", InvalidInput, "Add", {"x"});
  w.one("too_many_operands", InvalidInput, "Relu", {"x", "x"});
  w.model("output_of_nothing", InvalidInput, [](ModelBuilder&) {});
  w.model("no_outputs", InvalidInput, [](ModelBuilder& b) {
    b.graph().clear_output();
    b.node("Relu", {"x"}, {"z"});
  });
  w.model("node_without_outputs", InvalidInput, [](ModelBuilder& b) {
    b.node("Relu", {"x"}, {"y"});
    b.node("Relu", {"x"}, {});
  });
  w.one("input_twice", InvalidInput, "Relu", {"x"}, [](ModelBuilder& b) { b.input("x", {2, 3}); });
  w.one("output_twice", InvalidInput, "Relu", {"x"}, [](ModelBuilder& b) { b.output("y"); });
  w.one("initializer_twice", InvalidInput, "Add", {"x", "w"}, [](ModelBuilder& b) {
    b.floats("w", {1}, {0});
    b.floats("w", {1}, {1});
  });
  w.model("chain_of_20000", Success, [](ModelBuilder& b) {
    std::string last = "x";
    for (int i = 0; i < 20000; ++i) {
      const std::string next = "v" + std::to_string(i);
      b.node("Relu", {last}, {next});
      last = next;
    }
    b.node("Relu", {last}, {"y"});
  });
}

void write_sizes(Writer& w) {
  w.one("too_little_data", InvalidInput, "Add", {"x", "w"},
        [](ModelBuilder& b) { b.tensor("w", {1000}).set_raw_data("abcd"); });
  w.one("too_much_data", InvalidInput, "Add", {"x", "w"},
        [](ModelBuilder& b) { b.tensor("w", {1}).set_raw_data(std::string(400, 'a')); });
  w.one("too_few_elements", InvalidInput, "Add", {"x", "w"}, [](ModelBuilder& b) { b.floats("w", {3}, {1, 2}); });
  w.one("elements_of_other_type", InvalidInput, "Add", {"x", "w"},
        [](ModelBuilder& b) { b.tensor("w", {1}).add_int64_data(1); });
  w.one("huge_initializer", ResourceLimit, "Add", {"x", "w"}, [](ModelBuilder& b) { b.tensor("w", {kHuge}); });
  w.one("overflowing_initializer", ResourceLimit, "Add", {"x", "w"},
        [](ModelBuilder& b) { b.tensor("w", {kHuge, kHuge}); });
  w.one("negative_initializer", InvalidInput, "Add", {"x", "w"}, [](ModelBuilder& b) { b.tensor("w", {-4}); });
  w.one("least_extent", InvalidInput, "Add", {"x", "w"}, [](ModelBuilder& b) { b.tensor("w", {kLeast, kLeast}); });
  w.one("huge_input", ResourceLimit, "Relu", {"z"}, [](ModelBuilder& b) { b.input("z", {kHuge, kHuge}); });
  w.one("huge_expand", ResourceLimit, "Expand", {"x", "s"},
        [](ModelBuilder& b) { b.integers("s", {3}, {kHuge, 2, 3}); });
  w.one("huge_constant", ResourceLimit, "ConstantOfShape", {"s"},
        [](ModelBuilder& b) { b.integers("s", {2}, {kHuge, kHuge}); });
  w.one("huge_tile", ResourceLimit, "Tile", {"x", "s"}, [](ModelBuilder& b) { b.integers("s", {2}, {kMost, kMost}); });
  w.one("huge_pad", ResourceLimit, "Pad", {"x", "s"},
        [](ModelBuilder& b) { b.integers("s", {4}, {0, kMost, 0, kMost}); });
  w.one("huge_range", ResourceLimit, "Range", {"a", "b", "c"}, [](ModelBuilder& b) {
    b.integers("a", {}, {0});
    b.integers("b", {}, {kMost});
    b.integers("c", {}, {1});
  });
  w.one("huge_one_hot", ResourceLimit, "OneHot", {"i", "d", "v"}, [](ModelBuilder& b) {
    b.integers("i", {1}, {0});
    b.integers("d", {}, {kHuge});
    b.floats("v", {2}, {0, 1});
  });
  w.one("huge_product", ResourceLimit, "MatMul", {"a", "b"}, [](ModelBuilder& b) {
    b.input("a", {1 << 24, 1});
    b.input("b", {1, 1 << 24});
  });
  w.one(
      "empty_tensors", Success, "Concat", {"x", "z"}, [](ModelBuilder& b) { b.input("z", {0, 3}); },
      [](onnx::NodeProto& n) { set(n, "axis", std::int64_t{0}); });
  w.one("bytes_as_bools", Success, "Where", {"c", "x", "x"},
        [](ModelBuilder& b) { b.tensor("c", {3}, TensorProto::BOOL).set_raw_data("\xff\x02\x01"); });
}

void write_external(Writer& w) {
  // The files that no model may reach are as large as the tensor, so that only the rule stands in the way.
  const fs::path inside = w.folder() / "external";
  fs::create_directories(inside / "data");
  for (const fs::path& file : {w.folder() / "w.bin", inside / "data" / "w.bin"}) {
    std::ofstream(file, std::ios::binary) << std::string(12, '\0');
  }
  fs::remove(inside / "data" / "link.bin");
  fs::create_symlink("w.bin", inside / "data" / "link.bin");
  fs::remove(inside / "link");
  fs::create_directory_symlink("data", inside / "link");
  const auto external = [&](const std::string& name, ExitStatus expected, const std::string& location,
                            const std::string& offset = "", const std::string& length = "") {
    w.one("external/" + name, expected, "Add", {"x", "w"}, [&](ModelBuilder& b) {
      onnx::TensorProto& tensor = b.tensor("w", {3});
      tensor.set_data_location(TensorProto::EXTERNAL);
      const std::pair<const char*, std::string> entries[] = {
          {"location", location}, {"offset", offset}, {"length", length}};
      for (const auto& [key, value] : entries) {
        if (value.empty()) continue;
        auto& entry = *tensor.add_external_data();
        entry.set_key(key);
        entry.set_value(value);
      }
    });
  };
  external("sound", Success, "data/w.bin", "0", "12");
  external("absolute", InvalidInput, (w.folder() / "w.bin").string());
  external("parent", InvalidInput, "../w.bin");
  external("hidden_parent", InvalidInput, "data/../../w.bin");
  external("symlink", InvalidInput, "data/link.bin");
  external("symlinked_folder", InvalidInput, "link/w.bin");
  external("folder", InvalidInput, "data");
  external("missing", InvalidInput, "data/none.bin");
  external("nowhere", InvalidInput, "");
  external("beyond_end", InvalidInput, "data/w.bin", "8", "12");
  external("offset_beyond_end", InvalidInput, "data/w.bin", "4000000000000", "12");
  external("negative_offset", InvalidInput, "data/w.bin", "-4", "12");
  external("offset_overflow", InvalidInput, "data/w.bin", "99999999999999999999", "12");
  external("length_overflow", InvalidInput, "data/w.bin", "4", "9223372036854775807");
  external("zero_byte", InvalidInput, std::string("data/w.bin\0/../../w.bin", 23));
}

void image(ModelBuilder& b) {
  b.input("i", {1, 4, 8, 8});
  b.tensor("k", {4, 4, 3, 3}).set_raw_data(std::string(576, '\0'));
}

void write_attributes(Writer& w) {
  const auto conv = [&](const std::string& name, ExitStatus expected, const std::string& attribute, const List& value) {
    w.one("conv_" + name, expected, "Conv", {"i", "k"}, image, [&](onnx::NodeProto& n) { set(n, attribute, value); });
  };
  conv("zero_stride", InvalidInput, "strides", {0, 1});
  conv("huge_dilation", ResourceLimit, "dilations", {kMost, kMost});
  conv("negative_pads", InvalidInput, "pads", {-1, 0, 0, 0});
  conv("huge_pads", ResourceLimit, "pads", {kMost, kMost, kMost, kMost});
  conv("short_pads", InvalidInput, "pads", {1, 1});
  conv("other_kernel", InvalidInput, "kernel_shape", {5, 5});
  conv("group_as_list", InvalidInput, "group", {1});
  w.one("conv_group_zero", InvalidInput, "Conv", {"i", "k"}, image,
        [](onnx::NodeProto& n) { set(n, "group", std::int64_t{0}); });
  w.one("conv_of_matrix", InvalidInput, "Conv", {"x", "k"}, image);
  w.one("conv_larger_than_image", InvalidInput, "Conv", {"s", "k"}, [](ModelBuilder& b) {
    image(b);
    b.input("s", {1, 4, 2, 2});
  });
  w.one("pool_huge_kernel", InvalidInput, "MaxPool", {"i"}, image,
        [](onnx::NodeProto& n) { set(n, "kernel_shape", List{kHuge, 1}); });
  w.one("pool_without_kernel", InvalidInput, "MaxPool", {"i"}, image);
  w.one("unknown_operator", Unsupported, "Teleport", {"x"});
  w.one("escape_codes", Unsupported, "\x1b[31mred\x07", {"x"});
  w.one("unknown_domain", Unsupported, "Relu", {"x"}, {}, [](onnx::NodeProto& n) { n.set_domain("com.acme"); });
  w.one("unknown_attribute", Unsupported, "Relu", {"x"}, {},
        [](onnx::NodeProto& n) { set(n, "speed", std::int64_t{11}); });
  w.one("attribute_of_other_type", InvalidInput, "Concat", {"x"}, {},
        [](onnx::NodeProto& n) { set(n, "axis", std::string("one")); });
  w.one("missing_attribute", InvalidInput, "Concat", {"x", "x"});
  w.one("axis_out_of_range", InvalidInput, "Softmax", {"x"}, {}, [](onnx::NodeProto& n) { set(n, "axis", kLeast); });
  w.one("softmax_of_scalar", InvalidInput, "Softmax", {"s"}, [](ModelBuilder& b) { b.input("s", {}); });
  w.one("perm_twice", InvalidInput, "Transpose", {"x"}, {}, [](onnx::NodeProto& n) { set(n, "perm", List{0, 0}); });
  w.one("perm_huge", InvalidInput, "Transpose", {"x"}, {},
        [](onnx::NodeProto& n) { set(n, "perm", List{kMost, kLeast}); });
}

void write_operands(Writer& w) {
  const auto shaped = [&](const std::string& name, ExitStatus expected, const std::string& op, const List& list) {
    w.one(name, expected, op, {"x", "s"},
          [&](ModelBuilder& b) { b.integers("s", {static_cast<std::int64_t>(list.size())}, list); });
  };
  shaped("reshape_two_open", InvalidInput, "Reshape", {-1, -1});
  shaped("reshape_other_count", InvalidInput, "Reshape", {7});
  shaped("reshape_huge", ResourceLimit, "Reshape", {kMost, kMost});
  shaped("reshape_negative", InvalidInput, "Reshape", {-2, 3});
  shaped("tile_negative", InvalidInput, "Tile", {-1, 1});
  shaped("gather_out_of_range", InvalidInput, "Gather", {0, 5});
  shaped("unsqueeze_twice", InvalidInput, "Unsqueeze", {0, 0});
  w.one("reshape_ambiguous", InvalidInput, "Reshape", {"z", "s"}, [](ModelBuilder& b) {
    b.input("z", {0, 3});
    b.integers("s", {2}, {-1, 0});
    b.integers("unused", {1}, {0});
    b.graph().mutable_input(1)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_value(
        0);
  });
  w.one("slice_step_zero", InvalidInput, "Slice", {"x", "a", "b", "c", "d"}, [](ModelBuilder& b) {
    b.integers("a", {1}, {0});
    b.integers("b", {1}, {kMost});
    b.integers("c", {1}, {0});
    b.integers("d", {1}, {0});
  });
  w.one("slice_extremes", Success, "Slice", {"x", "a", "b", "c", "d"}, [](ModelBuilder& b) {
    b.integers("a", {2}, {kMost, kLeast});
    b.integers("b", {2}, {kLeast, kMost});
    b.integers("c", {2}, {0, 1});
    b.integers("d", {2}, {kLeast, kMost});
  });
  w.one("shape_at_run_time", Unsupported, "Reshape", {"x", "s"},
        [](ModelBuilder& b) { b.input("s", {1}, TensorProto::INT64); });
  w.one("mixed_types", InvalidInput, "Add", {"x", "s"}, [](ModelBuilder& b) { b.input("s", {3}, TensorProto::INT64); });
  w.one("shapes_that_do_not_broadcast", InvalidInput, "Add", {"x", "s"}, [](ModelBuilder& b) { b.input("s", {4}); });
  w.one("strings", Unsupported, "Identity", {"s"}, [](ModelBuilder& b) { b.input("s", {1}, TensorProto::STRING); });
  w.one("type_99", Unsupported, "Identity", {"s"}, [](ModelBuilder& b) { b.input("s", {1}, 99); });
  w.one("no_type", InvalidInput, "Add", {"x", "s"}, [](ModelBuilder& b) { b.tensor("s", {0}, 0); });
  w.one("symbolic_extent", Unsupported, "Relu", {"s"}, [](ModelBuilder& b) {
    b.input("s", {1}).mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("N");
  });
  w.one("sequence", Unsupported, "Identity", {"s"},
        [](ModelBuilder& b) { b.input("s", {}).mutable_type()->mutable_sequence_type(); });
  w.one("sparse_initializer", Unsupported, "Relu", {"x"}, [](ModelBuilder& b) { b.graph().add_sparse_initializer(); });
  w.one("declared_otherwise", InvalidInput, "Relu", {"x"}, [](ModelBuilder& b) {
    b.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(TensorProto::INT8);
  });
  w.model("training", Unsupported, [](ModelBuilder& b) {
    for (const char* name : {"s", "t", "u", "v"}) b.floats(name, {3}, {1, 1, 1});
    b.node("BatchNormalization", {"x", "s", "t", "u", "v"}, {"y", "a", "b", "c", "d"});
  });
}

}  // namespace

std::vector<HostileModel> write_hostile_models(const fs::path& folder) {
  Writer writer(folder);
  write_damaged_files(writer);
  write_headers(writer);
  write_wiring(writer);
  write_sizes(writer);
  write_external(writer);
  write_attributes(writer);
  write_operands(writer);
  return std::move(writer.models);
}

}  // namespace polyte::testing
