#include "ir/affine.h"

#include <algorithm>
#include <numeric>

#include "ir/affine_terms.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::ir {

bool operator==(const Atom& a, const Atom& b) {
  if (a.div == b.div) return a.symbol == b.symbol;
  return a.div && b.div && a.div->denominator == b.div->denominator &&
         a.div->numerator == b.div->numerator;
}

// Divisions are compared by content, never by the address of the shared node: the order of terms
// must be the same in every run, and two equal divisions that were built apart are one atom.
bool operator<(const Atom& a, const Atom& b) {
  if (a.div == b.div) return a.symbol < b.symbol;
  if (!a.div || !b.div) return !a.div;
  if (!(a.div->numerator == b.div->numerator)) return a.div->numerator < b.div->numerator;
  return a.div->denominator < b.div->denominator;
}

Affine Affine::symbol(std::string name) {
  Affine result;
  result.terms_.push_back({{std::move(name), nullptr}, 1});
  return result;
}

std::optional<std::string> Affine::as_symbol() const {
  if (constant_ != 0 || terms_.size() != 1 || terms_[0].coefficient != 1 || terms_[0].atom.div)
    return std::nullopt;
  return terms_[0].atom.symbol;
}

std::int64_t Affine::coefficient(const std::string& symbol) const {
  for (const Term& term : terms_)
    if (!term.atom.div && term.atom.symbol == symbol) return term.coefficient;
  return 0;
}

bool Affine::uses(const std::string& symbol) const {
  return std::ranges::any_of(terms_, [&](const Term& term) {
    return term.atom.div ? term.atom.div->numerator.uses(symbol) : term.atom.symbol == symbol;
  });
}

bool Affine::has_division() const {
  return std::ranges::any_of(terms_, [](const Term& term) { return term.atom.div != nullptr; });
}

void Affine::collect_symbols(std::set<std::string>& into) const {
  for (const Term& term : terms_) {
    if (term.atom.div) {
      term.atom.div->numerator.collect_symbols(into);
    } else {
      into.insert(term.atom.symbol);
    }
  }
}

void Affine::add_term(const Atom& atom, std::int64_t coefficient) {
  if (coefficient == 0) return;
  const auto at = std::ranges::lower_bound(terms_, atom, std::less<>(), &Term::atom);
  if (at == terms_.end() || !(at->atom == atom)) {
    terms_.insert(at, {atom, coefficient});
    return;
  }
  at->coefficient = checked_add(at->coefficient, coefficient);
  if (at->coefficient == 0) terms_.erase(at);
}

Affine of_term(const Term& term) {
  const Atom& atom = term.atom;
  return (atom.div ? floor_div(atom.div->numerator, atom.div->denominator)
                   : Affine::symbol(atom.symbol)) *
         term.coefficient;
}

bool hides(const Affine& e, const std::string& symbol) {
  return std::ranges::any_of(e.terms(), [&](const Term& term) {
    return term.atom.div && term.atom.div->numerator.uses(symbol);
  });
}

Affine without_common_factor(const Affine& e) {
  std::int64_t g = 0;
  for (const Term& term : e.terms()) g = std::gcd(g, term.coefficient);
  return g > 1 ? floor_div(e, g) : e;
}

Affine operator+(const Affine& a, const Affine& b) {
  Affine result = a;
  result.constant_ = checked_add(result.constant_, b.constant_);
  for (const Term& term : b.terms_) result.add_term(term.atom, term.coefficient);
  return result;
}

Affine operator-(const Affine& a, const Affine& b) { return a + b * -1; }

Affine operator-(const Affine& a) { return a * -1; }

Affine operator*(const Affine& a, std::int64_t factor) {
  if (factor == 0) return {};
  Affine result = a;
  result.constant_ = checked_mul(result.constant_, factor);
  for (Term& term : result.terms_) term.coefficient = checked_mul(term.coefficient, factor);
  return result;
}

bool operator==(const Affine& a, const Affine& b) {
  return a.constant_ == b.constant_ &&
         std::ranges::equal(a.terms_, b.terms_, [](const Term& s, const Term& t) {
           return s.coefficient == t.coefficient && s.atom == t.atom;
         });
}

bool operator<(const Affine& a, const Affine& b) {
  if (a.constant_ != b.constant_) return a.constant_ < b.constant_;
  return std::ranges::lexicographical_compare(a.terms_, b.terms_, [](const Term& s, const Term& t) {
    if (!(s.atom == t.atom)) return s.atom < t.atom;
    return s.coefficient < t.coefficient;
  });
}

