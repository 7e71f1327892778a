#include "ir/statement_parser.h"

#include <algorithm>
#include <array>

#include "ir/expr_text.h"
#include "ir/statement_parts.h"
#include "support/is_among.h"

namespace polyte::ir::text {
namespace {

// `prod`, `all` and `any` are NumPy's names.
std::optional<Combiner> combiner_of(std::string_view name) {
  struct Spelling {
    std::string_view name;
    Combiner combiner;
  };
  constexpr std::array<Spelling, 11> kSpellings{{{"sum", Combiner::Sum},
                                                 {"product", Combiner::Product},
                                                 {"prod", Combiner::Product},
                                                 {"min", Combiner::Min},
                                                 {"max", Combiner::Max},
                                                 {"and", Combiner::And},
                                                 {"all", Combiner::And},
                                                 {"or", Combiner::Or},
                                                 {"any", Combiner::Or},
                                                 {"argmin", Combiner::ArgMin},
                                                 {"argmax", Combiner::ArgMax}}};
  for (const Spelling& s : kSpellings)
    if (s.name == name) return s.combiner;
  return std::nullopt;
}

bool is_pair(Combiner combiner) {
  return combiner == Combiner::ArgMin || combiner == Combiner::ArgMax;
}

// --- what is written -----------------------------------------------------------------------------

std::vector<TreePtr> parse_subscripts(Cursor& cursor) {
  std::vector<TreePtr> subscripts;
  cursor.expect("[");
  if (cursor.accept("]")) return subscripts;
  do subscripts.push_back(parse_sum(cursor));
  while (cursor.accept(","));
  cursor.expect("]");
  return subscripts;
}

WrittenAccess parse_access(Cursor& cursor) {
  WrittenAccess access{cursor.expect_name("a tensor to write"), {}};
  if (cursor.is("[")) access.subscripts = parse_subscripts(cursor);
  return access;
}

// x[i], (v[i], p[i]) or (v, p)[i].
std::vector<WrittenAccess> parse_writes(Cursor& cursor) {
  if (!cursor.accept("(")) return {parse_access(cursor)};
  std::vector<WrittenAccess> writes;
  do writes.push_back(parse_access(cursor));
  while (cursor.accept(","));
  cursor.expect(")");
  if (cursor.is("[")) {
    const std::vector<TreePtr> shared = parse_subscripts(cursor);
    for (WrittenAccess& write : writes) write.subscripts = shared;
  }
  return writes;
}

Combiner parse_update_sign(Cursor& cursor) {
  if (cursor.accept("=")) return Combiner::None;
  if (cursor.accept("+=")) return Combiner::Sum;
  // The sign is applied to the value: negative_of().
  if (cursor.accept("-=")) return Combiner::Sum;
  if (cursor.accept("*=")) return Combiner::Product;
  const auto combiner = combiner_of(cursor.peek().text);
  if (!combiner || !cursor.is("=", 1))
    cursor.fail_expected("'=', '+=', '-=', '*=', 'max=' or another update");
  cursor.next();
  cursor.next();
  return *combiner;
}

std::vector<WrittenRange> parse_ranges(Cursor& cursor) {
  std::vector<WrittenRange> ranges;
  do ranges.push_back(parse_range(cursor));
  while (cursor.accept(","));
  return ranges;
}

// `sum[k] x[k]` or an element of a tensor that is called `sum`: a tensor of that name wins,
// unless a range follows, `sum[k in 0..K]`, which no subscript can be.
bool starts_reduction(const Cursor& cursor,
                      const std::function<bool(const std::string&)>& is_tensor) {
  if (!combiner_of(cursor.peek().text) || !cursor.is("[", 1)) return false;
  return !is_tensor(cursor.peek().text) || cursor.is("in", 3);
}

// As many values as writes; of several the brackets are part of the form, `(v, p)[m] = (a, b)`.
std::vector<TreePtr> parse_values(Cursor& cursor, std::size_t count) {
  if (count == 1) return {parse_tree(cursor)};
  std::vector<TreePtr> values;
  cursor.expect("(");
  do values.push_back(parse_tree(cursor));
  while (cursor.accept(","));
  cursor.expect(")");
  if (values.size() != count)
    cursor.fail("got " + std::to_string(values.size()) + " values for " + std::to_string(count) +
                " tensors");
  return values;
}

// What `-=` adds. Of a product the sign goes to the first factor, which is the same number, and the
// product stays one for a fused multiply-add: c -= a * b is fma(-a, b, c), with one rounding.
TreePtr negative_of(const TreePtr& tree) {
  if (tree->kind != TreeKind::Infix || tree->text != "*") return negated(tree);
  Tree product = *tree;
  product.parts[0] = negative_of(tree->parts[0]);
  return std::make_shared<const Tree>(std::move(product));
}

// Each of the three at most once, in any order.
void parse_clauses(Cursor& cursor, WrittenStatement& s) {
  while (!cursor.at_end()) {
    if (s.ranges.empty() && cursor.accept("for")) {
      s.ranges = parse_ranges(cursor);
    } else if (s.where.empty() && cursor.accept("if")) {
      s.where = parse_conjunction(cursor);
    } else if (!s.guard && cursor.accept("when")) {
      s.guard = parse_tree(cursor);
    } else {
      cursor.fail_expected("'for', 'if', 'when' or the end of the statement");
    }
  }
}

}  // namespace

WrittenRange parse_range(Cursor& cursor) {
  WrittenRange range{cursor.expect_name("an iterator"), nullptr, nullptr};
  if (!cursor.accept("in")) return range;
  range.begin = parse_sum(cursor);
  cursor.expect("..");
  range.end = parse_sum(cursor);
  return range;
}

//   [LABEL ':'] WRITES SIGN [COMBINER '[' RANGES ']'] VALUES
//   {'for' RANGES | 'if' CONDITIONS | 'when' EXPR}
//
//   C[m, n] = sum[k] A[m, k] * B[k, n]  for m in 0..M
//   (v, p)[i] = argmax[j] (x[i, j], j)
//   y[i] max= x[i]  if i >= 1  when x[i] > 0
WrittenStatement parse_statement(Cursor& cursor,
                                 const std::function<bool(const std::string&)>& is_tensor) {
  WrittenStatement s;
  s.line = cursor.line();
  if (cursor.peek().kind == TokenKind::Name && cursor.is(":", 1)) {
    s.label = cursor.expect_name("a label");
    cursor.next();
  }
  s.writes = parse_writes(cursor);
  const bool subtracts = cursor.is("-=");
  s.combiner = parse_update_sign(cursor);
  s.in_place = s.combiner != Combiner::None;
  const auto is_known = [&](const std::string& name) {
    return is_tensor(name) || s.writes[0].buffer == name;
  };
  if (!s.in_place && starts_reduction(cursor, is_known)) {
    s.combiner = *combiner_of(cursor.next().text);
    cursor.expect("[");
    s.reductions = parse_ranges(cursor);
    cursor.expect("]");
  }
  if (s.in_place && starts_reduction(cursor, is_known))
    cursor.fail("'" + cursor.peek().text +
                "[...]' behind an update, which runs over all that the "
                "left side lacks: leave it out");
  if (is_pair(s.combiner) != (s.writes.size() == 2) &&
      (is_pair(s.combiner) || s.writes.size() > 2 || s.in_place || !s.reductions.empty()))
    cursor.fail("'" + to_string(s.combiner) + "' writes " +
                (is_pair(s.combiner) ? "two tensors, (value, position)" : "one tensor"));
  s.values = parse_values(cursor, s.writes.size());
  if (subtracts) s.values[0] = negative_of(s.values[0]);
  parse_clauses(cursor, s);
  return s;
}

// --- what it means -------------------------------------------------------------------------------

namespace {

// A subscript that is an iterator as it stands, or an iterator plus a positive number (`reach`),
// with its tensor and dimension: the extent there decides the range of the iterator.
struct DirectSubscript {
  std::string iterator, buffer;
  std::size_t dimension;
  bool is_written = false;
  std::int64_t reach = 0;
};

// c of `i + c`, c a positive number.
std::optional<std::int64_t> forward_reach(const Tree& t) {
  if (t.kind != TreeKind::Infix || t.text != "+" || t.parts[0]->kind != TreeKind::Name)
    return std::nullopt;
  if (t.parts[1]->kind != TreeKind::Integer || t.parts[1]->text.size() > 9) return std::nullopt;
  return std::stoll(t.parts[1]->text);
}

std::vector<DirectSubscript> direct_subscripts(const WrittenStatement& written) {
  std::vector<DirectSubscript> result;
  const auto add = [&](const std::string& buffer, const std::vector<TreePtr>& subscripts,
                       bool is_written) {
    for (std::size_t i = 0; i < subscripts.size(); ++i) {
      const Tree& t = *subscripts[i];
      if (t.kind == TreeKind::Name) result.push_back({t.text, buffer, i, is_written});
      if (const auto reach = forward_reach(t); reach && !is_written)
        result.push_back({t.parts[0]->text, buffer, i, false, *reach});
    }
  };
  const auto add_reads = [&](const TreePtr& tree) {
    for_each_tree(tree, [&](const Tree& t) {
      if (t.kind == TreeKind::Element && !t.otherwise) add(t.text, t.parts, false);
    });
  };
  for (const WrittenAccess& write : written.writes) {
    add(write.buffer, write.subscripts, true);
    for (const TreePtr& subscript : write.subscripts) add_reads(subscript);
  }
  for (const TreePtr& value : written.values) add_reads(value);
  if (written.guard) add_reads(written.guard);
  return result;
}

class Maker {
 public:
  Maker(const WrittenStatement& written, const std::vector<Range>& regions, Program& program,
        DType default_type)
      : written_(written), program_(program), default_type_(default_type) {
    parts_.regions = regions;
    scope_.program = &program;
  }

