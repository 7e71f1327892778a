// What a person may have meant: for messages about a name that is not there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace polyte {

// Insertions, deletions and changes that turn one word into the other (V. Levenshtein, 1966).
inline std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// ", did you mean '--json'?" where one of the words is near, else nothing.
inline std::string did_you_mean(const std::string& word, const std::vector<std::string>& words) {
  std::string best;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& one : words)
    if (const std::size_t d = edit_distance(word, one); d < least) least = d, best = one;
  return best.empty() ? "" : ", did you mean '" + best + "'?";
}

}  // namespace polyte
