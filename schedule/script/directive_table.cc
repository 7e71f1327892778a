#include "schedule/script/directive_table.h"

#include <algorithm>

namespace polyte::schedule {

const std::vector<DirectiveRow>& all_directives() {
  static const std::vector<DirectiveRow> kTable = [] {
    std::vector<DirectiveRow> all;
    for (const auto& family :
         {setting_directives(), loop_directives(), map_directives(), placement_directives(),
          algebra_directives(), block_directives(), storage_directives()})
      all.insert(all.end(), family.begin(), family.end());
    return all;
  }();
  return kTable;
}

const DirectiveRow& row_of(const Operation& operation) {
  const auto row = std::ranges::find(all_directives(), operation.index(), &DirectiveRow::type);
  POLYTE_CHECK(row != all_directives().end(), "a directive has no row in its family's table");
  return *row;
}

}  // namespace polyte::schedule
