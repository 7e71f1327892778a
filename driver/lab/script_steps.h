// Scripts taken apart: what differs between two in words, one without each of its lines, and
// the steps from one to another. Only texts and lists here; what is legal and what it is worth
// others say (ablation.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schedule/script/script.h"

namespace polyte::lab {

std::string directive_text(const schedule::Directive& directive);  // one line, without who chose it

// The header's and the directives' differences, a line each:
//   contract: exact, now reassoc
//   line 2 changed: split m by 4
//               now split m by 8
//   only in the first:  stage C at m.o in register
std::vector<std::string> differences(const schedule::Script& first, const schedule::Script& second);

// One change of a script: lines of the first out, lines of the second in, at one place.
struct Step {
  std::vector<std::size_t> out, in;  // numbers of directives
  std::string text;                  // "param Mr = 14 in place of Mr = 12"
  // Of a change that is taken in parts (script_variants.h): what stands there after this one, none
  // after the last; and how many parts of the same change come before it.
  std::optional<schedule::Directive> now = std::nullopt;
  std::size_t part = 0;
};
// From the first to the second: taken all, in any order but that of the parts of one change,
// they lead there.
std::vector<Step> steps_between(const schedule::Script& first, const schedule::Script& second);
// The first with some of the steps taken.
schedule::Script with_steps(const schedule::Script& first, const schedule::Script& second,
                            const std::vector<Step>& steps, const std::vector<bool>& taken);

// An order in which each step leads to a script that `is_legal` accepts. Where none of those that
// are left does by itself, two are tried together, then all of them.
struct PathStep {
  std::string text;
  schedule::Script script;  // after it
};
std::vector<PathStep> find_path(const schedule::Script& first, const schedule::Script& second,
                                const std::function<bool(const schedule::Script&)>& is_legal);

}  // namespace polyte::lab
