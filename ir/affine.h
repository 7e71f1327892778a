// Quasi-affine integer expressions: constant + sum of coefficient * atom, an atom being a symbol
// (an iterator, a loop variable or a parameter) or a floor division of such an expression by
// a positive constant.
// mod is e - d * floor(e / d). Every value is kept in normal form, so that == is
// structural equality:
//   atoms sorted and distinct, coefficients non-zero, multiples of the divisor pulled out of
//   floor(e / d), common factors of e and d cancelled,
//   floor(floor(e / a) / b) = floor(e / (a * b)).
// Arithmetic is checked; overflow throws UserError(ResourceLimit).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace polyte::ir {

class Affine;

struct FloorDiv;  // defined below: numerator and denominator

// A symbol by name, or (div not null) a floor division.
struct Atom {
  std::string symbol;
  std::shared_ptr<const FloorDiv> div;
};
bool operator==(const Atom& a, const Atom& b);
bool operator<(const Atom& a, const Atom& b);  // symbols first, by name; then divisions, by content

struct Term {
  Atom atom;
  std::int64_t coefficient = 0;
};

class Affine {
 public:
  Affine() = default;                                     // 0
  Affine(std::int64_t constant) : constant_(constant) {}  // NOLINT: implicit by design
  static Affine symbol(std::string name);

  std::int64_t constant() const { return constant_; }
  const std::vector<Term>& terms() const { return terms_; }
  bool is_constant() const { return terms_.empty(); }
  std::optional<std::string> as_symbol() const;  // the name, where the value is just that symbol
  // Of the plain symbol; inside divisions not counted.
  std::int64_t coefficient(const std::string& symbol) const;
  bool uses(const std::string& symbol) const;  // also inside divisions
  bool has_division() const;
  void collect_symbols(std::set<std::string>& into) const;

  friend Affine operator+(const Affine& a, const Affine& b);
  friend Affine operator-(const Affine& a, const Affine& b);
  friend Affine operator*(const Affine& a, std::int64_t factor);
  friend bool operator==(const Affine& a, const Affine& b);
  // A total order for containers, not by value.
  friend bool operator<(const Affine& a, const Affine& b);

 private:
  std::int64_t constant_ = 0;
  std::vector<Term> terms_;
  void add_term(const Atom& atom, std::int64_t coefficient);
  friend Affine floor_div(const Affine& e, std::int64_t d);
};

struct FloorDiv {
  Affine numerator;
  std::int64_t denominator = 1;  // > 1
};

Affine operator-(const Affine& a);
inline bool operator!=(const Affine& a, const Affine& b) { return !(a == b); }
// Rounded down, below zero as well: -1 // 4 is -1, and -1 % 4 is 3. C's / and % round towards zero.
Affine floor_div(const Affine& e, std::int64_t d);  // d > 0
Affine mod(const Affine& e, std::int64_t d);        // d > 0, result in [0, d)

using Bindings = std::map<std::string, Affine>;
Affine substitute(const Affine& e, const Bindings& bindings);  // simultaneous; unbound symbols stay

using Values = std::map<std::string, std::int64_t>;
// Value at a point; an unbound symbol is an InternalError.
std::int64_t evaluate(const Affine& e, const Values& values);
std::int64_t evaluate(const Affine& e,
                      const std::function<std::int64_t(const std::string&)>& value_of);

// A closed interval; a missing bound is unbounded.
struct Interval {
  std::optional<std::int64_t> min, max;
};
using Ranges = std::map<std::string, Interval>;
Interval range_of(const Affine& e, const Ranges& ranges);  // sound, not always tight

// expr >= 0, or expr == 0.
struct Constraint {
  Affine expr;
  bool equality = false;
};
bool operator==(const Constraint& a, const Constraint& b);
bool operator<(const Constraint& a, const Constraint& b);
Constraint at_least(const Affine& a, const Affine& b);   // a >= b
Constraint less_than(const Affine& a, const Affine& b);  // a < b
Constraint equal(const Affine& a, const Affine& b);      // a == b
Constraint substitute(const Constraint& c, const Bindings& bindings);
bool holds(const Constraint& c, const Values& values);
enum class Truth { False, True, Unknown };
Truth truth_of(const Constraint& c, const Ranges& ranges);  // by interval arithmetic

// "2*i + j//4 - 1"; j % 4 prints as such where the pair is whole.
std::string to_string(const Affine& e);
std::string to_string(const Constraint& c);  // "i - 1 >= 0" as "i >= 1" where one side is a symbol

}  // namespace polyte::ir
