#include "schedule/state/dimension_names.h"

#include <algorithm>

#include "schedule/state/state.h"

namespace polyte::schedule {

std::vector<std::string> dimension_names(const ir::Program& program, const std::string& buffer,
                                         std::vector<std::string> given) {
  std::vector<std::string>& names = given;
  // A dimension is named after the iterator that runs along it, first where the tensor is written,
  // then where it is read; d0, d1, .. without one.
  for (const bool of_writes : {true, false})
    for (const ir::Statement& s : program.statements) {
      ScheduledStatement plain;
      plain.body = s;
      for (const AccessRef& ref : accesses_of(plain))
        for (std::size_t d = 0; d < std::min(names.size(), ref.access.indices.size()); ++d) {
          if (!names[d].empty() || ref.access.buffer != buffer || ref.write != of_writes) continue;
          const auto symbol = ref.access.indices[d].affine.as_symbol();
          if (symbol && std::ranges::find(names, *symbol) == names.end()) names[d] = *symbol;
        }
    }
  for (std::size_t d = 0; d < names.size(); ++d)
    if (names[d].empty()) names[d] = "d" + std::to_string(d);
  return names;
}

}  // namespace polyte::schedule