namespace {

// e = factor * (numerator % denominator) + rest. The remainder is spelt out in e as
//
//   factor * numerator - factor * denominator * floor(numerator / denominator)
//
// and is recognised only where every term of `factor * numerator` occurs in e with the same sign
// and at least that coefficient. So `rest` has no larger coefficients than e, and taking remainders
// out one after the other comes to an end.
struct Remainder {
  std::int64_t factor;
  const FloorDiv* div;
  Affine rest;
};

// Constants are not compared: what the numerator's constant leaves over goes to `rest`.
bool contains_terms(const Affine& e, const Affine& part, std::int64_t factor) {
  return std::ranges::all_of(part.terms(), [&](const Term& wanted) {
    const auto at =
        std::ranges::find_if(e.terms(), [&](const Term& t) { return t.atom == wanted.atom; });
    if (at == e.terms().end()) return false;
    std::int64_t need = 0;
    if (__builtin_mul_overflow(wanted.coefficient, factor, &need)) return false;
    return need > 0 ? at->coefficient >= need : at->coefficient <= need;
  });
}

std::optional<Remainder> find_remainder(const Affine& e) {
  for (const Term& term : e.terms()) {
    if (!term.atom.div || term.coefficient % term.atom.div->denominator != 0) continue;
    const std::int64_t factor = -(term.coefficient / term.atom.div->denominator);
    if (!contains_terms(e, term.atom.div->numerator, factor)) continue;
    return Remainder{factor, term.atom.div.get(),
                     e - term.atom.div->numerator * factor - of_term(term)};
  }
  return std::nullopt;
}

}  // namespace

Affine substitute(const Affine& e, const Bindings& bindings) {
  Affine result = e.constant();
  for (const Term& term : e.terms()) {
    if (term.atom.div) {
      result = result + floor_div(substitute(term.atom.div->numerator, bindings),
                                  term.atom.div->denominator) *
                            term.coefficient;
      continue;
    }
    const auto bound = bindings.find(term.atom.symbol);
    result = result + (bound == bindings.end() ? Affine::symbol(term.atom.symbol) : bound->second) *
                          term.coefficient;
  }
  return result;
}

// Checked arithmetic throughout: a value that does not fit 64 bits is an error, never a wrong
// number.
std::int64_t evaluate(const Affine& e,
                      const std::function<std::int64_t(const std::string&)>& value_of) {
  std::int64_t result = e.constant();
  for (const Term& term : e.terms()) {
    const std::int64_t value = term.atom.div
                                   ? polyte::floor_div(evaluate(term.atom.div->numerator, value_of),
                                                       term.atom.div->denominator)
                                   : value_of(term.atom.symbol);
    result = checked_add(result, checked_mul(term.coefficient, value));
  }
  return result;
}

std::int64_t evaluate(const Affine& e, const Values& values) {
  return evaluate(e, [&](const std::string& symbol) {
    const auto at = values.find(symbol);
    POLYTE_CHECK(at != values.end(), "'" + symbol + "' has no value");
    return at->second;
  });
}

// --- intervals -----------------------------------------------------------------------------------

namespace {

// A bound that overflows becomes "no bound". That keeps every interval sound: it may only get
// wider.
using Bound = std::optional<std::int64_t>;

Bound add(const Bound& a, const Bound& b) {
  std::int64_t result = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &result)) return std::nullopt;
  return result;
}

Bound scale(const Bound& a, std::int64_t factor) {
  std::int64_t result = 0;
  if (!a || __builtin_mul_overflow(*a, factor, &result)) return std::nullopt;
  return result;
}

Interval add(const Interval& a, const Interval& b) {
  return {add(a.min, b.min), add(a.max, b.max)};
}

Interval scale(const Interval& a, std::int64_t factor) {
  if (factor >= 0) return {scale(a.min, factor), scale(a.max, factor)};
  return {scale(a.max, factor), scale(a.min, factor)};
}

Interval intersect(const Interval& a, const Interval& b) {
  Interval result = a;
  if (b.min && (!a.min || *b.min > *a.min)) result.min = b.min;
  if (b.max && (!a.max || *b.max < *a.max)) result.max = b.max;
  return result;
}

// floor(x / d) is monotone in x, so the ends of the numerator's interval give the ends of the
// quotient's.
Interval range_of(const Atom& atom, const Ranges& ranges) {
  if (atom.div) {
    Interval inner = range_of(atom.div->numerator, ranges);
    if (inner.min) inner.min = polyte::floor_div(*inner.min, atom.div->denominator);
    if (inner.max) inner.max = polyte::floor_div(*inner.max, atom.div->denominator);
    return inner;
  }
  const auto at = ranges.find(atom.symbol);
  return at == ranges.end() ? Interval{} : at->second;
}

