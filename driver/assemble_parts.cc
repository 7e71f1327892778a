#include "driver/assemble_parts.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "support/checked.h"

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

void describe_target(const codegen::Target& target, runtime::ArtifactManifest& manifest) {
  manifest.cpu = target.machine.cpu;
  for (const std::string& feature : target.machine.features) {
    if (!feature.empty() && feature[0] == '+') manifest.features.push_back(feature);
  }
}

std::int64_t ConstantPool::add(const std::vector<std::byte>& bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<Piece>& alike = pieces_[std::hash<std::string_view>{}(text)];
  for (const Piece& piece : alike) {
    if (piece.bytes == bytes.size() && std::equal(bytes.begin(), bytes.end(), bytes_.begin() + piece.offset))
      return piece.offset;
  }
  const std::int64_t offset =
      ceil_div(static_cast<std::int64_t>(bytes_.size()), runtime::kAlignment) * runtime::kAlignment;
  bytes_.resize(static_cast<std::size_t>(offset));
  if (bytes_.empty() && bytes.empty()) bytes_.resize(runtime::kAlignment);  // nothing has a place all the same
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  alike.push_back({offset, bytes.size()});
  return offset;
}

std::int64_t ConstantPool::add_shared(const std::shared_ptr<const graph::Bytes>& data) {
  auto it = known_.find(data);
  if (it == known_.end()) it = known_.emplace(data, add(*data)).first;
  return it->second;
}

runtime::AlignedBuffer ConstantPool::finish() const {
  runtime::AlignedBuffer buffer(static_cast<std::int64_t>(bytes_.size()));
  if (!bytes_.empty()) std::memcpy(buffer.data(), bytes_.data(), bytes_.size());
  return buffer;
}

}  // namespace polyte::driver
