#include "poly/borrowed_lines.h"

#include <algorithm>

#include "schedule/script/nest_pattern.h"

namespace polyte::poly {

using schedule::Directive;
using schedule::LoopKind;
using schedule::NestTree;

std::vector<GivenSplit> given_splits(const std::vector<Directive>& lines) {
  std::vector<GivenSplit> given;
  for (const Directive& line : lines) {
    if (const auto* split = std::get_if<schedule::Split>(&line.operation); split && !split->into)
      given.push_back({split->loop.statement, split->loop.loop, split->factor, split->tail});
    if (const auto* tile = std::get_if<schedule::Tile>(&line.operation))
      for (std::size_t i = 0; i < std::min(tile->loops.size(), tile->factors.size()); ++i)
        given.push_back({tile->statement, tile->loops[i], tile->factors[i], tile->tail});
  }
  return given;
}

namespace {

bool has_row(const schedule::State& state, const std::string& statement, const std::string& loop) {
  const schedule::ScheduledStatement* s = state.find(statement);
  return s && std::ranges::find(s->rows, loop, &schedule::LoopRow::loop) != s->rows.end();
}

// k as k.o > k.i: threads share tiles, lanes are within one.
schedule::NestPath parts_of(const schedule::NestLoop& loop) {
  const bool is_within = loop.kind == LoopKind::Vector || loop.kind == LoopKind::Unrolled;
  return {{schedule::tiles_of(loop.name), is_within ? LoopKind::Serial : loop.kind},
          {schedule::within_tile(loop.name), is_within ? loop.kind : LoopKind::Serial}};
}

}  // namespace

// `split`: names that stand for two loops whatever the State has.
NestTree BorrowedLines::with_parts(const NestTree& tree, const std::set<std::string>& split) const {
  if (const auto* sequence = std::get_if<schedule::NestSequence>(&tree->op)) {
    std::vector<NestTree> children;
    for (const NestTree& child : sequence->children) children.push_back(with_parts(child, split));
    return schedule::nest_sequence(std::move(children));
  }
  const auto* loop = std::get_if<schedule::NestLoop>(&tree->op);
  if (!loop) return tree;
  const auto is_split = [&](const std::string& statement) {
    return !has_row(state_, statement, loop->name) &&
           has_row(state_, statement, schedule::tiles_of(loop->name)) &&
           has_row(state_, statement, schedule::within_tile(loop->name));
  };
  const bool in_parts =
      split.contains(loop->name) || std::ranges::all_of(schedule::statements_in(tree), is_split);
  const NestTree body = with_parts(loop->body, split);
  return in_parts ? schedule::nest_path(parts_of(*loop), body)
                  : schedule::nest_path({{loop->name, loop->kind}}, body);
}

// A step in braces may `map` a statement, which replaces all of its loops, those that the person
// has split as well. The sizes that the person gave then hold for the tiles made inside the braces;
// a loop that is not tiled there is split before the nest.
schedule::Transaction BorrowedLines::with_given_sizes(const schedule::Transaction& together) const {
  schedule::Transaction result;
  std::set<std::string> mapped, tiled, split;
  for (const Directive& step : together.steps) {
    if (const auto* map = std::get_if<schedule::Map>(&step.operation))
      mapped.insert(map->loops.begin(), map->loops.end());
    if (const auto* tile = std::get_if<schedule::Tile>(&step.operation))
      tiled.insert(tile->loops.begin(), tile->loops.end());
    if (const auto* one = std::get_if<schedule::Split>(&step.operation))
      tiled.insert(one->loop.loop);
  }
  const auto given_size = [&](const std::string& loop) -> const GivenSplit* {
    const auto found = std::ranges::find(given_, loop, &GivenSplit::loop);
    return found == given_.end() || !mapped.contains(loop) ? nullptr : &*found;
  };
  bool is_before_nest = true;
  for (Directive step : together.steps) {
    if (auto* tile = std::get_if<schedule::Tile>(&step.operation))
      for (std::size_t i = 0; i < tile->loops.size(); ++i)
        if (const GivenSplit* given = given_size(tile->loops[i])) tile->factors[i] = given->size;
    if (auto* one = std::get_if<schedule::Split>(&step.operation))
      if (const GivenSplit* given = given_size(one->loop.loop)) one->factor = given->size;
    if (auto* nest = std::get_if<schedule::Nest>(&step.operation)) {
      for (const std::string& loop : mapped)
        if (const GivenSplit* given = given_size(loop);
            given && !tiled.contains(loop) && is_before_nest) {
          const schedule::Split one{{"", loop}, given->size, false, {}, given->tail};
          result.steps.push_back({one, step.provenance, 0, {}});
          split.insert(loop);
        }
      is_before_nest = false;
      nest->tree = with_parts(nest->tree, split);
    }
    result.steps.push_back(std::move(step));
  }
  return result;
}

Directive BorrowedLines::fitting(Directive line) const {
  if (auto* nest = std::get_if<schedule::Nest>(&line.operation))
    nest->tree = with_parts(nest->tree, {});
  if (auto* together = std::get_if<schedule::Transaction>(&line.operation))
    *together = with_given_sizes(*together);
  return line;
}

// A copy of the environment, as a line that fails halfway must leave nothing.
bool BorrowedLines::take(const Directive& line) {
  if (const auto* param = std::get_if<schedule::SetParam>(&line.operation))  // the person's counts
    if (environment_.values.contains(param->name)) return false;
  Directive here = fitting(line);
  schedule::ScriptEnvironment environment = environment_;
  auto next = schedule::apply(state_, here, environment, nullptr);
  if (!next) return false;
  state_ = *std::move(next);
  environment_ = std::move(environment);
  taken_.push_back(std::move(here));
  return true;
}

namespace {

NestTree with_kind(const NestTree& tree, const std::string& statement, const std::string& name,
                   LoopKind kind) {
  if (!schedule::statements_in(tree).contains(statement)) return tree;
  if (const auto* sequence = std::get_if<schedule::NestSequence>(&tree->op)) {
    std::vector<NestTree> children;
    for (const NestTree& child : sequence->children)
      children.push_back(with_kind(child, statement, name, kind));
    return schedule::nest_sequence(std::move(children));
  }
  const auto* loop = std::get_if<schedule::NestLoop>(&tree->op);
  if (!loop) return tree;
  if (loop->name == name) return schedule::nest_path({{name, kind}}, loop->body);
  return schedule::nest_path({{loop->name, loop->kind}},
                             with_kind(loop->body, statement, name, kind));
}

// The nest that a line says, its own or the last of its steps.
schedule::Nest* nest_in(Directive& line) {
  if (auto* together = std::get_if<schedule::Transaction>(&line.operation))
    return together->steps.empty() ? nullptr : nest_in(together->steps.back());
  return std::get_if<schedule::Nest>(&line.operation);
}

}  // namespace

// The line that sets the kind is only applied; what is kept says the kind in the nest of the line
// before, as if it had been planned so. Without such a nest the line itself is kept.
bool BorrowedLines::set_kind(const std::string& statement, const std::string& loop, LoopKind kind) {
  Directive line{schedule::Vectorize{{statement, loop}}, schedule::Provenance::TileModel, 0, {}};
  if (kind == LoopKind::Parallel) line.operation = schedule::Parallel{{statement, loop}};
  if (!take(line)) return false;
  if (taken_.size() < 2) return true;
  schedule::Nest* nest = nest_in(taken_[taken_.size() - 2]);
  if (!nest || !schedule::statements_in(nest->tree).contains(statement)) return true;
  nest->tree = with_kind(nest->tree, statement, loop, kind);
  taken_.pop_back();
  return true;
}

bool BorrowedLines::replace_nests(const NestTree& tree) {
  Directive fitted{schedule::Nest{"", tree}, schedule::Provenance::TileModel, 0, {}};
  schedule::ScriptEnvironment environment = environment_;
  auto next = schedule::apply(state_, fitted, environment, nullptr);
  if (!next) return false;
  state_ = *std::move(next);
  const std::set<std::string> all = schedule::statements_in(tree);
  std::erase_if(taken_, [](const Directive& line) {
    return std::holds_alternative<schedule::Nest>(line.operation);
  });
  // A nest of the same statements that is a step of the last line in braces is replaced there: it
  // and the map before it are proved as one step.
  if (!taken_.empty())
    if (auto* together = std::get_if<schedule::Transaction>(&taken_.back().operation))
      for (Directive& step : together->steps)
        if (auto* nest = std::get_if<schedule::Nest>(&step.operation);
            nest && schedule::statements_in(nest->tree) == all) {
          nest->tree = tree;
          step.provenance = schedule::Provenance::TileModel;
          return true;
        }
  taken_.push_back(std::move(fitted));
  return true;
}

}  // namespace polyte::poly
