#include "driver/judge/fuzz/rename_loops.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

#include "schedule/script/replay.h"

namespace polyte::fuzz {
namespace {

using namespace schedule;

bool is_part_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

// Names and single other characters; blanks go, as names may have other lengths. `0..4` is a
// number and no name.
std::vector<std::string> tokens_of(const std::string& line) {
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t begin = i;
    if (std::isalpha(static_cast<unsigned char>(line[i])) || line[i] == '_')
      while (i < line.size() && is_part_of_name(line[i]) && line.compare(i, 2, "..") != 0) ++i;
    else
      ++i;
    if (line[begin] != ' ') tokens.push_back(line.substr(begin, i - begin));
  }
  return tokens;
}

bool is_name(const std::string& token) {
  return std::isalpha(static_cast<unsigned char>(token.front())) || token.front() == '_';
}

using Tokens = std::vector<std::string>;

// "for i_1 in 0..4 as i": what the schedule calls it, said where another thing has its name.
Tokens without_own_name(Tokens tokens) {
  if (const auto as = std::ranges::find(tokens, "as"); as != tokens.end() && tokens.end() - as == 2)
    tokens.erase(as, tokens.end());
  return tokens;
}

// A bijection between the names of two texts, which grows line by line. A line agrees where the
// names of one are those of the other under it.
class Names {
 public:
  bool agree(const Tokens& a, const Tokens& b) {
    if (a.size() != b.size()) return false;
    if (!a.empty() && a.front() == "if" && b.front() == "if")
      return sorted_conditions(translated(a)) == sorted_conditions(b);
    Names known = *this;
    if (known.pair(a, b)) {
      *this = std::move(known);
      return true;
    }
    if (a.front() == "for" && !pair({a[1]}, {b[1]})) return false;
    return sorted(translated(a)) == sorted(b);  // terms of a sum stand in the order of their names
  }

 private:
  std::map<std::string, std::string> there_, back_;

  // Token by token; names that are met for the first time are taken to be the same.
  bool pair(const Tokens& a, const Tokens& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      const bool same = is_name(a[i]) && is_name(b[i])
                            ? there_.try_emplace(a[i], b[i]).first->second == b[i] &&
                                  back_.try_emplace(b[i], a[i]).first->second == a[i]
                            : a[i] == b[i];
      if (!same) return false;
    }
    return true;
  }

  static Tokens sorted(Tokens tokens) {
    std::ranges::sort(tokens);
    return tokens;
  }

  // All names of a condition are known by the lines above.
  Tokens translated(Tokens tokens) const {
    for (std::string& token : tokens)
      if (const auto at = there_.find(token); at != there_.end()) token = at->second;
    return tokens;
  }

  // if c and a and b   ->   if a and b and c, each with the terms of its sums in one order. A map
  // may give them in another order than the same map renamed.
  static Tokens sorted_conditions(const Tokens& tokens) {
    std::vector<Tokens> conditions(1);
    for (auto token = std::next(tokens.begin()); token != tokens.end(); ++token) {
      if (*token == "and")
        conditions.emplace_back();
      else
        conditions.back().push_back(*token);
    }
    for (Tokens& condition : conditions) std::ranges::sort(condition);
    std::ranges::sort(conditions);
    Tokens all = {tokens.front()};
    for (const Tokens& condition : conditions)
      all.insert(all.end(), condition.begin(), condition.end());
    return all;
  }
};

}  // namespace

// The new names sort as the old ones do; they are given in a drawn order.
std::optional<State> renamed_loops(const State& state, const Machine& machine, Random& random) {
  if (!state.tree) return state;  // nothing is left of the Program: there is no loop to rename
  std::map<std::string, std::string> names;
  map_loops(state.tree, [&](const Loop& loop) {
    names[loop.name];
    return loop;
  });
  int rank = 100 + random.between(0, 50);
  for (auto& [old, name] : names) name = "loop" + std::to_string(rank += random.between(1, 3));
  std::vector<std::pair<std::string, std::string>> changes(names.begin(), names.end());
  random.shuffle(changes);
  Script none;
  none.dtype = state.basis->buffers.front().dtype;
  ScriptEnvironment environment = initial_environment(none, *state.basis, machine);
  State renamed = state;
  for (const auto& [old, name] : changes) {  // of all statements that own such a loop
    auto next =
        apply(renamed, {Rename{{"", old}, name}, Provenance::Person, 0}, environment, nullptr);
    if (!next) return std::nullopt;
    renamed = *std::move(next);
  }
  return renamed;
}

std::string difference_but_names(const std::string& a, const std::string& b) {
  Names names;
  std::istringstream left(a), right(b);
  std::string x, y;
  for (;;) {
    const bool has_left = static_cast<bool>(std::getline(left, x)),
               has_right = static_cast<bool>(std::getline(right, y));
    if (!has_left && !has_right) return "";
    if (!has_left || !has_right) return has_left ? "'" + x + "' is gone" : "'" + y + "' has come";
    if (!names.agree(without_own_name(tokens_of(x)), without_own_name(tokens_of(y))))
      return "'" + x + "' has become '" + y + "'";
  }
}

}  // namespace polyte::fuzz
