#include "schedule/script/primitives/inversion.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "support/checked.h"

namespace polyte::schedule {

namespace {

using ir::Affine;

Affine atom_value(const ir::Atom& atom) {
  return atom.div ? ir::floor_div(atom.div->numerator, atom.div->denominator)
                  : Affine::symbol(atom.symbol);
}

// loop values - known parts = unknown part, row by row; rows are combined with integer factors.
struct Equation {
  Affine known;                       // over loops
  std::vector<std::int64_t> factors;  // one per atom of the unknowns
};

// Constraints that say e == 0. With one division, whose coefficient c divides all of e, that is
// floor(n / d) == -rest, which needs no equality: 0 <= n + rest * d < d.
std::vector<ir::Constraint> vanishes(const Affine& e) {
  if (e == Affine(0)) return {};
  const ir::Term* division = nullptr;
  for (const ir::Term& term : e.terms()) {
    if (!term.atom.div) continue;
    if (division) return {ir::equal(e, 0)};
    division = &term;
  }
  if (!division) return {ir::equal(e, 0)};
  const std::int64_t c = division->coefficient;
  const bool divides =
      e.constant() % c == 0 &&
      std::ranges::all_of(e.terms(), [&](const ir::Term& t) { return t.coefficient % c == 0; });
  if (!divides) return {ir::equal(e, 0)};
  Affine rest = e.constant() / c;
  for (const ir::Term& term : e.terms())
    if (&term != division) rest = rest + atom_value(term.atom) * (term.coefficient / c);
  const std::int64_t d = division->atom.div->denominator;
  const Affine remainder = division->atom.div->numerator + rest * d;  // floor(n / d) == -rest
  return {ir::at_least(remainder, 0), ir::less_than(remainder, d)};
}

// Unknowns and loops may have the same names (i = i + 2), so that unknowns are marked, ?i,
// while they are open. An atom is an unknown or a division that has one in it; the equations
// are linear in atoms:
//
//   w = 4*?i + (?i // 8)     atoms ?i, ?i // 8; factors 4, 1
class Solver {
 public:
  Solver(const std::vector<LoopRow>& equations, const std::vector<std::string>& unknowns,
         const ir::Ranges& ranges)
      : equations_(equations) {
    for (const std::string& name : unknowns) {
      marked_[name] = Affine::symbol(mark(name));
      open_.push_back(mark(name));
      const auto range = ranges.find(name);
      if (range != ranges.end()) ranges_[mark(name)] = range->second;
    }
  }

  // Repeats three ways of reading off an unknown: a row with one unknown left; a mixed-radix
  // number's leading digit; an unknown that has one value only. What is solved is put into the
  // equations, which may free others.
  bool run() {
    while (!is_done()) {
      gather();
      reduce();
      if (!read_single() && !read_digit() && !read_constant()) return false;
    }
    return true;
  }

  Inversion result() const {
    Inversion inversion;
    for (const auto& [name, value] : marked_)
      inversion.values[name] = solved_.at(*value.as_symbol());
    for (const LoopRow& e : equations_) {
      const Affine residual = ir::substitute(e.value, inversion.values) - Affine::symbol(e.loop);
      // With the solution put in, an equation says what its loop has to satisfy: c = 3*j gives
      // c - 3*(c//3) == 0.
      for (const ir::Constraint& c : vanishes(residual))
        if (std::ranges::find(inversion.implied, c) == inversion.implied.end())
          inversion.implied.push_back(c);
    }
    return inversion;
  }

 private:
  const std::vector<LoopRow>& equations_;
  ir::Bindings marked_;            // unknown -> its marked symbol, which no loop has
  std::vector<std::string> open_;  // marked
  ir::Bindings solved_;            // marked -> over loops
  ir::Ranges ranges_;
  std::vector<ir::Atom> atoms_;
  std::vector<Equation> rows_;

  static std::string mark(const std::string& name) { return "?" + name; }
  bool is_done() const {
    return std::ranges::all_of(open_, [&](const std::string& u) { return solved_.count(u) > 0; });
  }

  bool is_open(const ir::Atom& atom) const {
    const Affine value = atom_value(atom);
    return std::ranges::any_of(open_, [&](const std::string& u) { return value.uses(u); });
  }

  std::size_t column(const ir::Atom& atom) {
    const auto found = std::ranges::find(atoms_, atom);
    if (found != atoms_.end()) return static_cast<std::size_t>(found - atoms_.begin());
    atoms_.push_back(atom);
    return atoms_.size() - 1;
  }

