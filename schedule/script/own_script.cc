#include "schedule/script/own_script.h"

namespace polyte::schedule {
namespace {

DType result_type(const ir::Program& program) {
  DType type = DType::F32;
  for (const ir::Buffer& buffer : program.buffers)
    if (buffer.role == ir::Role::Out || buffer.role == ir::Role::InOut) type = buffer.dtype;
  return type;
}

}  // namespace

Script own_script(const ir::Program& program, const std::string& arm, const Machine& machine,
                  const std::set<std::string>& reassociated) {
  Script script;
  script.name = program.name + "/" + arm;
  script.program = program.name;
  script.digest = ir::digest(program);
  script.target = machine.cpu;
  script.threads = machine.cores;
  script.dtype = result_type(program);
  script.contract = reassociated.empty() ? Contract::Exact : Contract::Reassoc;
  script.reassociable.assign(reassociated.begin(), reassociated.end());
  return script;
}

}  // namespace polyte::schedule