// (x + c)//d - x//d is c//d or one more: two such terms of e, and what is left of it. Interval
// arithmetic alone takes the two quotients for independent; where x has no bounds it finds none for
// their difference either, although that is known to within 1.
struct DivisionPair {
  Interval range;
  Affine rest;
};

std::optional<DivisionPair> find_division_pair(const Affine& e) {
  for (const Term& up : e.terms()) {
    for (const Term& down : e.terms()) {
      if (!up.atom.div || !down.atom.div || up.coefficient <= 0 ||
          down.coefficient != -up.coefficient)
        continue;
      const FloorDiv &a = *up.atom.div, &b = *down.atom.div;
      const Affine apart = a.numerator - b.numerator;
      if (a.denominator != b.denominator || !apart.is_constant()) continue;
      const Interval steps{polyte::floor_div(apart.constant(), a.denominator),
                           polyte::ceil_div(apart.constant(), a.denominator)};
      const Affine pair =
          floor_div(a.numerator, a.denominator) - floor_div(b.numerator, b.denominator);
      return DivisionPair{scale(steps, up.coefficient), e - pair * up.coefficient};
    }
  }
  return std::nullopt;
}

// factor * (n//a) - factor * b * (n//(a*b)) is factor * ((n//a) % b): a digit in the middle of a
// number of several. `find_remainder` does not see it: floor division flattens (n//a)//b to
// n//(a*b), so the numerator n//a of the remainder is no longer written in e.
struct MiddleDigit {
  Interval range;
  Affine rest;
};

std::optional<MiddleDigit> find_middle_digit(const Affine& e) {
  for (const Term& high : e.terms()) {
    for (const Term& low : e.terms()) {
      if (!high.atom.div || !low.atom.div) continue;
      const FloorDiv &whole = *high.atom.div, &part = *low.atom.div;
      if (part.denominator >= whole.denominator || whole.denominator % part.denominator != 0)
        continue;
      const std::int64_t base = whole.denominator / part.denominator;
      if (high.coefficient % base != 0 || part.numerator != whole.numerator) continue;
      const std::int64_t factor = -(high.coefficient / base);
      if (factor > 0 ? low.coefficient < factor : low.coefficient > factor) continue;
      const Affine digit = floor_div(part.numerator, part.denominator) * factor + of_term(high);
      return MiddleDigit{scale(Interval{0, base - 1}, factor), e - digit};
    }
  }
  return std::nullopt;
}

}  // namespace

// Term by term first: sound, but blind to what terms have in common (i - i//4 * 4 would reach far
// beyond 3). Then each pattern that ties terms together gives an interval of its own, and the
// intersection of sound intervals is sound. A pair of divisions is looked for only where an end is
// missing.
Interval range_of(const Affine& e, const Ranges& ranges) {
  Interval result{e.constant(), e.constant()};
  for (const Term& term : e.terms())
    result = add(result, scale(range_of(term.atom, ranges), term.coefficient));
  if (!result.min || !result.max)
    if (const auto pair = find_division_pair(e))
      result = intersect(result, add(range_of(pair->rest, ranges), pair->range));
  if (const auto split = find_remainder(e)) {
    const Interval numerator = range_of(split->div->numerator, ranges);
    Interval remainder{0, split->div->denominator - 1};
    if (numerator.min && numerator.max && *numerator.min >= 0 &&
        *numerator.max < split->div->denominator)
      remainder = numerator;
    result = intersect(result, add(range_of(split->rest, ranges), scale(remainder, split->factor)));
  }
  if (const auto digit = find_middle_digit(e))
    result = intersect(result, add(range_of(digit->rest, ranges), digit->range));
  return result;
}

// --- constraints ---------------------------------------------------------------------------------

namespace {

// e == 0 and -e == 0 say the same. The first term is kept positive, so that equal constraints
// compare equal and duplicates are found.
Constraint oriented(Constraint c) {
  if (c.equality && !c.expr.terms().empty() && c.expr.terms()[0].coefficient < 0) c.expr = -c.expr;
  return c;
}

}  // namespace

bool operator==(const Constraint& a, const Constraint& b) {
  return a.equality == b.equality && a.expr == b.expr;
}

bool operator<(const Constraint& a, const Constraint& b) {
  if (a.equality != b.equality) return a.equality < b.equality;
  return a.expr < b.expr;
}

Constraint at_least(const Affine& a, const Affine& b) { return {a - b, false}; }
// Over integers a < b is a + 1 <= b. Strict inequalities exist nowhere else.
Constraint less_than(const Affine& a, const Affine& b) { return {b - a - 1, false}; }
Constraint equal(const Affine& a, const Affine& b) { return oriented({a - b, true}); }

