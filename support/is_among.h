// Whether a name is one of these.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace polyte {

inline bool is_among(const std::string& name, const std::vector<std::string>& names) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace polyte
