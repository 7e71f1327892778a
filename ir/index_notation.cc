// `C[m,n] = sum[k] A[m,k]*B[k,n]` as a Program: roles, types and extents follow from how names
// are used.
#include <algorithm>

#include "ir/foreign_notation.h"
#include "ir/program_text.h"
#include "ir/statement_parser.h"
#include "ir/statement_parts.h"
#include "ir/verify.h"
#include "support/error.h"
#include "support/is_among.h"

namespace polyte::ir {
namespace {

using text::Fault;
using text::Tree;
using text::TreeKind;
using text::TreePtr;
using text::WrittenAccess;
using text::WrittenRange;
using text::WrittenStatement;

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

void add_new(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

TreePtr leaf(TreeKind kind, int line, std::string text) {
  return std::make_shared<const Tree>(Tree{kind, line, std::move(text), {}, nullptr, false, {}});
}

class Notation {
 public:
  Notation(std::vector<WrittenStatement> statements, DType dtype)
      : statements_(std::move(statements)), dtype_(dtype) {}

  // Uses of all statements first: whether a tensor is an input, and how large it is, may follow
  // from a later statement than its first use.
  Program run() {
    program_.name = "op";
    for (const WrittenStatement& s : statements_) collect(s);
    for (WrittenStatement& s : statements_) complete_ranges(s);
    declare_tensors();
    for (const WrittenStatement& s : statements_) {
      for (Statement& made : make_statements(s, {}, program_, dtype_)) {
        if (program_.find_statement(made.name))
          throw Fault{s.line, "a statement '" + made.name +
                                  "' exists already: give it a label, as in 'S1: ...'"};
        program_.statements.push_back(std::move(made));
        program_.order.push_back(program_.statements.size() - 1);
      }
    }
    return std::move(program_);
  }

 private:
  struct Use {
    const WrittenStatement* statement;
    std::string tensor;
    std::vector<TreePtr> subscripts;
    bool guarded, is_write;
  };
  std::vector<WrittenStatement> statements_;
  DType dtype_;
  Program program_;
  std::vector<std::string> tensors_, written_, read_first_, integers_;  // in order of appearance
  std::map<std::string, std::string> extents_;                          // iterator to parameter

  // In the order of execution: a statement reads before it writes.
  std::vector<Use> uses_of(const WrittenStatement& s) const {
    std::vector<Use> uses;
    const auto look = [&](const TreePtr& tree) {
      for_each_tree(tree, [&](const Tree& t) {
        if (t.kind == TreeKind::Element)
          uses.push_back({&s, t.text, t.parts, t.otherwise != nullptr, false});
      });
    };
    for (const TreePtr& value : s.values) look(value);
    if (s.guard) look(s.guard);
    for (const WrittenAccess& write : s.writes) {
      for (const TreePtr& subscript : write.subscripts) look(subscript);
      uses.push_back({&s, write.buffer, write.subscripts, false, true});
    }
    return uses;
  }

  void collect(const WrittenStatement& s) {
    std::vector<std::string> reads;
    for (const Use& use : uses_of(s)) {
      add_new(tensors_, use.tensor);
      // An update in place reads what it writes; a tensor that is first touched so is an InOut.
      if (!use.is_write || s.in_place) reads.push_back(use.tensor);
      for (const TreePtr& subscript : use.subscripts)
        // A tensor within a subscript holds indices, so it is of i64.
        for_each_tree(subscript, [&](const Tree& t) {
          if (t.kind == TreeKind::Element) add_new(integers_, t.text);
        });
    }
    for (const std::string& name : reads)
      if (!is_among(name, written_)) add_new(read_first_, name);
    for (const WrittenAccess& write : s.writes) add_new(written_, write.buffer);
    const bool pair = s.combiner == Combiner::ArgMin || s.combiner == Combiner::ArgMax;
    if (pair) add_new(integers_, s.writes[1].buffer);
  }

  // Iterators without a range of their own run over the extent of their name. Of an update in
  // place, C[m,n] += A[m,k]*B[k,n], those that only the value has (k) get a range, too; no write
  // uses them, so that `assemble` makes them reductions.
  void complete_ranges(WrittenStatement& s) {
    std::vector<std::string> names, reduced;
    for (const WrittenAccess& write : s.writes)
      for (const TreePtr& subscript : write.subscripts) collect_names(subscript, names);
    for (const WrittenRange& r : s.reductions) reduced.push_back(r.name);
    if (s.in_place)
      for (const TreePtr& value : s.values) collect_names(value, names);
    std::vector<WrittenRange> ranges;
    for (const std::string& name : names) {
      if (is_among(name, reduced) || is_among(name, tensors_) || has_range(s.ranges, name) ||
          has_range(ranges, name))
        continue;
      ranges.push_back(full_range(name, s.line));
    }
    for (WrittenRange& r : s.reductions)
      if (!r.begin && !has_range(s.ranges, r.name)) r = full_range(r.name, s.line);
    s.ranges.insert(s.ranges.begin(), ranges.begin(), ranges.end());
    add_open_sizes(s);
  }

  static bool has_range(const std::vector<WrittenRange>& ranges, const std::string& name) {
    return std::ranges::any_of(ranges, [&](const WrittenRange& r) { return r.name == name; });
  }

  WrittenRange full_range(const std::string& name, int line) {
    const auto [at, fresh] = extents_.emplace(name, "");
    if (fresh) {
      const std::string big = upper(name);
      // m: M. Where that is the iterator itself, a tensor or another iterator's size: Nm.
      at->second = big == name || is_among(big, tensors_) || is_among(big, program_.params)
                       ? "N" + name
                       : big;
      program_.params.push_back(at->second);
    }
    return {name, leaf(TreeKind::Integer, line, "0"), leaf(TreeKind::Name, line, at->second)};
  }

  // Names in bounds and predicates that are no iterators are sizes.
  void add_open_sizes(const WrittenStatement& s) {
    std::vector<std::string> names;
    for (const auto* list : {&s.ranges, &s.reductions})
      for (const WrittenRange& r : *list)
        for (const TreePtr& bound : {r.begin, r.end})
          if (bound) collect_names(bound, names);
    for (const TreePtr& c : s.where) collect_names(c, names);
    for (const std::string& name : names)
      if (!has_range(s.ranges, name) && !has_range(s.reductions, name))
        add_new(program_.params, name);
  }

  // --- tensors -----------------------------------------------------------------------------------

  // The order of the interface: inputs, results, then temporaries; within each as they appear.
  void declare_tensors() {
    const std::string& output = statements_.back().writes[0].buffer;
    for (const int pass : {0, 1, 2}) {  // inputs, results, temporaries
      for (const std::string& name : tensors_) {
        const Role role = role_of(name, output);
        const int place = role == Role::In ? 0 : role == Role::Temp ? 2 : 1;
        if (place == pass)
          program_.buffers.push_back(
              {name, role, is_among(name, integers_) ? DType::I64 : dtype_, shape_of(name)});
      }
    }
  }

  //   never written                          In
  //   read before anything writes it         InOut
  //   written by the last statement          Out
  //   else                                   Temp
  Role role_of(const std::string& name, const std::string& output) const {
    if (!is_among(name, written_)) return Role::In;
    if (is_among(name, read_first_)) return Role::InOut;
    const std::vector<WrittenAccess>& last = statements_.back().writes;
    const bool is_output = name == output || std::ranges::any_of(last, [&](const WrittenAccess& w) {
                             return w.buffer == name;
                           });
    return is_output ? Role::Out : Role::Temp;
  }

  // The least shape that holds every use. Extents that differ by a number are comparable; others
  // are ambiguous, and a fault.
  std::vector<Affine> shape_of(const std::string& tensor) const {
    std::vector<Affine> shape;
    bool known = false;
    // A padded read decides only where nothing else does.
    for (const bool guarded : {false, true}) {
      for (const WrittenStatement& s : statements_)
        for (const Use& use : uses_of(s))
          if (use.tensor == tensor && use.guarded == guarded && !(guarded && known))
            grow(shape, known, use);
    }
    return shape;
  }

  void grow(std::vector<Affine>& shape, bool& known, const Use& use) const {
    const std::vector<Affine> here = extents_here(use);
    if (known && here.size() != shape.size())
      throw Fault{use.statement->line, "tensor '" + use.tensor + "' has " +
                                           std::to_string(shape.size()) + " and " +
                                           std::to_string(here.size()) + " subscripts"};
    if (!known) shape = here;
    known = true;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const Affine more = here[i] - shape[i];
      if (!more.is_constant())
        throw Fault{use.statement->line, "the extent of dimension " + std::to_string(i) + " of '" +
                                             use.tensor + "' is ambiguous: " + to_string(shape[i]) +
                                             " or " + to_string(here[i])};
      if (more.constant() > 0) shape[i] = here[i];
    }
  }

  std::vector<Affine> extents_here(const Use& use) const {
    const WrittenStatement& s = *use.statement;
    text::Scope scope;
    scope.program = &program_;
    for (const auto* list : {&s.ranges, &s.reductions})
      for (const WrittenRange& r : *list) scope.iterators.push_back(r.name);
    std::vector<Range> ranges;
    for (const auto* list : {&s.ranges, &s.reductions})
      for (const WrittenRange& r : *list)
        if (r.begin)
          ranges.push_back({r.name, expect_affine(r.begin, scope, "the range"),
                            expect_affine(r.end, scope, "the range")});
    Access access{use.tensor, {}};
    for (const TreePtr& subscript : use.subscripts)
      access.indices.push_back(expect_affine_or_gather(subscript, scope, use));
    return extents_of(access, ranges);
  }

  static Affine expect_affine_or_gather(const TreePtr& subscript, const text::Scope& scope,
                                        const Use& use) {
    bool gather = false;
    for_each_tree(subscript,
                  [&](const Tree& t) { gather = gather || t.kind == TreeKind::Element; });
    if (gather)
      throw Fault{use.statement->line,
                  "the extents of '" + use.tensor +
                      "' do not follow from a gather: write a program that declares it"};
    return expect_affine(subscript, scope, "the subscript of '" + use.tensor + "'");
  }
};

std::vector<WrittenStatement> parse_lines(std::string_view source, std::vector<text::Line>& lines,
                                          std::vector<Fault>& faults) {
  std::vector<WrittenStatement> statements;
  lines = text::split_lines(source, faults);
  const bool is_readable = faults.empty();
  for (const text::Line& line : lines) {
    try {
      text::Cursor cursor(line);
      statements.push_back(text::parse_statement(cursor, [](const std::string&) { return false; }));
    } catch (const Fault& fault) {
      if (is_readable) faults.push_back(fault);  // else perhaps of what could not be read
    }
  }
  if (statements.empty() && faults.empty())
    faults.push_back({1, "expected a statement, as in 'C[m,n] = sum[k] A[m,k]*B[k,n]'"});
  return statements;
}

[[noreturn]] void throw_faults(const std::vector<text::Line>& lines, std::vector<Fault> faults) {
  text::add_foreign_hints(lines, faults);
  std::vector<std::string> problems;
  for (const Fault& f : faults)
    problems.push_back("notation:" + std::to_string(f.line) + ": " + f.message);
  throw UserError(ExitStatus::InvalidInput, std::move(problems));
}

}  // namespace

Program parse_index_notation(std::string_view text, DType dtype) {
  std::vector<Fault> faults;
  std::vector<text::Line> lines;
  std::vector<WrittenStatement> statements = parse_lines(text, lines, faults);
  if (!faults.empty()) throw_faults(lines, faults);
  Program program;
  try {
    program = Notation(std::move(statements), dtype).run();
  } catch (const Fault& fault) {
    throw_faults(lines, {fault});
  }
  for (const Problem& p : find_problems(program))
    faults.push_back({1, (p.subject.empty() ? "" : p.subject + ": ") + p.message});
  if (!faults.empty()) throw_faults(lines, faults);
  return program;
}

}  // namespace polyte::ir
