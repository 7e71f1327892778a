// What the artifacts of models and of operators have in common: the pool of constants, and what the loops say of
// their kernel.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "codegen/target.h"
#include "graph/graph.h"
#include "ir/loop_program.h"
#include "runtime/artifact.h"

namespace polyte::driver {

bool has_parallel_loop(const ir::LoopProgram& program);
std::set<std::string> buffers_read(const ir::LoopProgram& program);
void describe_target(const codegen::Target& target, runtime::ArtifactManifest& manifest);

// The constants member under construction: 64-byte aligned pieces, equal sources and equal bytes once.
class ConstantPool {
 public:
  std::int64_t add(const std::vector<std::byte>& bytes);  // the offset
  std::int64_t add_shared(const std::shared_ptr<const graph::Bytes>& data);
  runtime::AlignedBuffer finish() const;
  bool empty() const { return bytes_.empty(); }

 private:
  struct Piece {
    std::int64_t offset;
    std::size_t bytes;
  };
  std::vector<std::byte> bytes_;
  std::map<std::size_t, std::vector<Piece>> pieces_;                   // by a hash of their bytes
  std::map<std::shared_ptr<const graph::Bytes>, std::int64_t> known_;  // by address: looked up, never iterated
};

}  // namespace polyte::driver
