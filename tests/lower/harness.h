// Harness: random small-integer data into the interface of a Program or LoopProgram, run by the
// interpreters, outputs compared bit for bit.
#pragma once

#include <random>
#include <string>

#include "ir/interpret.h"
#include "ir/loop_program.h"
#include "ir/program.h"

namespace polyte::test {

inline ir::Contents random_contents(const ir::Buffer& buffer, const ir::Values& sizes,
                                    std::mt19937& random) {
  std::vector<std::int64_t> shape;
  for (const ir::Affine& extent : buffer.shape) shape.push_back(ir::evaluate(extent, sizes));
  ir::Contents contents = ir::make_contents(buffer.dtype, shape);
  const std::int64_t size =
      static_cast<std::int64_t>(contents.bytes.size()) / size_in_bytes(buffer.dtype);
  for (std::int64_t i = 0; i < size; ++i)
    ir::set_real(contents, i, static_cast<double>(random() % 7) - 3);
  return contents;
}

inline ir::Environment inputs_of(const std::vector<ir::Buffer>& buffers, const ir::Values& sizes,
                                 unsigned seed) {
  std::mt19937 random(seed);
  ir::Environment environment;
  for (const ir::Buffer& b : buffers)
    if (b.role != ir::Role::Temp && b.role != ir::Role::Out)
      environment[b.name] = random_contents(b, sizes, random);
  return environment;
}

// Empty if the outputs agree, else the first buffer that differs.
inline std::string difference(const std::vector<ir::Buffer>& buffers, const ir::Environment& a,
                              const ir::Environment& b) {
  for (const ir::Buffer& buffer : buffers) {
    if (buffer.role != ir::Role::Out && buffer.role != ir::Role::InOut) continue;
    const auto &left = a.at(buffer.name), &right = b.at(buffer.name);
    if (left.bytes != right.bytes) return buffer.name;
  }
  return {};
}

// Runs both on the same data; the name of a differing buffer, or empty.
inline std::string compare(const ir::LoopProgram& before, const ir::LoopProgram& after,
                           const ir::Values& sizes = {}, unsigned seed = 1) {
  ir::Environment a = inputs_of(before.buffers, sizes, seed), b = a;
  ir::InterpretOptions options;
  options.sizes = sizes;
  ir::interpret(before, a, options);
  ir::interpret(after, b, options);
  return difference(before.buffers, a, b);
}

inline std::string compare(const ir::Program& program, const ir::LoopProgram& loops,
                           const ir::Values& sizes = {}, unsigned seed = 1) {
  ir::Environment a = inputs_of(program.buffers, sizes, seed), b = a;
  ir::InterpretOptions options;
  options.sizes = sizes;
  ir::interpret(program, a, options);
  ir::interpret(loops, b, options);
  return difference(program.buffers, a, b);
}

}  // namespace polyte::test
