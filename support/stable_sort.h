// Sorts few elements and keeps the order of equal ones, by insertion. std::stable_sort and
// std::stable_partition of libstdc++ 12 ask for memory in a way that clang calls deprecated.
//
//   sort_stably(loops, {}, [&](const std::string& loop) { return stride(loop); });
#pragma once

#include <algorithm>
#include <functional>
#include <ranges>

namespace polyte {

template <std::ranges::random_access_range Range, class Less = std::ranges::less,
          class Projection = std::identity>
void sort_stably(Range& all, Less less = {}, Projection projection = {}) {
  for (auto next = std::ranges::begin(all); next != std::ranges::end(all); ++next) {
    const auto place = std::ranges::upper_bound(std::ranges::begin(all), next,
                                                std::invoke(projection, *next), less, projection);
    std::ranges::rotate(place, next, std::ranges::next(next));
  }
}

}  // namespace polyte
