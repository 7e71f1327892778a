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

// A function of the model, acme::name(a) -> (z), and a call of it.
onnx::FunctionProto& function(ModelBuilder& b, const std::string& name) {
  onnx::FunctionProto& added = *b.model.add_functions();
  added.set_name(name);
  added.set_domain("acme");
  added.add_input("a");
  added.add_output("z");
  added.add_opset_import()->set_version(13);
  return added;
}
void call(onnx::NodeProto& node, const std::string& op, const std::string& from, const std::string& to) {
  node.set_op_type(op);
  node.add_input(from);
  node.add_output(to);
}
void to_acme(onnx::NodeProto& node) { node.set_domain("acme"); }

void write_functions(Writer& w) {
  w.one("function_of_other_domain", Unsupported, "relu", {"x"}, [](ModelBuilder& b) { function(b, "relu"); });
  w.one(
      "function_sound", Success, "relu", {"x"},
      [](ModelBuilder& b) { call(*function(b, "relu").add_node(), "Relu", "a", "z"); }, to_acme);
  w.one("function_empty", InvalidInput, "relu", {"x"}, [](ModelBuilder& b) { function(b, "relu"); }, to_acme);
  w.one(
      "function_dangling", InvalidInput, "relu", {"x"},
      [](ModelBuilder& b) { call(*function(b, "relu").add_node(), "Relu", "nowhere", "z"); }, to_acme);
  w.one(
      "function_sees_no_outside", InvalidInput, "relu", {"x"},
      [](ModelBuilder& b) { call(*function(b, "relu").add_node(), "Relu", "x", "z"); }, to_acme);
  w.one(
      "function_too_many_operands", InvalidInput, "relu", {"x", "x"},
      [](ModelBuilder& b) { call(*function(b, "relu").add_node(), "Relu", "a", "z"); }, to_acme);
  w.one(
      "function_opset_99", Unsupported, "relu", {"x"},
      [](ModelBuilder& b) {
        onnx::FunctionProto& f = function(b, "relu");
        f.mutable_opset_import(0)->set_version(99);
        call(*f.add_node(), "Relu", "a", "z");
      },
      to_acme);
  w.one(
      "function_unknown_operator", Unsupported, "relu", {"x"},
      [](ModelBuilder& b) { call(*function(b, "relu").add_node(), "Teleport", "a", "z"); }, to_acme);
  w.one(
      "function_calls_itself", ResourceLimit, "relu", {"x"},
      [](ModelBuilder& b) {
        onnx::NodeProto& inner = *function(b, "relu").add_node();
        call(inner, "relu", "a", "z");
        to_acme(inner);
      },
      to_acme);
  w.one(
      "function_bomb", ResourceLimit, "f14", {"x"},
      [](ModelBuilder& b) {
        call(*function(b, "f0").add_node(), "Relu", "a", "z");
        for (int i = 1; i < 15; ++i) {  // f<i> is ten calls of f<i - 1>
          onnx::FunctionProto& f = function(b, "f" + std::to_string(i));
          for (int k = 0; k < 10; ++k) {
            onnx::NodeProto& node = *f.add_node();
            call(node, "f" + std::to_string(i - 1), k == 0 ? "a" : "v" + std::to_string(k - 1),
                 k == 9 ? "z" : "v" + std::to_string(k));
            to_acme(node);
          }
        }
      },
      to_acme);
}

onnx::GraphProto& branch(onnx::NodeProto& node, const std::string& name) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::GRAPH);
  return *attribute.mutable_g();
}

