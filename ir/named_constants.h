// Named constants of Program text: `const alpha = 1.5` lets later lines say alpha. A name stands
// for what is written, so a number takes the type that its place asks for and a Program holds no
// names: it is equal to the one written out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/expr_parser.h"
#include "ir/statement_parser.h"

namespace polyte::ir::text {

class NamedConstants {
 public:
  bool has(const std::string& name) const { return entries_.count(name) > 0; }
  // Numbers, parameters, earlier constants, arithmetic. Throws a Fault, also where the name
  // is taken.
  void define(const std::string& name, const TreePtr& value, const Program& program);
  // With each name replaced. Throws a Fault where one has subscripts.
  TreePtr write_out(const TreePtr& tree) const;
  // Throws a Fault where one is written, or names an iterator.
  void write_out(WrittenStatement& statement) const;
  void check_iterator(const std::string& name, int line) const;

 private:
  struct Entry {
    TreePtr value;
    std::size_t parts;  // of the tree written out
  };
  std::map<std::string, Entry> entries_;

  void write_out(std::vector<TreePtr>& trees) const;
  void write_out(std::vector<WrittenRange>& ranges, int line) const;
};

}  // namespace polyte::ir::text
