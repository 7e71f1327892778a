#include "ir/program_text.h"

#include <algorithm>

#include "ir/domain.h"
#include "ir/expr_text.h"
#include "ir/statement_parts.h"
#include "support/join_words.h"

namespace polyte::ir {
namespace {

// Takes the first constraint that bounds `it` with coefficient `sign` and in whose rest neither
// `it` (as in a division) nor a later iterator occurs. With rest = expr - sign * it:
//   sign  1:   it + rest >= 0   is   it >= -rest        the begin of a range
//   sign -1:  -it + rest >= 0   is   it < rest + 1      its exclusive end
std::optional<Affine> take_bound(std::vector<Constraint>& domain,
                                 const std::vector<std::string>& iterators, std::size_t it,
                                 std::int64_t sign) {
  for (auto at = domain.begin(); at != domain.end(); ++at) {
    const Affine rest = at->expr - Affine::symbol(iterators[it]) * sign;
    if (at->equality || at->expr.coefficient(iterators[it]) != sign) continue;
    const bool later =
        std::any_of(iterators.begin() + static_cast<std::ptrdiff_t>(it), iterators.end(),
                    [&](const std::string& other) { return rest.uses(other); });
    if (later) continue;
    domain.erase(at);
    return sign > 0 ? -rest : rest + 1;
  }
  return std::nullopt;
}

// The inverse of assemble(): what a person would have written. For each iterator one lower and one
// upper bound go back into a range, `i in 0..N`; constraints that are left become predicates, `if i
// >= j`. An iterator that has only one of the two bounds gets no range.
StatementParts parts_of(const Statement& s, const std::vector<Range>& regions) {
  StatementParts parts;
  parts.name = s.name;
  parts.regions = regions;
  parts.where = s.domain;
  parts.combiner = s.combiner;
  parts.writes = s.writes;
  parts.values = s.values;
  parts.guard = s.guard;
  for (const Range& region : regions) {
    const Affine it = Affine::symbol(region.name);
    // The `loop` line states these two bounds. Each is removed once: a predicate that repeats one
    // stays.
    for (const Constraint& c : {at_least(it, region.begin), less_than(it, region.end)})
      if (const auto at = std::ranges::find(parts.where, c); at != parts.where.end())
        parts.where.erase(at);
  }
  for (std::size_t i = regions.size(); i < s.iterators.size(); ++i) {
    std::vector<Constraint> rest = parts.where;
    // From a copy: where only one of the two bounds is found, both stay predicates.
    const auto begin = take_bound(rest, s.iterators, i, 1);
    const auto end = take_bound(rest, s.iterators, i, -1);
    const bool bounded = begin && end;
    parts.ranges.push_back(bounded ? Range{s.iterators[i], *begin, *end}
                                   : Range{s.iterators[i], 0, 0, false});
    if (bounded) parts.where = rest;
  }
  return parts;
}

std::string print_range(const Range& range) {
  if (!range.bounded) return range.name;
  return range.name + " in " + to_string(range.begin) + ".." + to_string(range.end);
}

std::string print_ranges(const std::vector<Range>& ranges) {
  std::string text;
  for (const Range& range : ranges) text += (text.empty() ? "" : ", ") + print_range(range);
  return text;
}

std::string update_sign(Combiner combiner) {
  switch (combiner) {
    case Combiner::None:
      return "=";
    case Combiner::Sum:
      return "+=";
    case Combiner::Product:
      return "*=";
    default:
      return to_string(combiner) + "=";
  }
}

// Prints ranges in full, and leaves out what the parser derives by itself: guards of padded
// reads, the two statements of a reduction, names of statements.
class ProgramPrinter {
 public:
  explicit ProgramPrinter(const Program& program) : program_(program) {}

  std::string operator()() {
    text_ = "program " + program_.name + "(" + join_words(program_.params) + ")";
    if (!program_.context.empty()) text_ += " where " + print_conjunction(program_.context);
    text_ += "\n";
    for (const Buffer& b : program_.buffers) print_buffer(b);
    if (!program_.order.empty()) text_ += "\n";
    print_items(program_.order, {}, "  ");
    return text_;
  }

 private:
  const Program& program_;
  std::string text_;

  void print_buffer(const Buffer& b) {
    std::string role = to_string(b.role);
    role.resize(6, ' ');
    std::vector<std::string> extents;
    for (const Affine& extent : b.shape) extents.push_back(to_string(extent));
    text_ += "  " + role + b.name + ": " + std::string(polyte::to_string(b.dtype)) + "[" +
             join_words(extents) + "]\n";
  }

