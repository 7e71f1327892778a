// The names of a C function around a scop: arrays and scalars, sizes, loop variables in scope; and
// what each is called in the Program, where some words are taken.
#pragma once

#include <optional>
#include <set>

#include "frontend/c/c_tree.h"
#include "ir/affine.h"
#include "support/dtype.h"

namespace polyte::frontend::c {

struct Variable {
  std::string name;  // of the Program
  DType type = DType::F64;
  std::vector<TreePtr> extents;
  bool is_scalar = true;
  bool of_interface = false;  // a parameter of the function, or a variable that other files see
  TreePtr literal;            // the number that it always is; null: none
  bool is_const = false;
  bool is_long_double = false;  // refused where it is used, whatever `type` is
  std::string constant;         // the expression of numbers and sizes that it always is
  Token at;
  bool read = false, written = false, read_first = false;
};

// The element type of words such as `const unsigned int`; nullopt: none, as of void. A Fault of
// `long double`.
std::optional<DType> type_of(const std::vector<Token>& words, DType real);

class Names {
 public:
  explicit Names(DType real) : real_(real) {}

  DType real() const { return real_; }
  void open_block() { blocks_.emplace_back(); }
  void close_block();
  Variable& declare(const std::string& name, Variable variable);
  Variable* find(const std::string& name);  // the innermost; null: none, or a loop variable

  // What a loop runs over, in C and in the Program; `value` is what C's variable is.
  std::string open_loop(const std::string& name);
  void set_loop(const std::string& name, const ir::Affine& value);
  std::optional<ir::Affine> loop_value(const std::string& name) const;
  // A size; also where C has `int n` that nothing writes. `_PB_N` is N: PolyBench/C writes its
  // bounds so.
  std::string size(const std::string& name);
  bool is_size(const std::string& name) const { return size_names_.count(name) > 0; }
  bool was_loop(const std::string& name) const { return loops_.count(name) > 0; }
  const std::vector<std::string>& sizes() const { return sizes_; }
  std::vector<Variable*> variables();  // in the order of their declarations
  std::string fresh(const std::string& name);

 private:
  struct Entry {
    std::size_t variable = 0;
    std::optional<ir::Affine> loop;
  };
  DType real_;
  std::vector<std::map<std::string, Entry>> blocks_ = std::vector<std::map<std::string, Entry>>(1);
  std::vector<std::unique_ptr<Variable>> variables_;
  std::vector<std::string> sizes_;
  std::map<std::string, std::string> size_names_;
  std::set<std::string> taken_, iterators_, loops_;

  const Entry* entry(const std::string& name) const;
};

// Reads declarations at a cursor before a type, up to `;`, `)` or what is no declaration; each with
// its initial value.
struct Declared {
  Variable* variable;
  TreePtr value;  // null: none
  Token at;
};
std::vector<Declared> read_declarations(Cursor& cursor, Names& names, bool of_interface);

// Of all tokens before a scop: what the function around it sees. Returns the function's name.
std::string read_surroundings(const std::vector<Token>& tokens, std::size_t scop, Names& names);

}  // namespace polyte::frontend::c