  // The equations with what is solved put in.
  void gather() {
    atoms_.clear();
    rows_.clear();
    for (const LoopRow& e : equations_) {
      const Affine value = ir::substitute(ir::substitute(e.value, marked_), solved_);
      Equation row = {Affine::symbol(e.loop) - value.constant(), {}};
      for (const ir::Term& term : value.terms()) {
        if (!is_open(term.atom)) {
          row.known = row.known - atom_value(term.atom) * term.coefficient;
          continue;
        }
        const std::size_t at = column(term.atom);
        row.factors.resize(std::max(row.factors.size(), at + 1), 0);
        row.factors[at] = term.coefficient;
      }
      rows_.push_back(std::move(row));
    }
    for (Equation& row : rows_) row.factors.resize(atoms_.size(), 0);
  }

  // Gauss-Jordan elimination in integers: rows are combined by cross-multiplication instead of
  // division, and the smallest pivot keeps the numbers small.
  void reduce() {
    std::size_t rank = 0;
    for (std::size_t c = 0; c < atoms_.size() && rank < rows_.size(); ++c) {
      std::size_t pivot = rows_.size();
      for (std::size_t r = rank; r < rows_.size(); ++r) {
        const std::int64_t f = std::abs(rows_[r].factors[c]);
        if (f != 0 && (pivot == rows_.size() || f < std::abs(rows_[pivot].factors[c]))) pivot = r;
      }
      if (pivot == rows_.size()) continue;
      std::swap(rows_[rank], rows_[pivot]);
      for (std::size_t r = 0; r < rows_.size(); ++r)
        if (r != rank) clear(rows_[r], rows_[rank], c);
      ++rank;
    }
  }

  static void clear(Equation& row, const Equation& pivot, std::size_t c) {
    if (row.factors[c] == 0) return;
    const std::int64_t g = std::gcd(row.factors[c], pivot.factors[c]);
    const std::int64_t a = pivot.factors[c] / g, b = row.factors[c] / g;
    for (std::size_t i = 0; i < row.factors.size(); ++i)
      row.factors[i] =
          checked_sub(checked_mul(row.factors[i], a), checked_mul(pivot.factors[i], b));
    row.known = row.known * a - pivot.known * b;
  }

  // The unknown u of factor * u + rest = known by a floor division. `offset`: the least value of
  // the rest, or the greatest where the factor is negative.
  void solve(const std::string& unknown, const Equation& row, std::int64_t factor,
             const Affine& offset) {
    const Affine value = factor > 0 ? row.known - offset : offset - row.known;
    solved_[unknown] = ir::floor_div(value, std::abs(factor));
  }

  // Rows that have one unknown left give it.
  bool read_single() {
    bool progress = false;
    for (const Equation& row : rows_) {
      const auto nonzero = [](std::int64_t f) { return f != 0; };
      if (std::ranges::count_if(row.factors, nonzero) != 1) continue;
      const auto at = static_cast<std::size_t>(std::ranges::find_if(row.factors, nonzero) -
                                               row.factors.begin());
      if (atoms_[at].div || solved_.count(atoms_[at].symbol) > 0) continue;
      solve(atoms_[at].symbol, row, row.factors[at], 0);
      progress = true;
    }
    return progress;
  }

  // In f * u + rest, with the rest in an interval shorter than |f|, u is the leading digit: row 16
  // * t + i with i in 0..16 gives t = row // 16, and i is then the one unknown of its row.
  bool read_digit() {
    for (const Equation& row : rows_) {
      for (std::size_t at = 0; at < atoms_.size(); ++at) {
        const std::int64_t f = row.factors[at];
        if (f == 0 || atoms_[at].div) continue;
        Affine rest = 0;
        for (std::size_t i = 0; i < atoms_.size(); ++i)
          if (i != at) rest = rest + atom_value(atoms_[i]) * row.factors[i];
        if (rest.uses(atoms_[at].symbol)) continue;
        const ir::Interval range = ir::range_of(f > 0 ? rest : -rest, ranges_);
        if (!range.min || !range.max || *range.max - *range.min >= std::abs(f)) continue;
        solve(atoms_[at].symbol, row, f, f > 0 ? Affine(*range.min) : Affine(-*range.min));
        return true;
      }
    }
    return false;
  }

  // What can take one value only needs no equation.
  bool read_constant() {
    for (const std::string& name : open_) {
      const ir::Interval range = ranges_[name];
      if (solved_.count(name) > 0 || !range.min || range.min != range.max) continue;
      solved_[name] = *range.min;
      return true;
    }
    return false;
  }
};

}  // namespace

std::optional<Inversion> invert(const std::vector<LoopRow>& equations,
                                const std::vector<std::string>& unknowns,
                                const ir::Ranges& ranges) {
  Solver solver(equations, unknowns, ranges);
  if (!solver.run()) return std::nullopt;
  return solver.result();
}

}  // namespace polyte::schedule
