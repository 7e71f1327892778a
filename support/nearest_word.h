// What a person may have meant: for messages about a name that is not there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace polyte {

// Insertions, deletions, changes and swaps of neighbours that turn one word into the other, no
// letter touched twice (F. Damerau, 1964; V. Levenshtein, 1966).
inline std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

// "img" of "image": the letters of `full` with some left out, but not the first.
inline bool is_abbreviation(const std::string& word, const std::string& full) {
  if (word.empty() || full.empty() || word[0] != full[0]) return false;
  std::size_t at = 0;
  for (const char c : full)
    if (at < word.size() && c == word[at]) ++at;
  return at == word.size() && full.size() <= 2 * word.size();
}

// ", did you mean '--json'?" where one of the words is near, is the beginning of the other or
// abbreviates it, else nothing.
inline std::string did_you_mean(const std::string& word, const std::vector<std::string>& words) {
  std::string best;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& one : words)
    if (const std::size_t d = edit_distance(word, one);
        (d < least || (d == least && one.starts_with(word) && !best.empty())) &&
        d < std::max(word.size(), one.size()))
      least = d, best = one;
  constexpr std::size_t kTelling = 3;  // letters that say which word is begun
  for (const std::string& one : words)
    if (best.empty() && std::min(word.size(), one.size()) >= kTelling &&
        (one.starts_with(word) || word.starts_with(one) || is_abbreviation(word, one)))
      best = one;
  return best.empty() ? "" : ", did you mean '" + best + "'?";
}

}  // namespace polyte