  // In this order, as each step needs the one before: which names are iterators; their ranges;
  // predicates over them; facts of the domain that these make; the shapes of new tensors, which
  // follow from ranges; and last the accesses and values, whose padded reads get guards from the
  // facts.
  std::vector<Statement> run() {
    parts_.combiner = written_.combiner;
    parts_.name = written_.label;
    const std::string& tensor = written_.writes[0].buffer;
    if (parts_.name.empty())
      parts_.name = is_reduction() ? tensor : default_name(written_.combiner, tensor);
    find_iterators();
    make_ranges();
    parts_.where = to_constraints(written_.where, scope_);
    // There are no writes and values yet; the iterators and their domain give the facts with
    // which the guards of padded reads are derived.
    const Statement domain = assemble(parts_);
    const DomainFacts facts(domain.iterators, domain.domain, program_.params, program_.context);
    scope_.facts = &facts;
    declare_temporaries();
    make_accesses();
    if (is_reduction()) return assemble_reduction(parts_);
    return {assemble(parts_)};
  }

 private:
  const WrittenStatement& written_;
  Program& program_;
  DType default_type_;
  StatementParts parts_;
  Scope scope_;
  std::vector<std::string> free_, reduced_;

  // `acc[m] = sum[k] ..`; an update in place, `acc[m] += ..`, is none: it has no .init.
  bool is_reduction() const { return !written_.reductions.empty(); }
  [[noreturn]] void fail(const std::string& message) const { throw Fault{written_.line, message}; }

