// Our stable sort: small lists by hand, random ones against the standard library.
#include "support/stable_sort.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

using namespace polyte;

TEST_CASE("few elements are sorted, and equal ones keep their order") {
  std::vector<std::string> words = {"bb", "a", "ccc", "dd", "e", "fff"};
  sort_stably(words, {}, [](const std::string& word) { return word.size(); });
  CHECK(words == std::vector<std::string>{"a", "e", "bb", "dd", "ccc", "fff"});
  sort_stably(words, std::greater(), [](const std::string& word) { return word.size() == 2; });
  CHECK(words == std::vector<std::string>{"bb", "dd", "a", "e", "ccc", "fff"});
  std::vector<int> none;
  sort_stably(none);
  CHECK(none.empty());
}

TEST_CASE("a stable sort of any numbers is that of the standard library") {
  std::mt19937 random(1);
  for (int count = 0; count < 40; ++count) {
    std::vector<std::pair<int, int>> numbers;
    for (int i = 0; i < count; ++i) numbers.emplace_back(static_cast<int>(random() % 7), i);
    std::vector<std::pair<int, int>> expected = numbers;
    std::ranges::sort(expected);
    sort_stably(numbers, {}, [](const std::pair<int, int>& each) { return each.first; });
    CHECK(numbers == expected);
  }
}
