#include "ir/verify.h"

#include <algorithm>

#include "ir/affine_system.h"
#include "ir/domain.h"
#include "ir/expr_text.h"
#include "ir/lexer.h"
#include "support/error.h"
#include "support/is_among.h"

namespace polyte::ir {
namespace {

using Names = std::set<std::string>;

constexpr double kFarthest = 0x1p47;  // elements: no memory has more

class Verifier {
 public:
  explicit Verifier(const Program& program) : program_(program) {}

  std::vector<Problem> run() {
    check_names();
    for (const Buffer& b : program_.buffers) check_buffer(b);
    for (const Statement& s : program_.statements) {
      try {
        check_statement(s);
      } catch (const UserError& error) {  // an overflow
        report(error.what());
      }
    }
    // The order has to name the statements as they stand: 0, 1, 2 ..
    std::size_t next = 0;
    check_order(program_.order, {}, next);
    if (next != program_.statements.size()) report("", "the order does not name every statement");
    check_flow();
    return std::move(problems_);
  }

 private:
  const Program& program_;
  std::vector<Problem> problems_;
  std::string subject_;
  Ranges ranges_;  // of the statement's iterators, as far as numbers bound them

  void report(const std::string& subject, std::string message) {
    problems_.push_back({subject, std::move(message)});
  }
  void report(std::string message) { report(subject_, std::move(message)); }

  // What the text could not say.
  void check_name(const std::string& subject, const std::string& name) {
    if (!text::is_name(name))
      report(subject, "'" + name + "' is no name that Program text could hold");
  }

  // Iterators are checked with their statement. Statements have names of their own kind: a
  // statement may be called like the buffer that it writes, and usually is.
  void check_names() {
    Names seen;
    check_name("", program_.name);
    for (const std::string& p : program_.params) check_name("", p);
    for (const Buffer& b : program_.buffers) check_name("buffer '" + b.name + "'", b.name);
    for (const Statement& s : program_.statements) check_name("statement '" + s.name + "'", s.name);
    const auto check_new = [&](const std::string& subject, const std::string& name,
                               const std::string& message) {
      if (!seen.insert(name).second) report(subject, message);
    };
    for (const std::string& p : program_.params)
      check_new("", p, "parameter " + p + " is declared twice");
    for (const Buffer& b : program_.buffers)
      check_new("buffer '" + b.name + "'", b.name, "the name " + b.name + " is taken already");
    Names statements;
    for (const Statement& s : program_.statements) {
      if (!statements.insert(s.name).second)
        report("statement '" + s.name + "'",
               "a statement of this name exists already: give it a label");
    }
    check_symbols("", "the context", program_.context, {});
  }

  void check_symbols(const std::string& subject, const std::string& where, const Affine& e,
                     const std::vector<std::string>& iterators) {
    Names symbols;
    e.collect_symbols(symbols);
    for (const std::string& symbol : symbols) {
      if (!is_among(symbol, iterators) && !is_among(symbol, program_.params))
        report(subject, where + " uses " + symbol + ", which is no " +
                            (iterators.empty() ? "" : "iterator or ") + "parameter");
    }
  }

  void check_symbols(const std::string& subject, const std::string& where,
                     const std::vector<Constraint>& constraints,
                     const std::vector<std::string>& iterators) {
    for (const Constraint& c : constraints) check_symbols(subject, where, c.expr, iterators);
  }

  void check_buffer(const Buffer& b) {
    const std::string subject = "buffer '" + b.name + "'";
    for (const Affine& extent : b.shape) {
      check_symbols(subject, "the shape", extent, {});
      if (extent.is_constant() && extent.constant() < 0)
        report(subject, "the extent " + to_string(extent) + " is negative");
    }
  }

  // --- statements --------------------------------------------------------------------------------

  void check_statement(const Statement& s) {
    subject_ = "statement '" + s.name + "'";
    // With unbound or unbounded iterators the checks below would only repeat that.
    if (!check_iterators(s)) return;
    const DomainFacts facts(s.iterators, s.domain, program_.params, program_.context);
    ranges_.clear();
    std::vector<Constraint> known = s.domain;
    known.insert(known.end(), program_.context.begin(), program_.context.end());
    tighten(ranges_, system_of(known));
    check_writes(s, facts);
    for (const Expr& value : s.values) check_expr(s, value, facts, s.domain);
    if (!s.guard) return;
    if (s.guard->type != DType::Bool)
      report("the guard is " + name_of(s.guard->type) + ", expected bool");
    check_expr(s, s.guard, facts, s.domain);
  }

