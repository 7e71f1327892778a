// The numbers of an artifact that leaves sizes open: how they are computed, written and read back,
// and that every wrong one is refused.
#include <doctest/doctest.h>

#include <limits>

#include "runtime/manifest.h"
#include "runtime/session.h"
#include "tests/runtime/open_artifact.h"

namespace {

using namespace polyte;
using namespace polyte::runtime;
using polyte::testing::open_artifact;
using polyte::testing::problem_of;

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

TEST_CASE("an open number has values, bounds, room and a text") {
  const std::vector<SymbolSpec> symbols = {{"batch", 2, 10}, {"seq", 1, 5}};
  const OpenNumber number{7, {3, -2}};
  CHECK(number.at(std::vector<std::int64_t>{4, 5}) == 9);
  CHECK((OpenNumber{8, {}}.at({}) == 8));
  CHECK(least_of(number, symbols) == 3);
  CHECK(most_of(number, symbols) == 35);
  CHECK(unit_bytes(number) == 10);
  CHECK((unit_bytes(OpenNumber{-7, {3, 4}}) == 7));
  CHECK(scale_of(std::vector<std::int64_t>{4, 9, 2}) == 9);
  CHECK(scale_of({}) == 1);
  CHECK(is_same(times(number, 2), {14, {6, -4}}));
  CHECK(is_same(minus(number, {7, {3}}), {0, {0, -2}}));
  CHECK(is_same({8, {0, 0}}, {8, {}}));
  CHECK_FALSE(is_same({8, {0, 1}}, {8, {}}));
  CHECK(only_symbol({0, {0, 1}}) == std::optional<std::size_t>(1));
  for (const OpenNumber& other :
       {OpenNumber{1, {0, 1}}, OpenNumber{0, {1, 1}}, OpenNumber{0, {2, 0}}, OpenNumber{}})
    CHECK_FALSE(only_symbol(other));
  CHECK(to_text(number, symbols) == "3*batch - 2*seq + 7");
  CHECK(to_text({-1, {-1, 1}}, symbols) == "-batch + seq - 1");
  CHECK(to_text({0, {1, 0}}, symbols) == "batch");
  CHECK(to_text({0, {0, 0}}, symbols) == "0");
  CHECK(to_text({std::numeric_limits<std::int64_t>::min(), {}}, {}) == "-9223372036854775808");
  CHECK(problem_of([&] { OpenNumber{kHuge, {1}}.at(std::vector<std::int64_t>{1}); },
                   ExitStatus::ResourceLimit) ==
        "size overflow: 9223372036854775807 + 1 exceeds 63 bits");
}

TEST_CASE("an open tensor has a shape, a text and bytes at any sizes") {
  const TensorSpec tensor{"y", DType::F16, {3, kOpenExtent, 5}, {{1, {2}}}};
  const std::vector<SymbolSpec> symbols = {{"n", 1, 9}};
  CHECK(is_open(tensor));
  CHECK(shape_at(tensor, std::vector<std::int64_t>{4}) == std::vector<std::int64_t>{3, 9, 5});
  CHECK(shape_text(tensor, symbols) == "[3, 2*n + 1, 5]");
  CHECK(is_same(byte_count(tensor), {30, {60}}));
  CHECK(unit_bytes(tensor) == 90);
  const TensorSpec closed{"z", DType::F32, {3, 4}};
  CHECK_FALSE(is_open(closed));
  CHECK(shape_at(closed, std::vector<std::int64_t>{4}) == closed.shape);
  CHECK(unit_bytes(closed) == 48);
}

// Room for the scale holds the number at all sizes: with positive and negative parts, at the
// ends of the ranges.
TEST_CASE("scaled room is never less than the number") {
  for (const std::int64_t constant : {-9, 0, 6})
    for (const std::int64_t first : {-3, 0, 4})
      for (const std::int64_t second : {-1, 0, 5})
        for (const std::int64_t a : {1, 2, 7})
          for (const std::int64_t b : {1, 3, 9}) {
            const OpenNumber number{constant, {first, second}};
            const std::vector<std::int64_t> sizes = {a, b};
            REQUIRE(number.at(sizes) <= scale_of(sizes) * unit_bytes(number));
          }
}

std::string with(const std::function<void(ArtifactManifest&)>& change) {
  ArtifactParts parts = open_artifact();
  change(parts.manifest);
  const std::string prefix = "artifact 'in memory': ";
  std::string text =
      problem_of([&] { Session(Artifact::from_parts(std::move(parts)), {.threads = 1}); },
                 ExitStatus::Artifact);
  for (std::size_t at = 0; (at = text.find(prefix, at)) != std::string::npos;)
    text.erase(at, prefix.size());
  return text;
}

TEST_CASE("symbols that lie are refused, all at once") {
  CHECK(with([](auto&) {}) == "accepted");
  CHECK(with([](auto& m) { m.symbols[0].least = 0, m.symbols[1].most = kMostSize + 1; }) ==
        "symbol 'batch' is from 0 to 65536, expected a range within 1 to 2147483648\n"
        "symbol 'seq' is from 1 to 2147483649, expected a range within 1 to 2147483648");
  CHECK(with([](auto& m) { m.symbols[0].least = 65537; }) ==
        "symbol 'batch' is from 65537 to 65536, expected a range within 1 to 2147483648");
  CHECK(with([](auto& m) { m.symbols[0].name = ""; }) == "a symbol has no name");
  CHECK(with([](auto& m) { m.symbols[1].name = "batch"; }) == "symbol 'batch' is there twice");
  CHECK(with([](auto& m) { m.inputs[2].open[0] = {0, {0, 2}}; }) ==
        "symbol 'seq' is the extent of no input");
  CHECK(with([](auto& m) { m.inputs[2].open[0] = {1, {0, 1}}; }) ==
        "symbol 'seq' is the extent of no input");
}

TEST_CASE("open tensors that lie are refused") {
  const auto output = [](OpenNumber number, std::int64_t columns = 4) {
    return with(
        [&](auto& m) { m.outputs[0] = {"y", DType::F32, {kOpenExtent, columns}, {number}}; });
  };
  CHECK(output({0, {1}}) ==
        "the open extent of tensor 'y' has 1 coefficients, expected 2, one per symbol");
  CHECK(output({0, {1, 0, 0}}) ==
        "the open extent of tensor 'y' has 3 coefficients, expected 2, one per symbol");
  CHECK(output({-2, {1, 0}}) == "the open extent of tensor 'y', batch - 2, may be -1");
  CHECK(output({512, {1, -2}}) ==
        "the open extent of tensor 'y', batch - 2*seq + 512, may be -511");
  CHECK(output({kHuge, {1, 0}}) ==
        "the open extent of tensor 'y', batch + 9223372036854775807, may exceed 63 bits");
  CHECK(output({0, {kHuge / 65536 + 1, 0}}).ends_with("may exceed 63 bits"));
  CHECK(
      output({kHuge, {-1, 0}}).ends_with("has impossible shape [-batch + 9223372036854775807, 4]"));
  CHECK(output({0, {1, 0}}, kHuge) ==
        "tensor 'y' has impossible shape [batch, 9223372036854775807]");
  CHECK(output({0, {1, 0}}, kHuge / 8)
            .ends_with("bytes of tensor 'y', 4611686018427387900*batch, may exceed 63 bits"));
  CHECK(output({0, {1, 0}}, -4) == "tensor 'y' has impossible shape [batch, -4]");
  CHECK(with([](auto& m) {  // no value of it exceeds 63 bits, but its positive parts together do
          m.symbols[0].least = 1000;
          m.outputs[0] = {"y", DType::U8, {kOpenExtent}, {{kHuge, {-3, 1}}}};
        })
            .ends_with("tensor 'y', -3*batch + seq + 9223372036854775807, may exceed 63 bits"));
  CHECK(with([](auto& m) { m.outputs[0].open.clear(); }) ==
        "tensor 'y' has 1 open extents, but numbers for 0");
  CHECK(with([](auto& m) { m.outputs[0].shape[0] = 7; }) ==
        "tensor 'y' has 0 open extents, but numbers for 1");
  CHECK(with([](auto& m) {
          m.outputs[0].shape[1] = kOpenExtent;
          m.outputs[0].open.push_back(m.outputs[0].open[0]);
        }) == "tensor 'y' has 2 open extents, expected at most 1");
  CHECK(with([](auto& m) {
          m.fixed = {{{"f", DType::I64, {kOpenExtent}, {{0, {1, 0}}}}, std::string(32, 'a')}};
        }) == "input 'f' is fixed to a value of an open shape");
}

TEST_CASE("buffers of open sizes that lie are refused") {
  const auto exact = [](std::size_t buffer, OpenNumber number) {
    return with([&](auto& m) { m.buffers[buffer].exact = number; });
  };
  CHECK(with([](auto& m) { m.buffers[0].bytes = 64; }) ==
        "buffer 'x' (offset 0, 64 bytes) is not all of input 'x', expected offset 0 and 16 bytes");
  CHECK(with([](auto& m) { m.buffers[6].offset = 4; }) ==
        "buffer 'y' (offset 4, 16 bytes) is not all of output 'y', expected offset 0 and 16 bytes");
  CHECK(with([](auto& m) { m.buffers[5].offset = 128; }) ==
        "buffer 'u' (offset 128, 16 bytes) does not fit in an arena of 128 bytes");
  CHECK(exact(4, {4, {16, 0}}) ==
        "the exact number of bytes of buffer 't', 16*batch + 4, needs 20 bytes at scale 1, but it "
        "has 16");
  CHECK(exact(4, {0, {16}}) ==
        "the exact number of bytes of buffer 't' has 1 coefficients, expected 2, one per symbol");
  CHECK(exact(4, {-20, {16, 0}}) ==
        "the exact number of bytes of buffer 't', 16*batch - 20, may be -4");
  CHECK(exact(4, {0, {kHuge, 0}}).ends_with("may exceed 63 bits"));
  CHECK(exact(8, {4, {4, 8}}) ==
        "the exact number of bytes of buffer 'v', 4*batch + 8*seq + 4, may exceed the 4*batch + "
        "8*seq that there are");
  CHECK(exact(8, {0, {12, 0}}).ends_with("may exceed the 4*batch + 8*seq that there are"));
  CHECK(exact(9, {0, {8, 0}}) ==
        "the exact number of bytes of buffer 'sizes', 8*batch, may exceed the 16 that there are");
  CHECK(with([](auto& m) {
          m.inputs.push_back({"b", DType::F32, {4}});
          m.buffers.push_back({.name = "b", .place = BufferPlace::Input, .index = 4, .bytes = 16});
          m.buffers.back().exact = OpenNumber{0, {0, 1}};
        }) == "the exact number of bytes of buffer 'b', seq, may exceed the 16 that there are");
  CHECK(
      with([](auto& m) { m.buffers[9].bytes = 8; }) ==
      "buffer 'sizes' (offset 0, 8 bytes) is not all of the sizes, expected offset 0 and 16 bytes");
  CHECK(with([](auto& m) { m.buffers[9].offset = 8; }) ==
        "buffer 'sizes' (offset 8, 16 bytes) is not all of the sizes, expected offset 0 and 16 "
        "bytes");
  CHECK(with([](auto& m) { m = {}, m.buffers = {{.name = "s", .place = BufferPlace::Sizes}}; }) ==
        "buffer 's' is of sizes, but there are no symbols");
}

TEST_CASE("copies of open sizes that lie are refused") {
  CHECK(with([](auto& m) { m.buffers[4].exact = OpenNumber{0, {8, 0}}; }) ==
        "copy from 't' to 'y' of another size");
  CHECK(with([](auto& m) { m.buffers[4].exact.reset(); }) ==
        "copy from 't' to 'y' of another size");
  CHECK(with([](auto& m) { m.steps[2].buffers = {5, 6}; }) ==
        "copy from 'u' to 'y' of another size");
  CHECK(with([](auto& m) { m.steps[2].buffers = {9, 9}; }) ==
        "copy writes to 'sizes', which is read-only");
}

TEST_CASE("a constant may be copied in part, as far as it reaches") {
  const auto copied = [](std::int64_t bytes) {
    ArtifactParts parts = open_artifact();
    parts.constants.emplace_back(bytes);
    parts.manifest.buffers.push_back({.name = "c", .place = BufferPlace::Constant, .bytes = bytes});
    parts.manifest.buffers.back().exact = OpenNumber{0, {16, 0}};
    parts.manifest.steps.push_back({.buffers = {10, 6}});
    return problem_of([&] { Session(Artifact::from_parts(std::move(parts)), {.threads = 1}); },
                      ExitStatus::Artifact);
  };
  CHECK(copied(16 * 65536) == "accepted");
  CHECK(copied(16 * 65536 - 1) ==
        "artifact 'in memory': the exact number of bytes of buffer 'c', 16*batch, may exceed the "
        "1048575 that there "
        "are");
}

TEST_CASE("open sizes survive the text of a manifest, and malformed text is refused") {
  const ArtifactManifest manifest = open_artifact().manifest;
  const std::string good = manifest_to_json(manifest);
  const ArtifactManifest read = manifest_from_json(good, "x");
  CHECK(manifest_to_json(read) == good);
  REQUIRE(read.symbols.size() == 2);
  CHECK(
      (read.symbols[1].name == "seq" && read.symbols[1].least == 1 && read.symbols[1].most == 512));
  CHECK(is_same(read.outputs[1].open.at(0), {1, {2, 1}}));
  CHECK(read.buffers[9].place == BufferPlace::Sizes);
  CHECK((read.buffers[5].exact && is_same(*read.buffers[5].exact, {4, {8, 4}})));
  CHECK_FALSE(read.buffers[0].exact);
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return problem_of([&] { manifest_from_json(text.replace(at, from.size(), to), "x"); },
                      ExitStatus::Artifact);
  };
  const std::string prefix = "artifact 'x': manifest.json: ";
  CHECK(replaced("\"symbols\"", "\"symbol\"") == prefix + "'symbols' is missing");
  CHECK(replaced("\"most\": 65536", "\"most\": 1e9") == prefix + "'most' is no 63-bit integer");
  CHECK(replaced("\"least\": 1", "\"least\": \"1\"") == prefix + "'least' is no 63-bit integer");
  CHECK(replaced("\"name\": \"batch\"", "\"name\": 4") == prefix + "'name' is no text");
  CHECK(replaced("\"open\"", "\"opens\"") == prefix + "'open' is missing");
  CHECK(replaced("\"constant\": 0", "\"constant\": null") ==
        prefix + "'constant' is no 63-bit integer");
  CHECK(replaced("\"coefficients\": [", "\"coefficients\": 1, \"x\": [") ==
        prefix + "'coefficients' is no list");
  CHECK(replaced("\"exact\": null", "\"exact\": 3") == prefix + "'constant' is missing");
  CHECK(replaced("\"exact\"", "\"exactly\"") == prefix + "'exact' is missing");
}

}  // namespace