// If(c) with branches of one node each.
void write_branches(Writer& w) {
  const auto branches = [&](const std::string& name, ExitStatus expected, const std::string& yes, const std::string& no,
                            const std::string& output, bool is_constant) {
    w.one(
        name, expected, "If", {"c"},
        [&](ModelBuilder& b) {
          if (is_constant)
            b.tensor("c", {}, TensorProto::BOOL).add_int32_data(1);
          else
            b.input("c", {}, TensorProto::BOOL);
        },
        [&](onnx::NodeProto& node) {
          for (const auto& [label, op] : {std::pair{"then_branch", yes}, std::pair{"else_branch", no}}) {
            onnx::GraphProto& body = branch(node, label);
            call(*body.add_node(), op, "x", "r");
            body.add_output()->set_name(output);
          }
        });
  };
  branches("if_sound", Success, "Relu", "Abs", "r", false);
  branches("if_constant", Success, "Relu", "Teleport", "r", true);
  branches("if_unknown_operator", Unsupported, "Relu", "Teleport", "r", false);
  branches("if_other_shapes", Unsupported, "Relu", "Transpose", "r", false);
  branches("if_other_types", Unsupported, "Relu", "IsNaN", "r", false);
  branches("if_output_of_nothing", InvalidInput, "Relu", "Abs", "q", false);
  w.one("if_without_branches", InvalidInput, "If", {"c"}, [](ModelBuilder& b) { b.input("c", {}, TensorProto::BOOL); });
  w.one("if_condition_of_floats", InvalidInput, "If", {"x"}, {}, [](onnx::NodeProto& node) {
    for (const char* label : {"then_branch", "else_branch"}) {
      onnx::GraphProto& body = branch(node, label);
      call(*body.add_node(), "Relu", "x", "r");
      body.add_output()->set_name("r");
    }
  });
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
  w.one("opset_3_has_no_relu", Unsupported, "Relu", {"x"},
        [](ModelBuilder& b) { b.model.mutable_opset_import(0)->set_version(3); });
  w.one("nested_200_deep", InvalidInput, "Relu", {"x"}, [](ModelBuilder& b) { nest(b.graph(), 200); });
  w.one("nested_20_deep", InvalidInput, "Relu", {"x"}, [](ModelBuilder& b) { nest(b.graph(), 20); });
  write_functions(w);
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

// An operand that is a constant list.
std::function<void(ModelBuilder&)> listed(const std::string& name, const List& list) {
  return [=](ModelBuilder& b) { b.integers(name, {static_cast<std::int64_t>(list.size())}, list); };
}

// Attributes and operands of the operators that are put together from others.
void write_resizes(Writer& w) {
  const auto resize = [&](const std::string& name, ExitStatus expected, const std::vector<float>& scales,
                          const std::function<void(onnx::NodeProto&)>& attributes = {}) {
    w.one(
        "resize_" + name, expected, "Resize", {"x", "", "s"},
        [&](ModelBuilder& b) { b.floats("s", {static_cast<std::int64_t>(scales.size())}, scales); }, attributes);
  };
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  resize("sound", Success, {2, 2});
  resize("one_scale", InvalidInput, {2});
  resize("zero_scale", InvalidInput, {0, 1});
  resize("negative_scale", InvalidInput, {-1, 1});
  resize("nan_scale", InvalidInput, {nan, 1});
  resize("infinite_scale", InvalidInput, {infinity, 1});
  resize("huge_scale", InvalidInput, {1e30F, 1e30F});
  resize("large_scale", ResourceLimit, {1e9F, 1});
  resize("unknown_mode", InvalidInput, {2, 2}, [](onnx::NodeProto& n) { set(n, "mode", std::string("magic")); });
  resize("unknown_coordinates", InvalidInput, {2, 2},
         [](onnx::NodeProto& n) { set(n, "coordinate_transformation_mode", std::string("polar")); });
  resize("crop_without_region", InvalidInput, {2, 2},
         [](onnx::NodeProto& n) { set(n, "coordinate_transformation_mode", std::string("tf_crop_and_resize")); });
  w.one("resize_negative_size", InvalidInput, "Resize", {"x", "", "", "s"}, listed("s", {-1, 2}));
  w.one("resize_huge_size", ResourceLimit, "Resize", {"x", "", "", "s"}, listed("s", {kMost, 2}));
  w.one("resize_without_anything", InvalidInput, "Resize", {"x"});
}

void write_einsums(Writer& w) {
  const auto einsum = [&](const std::string& name, ExitStatus expected, const std::string& equation) {
    w.one("einsum_" + name, expected, "Einsum", {"x"}, {}, [&](onnx::NodeProto& n) { set(n, "equation", equation); });
  };
  einsum("sound", Success, " i j -> j i ");
  einsum("implicit", Success, "ba");
  einsum("empty", InvalidInput, "");
  einsum("two_operands", InvalidInput, "ij,jk->ik");
  einsum("three_letters", InvalidInput, "ijk->k");
  einsum("digit", InvalidInput, "i1->i");
  einsum("unknown_output", InvalidInput, "ij->k");
  einsum("output_twice", InvalidInput, "ij->ii");
  einsum("diagonal_of_other_extents", InvalidInput, "ii->i");
  einsum("dots", InvalidInput, "i.j->i");
  einsum("long", InvalidInput, std::string(100000, 'i') + "->");
  einsum("escape_codes", InvalidInput, "\x1b[31m->");
}

void write_indexing(Writer& w) {
  const auto indexed = [&](const std::string& name, ExitStatus expected, const std::string& op, const List& shape,
                           const List& indices) {
    w.one(name, expected, op, {"x", "i"}, [&](ModelBuilder& b) { b.integers("i", shape, indices); });
  };
  w.one("gather_by_floats", InvalidInput, "Gather", {"x", "i"}, [](ModelBuilder& b) { b.floats("i", {1}, {0}); });
  indexed("gather_nd_sound", Success, "GatherND", {1, 2}, {1, 2});
  indexed("gather_nd_long_tuple", InvalidInput, "GatherND", {1, 3}, {0, 0, 0});
  indexed("gather_nd_scalar", InvalidInput, "GatherND", {}, {0});
  w.one(
      "gather_nd_batch", InvalidInput, "GatherND", {"x", "i"}, [](ModelBuilder& b) { b.integers("i", {1, 1}, {0}); },
      [](onnx::NodeProto& n) { set(n, "batch_dims", kMost); });
  w.one(
      "gather_nd_negative_batch", InvalidInput, "GatherND", {"x", "i"},
      [](ModelBuilder& b) { b.integers("i", {1, 1}, {0}); },
      [](onnx::NodeProto& n) { set(n, "batch_dims", std::int64_t{-1}); });
  const auto scatter = [&](const std::string& name, ExitStatus expected, const std::string& op, const List& indices,
                           const List& updates) {
    w.one(name, expected, op, {"x", "i", "u"}, [&](ModelBuilder& b) {
      b.input("i", indices, TensorProto::INT64);
      b.input("u", updates);
    });
  };
  scatter("scatter_sound", Success, "ScatterElements", {2, 3}, {2, 3});
  scatter("scatter_other_shapes", InvalidInput, "ScatterElements", {2, 3}, {3, 2});
  scatter("scatter_too_large", InvalidInput, "ScatterElements", {2, 4}, {2, 4});
  scatter("scatter_of_other_rank", InvalidInput, "ScatterElements", {2}, {2});
  scatter("scatter_nd_sound", Success, "ScatterND", {4, 1}, {4, 3});
  scatter("scatter_nd_other_updates", InvalidInput, "ScatterND", {4, 1}, {4, 2});
  scatter("scatter_nd_long_tuple", InvalidInput, "ScatterND", {4, 3}, {4});
}

void write_top_k(Writer& w) {
  const auto top_k = [&](const std::string& name, ExitStatus expected, const List& k) {
    w.one("top_k_" + name, expected, "TopK", {"x", "k"}, listed("k", k));
  };
  top_k("sound", Success, {2});
  top_k("zero", Success, {0});
  top_k("more_than_there_are", InvalidInput, {4});
  top_k("negative", InvalidInput, {kLeast});
  top_k("two", InvalidInput, {1, 1});
  w.one("top_k_of_many", InvalidInput, "TopK", {"z", "k"}, [](ModelBuilder& b) {
    b.input("z", {1 << 20});
    b.integers("k", {1}, {1});
  });
}

void write_composed(Writer& w) {
  w.one("compress_too_long", InvalidInput, "Compress", {"x", "c"},
        [](ModelBuilder& b) { b.tensor("c", {7}, TensorProto::BOOL).set_raw_data(std::string(7, '\1')); });
  w.one("non_zero_at_run_time", Unsupported, "NonZero", {"x"});
  w.one("pads_wrapped_far", InvalidInput, "Pad", {"x", "s"}, listed("s", {0, kHuge, 0, 0}),
        [](onnx::NodeProto& n) { set(n, "mode", std::string("wrap")); });
  w.one("pads_of_unknown_mode", InvalidInput, "Pad", {"x", "s"}, listed("s", {0, 0, 0, 0}),
        [](onnx::NodeProto& n) { set(n, "mode", std::string("magic")); });
  w.one("split_negative", InvalidInput, "Split", {"x", "s"}, listed("s", {-1}));
  w.one("split_overflow", InvalidInput, "Split", {"x", "s"}, listed("s", {kMost}));
  w.one("reduce_axis_twice", InvalidInput, "ReduceSum", {"x", "s"}, listed("s", {0, -2}));
  w.one("expand_negative", InvalidInput, "Expand", {"x", "s"}, listed("s", {-2, 3}));
  w.one("one_hot_negative_depth", InvalidInput, "OneHot", {"i", "d", "v"}, [](ModelBuilder& b) {
    b.integers("i", {1}, {0});
    b.integers("d", {}, {-1});
    b.floats("v", {2}, {0, 1});
  });
  w.one("quantize_to_floats", Unsupported, "QuantizeLinear", {"x", "s", "z"}, [](ModelBuilder& b) {
    b.floats("s", {}, {1});
    b.floats("z", {}, {0});
  });
  w.one("quantize_many_scales", InvalidInput, "QuantizeLinear", {"x", "s"},
        [](ModelBuilder& b) { b.floats("s", {7}, std::vector<float>(7, 1)); });
  w.one("dequantize_floats", Unsupported, "DequantizeLinear", {"x", "s"},
        [](ModelBuilder& b) { b.floats("s", {}, {1}); });
  w.one("loss_other_labels", InvalidInput, "NegativeLogLikelihoodLoss", {"x", "t"},
        [](ModelBuilder& b) { b.input("t", {3}, TensorProto::INT64); });
  w.one("loss_of_scalar", InvalidInput, "SoftmaxCrossEntropyLoss", {"s", "t"}, [](ModelBuilder& b) {
    b.input("s", {});
    b.input("t", {}, TensorProto::INT64);
  });
  w.one("computed_shape_at_run_time", Unsupported, "Reshape", {"x", "t"}, [](ModelBuilder& b) {
    b.input("s", {2}, TensorProto::INT64);
    b.node("Abs", {"s"}, {"t"});
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
  write_branches(writer);
  write_resizes(writer);
  write_einsums(writer);
  write_indexing(writer);
  write_top_k(writer);
  write_composed(writer);
  return std::move(writer.models);
}

}  // namespace polyte::testing
