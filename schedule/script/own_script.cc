#include "schedule/script/own_script.h"

#include "ir/merged_dimensions.h"
#include "ir/views.h"
#include "schedule/script/replay.h"
#include "support/error.h"
#include "support/is_among.h"

namespace polyte::schedule {
namespace {

using ScheduleSeen =
    std::function<Result<Script>(const ir::Program& seen, const Precomputing& statements)>;

Directive line_of(const ir::View& view) {
  View line{view.buffer, {}};
  for (const std::int64_t extent : view.shape) line.shape.push_back({std::to_string(extent)});
  return {std::move(line), Provenance::TileModel};
}

void put_first(std::vector<Directive> lines, Script& script) {
  script.directives.insert(script.directives.begin(), std::make_move_iterator(lines.begin()),
                           std::make_move_iterator(lines.end()));
}

// nullopt: nothing merges, or the script for merged dimensions is refused for the Program as it
// is.
std::optional<Script> scheduled_merged(const ir::Program& program, const Machine& machine,
                                       const ScheduleSeen& schedule,
                                       std::vector<RefusedScript>* refused) {
  const auto merged = ir::merged_dimensions(program);
  if (!merged) return std::nullopt;
  Result<Script> script = schedule(merged->program, {});
  if (!script) return std::nullopt;
  std::vector<Directive> lines;
  for (const ir::View& view : merged->views) lines.push_back(line_of(view));
  // A contract for the fused loop k0 is one for the loops that it is made of.
  std::set<std::string> reassociable(script->reassociable.begin(), script->reassociable.end());
  for (const ir::MergedDimensions::Fused& fused : merged->fused) {
    std::string outer = fused.iterators.front();
    for (std::size_t i = 1; i < fused.iterators.size(); ++i, outer = fused.name)
      lines.push_back({Fuse{{fused.statement, outer}, {"", fused.iterators[i]}, fused.name},
                       Provenance::TileModel});
    if (reassociable.contains(fused.name))
      reassociable.insert(fused.iterators.begin(), fused.iterators.end());
  }
  put_first(std::move(lines), *script);
  script->reassociable.assign(reassociable.begin(), reassociable.end());
  script->digest = ir::digest(program);
  // The script was made for another Program: that it is legal for this one is proved here, and
  // where it is not the Program is scheduled as it is.
  const auto state = replay(std::make_shared<const ir::Program>(program), *script, machine,
                            {ProofLevel::Directive, {}});
  if (state) return *std::move(script);
  if (refused) refused->push_back({"dimensions that become one", *script, state.error()});
  return std::nullopt;
}

}  // namespace

Script own_script(const ir::Program& program, const std::string& writer, const Machine& machine,
                  const std::set<std::string>& reassociated) {
  Script script;
  script.name = program.name + "/" + writer;
  script.program = program.name;
  script.digest = ir::digest(program);
  script.target = machine.cpu;
  script.threads = machine.cores;
  script.dtype = ir::result_type(program);
  script.contract = reassociated.empty() ? Contract::Exact : Contract::Reassoc;
  script.reassociable.assign(reassociated.begin(), reassociated.end());
  return script;
}

Result<Script> scheduled_reworded(
    const ir::Program& program, const Machine& machine,
    const std::function<std::vector<ir::Precomputed>(const ir::Program& seen)>& kept,
    const std::function<Result<Script>(const ir::Program& seen, const Precomputing& statements)>&
        schedule,
    std::vector<RefusedScript>* refused) {
  ir::Program seen = program;
  Precomputing statements;
  std::vector<Directive> lines;
  const auto take = [&](Result<ir::Program> next, Directive line) {
    // ir/ has offered the step for this very Program.
    POLYTE_CHECK(next, "a directive of our own that declines");
    seen = *std::move(next);
    lines.push_back(std::move(line));
  };
  for (const ir::View& view : ir::digits_apart(program))
    take(ir::with_view(seen, view), line_of(view));
  for (const ir::Precomputed& one : kept(seen)) {
    take(ir::with_precomputed(seen, one),
         {Precompute{one.statement, one.tensor, one.iterators, ir::to_string(one.value)},
          Provenance::TileModel});
    statements.push_back(one.tensor);
  }
  // Merged dimensions are views and fuses of the Program as it stands: not behind other lines.
  if (lines.empty() && !machine.gpu)
    if (auto script = scheduled_merged(program, machine, schedule, refused))
      return *std::move(script);
  Result<Script> script = schedule(seen, statements);
  if (!script || lines.empty()) return script;
  script->digest = ir::digest(program);
  put_first(std::move(lines), *script);
  return script;
}

}  // namespace polyte::schedule
