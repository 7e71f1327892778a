#include "tests/runtime/open_artifact.h"

#include <doctest/doctest.h>

#include "tests/runtime/temp_dir.h"

namespace polyte::testing {

using namespace polyte::runtime;

ArtifactParts open_artifact() {
  ArtifactParts parts;
  ArtifactManifest& m = parts.manifest;
  m.cpu = "test";
  m.symbols = {{"batch", 1, 65536}, {"seq", 1, 512}};
  m.inputs = {{"x", DType::F32, {kOpenExtent, 4}, {{0, {1, 0}}}},
              {"z", DType::F32, {kOpenExtent}, {{0, {1, 0}}}},
              {"p", DType::F32, {kOpenExtent}, {{0, {0, 1}}}},
              {"w", DType::F32, {kOpenExtent}, {{0, {1, 2}}}}};
  m.outputs = {{"y", DType::F32, {kOpenExtent, 4}, {{0, {1, 0}}}},
               {"q", DType::F32, {kOpenExtent}, {{1, {2, 1}}}},
               {"v", DType::F32, {kOpenExtent}, {{0, {1, 2}}}}};
  m.buffers = {{.name = "x", .place = BufferPlace::Input, .index = 0, .bytes = 16},
               {.name = "z", .place = BufferPlace::Input, .index = 1, .bytes = 4},
               {.name = "p", .place = BufferPlace::Input, .index = 2, .bytes = 4},
               {.name = "w", .place = BufferPlace::Input, .index = 3, .bytes = 12},
               {.name = "t", .bytes = 16, .exact = OpenNumber{0, {16, 0}}},
               {.name = "u", .offset = 64, .bytes = 16, .exact = OpenNumber{4, {8, 4}}},
               {.name = "y", .place = BufferPlace::Output, .index = 0, .bytes = 16},
               {.name = "q", .place = BufferPlace::Output, .index = 1, .bytes = 16},
               {.name = "v",
                .place = BufferPlace::Output,
                .index = 2,
                .bytes = 12,
                .exact = OpenNumber{0, {4, 8}}},
               {.name = "sizes", .place = BufferPlace::Sizes, .bytes = 16}};
  m.steps = {{.kernel = "open_rows", .group = "g0", .buffers = {0, 1, 4, 9}},
             {.kernel = "open_join", .group = "g1", .buffers = {4, 2, 5, 9}},
             {.group = "copy", .buffers = {4, 6}},
             {.group = "copy", .buffers = {5, 7}},
             {.group = "copy", .buffers = {3, 8}}};
  m.arena_bytes = 128;
  parts.kernels = read_file(POLYTE_TEST_KERNELS);
  return parts;
}

std::string problem_of(const std::function<void()>& action, ExitStatus status) {
  try {
    action();
    return "accepted";
  } catch (const UserError& error) {
    CHECK(error.status() == status);
    return error.what();
  }
}

}  // namespace polyte::testing
