#include "schedule/script/selectors.h"

#include <algorithm>
#include <set>

#include "schedule/script/primitives/edit.h"

namespace polyte::schedule {

namespace {

const char* const kAll = "all";
const char* const kInnermost = "innermost";
const char* const kOutermost = "outermost";

// `*` stands for any characters, or none.
bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    for (std::size_t skip = 0; skip <= text.size(); ++skip)
      if (matches(pattern.substr(1), text.substr(skip))) return true;
    return false;
  }
  return !text.empty() && pattern[0] == text[0] && matches(pattern.substr(1), text.substr(1));
}

// Whether a loop stands directly in the body, alone or in a sequence.
bool holds_loop(const Tree& tree) {
  if (std::holds_alternative<Loop>(tree->op)) return true;
  const Sequence* sequence = std::get_if<Sequence>(&tree->op);
  return sequence && std::ranges::any_of(sequence->children, holds_loop);
}

// `outermost` is the first loop of a statement's path; `innermost` each loop that holds
// statements only, `j > { A; B }`.
bool is_meant(const std::string& pattern, const Loop& loop, bool is_first) {
  if (pattern == kOutermost) return is_first;
  return pattern == kInnermost ? !holds_loop(loop.body) : matches(pattern, loop.name);
}

}  // namespace

bool is_selector(const LoopName& name) {
  return name.statement == kAll || name.loop == kInnermost || name.loop == kOutermost ||
         name.loop.find('*') != std::string::npos;
}

Result<std::vector<LoopName>, Refusal> select_loops(const State& state, const LoopName& name) {
  std::vector<std::string> statements;
  const bool all = name.statement.empty() || name.statement == kAll;
  for (const Leaf* leaf : leaves_of(state.tree)) {
    const std::vector<std::string> selected =
        all ? std::vector<std::string>{} : select_statements(state, name.statement);
    if (all || std::ranges::find(selected, leaf->statement) != selected.end())
      statements.push_back(leaf->statement);
  }
  if (statements.empty()) return the_statement(state, name.statement).error();
  std::vector<LoopName> meant;
  std::vector<std::string> there;
  std::set<LoopId> seen;
  for (const std::string& statement : statements) {
    bool is_first = true;
    for (const Loop* loop : path_to(state.tree, statement)) {
      // A loop that several statements share is set once, by the first of them.
      const bool is_new = seen.insert(loop->id).second;
      if (is_new && is_meant(name.loop, *loop, is_first)) meant.push_back({statement, loop->name});
      if (std::ranges::find(there, loop->name) == there.end()) there.push_back(loop->name);
      is_first = false;
    }
  }
  if (!meant.empty()) return meant;
  return malformed("no loop of " + (all ? std::string("any statement") : name.statement) +
                   " is meant by " + name.loop + " (loops are " +
                   (there.empty() ? "none" : join_words(there)) + ")");
}

}  // namespace polyte::schedule