  bool is_region(const std::string& name) const {
    return std::ranges::any_of(parts_.regions, [&](const Range& r) { return r.name == name; });
  }

  // A new name is an iterator of the statement, unless it is known as something else.
  void add_iterator(const std::string& name) {
    if (is_region(name) || is_among(name, program_.params) || program_.find_buffer(name)) return;
    if (!is_among(name, free_) && !is_among(name, reduced_)) free_.push_back(name);
  }

  // Left-hand side first, then reductions in order of appearance; a `for` that names all of
  // them says the order.
  void find_iterators() {
    for (const WrittenRange& r : written_.reductions) reduced_.push_back(r.name);
    std::vector<std::string> names;
    for (const WrittenAccess& write : written_.writes)
      for (const TreePtr& subscript : write.subscripts) collect_names(subscript, names);
    if (written_.in_place)
      for (const TreePtr& value : written_.values) collect_names(value, names);
    for (const std::string& name : names) add_iterator(name);
    for (const WrittenRange& r : written_.ranges) check_new_iterator(r.name);
    std::vector<std::string> listed;
    for (const WrittenRange& r : written_.ranges) {
      add_iterator(r.name);
      if (is_among(r.name, listed)) fail("iterator '" + r.name + "' has two ranges");
      if (is_among(r.name, free_)) listed.push_back(r.name);
    }
    if (listed.size() == free_.size()) free_ = listed;
    for (const Range& r : parts_.regions) scope_.iterators.push_back(r.name);
    scope_.iterators.insert(scope_.iterators.end(), free_.begin(), free_.end());
    scope_.iterators.insert(scope_.iterators.end(), reduced_.begin(), reduced_.end());
  }

