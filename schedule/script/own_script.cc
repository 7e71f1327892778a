#include "schedule/script/own_script.h"

#include "ir/views.h"
#include "support/error.h"

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

Result<Script> scheduled_in_views(const ir::Program& program,
                                  const std::function<Result<Script>(const ir::Program& seen)>& schedule) {
  const std::vector<ir::View> views = ir::digits_apart(program);
  if (views.empty()) return schedule(program);
  ir::Program seen = program;
  std::vector<Directive> lines;
  for (const ir::View& view : views) {
    Result<ir::Program> next = ir::with_view(seen, view);
    POLYTE_CHECK(next, "a view that there is not");
    seen = *std::move(next);
    View line{view.buffer, {}};
    for (const std::int64_t extent : view.shape) line.shape.push_back({std::to_string(extent)});
    lines.push_back({line, Provenance::TileModel});
  }
  Result<Script> script = schedule(seen);
  if (!script) return script;
  script->digest = ir::digest(program);
  script->directives.insert(script->directives.begin(), lines.begin(), lines.end());
  return script;
}

}  // namespace polyte::schedule
