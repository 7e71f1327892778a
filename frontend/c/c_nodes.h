// A scop as loops and statements, and their Program text with the line of C that each of its
// lines comes from.
#pragma once

#include "frontend/c/c_names.h"
#include "ir/affine.h"

namespace polyte::frontend::c {

struct Node {
  int line = 0;
  bool is_loop = false;
  std::string iterator;  // of a loop
  ir::Affine begin, end;
  int step = 1;
  std::vector<Node> body;
  std::string label, write, sign, value;  // of a statement
  std::set<std::string> targets;          // iterators in the subscripts of what it writes
  std::vector<ir::Constraint> where;
  std::string when;
};

struct ProgramText {
  std::string text;
  std::vector<int> lines;  // of C
};

class TextWriter {
 public:
  void line(int c_line, const std::string& text);
  void nodes(const std::vector<Node>& nodes, const std::string& indent);
  ProgramText take() { return std::move(result_); }

 private:
  ProgramText result_;

  void single(const std::vector<const Node*>& loops, const Node& statement, std::string indent);
  void statement(const Node& node, const std::string& ranges, const std::string& indent);
};

}  // namespace polyte::frontend::c