Constraint substitute(const Constraint& c, const Bindings& bindings) {
  return oriented({substitute(c.expr, bindings), c.equality});
}

bool holds(const Constraint& c, const Values& values) {
  const std::int64_t value = evaluate(c.expr, values);
  return c.equality ? value == 0 : value >= 0;
}

// Three-valued: an interval that is not tight turns True or False into Unknown, never into the
// other. An equality is True only where the interval is exactly [0, 0].
Truth truth_of(const Constraint& c, const Ranges& ranges) {
  const Interval range = range_of(c.expr, ranges);
  if (range.max && *range.max < 0) return Truth::False;
  if (!c.equality) return range.min && *range.min >= 0 ? Truth::True : Truth::Unknown;
  if (range.min && *range.min > 0) return Truth::False;
  return range.min && range.max && *range.min == 0 && *range.max == 0 ? Truth::True
                                                                      : Truth::Unknown;
}

// --- text ----------------------------------------------------------------------------------------

namespace {

// A summand with its sign: `text` is positive and binds at least as tightly as a product.
struct Summand {
  bool negative;
  std::string text;
};

// A numerator: `i//4` and `7//4`, but `(i + 1)//4` and `(2*i)//4`.
std::string in_brackets(const Affine& e) {
  const std::string text = to_string(e);
  return e.as_symbol() || (e.is_constant() && e.constant() >= 0) ? text : "(" + text + ")";
}

// -2 * (i//4) is shown as -2*(i//4); a factor of 1 or -1 leaves only the sign.
Summand scaled(std::int64_t factor, const std::string& text, bool product) {
  const bool negative = factor < 0;
  const std::string digits = std::to_string(factor).substr(negative ? 1 : 0);
  if (digits == "1") return {negative, text};
  return {negative, digits + "*" + (product ? "(" + text + ")" : text)};
}

// Remainders are taken out first: i - 4*(i//4) is shown as i % 4.
std::vector<Summand> summands(const Affine& e, std::int64_t& constant) {
  if (const auto split = find_remainder(e)) {
    std::vector<Summand> result = summands(split->rest, constant);
    const std::string text =
        in_brackets(split->div->numerator) + " % " + std::to_string(split->div->denominator);
    result.push_back(scaled(split->factor, text, true));
    return result;
  }
  constant = e.constant();
  std::vector<Summand> result;
  for (const Term& term : e.terms()) {
    const FloorDiv* div = term.atom.div.get();
    const std::string text =
        div ? in_brackets(div->numerator) + "//" + std::to_string(div->denominator)
            : term.atom.symbol;
    result.push_back(scaled(term.coefficient, text, div != nullptr));
  }
  return result;
}

bool starts_positive(const Affine& e) {
  return std::ranges::any_of(e.terms(), [](const Term& t) { return t.coefficient > 0; });
}

}  // namespace

std::string to_string(const Affine& e) {
  std::int64_t constant = 0;
  std::vector<Summand> parts, negative;  // positive ones first
  for (Summand& s : summands(e, constant)) (s.negative ? negative : parts).push_back(std::move(s));
  parts.insert(parts.end(), negative.begin(), negative.end());
  std::string digits = std::to_string(constant);
  const Summand last{constant < 0, constant < 0 ? digits.substr(1) : digits};
  if (parts.empty()) return digits;
  if (constant != 0)
    parts.insert(constant > 0 && parts[0].negative ? parts.begin() : parts.end(), last);
  std::string text = (parts[0].negative ? "-" : "") + parts[0].text;
  for (std::size_t i = 1; i < parts.size(); ++i)
    text += (parts[i].negative ? " - " : " + ") + parts[i].text;
  return text;
}

std::string to_string(const Constraint& c) {
  // left >= right, each side with positive coefficients only.
  Affine left, right;
  for (const Term& term : c.expr.terms()) {
    Affine& side = term.coefficient > 0 ? left : right;
    side = side + of_term(term);
  }
  right = -right;
  const Affine constant = c.expr.constant();
  if (c.equality && find_remainder(c.expr))
    return to_string(c.expr - constant) + " == " + to_string(-constant);
  const bool swap = right.as_symbol().has_value() || !starts_positive(left);
  if (c.equality) {
    return swap ? to_string(right) + " == " + to_string(left + constant)
                : to_string(left) + " == " + to_string(right - constant);
  }
  const bool strict = c.expr.constant() == -1 && starts_positive(left) && !right.is_constant();
  if (strict)
    return swap ? to_string(right) + " < " + to_string(left)
                : to_string(left) + " > " + to_string(right);
  return swap ? to_string(right) + " <= " + to_string(left + constant)
              : to_string(left) + " >= " + to_string(right - constant);
}

}  // namespace polyte::ir
