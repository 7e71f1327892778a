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

Result<Script> scheduled_reworded(
    const ir::Program& program,
    const std::function<std::vector<ir::Precomputed>(const ir::Program& seen)>& kept,
    const std::function<Result<Script>(const ir::Program& seen, const Precomputing& statements)>&
        schedule) {
  ir::Program seen = program;
  Precomputing statements;
  std::vector<Directive> lines;
  const auto take = [&](Result<ir::Program> next, Operation line) {
    POLYTE_CHECK(next, "a directive of our own that declines");
    seen = *std::move(next);
    lines.push_back({std::move(line), Provenance::TileModel});
  };
  for (const ir::View& view : ir::digits_apart(program)) {
    View line{view.buffer, {}};
    for (const std::int64_t extent : view.shape) line.shape.push_back({std::to_string(extent)});
    take(ir::with_view(seen, view), std::move(line));
  }
  for (const ir::Precomputed& one : kept(seen)) {
    take(ir::with_precomputed(seen, one),
         Precompute{one.statement, one.tensor, one.iterators, ir::to_string(one.value)});
    statements.push_back(one.tensor);
  }
  Result<Script> script = schedule(seen, statements);
  if (!script || lines.empty()) return script;
  script->digest = ir::digest(program);
  script->directives.insert(script->directives.begin(), lines.begin(), lines.end());
  return script;
}

}  // namespace polyte::schedule
