// Sizes beyond any memory, and data that does not fit its shape.
#include "tests/frontend/hostile/families.h"
#include "tests/frontend/hostile/writer.h"

namespace polyte::testing {

namespace {

using enum ExitStatus;
using onnx::TensorProto;

}  // namespace

void write_sizes(HostileWriter& w) {
  w.one("too_little_data", InvalidInput, "Add", {"x", "w"},
        [](ModelBuilder& b) { b.tensor("w", {1000}).set_raw_data("abcd"); });
  w.one("too_much_data", InvalidInput, "Add", {"x", "w"},
        [](ModelBuilder& b) { b.tensor("w", {1}).set_raw_data(std::string(400, 'a')); });
  w.one("too_few_elements", InvalidInput, "Add", {"x", "w"},
        [](ModelBuilder& b) { b.floats("w", {3}, {1, 2}); });
  w.one("elements_of_other_type", InvalidInput, "Add", {"x", "w"},
        [](ModelBuilder& b) { b.tensor("w", {1}).add_int64_data(1); });
  w.one("huge_initializer", ResourceLimit, "Add", {"x", "w"},
        [](ModelBuilder& b) { b.tensor("w", {kHuge}); });
  w.one("overflowing_initializer", ResourceLimit, "Add", {"x", "w"},
        [](ModelBuilder& b) { b.tensor("w", {kHuge, kHuge}); });
  w.one("negative_initializer", InvalidInput, "Add", {"x", "w"},
        [](ModelBuilder& b) { b.tensor("w", {-4}); });
  w.one("least_extent", InvalidInput, "Add", {"x", "w"},
        [](ModelBuilder& b) { b.tensor("w", {kLeast, kLeast}); });
  w.one("huge_input", ResourceLimit, "Relu", {"z"},
        [](ModelBuilder& b) { b.input("z", {kHuge, kHuge}); });
  w.one("huge_expand", ResourceLimit, "Expand", {"x", "s"},
        [](ModelBuilder& b) { b.integers("s", {3}, {kHuge, 2, 3}); });
  w.one("huge_constant", ResourceLimit, "ConstantOfShape", {"s"},
        [](ModelBuilder& b) { b.integers("s", {2}, {kHuge, kHuge}); });
  w.one("huge_tile", ResourceLimit, "Tile", {"x", "s"},
        [](ModelBuilder& b) { b.integers("s", {2}, {kMost, kMost}); });
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
  w.one("bytes_as_bools", Success, "Where", {"c", "x", "x"}, [](ModelBuilder& b) {
    b.tensor("c", {3}, TensorProto::BOOL).set_raw_data("\xff\x02\x01");
  });
}

}  // namespace polyte::testing
