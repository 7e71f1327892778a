// The YAML in which isl prints schedule trees, in blocks or in braces, and no more of that
// language: maps, sequences, strings in quotes, plain words. isl's own reader takes a number for
// a pointer where it expects a string, so what is not trusted is read here, and isl is given the
// sets and maps alone.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace polyte::schedule {

struct YamlEntry;
struct Yaml {
  using Map = std::vector<YamlEntry>;
  using Sequence = std::vector<Yaml>;
  std::variant<std::string, Sequence, Map> value;  // a string, quoted or not
  int line = 1;

  const std::string* text() const { return std::get_if<std::string>(&value); }
  const Sequence* sequence() const { return std::get_if<Sequence>(&value); }
  const Map* map() const { return std::get_if<Map>(&value); }
  const Yaml* find(const std::string& key) const;  // of a map; null if absent
};
struct YamlEntry {
  std::string key;
  Yaml value;
};

// UserError(InvalidInput) with the line and what was expected; also beyond 200 levels.
Yaml parse_yaml(const std::string& text, const std::string& origin);

}  // namespace polyte::schedule