  // Whether it leaves 63 bits, where numbers bound its symbols. Interval arithmetic drops a bound
  // that overflows, so that an expression without bounds over symbols that all have some has
  // overflowed.
  bool overflows(const Affine& e) {
    Names symbols;
    e.collect_symbols(symbols);
    const auto is_bounded = [](const Interval& range) { return range.min && range.max; };
    return !is_bounded(range_of(e, ranges_)) &&
           std::ranges::all_of(
               symbols, [&](const std::string& symbol) { return is_bounded(ranges_[symbol]); });
  }

  // No distance in memory, which the subscript's terms are taken for one by one, overflows.
  void check_distance(const Buffer& b, std::size_t dimension, const Affine& subscript) {
    // An open extent counts as 1: it is checked again when sizes are bound.
    const auto extent = [&](std::size_t d) {
      return b.shape[d].is_constant() ? static_cast<double>(b.shape[d].constant()) : 1;
    };
    // Row-major: a step in dimension d moves by the product of the extents after it. In floating
    // point, where a product of extents cannot overflow.
    double step = 1;
    for (std::size_t d = dimension + 1; d < b.shape.size(); ++d) step *= extent(d);
    const double farthest = std::max(kFarthest, 4 * step * extent(dimension));
    const auto is_far = [&](std::int64_t steps) {
      return std::abs(static_cast<double>(steps)) * step > farthest;
    };
    const Interval range = range_of(subscript, ranges_);
    if (overflows(subscript) || is_far(range.min.value_or(0)) || is_far(range.max.value_or(0)) ||
        is_far(subscript.constant()) ||
        std::ranges::any_of(subscript.terms(), is_far, &Term::coefficient))
      report("a subscript of " + b.name + ", " + to_string(subscript) +
             ", goes farther than 2^47 elements");
  }

  // Enumeration needs a lower and an upper bound of every iterator, over those before it.
  bool check_iterators(const Statement& s) {
    const std::size_t before = problems_.size();
    Names seen;
    for (const std::string& it : s.iterators) {
      check_name(subject_, it);
      if (!seen.insert(it).second) report("iterator " + it + " occurs twice");
      if (is_among(it, program_.params)) report("iterator " + it + " has the name of a parameter");
      if (program_.find_buffer(it)) report("iterator " + it + " has the name of a buffer");
    }
    for (const std::string& it : s.reductions)
      if (!is_among(it, s.iterators)) report("reduction " + it + " is no iterator");
    check_symbols(subject_, "the domain", s.domain, s.iterators);
    if (problems_.size() != before) return false;
    const DomainBounds bounds = bounds_of(s.domain, s.iterators);
    for (std::size_t i = 0; i < s.iterators.size(); ++i) {
      if (bounds.of[i].lower.empty()) report("iterator " + s.iterators[i] + " has no lower bound");
      if (bounds.of[i].upper.empty()) report("iterator " + s.iterators[i] + " has no upper bound");
    }
    return problems_.size() == before;
  }

  void check_writes(const Statement& s, const DomainFacts& facts) {
    const bool pair = s.combiner == Combiner::ArgMin || s.combiner == Combiner::ArgMax;
    if (s.writes.size() != s.values.size()) {
      report("it writes " + std::to_string(s.writes.size()) + " elements but computes " +
             std::to_string(s.values.size()) + " values");
      return;
    }
    if (pair ? s.writes.size() != 2 : s.combiner != Combiner::None && s.writes.size() != 1)
      report(to_string(s.combiner) + " of " + std::to_string(s.writes.size()) +
             " writes, expected " + (pair ? "2" : "1"));
    for (std::size_t i = 0; i < s.writes.size(); ++i)
      check_write(s, s.writes[i], s.values[i], facts);
  }

  void check_write(const Statement& s, const Access& write, const Expr& value,
                   const DomainFacts& facts) {
    const Buffer* b = program_.find_buffer(write.buffer);
    if (!b) return report("it writes " + write.buffer + ", which is not declared");
    if (b->role == Role::In || b->role == Role::Const)
      report("it writes " + b->name + ", which is declared '" + to_string(b->role) + "'");
    if (value->type != b->dtype)
      report("the value is " + name_of(value->type) + ", but " + b->name + " is " +
             name_of(b->dtype));
    check_combiner(s.combiner, *b);
    check_indices(s, *b, write.indices, facts, s.domain);
  }

