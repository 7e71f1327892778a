// Constants are filled where they lie, and equal bytes lie once.
#include "driver/package/constant_pool.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "codegen/target.h"
#include "driver/package/package_model.h"
#include "frontend/onnx_import.h"
#include "tests/driver/integer_network.h"
#include "tests/frontend/model_builder.h"

namespace {

using namespace polyte;
using driver::ConstantPool;
using driver::Constants;

std::vector<std::byte> counted(std::size_t count, int first) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::byte>(first + static_cast<int>(i));
  return bytes;
}

// Adds a piece that is made while the pool is filled, as packed weights are.
std::int64_t add_made(ConstantPool& pool, const std::vector<std::byte>& bytes) {
  return pool
      .add({static_cast<std::int64_t>(bytes.size())},
           [bytes](auto into) { std::ranges::copy(bytes, into[0].begin()); })
      .front();
}

bool holds(const Constants& constants, std::int64_t placed,
           const std::vector<std::byte>& expected) {
  return std::ranges::equal(
      std::span(constants.bytes.data() + constants.offset_of(placed), expected.size()), expected);
}

TEST_CASE("constant pool: equal bytes of different sources are kept once") {
  const auto a = counted(100, 1), b = counted(100, 2), c = counted(7, 1), copy = counted(100, 1);
  ConstantPool pool;
  const std::vector<std::int64_t> placed = {pool.add(a),    add_made(pool, a), pool.add(b),
                                            pool.add(copy), add_made(pool, b), pool.add(c)};
  const Constants constants = pool.finish(2);
  CHECK(constants.bytes.bytes() == 128 + 128 + 7);
  for (const std::size_t i : {0U, 1U, 3U}) CHECK(constants.offset_of(placed[i]) == 0);
  for (const std::size_t i : {2U, 4U}) CHECK(constants.offset_of(placed[i]) == 128);
  CHECK(constants.offset_of(placed[5]) == 256);
  CHECK(constants.offset_of(placed[4] + 5) == 133);  // in a piece
  CHECK(holds(constants, placed[1], a));
  CHECK(holds(constants, placed[4], b));
  CHECK(holds(constants, placed[5], c));  // the beginning of `a`, of another size
  const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
  CHECK(std::all_of(constants.bytes.data() + 100, constants.bytes.data() + 128, is_zero));
  CHECK(std::all_of(constants.bytes.data() + 228, constants.bytes.data() + 256, is_zero));
}

TEST_CASE("constant pool: pieces of one job, pieces without bytes, and what is large") {
  ConstantPool pool;
  const std::int64_t none = pool.add(std::span<const std::byte>{});
  const auto large = counted(5'000'000, 3);
  const std::vector<std::int64_t> two = pool.add({5'000'000, 5'000'000}, [&](auto into) {
    for (const auto& piece : into) std::ranges::copy(large, piece.begin());
  });
  const auto small = counted(64, 9);
  const std::int64_t last = pool.add(small), again = pool.add(std::span<const std::byte>{});
  const Constants constants = pool.finish(2);
  CHECK(constants.offset_of(two[0]) == constants.offset_of(two[1]));
  CHECK(holds(constants, two[1], large));
  CHECK(holds(constants, last, small));
  CHECK(constants.bytes.bytes() < 5'001'000);
  for (const std::int64_t placed : {none, again})
    CHECK(constants.offset_of(placed) <= constants.bytes.bytes());
}

// y = relu(relu(x W1) W2), with two initializers.
graph::Graph two_layers(const std::vector<float>& first, const std::vector<float>& second) {
  testing::ModelBuilder b;
  b.input("x", {2, 16});
  b.floats("w1", {16, 16}, first);
  b.floats("w2", {16, 16}, second);
  b.node("MatMul", {"x", "w1"}, {"h"}, "fc1");
  b.node("Relu", {"h"}, {"r"}, "relu1");
  b.node("MatMul", {"r", "w2"}, {"g"}, "fc2");
  b.node("Relu", {"g"}, {"y"}, "relu2");
  b.output("y");
  return frontend::import_onnx_bytes(b.bytes(), "m.onnx", ".").graph;
}

TEST_CASE("constant pool: two layers with the same weights have one copy of them, packed") {
  std::vector<float> weights(256), others(256);
  for (int i = 0; i < 256; ++i) {
    weights[static_cast<std::size_t>(i)] = static_cast<float>(i * 7 % 5 - 2);
    others[static_cast<std::size_t>(i)] = static_cast<float>(i * 3 % 7 - 3);
  }
  for (const driver::Scheduler scheduler :
       {driver::Scheduler::Poly, driver::Scheduler::Template, driver::Scheduler::Naive}) {
    const auto compiled = [&](const std::vector<float>& second, driver::Scheduler by) {
      driver::ModelOptions options;
      options.scheduler = by;
      return driver::package_model(two_layers(weights, second), codegen::detect_host(), options)
          .parts;
    };
    const auto same = compiled(weights, scheduler), different = compiled(others, scheduler);
    CAPTURE(driver::to_string(scheduler));
    REQUIRE(same.constants.size() == 1);
    CHECK(2 * same.constants[0].bytes() == different.constants[0].bytes());
    CHECK(testing::same_bits(testing::run_once(compiled(weights, scheduler), 2),
                             testing::run_once(compiled(weights, driver::Scheduler::Naive), 1)));
    CHECK(testing::same_bits(testing::run_once(compiled(others, scheduler), 2),
                             testing::run_once(compiled(others, driver::Scheduler::Naive), 1)));
  }
}

}  // namespace
