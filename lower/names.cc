#include "lower/names.h"

#include <cctype>

namespace polyte::lower {
namespace {

// m.i_12 -> m.i
std::string base_of(const std::string& name) {
  std::size_t end = name.size();
  while (end > 0 && std::isdigit(static_cast<unsigned char>(name[end - 1]))) --end;
  return end > 1 && end < name.size() && name[end - 1] == '_' ? name.substr(0, end - 1) : name;
}

}  // namespace

// Loop variables of different nests may have one name; only a pass that copies bodies or moves
// them next to each other needs them apart.
Names::Names(const ir::LoopProgram& program, bool loops) {
  taken_.insert(ir::kLaneNumber);
  taken_.insert(program.params.begin(), program.params.end());
  for (const ir::Buffer& b : program.buffers) taken_.insert(b.name);
  if (!program.body) return;
  ir::for_each_stmt(program.body, [&](const ir::Stmt& s) {
    if (const auto* alloc = std::get_if<ir::Alloc>(&s->op)) taken_.insert(alloc->buffer.name);
    const auto* loop = std::get_if<ir::For>(&s->op);
    if (loop && loops) taken_.insert(loop->var);
  });
}

// Numbers go on from the base name, so that m.i_1 copied again is m.i_2 and not m.i_1_1.
std::string Names::fresh(const std::string& name) {
  if (taken_.insert(name).second) return name;
  const std::string base = base_of(name);
  while (true) {
    const std::string candidate = base + "_" + std::to_string(++last_[base]);
    if (taken_.insert(candidate).second) return candidate;
  }
}

}  // namespace polyte::lower
