#include "driver/package/assemble_parts.h"

#include <algorithm>

namespace polyte::driver {

bool has_parallel_loop(const ir::LoopProgram& program) {
  bool found = false;
  ir::for_each_stmt(program.body, [&](const ir::Stmt& s) {
    const auto* loop = std::get_if<ir::For>(&s->op);
    found = found || (loop && loop->kind == ir::LoopKind::Parallel);
  });
  return found;
}

std::set<std::string> buffers_read(const ir::LoopProgram& program) {
  std::set<std::string> names;
  ir::for_each_expr(program.body, [&](const ir::Expr& root) {
    for (const ir::Load* load : ir::loads_of(root)) names.insert(load->buffer);
  });
  return names;
}

std::vector<std::int64_t> packed_sizes(const BuiltKernel& kernel) {
  std::vector<std::int64_t> sizes;
  for (const PackedBuffer& buffer : kernel.packed) sizes.push_back(buffer.bytes());
  return sizes;
}

void take_constants(ConstantPool& pool, int jobs, runtime::ArtifactParts& parts) {
  if (pool.empty()) return;
  Constants constants = pool.finish(jobs);
  for (runtime::BufferSpec& buffer : parts.manifest.buffers)
    if (buffer.place == runtime::BufferPlace::Constant) buffer.offset = constants.offset_of(buffer.offset);
  parts.constants.push_back(std::move(constants.bytes));
}

}  // namespace polyte::driver