  void check_combiner(Combiner combiner, const Buffer& b) {
    const bool logical = combiner == Combiner::And || combiner == Combiner::Or;
    const bool arithmetic = combiner == Combiner::Sum || combiner == Combiner::Product;
    if ((logical && is_float(b.dtype)) || (arithmetic && b.dtype == DType::Bool))
      report(to_string(combiner) + " of " + name_of(b.dtype) + " is not defined");
  }

  void check_expr(const Statement& s, const Expr& e, const DomainFacts& facts,
                  const std::vector<Constraint>& domain) {
    for_each_node(e, [&](const ExprNode& n) {
      if (n.lanes != 1)
        report("an expression has " + std::to_string(n.lanes) + " lanes, expected 1");
      if (const auto* value = std::get_if<IndexValue>(&n.op)) {
        check_symbols(subject_, "an index value", value->value, s.iterators);
        if (overflows(value->value))
          report("an index value, " + to_string(value->value) + ", does not fit in 63 bits");
      }
      if (const auto* load = std::get_if<Load>(&n.op)) check_load(s, n.type, *load, facts, domain);
    });
  }

  void check_load(const Statement& s, DType type, const Load& load, const DomainFacts& facts,
                  const std::vector<Constraint>& domain) {
    const Buffer* b = program_.find_buffer(load.buffer);
    if (!b) return report("it reads " + load.buffer + ", which is not declared");
    if (type != b->dtype)
      report("it reads " + b->name + " as " + name_of(type) + ", but it is " + name_of(b->dtype));
    check_symbols(subject_, "a guard", load.guard, s.iterators);
    // Where its guard fails the element is not read, so what the guard says holds at the read as
    // well.
    std::vector<Constraint> guarded = domain;
    guarded.insert(guarded.end(), load.guard.begin(), load.guard.end());
    check_indices(s, *b, load.indices, facts, guarded);
  }

  // `domain` is the statement's, longer by the guard of the read if it has one: a guarded subscript
  // may leave the buffer.
  void check_indices(const Statement& s, const Buffer& b, const std::vector<Index>& indices,
                     const DomainFacts& facts, const std::vector<Constraint>& domain) {
    if (indices.size() != b.shape.size()) {
      return report(b.name + " has " + print_count(b.shape.size(), "dimension") + ", but " +
                    print_count(indices.size(), "subscript"));
    }
    const bool unguarded = domain.size() == s.domain.size();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      check_symbols(subject_, "a subscript of " + b.name, indices[i].affine, s.iterators);
      if (!indices[i].indirect) {
        if (unguarded) check_bounds(b, i, indices[i].affine, facts);
        check_distance(b, i, indices[i].affine);
      } else if (!is_integer(indices[i].indirect->type)) {
        report("a subscript of " + b.name + " is " + name_of(indices[i].indirect->type) +
               ", expected an integer");
      }
    }
  }

  // Reports only what is surely wrong. What is neither proved nor refuted is left to the
  // interpreter, and guarded reads may go outside by design.
  void check_bounds(const Buffer& b, std::size_t dimension, const Affine& subscript,
                    const DomainFacts& facts) {
    const std::string where = "subscript " + to_string(subscript) + " of " + b.name +
                              " (dimension " + std::to_string(dimension) + ")";
    const Affine &extent = b.shape[dimension], moved = subscript - subscript.constant();
    // i + 1: which range of i would do.
    const auto advice = [&](const char* word, const Affine& bound) {
      const auto iterator = moved.as_symbol();
      return iterator ? ": say 'for " + *iterator + " in ...' " + word + " " + to_string(bound)
                      : "";
    };
    if (facts.refutes(at_least(subscript, 0)))
      report(where + " goes below 0" + advice("from", -subscript.constant()));
    if (facts.refutes(less_than(subscript, extent)))
      report(where + " reaches beyond the extent " + to_string(extent) +
             advice("to", extent - subscript.constant()));
  }

  // --- order and flow ----------------------------------------------------------------------------

