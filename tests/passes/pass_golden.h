// A golden of one pass: settings, then sections, as README.md describes them.
//
//   pass: hoist
//   shows: a load that does not change goes before the loop
//   --- before
//   loops p
//   ...
//   --- after
//   ...
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace polyte::testing {

struct PassGolden {
  // Name and text, in the order of the file.
  using Entries = std::vector<std::pair<std::string, std::string>>;
  Entries settings, sections;

  // Empty where there is none such.
  std::string setting(const std::string& name) const;
  std::string section(const std::string& name) const;
  // Adds it behind the others where there is none such.
  void set_section(const std::string& name, std::string text);
};

// Calls `make` with each file of tests/passes/FOLDER; it sets the sections that the pass decides.
// What it makes must be what the file has; with POLYTE_BLESS in the environment the file is
// rewritten. Returns the passes that have a file.
std::set<std::string> check_goldens(const std::string& folder,
                                    const std::function<void(PassGolden&)>& make);

// "note\n" for each; empty where there are none.
std::string lines_of(const std::vector<std::string>& notes);

}  // namespace polyte::testing
