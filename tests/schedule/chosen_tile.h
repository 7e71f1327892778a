// The tile that a reduction gets by the machine's formulas, its loops' trip counts given.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "schedule/cost/tile_choice.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule {

inline TileChoice choice_of(const std::string& text, std::size_t update,
                            const std::map<std::string, std::int64_t>& extents,
                            const Machine& machine = wide_machine()) {
  const auto program = bound_program(text, {});
  const ir::Statement& main = program->statements[update];
  TileQuestion question{.program = program.get(), .main = &main};
  for (const ir::Statement& s : program->statements)
    if (s.name != main.name) question.others.push_back(&s);
  for (const std::string& it : main.iterators) {
    const bool is_sum = std::ranges::find(main.reductions, it) != main.reductions.end();
    question.loops.push_back({it, extents.at(it), is_sum});
    if (!is_sum) question.candidates.push_back(it);
  }
  return choose_tile(question, machine);
}

}  // namespace polyte::schedule