  void check_order(const std::vector<Item>& items, const std::vector<std::string>& regions,
                   std::size_t& next) {
    for (const Item& item : items) {
      if (const auto* index = std::get_if<std::size_t>(&item)) {
        check_place(*index, regions, next);
      } else {
        check_region(std::get<Region>(item), regions, next);
      }
    }
  }

  void check_place(std::size_t index, const std::vector<std::string>& regions, std::size_t& next) {
    if (index != next || index >= program_.statements.size())
      return report("", "the order is not the text order of the statements");
    const Statement& s = program_.statements[next++];
    const auto depth = static_cast<std::size_t>(s.region_depth);
    const bool agrees = depth == regions.size() && s.iterators.size() >= depth &&
                        std::equal(regions.begin(), regions.end(), s.iterators.begin());
    if (!agrees)
      report("statement '" + s.name + "'",
             "its first iterators are not those of the regions around it");
  }

  void check_region(const Region& r, std::vector<std::string> regions, std::size_t& next) {
    const std::string subject = "loop " + r.iterator;
    if (r.step != 1 && r.step != -1)
      report(subject, "the step is " + std::to_string(r.step) + ", expected 1 or -1");
    check_symbols(subject, "the range", r.begin, regions);
    check_symbols(subject, "the range", r.end, regions);
    if (r.body.empty()) report(subject, "the body is empty");
    regions.push_back(r.iterator);
    check_order(r.body, regions, next);
  }

  // A buffer is defined before it is used: by the caller, or by a statement before in the text or
  // in a region around both (the interpreter finds what depends on the iteration).
  void check_flow() {
    Names written;
    for (const Buffer& b : program_.buffers)
      if (b.role == Role::In || b.role == Role::Const || b.role == Role::InOut)
        written.insert(b.name);
    check_flow(program_.order, written);
    for (const Buffer& b : program_.buffers) {
      if (b.role == Role::Out && !written.count(b.name))
        report("buffer '" + b.name + "'", "the output is never written");
    }
  }

  // In a region, what any of its statements assigns counts as written from its beginning on: an
  // earlier iteration may have done it. That accepts too much, never too little.
  void check_flow(const std::vector<Item>& items, Names& written) {
    for (const Item& item : items) {
      if (const auto* region = std::get_if<Region>(&item)) {
        Names inside = written;
        add_writes(region->body, inside);
        check_flow(region->body, inside);
        written = inside;
      } else if (const std::size_t index = std::get<std::size_t>(item);
                 index < program_.statements.size()) {
        check_reads(program_.statements[index], written);
        for (const Access& write : program_.statements[index].writes) written.insert(write.buffer);
      }
    }
  }

  void add_writes(const std::vector<Item>& items, Names& written) const {
    for (const Item& item : items) {
      if (const auto* region = std::get_if<Region>(&item)) {
        add_writes(region->body, written);
      } else if (const std::size_t index = std::get<std::size_t>(item);
                 index < program_.statements.size()) {
        const Statement& s = program_.statements[index];
        if (s.combiner != Combiner::None) continue;  // an update needs an earlier definition
        for (const Access& write : s.writes) written.insert(write.buffer);
      }
    }
  }

  void check_reads(const Statement& s, const Names& written) {
    Names reported;
    const auto check = [&](const std::string& buffer) {
      if (written.count(buffer) || !program_.find_buffer(buffer) || !reported.insert(buffer).second)
        return;
      // A recurrence: the statement's own earlier instances may have written it.
      const bool own =
          s.combiner == Combiner::None && s.writes.size() == 1 && s.writes[0].buffer == buffer;
      if (!own)
        report("statement '" + s.name + "'", "it reads " + buffer + " before anything writes it");
    };
    const auto check_all = [&](const Expr& e) {
      for (const Load* load : e ? loads_of(e) : std::vector<const Load*>{}) check(load->buffer);
    };
    for (const Access& write : s.writes) {
      if (s.combiner != Combiner::None) check(write.buffer);
      for (const Index& index : write.indices) check_all(index.indirect);
    }
    for (const Expr& value : s.values) check_all(value);
    check_all(s.guard);
  }
};

}  // namespace

std::vector<Problem> find_problems(const Program& program) { return Verifier(program).run(); }

std::vector<std::string> verify(const Program& program) {
  std::vector<std::string> result;
  for (const Problem& p : find_problems(program))
    result.push_back(p.subject.empty() ? p.message : p.subject + ": " + p.message);
  return result;
}

}  // namespace polyte::ir
