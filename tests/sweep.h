// Tests that go through a large set take a part of it where time counts, the same part each time:
// of models, kernels and Programs every third or so. All of it with POLYTE_SWEEP=all, as tools/test
// --full has it.
//
//   for (std::size_t i = 0; const auto& model : models)
//     if (test::is_swept(i++, 3)) check(model);
#pragma once

#include <cstdlib>
#include <string_view>

namespace polyte::test {

inline bool takes_all() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing sets it
  const char* const sweep = std::getenv("POLYTE_SWEEP");
  return sweep && std::string_view(sweep) == "all";
}

inline bool is_swept(std::size_t number, std::size_t one_in) {
  return number % one_in == 0 || takes_all();
}

}  // namespace polyte::test
