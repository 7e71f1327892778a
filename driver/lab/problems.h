// What is wrong with a file, each with its line; thrown together.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace polyte::lab {

class Problems {
 public:
  Problems() = default;  // of no file: no place is named
  explicit Problems(std::string origin) : origin_(std::move(origin)) {}
  // `where`: what TOML says of a node's place.
  template <class Region>
  void add(const Region& where, const std::string& what) {
    add_at(static_cast<std::size_t>(where.begin.line), what);
  }
  void add(const std::string& what) { add_at(0, what); }   // of no line: said last
  void add_at(std::size_t line, const std::string& what);  // 0: of no line
  bool empty() const { return list_.empty(); }
  void throw_if_any() const;  // UserError(InvalidInput), in the order of the lines

 private:
  std::string origin_;
  std::vector<std::pair<std::size_t, std::string>> list_;
};

}  // namespace polyte::lab
