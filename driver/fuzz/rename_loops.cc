#include "driver/fuzz/rename_loops.h"

#include <cctype>
#include <map>
#include <sstream>

#include "schedule/language/replay.h"

namespace polyte::fuzz {
namespace {

using namespace schedule;

bool is_part_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

// Names and single other characters; blanks go, as names may have other lengths. `0..4` is a number and no name.
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

class Names {
 public:
  bool agree(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const bool same = is_name(a[i]) && is_name(b[i]) ? there_.try_emplace(a[i], b[i]).first->second == b[i] &&
                                                             back_.try_emplace(b[i], a[i]).first->second == a[i]
                                                       : a[i] == b[i];
      if (!same) return false;
    }
    return true;
  }

 private:
  std::map<std::string, std::string> there_, back_;
};

}  // namespace

std::optional<State> renamed_loops(const State& state, const Machine& machine, Random& random) {
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
    auto next = apply(renamed, {Rename{{"", old}, name}, Provenance::Person, 0}, environment, nullptr);
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
    if (!names.agree(tokens_of(x), tokens_of(y))) return "'" + x + "' has become '" + y + "'";
  }
}

}  // namespace polyte::fuzz
