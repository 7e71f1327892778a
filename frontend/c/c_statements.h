// The statements of a scop: loops, conditions, assignments, declarations. The conditions in
// force are kept in where_ (affine) and when_ (at run time) while a branch is read, and each
// statement takes a copy.
#pragma once

#include "frontend/c/c_nodes.h"
#include "frontend/c/c_values.h"

namespace polyte::frontend::c {

class Statements {
 public:
  Statements(Names& names, std::vector<Fault>& faults)
      : names_(names), values_(names), faults_(faults) {}

  // Up to the End token. What is at fault is reported and skipped.
  std::vector<Node> run(const std::vector<Token>& tokens);
  const std::vector<ir::Constraint>& assumed() const { return assumed_; }  // by assert()

 private:
  Names& names_;
  Values values_;
  std::vector<Fault>& faults_;
  std::vector<ir::Constraint> where_, assumed_;
  std::vector<std::string> when_;
  std::set<std::string> labels_;
  int statements_ = 0, depth_ = 0, loops_ = 0;
  std::string label_;

  using Nodes = std::vector<Node>;
  void statement(Cursor& cursor, Nodes& into);
  void block(Cursor& cursor, Nodes& into);
  void loop(Cursor& cursor, Nodes& into);
  void branch(Cursor& cursor, Nodes& into);
  void declaration(Cursor& cursor, Nodes& into);
  void assignment(Cursor& cursor, Nodes& into);
  bool is_constant(const Declared& declared);
  void assertion(Cursor& cursor);
  void skip(Cursor& cursor, std::size_t before);

  struct Header {
    std::string variable;
    TreePtr first;
    Token at;
    ir::Affine begin, end;  // half open, upwards
    std::int64_t step = 1;
  };
  void read_header(Cursor& cursor, Header& header);
  std::int64_t read_step(Cursor& cursor, const std::string& variable);
  void set_bounds(Header& header, const std::string& sign, const TreePtr& bound, const Token& at);

  void assign(const TreePtr& target, const std::string& sign, const TreePtr& value, Nodes& into);
  void conditional(Cursor& cursor, Nodes& into, const std::vector<ir::Constraint>& where,
                   const std::string& when);
  std::string next_label();
};

}  // namespace polyte::frontend::c