  void check_new_iterator(const std::string& name) const {
    if (is_region(name)) fail("iterator '" + name + "' belongs to the loop around");
    if (is_among(name, program_.params))
      fail("iterator '" + name + "' has the name of a parameter");
    if (program_.find_buffer(name)) fail("iterator '" + name + "' has the name of a tensor");
  }

  void make_ranges() {
    for (const std::string& name : free_) parts_.ranges.push_back(range_of(name));
    for (const std::string& name : reduced_) {
      check_new_iterator(name);
      if (std::ranges::count(reduced_, name) > 1) fail("iterator '" + name + "' has two ranges");
      parts_.reductions.push_back(range_of(name));
    }
  }

  Range range_of(const std::string& name) const {
    for (const std::vector<WrittenRange>* list : {&written_.ranges, &written_.reductions}) {
      const auto at =
          std::ranges::find_if(*list, [&](const WrittenRange& r) { return r.name == name; });
      if (at == list->end()) continue;
      if (at->begin)
        return {name, expect_affine(at->begin, scope_, "the range"),
                expect_affine(at->end, scope_, "the range")};
      // `for i` without a range: the predicates have to bound it. `sum[k]` leaves the range to
      // be inferred.
      if (list == &written_.ranges) return {name, 0, 0, false};
    }
    return inferred_range(name);
  }

  // The extent of the dimensions that the iterator subscripts as it is. Where they differ by a
  // number, the tensor that is written decides, so that all of it gets a value; one whose shape
  // follows takes what every read of it has.
  Range inferred_range(const std::string& name) const {
    const bool follows = shape_follows(name);
    std::optional<Affine> extent;
    std::string source;
    bool is_decided = false;
    for (const DirectSubscript& d : direct_subscripts(written_)) {
      const Buffer* b = d.iterator == name ? program_.find_buffer(d.buffer) : nullptr;
      if (!b || d.dimension >= b->shape.size() || (d.reach > 0 && !follows)) continue;
      // x[i + 1] has elements for i in 0..extent - 1.
      const Affine found = b->shape[d.dimension] - d.reach;
      const Affine more = extent ? found - *extent : Affine(0);
      if (!more.is_constant() || (more.constant() != 0 && !is_decided && !follows))
        fail("the range of '" + name + "' is ambiguous: " + to_string(*extent) + " by " + source +
             ", " + to_string(found) + " by " + b->name + ": say 'for " + name + " in ...'");
      is_decided = is_decided || d.is_written;
      if (!extent) source = b->name;
      if (!extent || (follows && more.constant() < 0)) extent = found;
    }
    if (!extent)
      fail("the range of '" + name + "' cannot be inferred: say '" +
           (is_among(name, reduced_) ? "[" : "for ") + name + " in ...'");
    return {name, 0, *extent};
  }

