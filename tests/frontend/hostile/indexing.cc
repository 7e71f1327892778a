// Subscripts: of Einsum, of gathers and scatters, and how many TopK takes.
#include "tests/frontend/hostile/families.h"
#include "tests/frontend/hostile/writer.h"

namespace polyte::testing {

namespace {

using enum ExitStatus;
using onnx::TensorProto;

}  // namespace

void write_einsums(HostileWriter& w) {
  const auto einsum = [&](const std::string& name, ExitStatus expected,
                          const std::string& equation) {
    w.one("einsum_" + name, expected, "Einsum", {"x"}, {},
          [&](onnx::NodeProto& n) { set(n, "equation", equation); });
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

void write_indexing(HostileWriter& w) {
  const auto indexed = [&](const std::string& name, ExitStatus expected, const std::string& op,
                           const List& shape, const List& indices) {
    w.one(name, expected, op, {"x", "i"},
          [&](ModelBuilder& b) { b.integers("i", shape, indices); });
  };
  w.one("gather_by_floats", InvalidInput, "Gather", {"x", "i"},
        [](ModelBuilder& b) { b.floats("i", {1}, {0}); });
  const auto flattened = [&](const std::string& name, ExitStatus expected, std::int64_t axis) {
    w.one("flatten_" + name, expected, "Flatten", {"x"}, {},
          [&](onnx::NodeProto& n) { set(n, "axis", axis); });
  };
  flattened("behind_the_last_axis", Success, 2);
  flattened("from_the_first_axis", Success, -2);
  flattened("past_the_last_axis", InvalidInput, 3);
  flattened("before_the_first_axis", InvalidInput, -3);
  indexed("gather_nd_sound", Success, "GatherND", {1, 2}, {1, 2});
  indexed("gather_nd_long_tuple", InvalidInput, "GatherND", {1, 3}, {0, 0, 0});
  indexed("gather_nd_scalar", InvalidInput, "GatherND", {}, {0});
  w.one(
      "gather_nd_batch", InvalidInput, "GatherND", {"x", "i"},
      [](ModelBuilder& b) { b.integers("i", {1, 1}, {0}); },
      [](onnx::NodeProto& n) { set(n, "batch_dims", kMost); });
  w.one(
      "gather_nd_negative_batch", InvalidInput, "GatherND", {"x", "i"},
      [](ModelBuilder& b) { b.integers("i", {1, 1}, {0}); },
      [](onnx::NodeProto& n) { set(n, "batch_dims", std::int64_t{-1}); });
  const auto scatter = [&](const std::string& name, ExitStatus expected, const std::string& op,
                           const List& indices, const List& updates) {
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

void write_top_k(HostileWriter& w) {
  const auto top_k = [&](const std::string& name, ExitStatus expected, const List& k) {
    w.one("top_k_" + name, expected, "TopK", {"x", "k"}, listed("k", k));
  };
  top_k("sound", Success, {2});
  top_k("zero", Success, {0});
  top_k("more_than_there_are", InvalidInput, {4});
  top_k("negative", InvalidInput, {kLeast});
  top_k("two", InvalidInput, {1, 1});
  w.one("top_k_of_many", Success, "TopK", {"z", "k"}, [](ModelBuilder& b) {
    b.input("z", {1 << 20});
    b.integers("k", {1}, {1});
  });
}

}  // namespace polyte::testing
