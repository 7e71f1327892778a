#include "schedule/script/region_step.h"

#include <algorithm>
#include <set>

#include "ir/open_program.h"
#include "ir/relations.h"
#include "schedule/script/nest_pattern.h"

namespace polyte::schedule {
namespace {

std::size_t first_of(const ir::Region& region) { return ir::statements_in(region.body).front(); }

bool is_nest(const Directive& directive) {
  return std::holds_alternative<Nest>(directive.operation);
}

// Serial loops alone: no lanes, no threads, nothing unrolled.
bool is_serial(const NestTree& tree) {
  if (const auto* loop = std::get_if<NestLoop>(&tree->op))
    return loop->kind == LoopKind::Serial && is_serial(loop->body);
  const auto* sequence = std::get_if<NestSequence>(&tree->op);
  return !sequence || std::ranges::all_of(sequence->children, is_serial);
}

// Statements and regions as they stand; `;` between them.
NestTree in_reference_order(const ir::Program& program, const ir::Item& item) {
  const auto* region = std::get_if<ir::Region>(&item);
  if (!region) return nest_statement(program.statements[std::get<std::size_t>(item)].name);
  std::vector<NestTree> body;
  for (const ir::Item& inner : region->body) body.push_back(in_reference_order(program, inner));
  return nest_path({{region->iterator}}, nest_sequence(std::move(body)));
}

// The body of a region in its order: each nest stands where its first statement does, and what has
// none stays in its place.
NestTree with_nests(const ir::Program& program, const ir::Region& region,
                    const std::vector<NestTree>& nests) {
  std::vector<NestTree> body;
  std::vector<bool> is_placed(nests.size(), false);
  for (const ir::Item& item : region.body) {
    const std::string& name = program.statements[ir::statements_in({item}).front()].name;
    const auto nest = std::ranges::find_if(
        nests, [&](const NestTree& each) { return statements_in(each).contains(name); });
    if (nest == nests.end()) {
      body.push_back(in_reference_order(program, item));
    } else if (const auto at = static_cast<std::size_t>(nest - nests.begin()); !is_placed[at]) {
      body.push_back(*nest);
      is_placed[at] = true;
    }
  }
  return nest_path({{region.iterator}}, nest_sequence(std::move(body)));
}

// A copy of the whole tensor is one of each step where a step writes it.
void copy_in_each_step(const ir::Program& program, const ir::Region& region, Directive& directive) {
  auto* stage = std::get_if<Stage>(&directive.operation);
  if (!stage || stage->at || stage->memory) return;
  std::string reader = stage->reader;
  bool is_written = false;
  for (const std::size_t at : ir::statements_in(region.body)) {
    const ir::Statement& s = program.statements[at];
    if (reader.empty() && ir::reads(s, stage->tensor)) reader = s.name;
    is_written = is_written || std::ranges::any_of(s.writes, [&](const ir::Access& write) {
                   return write.buffer == stage->tensor;
                 });
  }
  if (is_written && !reader.empty()) stage->at = LoopName{reader, region.iterator};
}

}  // namespace

const ir::Region* region_begun_by(const ir::Program& program, const ir::Statement& statement) {
  for (const ir::Item& item : program.order)
    if (const auto* region = std::get_if<ir::Region>(&item))
      if (&program.statements[first_of(*region)] == &statement) return region;
  return nullptr;
}

ir::Program middle_step(const ir::Program& program, const ir::Region& region) {
  ir::Program opened = program;
  std::set<std::string> inside;
  for (const std::size_t at : ir::statements_in(region.body)) {
    ir::Statement& s = opened.statements[at];
    inside.insert(s.name);
    s.iterators.erase(s.iterators.begin());  // of the outermost region
    --s.region_depth;
  }
  const auto at = std::ranges::find_if(opened.order, [&](const ir::Item& item) {
    const auto* other = std::get_if<ir::Region>(&item);
    return other && first_of(*other) == first_of(region);
  });
  opened.order.insert(opened.order.erase(at), region.body.begin(), region.body.end());
  opened.params.push_back(region.iterator);
  ir::Program step =
      ir::part_of(opened, [&](const ir::Statement& s) { return inside.contains(s.name); });
  // What a step has written is there in the next one.
  for (ir::Buffer& buffer : step.buffers)
    if (buffer.role == ir::Role::Temp || buffer.role == ir::Role::Out)
      buffer.role = ir::Role::InOut;
  const std::int64_t begin = region.begin.constant(), end = region.end.constant();
  step = ir::at_typical(step, {{region.iterator, begin + (end - begin) / 2}});
  step.open.insert(program.open.begin(), program.open.end());
  return step;
}

bool is_reference_order(std::span<const Directive> directives) {
  return std::ranges::all_of(directives, [](const Directive& directive) {
    return is_nest(directive) && is_serial(std::get<Nest>(directive.operation).tree);
  });
}

void join_steps(const ir::Program& program, const ir::Region& region,
                std::span<const std::size_t> begins, Provenance by,
                std::vector<Directive>& directives) {
  std::vector<NestTree> nests;
  std::vector<Directive> before, behind;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::size_t end = i + 1 < begins.size() ? begins[i + 1] : directives.size();
    const auto own = std::span(directives).subspan(begins[i], end - begins[i]);
    const auto nest = std::ranges::find_if(own, is_nest);
    nests.push_back(std::get<Nest>(nest->operation).tree);
    before.insert(before.end(), own.begin(), nest);
    behind.insert(behind.end(), nest + 1, own.end());
  }
  directives.resize(begins.front());
  std::ranges::move(before, std::back_inserter(directives));
  directives.push_back({Nest{"", with_nests(program, region, nests)}, by});
  for (Directive& directive : behind) {
    copy_in_each_step(program, region, directive);
    directives.push_back(std::move(directive));
  }
}

}  // namespace polyte::schedule