  void print_items(const std::vector<Item>& items, const std::vector<Range>& regions,
                   const std::string& indent) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (const auto* region = std::get_if<Region>(&items[i])) {
        const Range range{region->iterator, region->begin, region->end};
        text_ +=
            indent + "loop " + print_range(range) + (region->step < 0 ? " step -1" : "") + "\n";
        std::vector<Range> inner = regions;
        inner.push_back(range);
        print_items(region->body, inner, indent + "  ");
        continue;
      }
      const Statement& s = program_.statements[std::get<std::size_t>(items[i])];
      // Two neighbours may be the halves of one reduction, `acc.init` and `acc.update`.
      const auto* next = i + 1 < items.size() ? std::get_if<std::size_t>(&items[i + 1]) : nullptr;
      if (next && print_reduction(s, program_.statements[*next], regions, indent)) {
        ++i;
      } else {
        const StatementParts parts = parts_of(s, regions);
        // The name that the parser would give; another one is printed as a label.
        const std::string name = default_name(s.combiner, s.writes[0].buffer);
        print_statement(s, parts, name, update_sign(s.combiner) + " ", indent);
      }
    }
  }

  // `acc[m] = sum[k in 0..K] ...` where exactly these two statements would come of it: the two are
  // assembled again from the parts and compared, so the short form can never say something else.
  bool print_reduction(const Statement& init, const Statement& update,
                       const std::vector<Range>& regions, const std::string& indent) {
    constexpr std::string_view kSuffix = ".update";
    if (update.combiner == Combiner::None || update.reductions.empty() ||
        !update.name.ends_with(kSuffix))
      return false;
    StatementParts parts = parts_of(update, regions);
    if (update.reductions.size() > parts.ranges.size()) return false;
    parts.name = update.name.substr(0, update.name.size() - kSuffix.size());
    // parts_of() puts all iterators among the ranges; those of the reduction come last.
    const auto first = parts.ranges.end() - static_cast<std::ptrdiff_t>(update.reductions.size());
    parts.reductions.assign(first, parts.ranges.end());
    parts.ranges.erase(first, parts.ranges.end());
    if (!std::ranges::all_of(parts.reductions, [](const Range& r) { return r.bounded; }))
      return false;
    const std::vector<Statement> pair = assemble_reduction(parts);
    if (!equal(pair[0], init) || !equal(pair[1], update)) return false;
    const std::string sign =
        "= " + to_string(update.combiner) + "[" + print_ranges(parts.reductions) + "] ";
    print_statement(update, parts, update.writes[0].buffer, sign, indent);
    return true;
  }

  void print_statement(const Statement& s, const StatementParts& parts, const std::string& name,
                       const std::string& sign, const std::string& indent) {
    const DomainFacts facts(s.iterators, s.domain, program_.params, program_.context);
    const ExprStyle style{[&](const Load& load) { return is_implied(load, facts); }};
    std::vector<std::string> values;
    for (const Expr& value : s.values) values.push_back(print_expr(value, style));
    text_ += indent + (parts.name == name ? "" : parts.name + ": ") +
             print_writes(s.writes, style) + " " + sign;
    text_ += values.size() == 1 ? values[0] : "(" + join_words(values) + ")";
    if (!parts.ranges.empty()) text_ += "  for " + print_ranges(parts.ranges);
    if (!parts.where.empty()) text_ += " if " + print_conjunction(parts.where);
    if (s.guard) text_ += " when " + print_expr(s.guard, style);
    text_ += "\n";
  }

  // The guard that the parser would derive for `x[...] else v`, from the same facts.
  bool is_implied(const Load& load, const DomainFacts& facts) const {
    const Buffer* b = program_.find_buffer(load.buffer);
    return b && implied_guard(b->shape, load.indices, facts) == load.guard;
  }

  // `(v, p)[m]` where the subscripts agree, else `(v[m], p[m + 1])`.
  static std::string print_writes(const std::vector<Access>& writes, const ExprStyle& style) {
    std::vector<std::string> names, indices, whole;
    for (const Access& write : writes) {
      names.push_back(write.buffer);
      indices.push_back("[" + print_indices(write.indices, style) + "]");
      whole.push_back(names.back() + indices.back());
    }
    if (writes.size() == 1) return whole[0];
    const bool shared = std::ranges::adjacent_find(indices, std::not_equal_to<>()) == indices.end();
    return shared ? "(" + join_words(names) + ")" + indices[0] : "(" + join_words(whole) + ")";
  }
};

}  // namespace

std::string print(const Program& program) { return ProgramPrinter(program)(); }

}  // namespace polyte::ir