  // The iterator subscripts a tensor that this statement declares.
  bool shape_follows(const std::string& name) const {
    return std::ranges::any_of(direct_subscripts(written_), [&](const DirectSubscript& d) {
      return d.is_written && d.iterator == name && !program_.find_buffer(d.buffer);
    });
  }

  void declare_temporaries() {
    for (std::size_t i = 0; i < written_.writes.size(); ++i) {
      const WrittenAccess& write = written_.writes[i];
      if (program_.find_buffer(write.buffer)) continue;
      if (written_.in_place)
        fail("tensor '" + write.buffer + "' is updated, but nothing before writes it");
      check_unread(write.buffer);
      Access access{write.buffer, to_indices(write.subscripts, scope_)};
      for (const Index& index : access.indices)
        if (index.indirect)
          fail("the shape of '" + write.buffer + "' cannot be inferred: declare it, 'temp " +
               write.buffer + ": ...'");
      std::vector<Range> ranges = parts_.regions;
      ranges.insert(ranges.end(), parts_.ranges.begin(), parts_.ranges.end());
      const std::vector<Affine> shape = extents_of(access, ranges);
      program_.buffers.push_back({write.buffer, Role::Temp, type_of_value(i), shape});
    }
  }

  // `f[i] = f[i-1] + f[i-2]`: the type of `f`, and perhaps the range of i, would follow from `f`
  // itself. Refused here, with advice, before the read is reported as one of an unknown tensor.
  void check_unread(const std::string& buffer) const {
    for (const TreePtr& value : written_.values)
      for_each_tree(value, [&](const Tree& t) {
        if (t.kind == TreeKind::Element && t.text == buffer)
          fail("tensor '" + buffer + "' reads itself: declare it, 'temp " + buffer + ": ...'");
      });
  }

  // The type of a temporary is that of its value; of a lone position, i64.
  DType type_of_value(std::size_t i) const {
    const DType fallback = i == 1 && is_pair(written_.combiner) ? DType::I64 : default_type_;
    return natural_type(written_.values[i], scope_).value_or(fallback);
  }

  void make_accesses() {
    for (std::size_t i = 0; i < written_.writes.size(); ++i) {
      const WrittenAccess& write = written_.writes[i];
      const Buffer b = program_.buffer(write.buffer);
      check_combiner(b);
      if (write.subscripts.size() != b.shape.size())
        fail("tensor '" + b.name + "' has " + print_count(b.shape.size(), "dimension") + ", but " +
             print_count(write.subscripts.size(), "subscript"));
      parts_.writes.push_back({write.buffer, to_indices(write.subscripts, scope_)});
      parts_.values.push_back(to_expr(written_.values[i], b.dtype, scope_));
    }
    if (written_.guard) parts_.guard = to_expr(written_.guard, DType::Bool, scope_);
  }

  void check_combiner(const Buffer& b) const {
    const bool logical = written_.combiner == Combiner::And || written_.combiner == Combiner::Or;
    const bool arithmetic =
        written_.combiner == Combiner::Sum || written_.combiner == Combiner::Product;
    if ((logical && is_float(b.dtype)) || (arithmetic && b.dtype == DType::Bool))
      fail("'" + to_string(written_.combiner) + "' of " + std::string(polyte::to_string(b.dtype)) +
           " is not defined");
  }
};

}  // namespace

std::vector<Statement> make_statements(const WrittenStatement& written,
                                       const std::vector<Range>& regions, Program& program,
                                       DType default_type) {
  return Maker(written, regions, program, default_type).run();
}

}  // namespace polyte::ir::text
