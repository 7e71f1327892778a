// Operands of other types, ranks and values than an operator takes.
#include "tests/frontend/hostile/families.h"
#include "tests/frontend/hostile/writer.h"

namespace polyte::testing {

namespace {

using enum ExitStatus;
using onnx::TensorProto;

// Of element types, and of what is no tensor.
void write_types(HostileWriter& w) {
  w.one("mixed_types", InvalidInput, "Add", {"x", "s"},
        [](ModelBuilder& b) { b.input("s", {3}, TensorProto::INT64); });
  w.one("shapes_that_do_not_broadcast", InvalidInput, "Add", {"x", "s"},
        [](ModelBuilder& b) { b.input("s", {4}); });
  w.one("strings", Unsupported, "Identity", {"s"},
        [](ModelBuilder& b) { b.input("s", {1}, TensorProto::STRING); });
  w.one("type_99", Unsupported, "Identity", {"s"}, [](ModelBuilder& b) { b.input("s", {1}, 99); });
  w.one("no_type", InvalidInput, "Add", {"x", "s"}, [](ModelBuilder& b) { b.tensor("s", {0}, 0); });
  w.one("symbolic_extent", Unsupported, "Relu", {"s"}, [](ModelBuilder& b) {
    b.input("s", {1})
        .mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(0)
        ->set_dim_param("N");
  });
  w.one("sequence", Unsupported, "Identity", {"s"},
        [](ModelBuilder& b) { b.input("s", {}).mutable_type()->mutable_sequence_type(); });
  w.one("sparse_initializer", Unsupported, "Relu", {"x"},
        [](ModelBuilder& b) { b.graph().add_sparse_initializer(); });
  w.one("declared_otherwise", InvalidInput, "Relu", {"x"}, [](ModelBuilder& b) {
    b.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
        TensorProto::INT8);
  });
}

}  // namespace

void write_operands(HostileWriter& w) {
  const auto shaped = [&](const std::string& name, ExitStatus expected, const std::string& op,
                          const List& list) {
    w.one(name, expected, op, {"x", "s"}, listed("s", list));
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
    b.graph()
        .mutable_input(1)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(1)
        ->set_dim_value(0);
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
  write_types(w);
  w.model("training", Unsupported, [](ModelBuilder& b) {
    for (const char* name : {"s", "t", "u", "v"}) b.floats(name, {3}, {1, 1, 1});
    b.node("BatchNormalization", {"x", "s", "t", "u", "v"}, {"y", "a", "b", "c", "d"});
  });
}

}  // namespace polyte::testing
