// An artifact of the kernels of tests/runtime/kernels.c, and arguments for it.
#pragma once

#include <vector>

#include "runtime/fill.h"
#include "runtime/session.h"
#include "tests/runtime/open_artifact.h"
#include "tests/runtime/temp_dir.h"

namespace polyte::runtime::examples {

using polyte::testing::read_file;

inline constexpr std::int64_t kN = 1000;

inline AlignedBuffer constants(float value) {
  AlignedBuffer buffer(4 * kN);
  for (std::int64_t i = 0; i < kN; ++i) reinterpret_cast<float*>(buffer.data())[i] = value;
  return buffer;
}

// t = x + 3, u = t * 2, y = u + t with t and u in the arena; workers = who computed what; copy = x.
inline ArtifactParts example() {
  ArtifactParts parts;
  ArtifactManifest& m = parts.manifest;
  m.cpu = "test";
  m.features = {"+sse2"};
  m.options = {{"scheduler", "poly"}};
  m.inputs = {{"x", DType::F32, {10, 100}}};
  m.outputs = {
      {"y", DType::F32, {10, 100}}, {"workers", DType::I64, {kN}}, {"copy", DType::F32, {10, 100}}};
  m.buffers = {{"x", BufferPlace::Input, 0, 0, 4 * kN},
               {"t", BufferPlace::Arena, 0, 0, 4 * kN},
               {"y", BufferPlace::Output, 0, 0, 4 * kN},
               {"three", BufferPlace::Constant, 1, 0, 4 * kN},
               {"w", BufferPlace::Output, 1, 0, 8 * kN},
               {"c", BufferPlace::Output, 2, 0, 4 * kN},
               {"two", BufferPlace::Constant, 0, 0, 4 * kN},
               {"u", BufferPlace::Arena, 0, 4032, 4 * kN, Sharing::Over, "t"}};
  m.steps = {{.kernel = "add",
              .group = "g0",
              .buffers = {0, 3, 1},
              .scheduling = {"poly", "naive", "no row fits", "poly, program 'g0'"}},
             {.kernel = "mul_through_scratch",
              .group = "g1",
              .buffers = {1, 6, 7},
              .scratch_shared_bytes = 64,
              .scratch_bytes_per_worker = 4096,
              .parallel = true},
             {.kernel = "add", .group = "g1b", .buffers = {7, 1, 2}},
             {.kernel = "who", .group = "g2", .buffers = {4}, .parallel = true},
             {.group = "copy", .buffers = {0, 5}}};
  m.arena_bytes = 8064;
  parts.kernels = read_file(POLYTE_TEST_KERNELS);
  parts.constants.push_back(constants(2));
  parts.constants.push_back(constants(3));
  parts.scripts = {{"g0", "script v1\n"}, {"g1", ""}, {"../g 1", "a"}, {"___g_1", "b"}};
  parts.report = "{\"groups\": 2}";
  return parts;
}

struct Arguments {
  Tensor x{DType::F32, {10, 100}};
  Tensor y{DType::F32, {10, 100}};
  Tensor workers{DType::I64, {kN}};
  Tensor copy{DType::F32, {10, 100}};
  Arguments() { fill(x, parse_fill("int:1")); }
  void run(const Session& session) {
    session.run({x.view()}, {y.view(), workers.view(), copy.view()});
  }
  int wrong(int threads) const {
    int count = 0;
    for (std::size_t i = 0; i < kN; ++i) {
      if (y.as<float>()[i] != 3 * (x.as<float>()[i] + 3)) ++count;
      if (copy.as<float>()[i] != x.as<float>()[i]) ++count;
      if (workers.as<std::int64_t>()[i] < 0 || workers.as<std::int64_t>()[i] >= threads) ++count;
    }
    return count;
  }
};

}  // namespace polyte::runtime::examples
