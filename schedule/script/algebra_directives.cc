#include "schedule/script/directive_table.h"
#include "schedule/script/print_words.h"

namespace polyte::schedule {

namespace {

// rewrite rfactor T over k.i as P, or without `rewrite`
void parse_rfactor(LineParser& line, std::vector<Operation>& into) {
  Rfactor directive;
  directive.tensor = line.name("a tensor or its update");
  line.expect("over");
  directive.loop = line.loop_name();
  line.expect("as");
  directive.partial = line.name("a name for the parts");
  into.push_back(directive);
}

// rewrite online A, B from M over k.o
void parse_online(LineParser& line, std::vector<Operation>& into) {
  Online directive;
  directive.sums = line.names(",", "a tensor");
  line.expect("from");
  directive.from = line.name("a tensor");
  line.expect("over");
  directive.loop = line.loop_name();
  into.push_back(directive);
}

// split_reduction T: k by 8 as P tree; without a form: interleaved
void parse_split_reduction(LineParser& line, std::vector<Operation>& into) {
  SplitReduction directive;
  directive.tensor = line.name("a tensor or its update");
  line.expect(":");
  directive.loop = line.name("a loop");
  line.expect("by");
  directive.parts = line.size_or_hole();
  line.expect("as");
  directive.partial = line.name("a name for the parts");
  if (line.accept("tree")) {
    directive.form = SplitReduction::Form::Halves;
  } else if (line.accept("blocks")) {
    directive.form = SplitReduction::Form::Blocks;
  } else if (!line.accept("interleaved") && !line.at_end()) {
    LineParser::fail("expected interleaved, blocks or tree, got " + line.shown());
  }
  into.push_back(directive);
}

void parse_reassociate(LineParser& line, std::vector<Operation>& into) {
  const std::string tensor = line.name("a tensor or its update");
  line.expect("over");
  into.push_back(Reassociate{tensor, line.names(",", "a loop")});
}

void parse_reciprocal(LineParser& line, std::vector<Operation>& into) {
  into.push_back(Reciprocal{line.name("a statement")});
}

void parse_defer_division(LineParser& line, std::vector<Operation>& into) {
  DeferDivision directive;
  directive.tensor = line.name("a tensor");
  line.expect("as");
  directive.sum = line.name("a name for the sum");
  into.push_back(directive);
}

// precompute C.update: a[m, k] = 2 * A[m, k]
void parse_precompute(LineParser& line, std::vector<Operation>& into) {
  Precompute directive;
  directive.statement = line.name("a statement");
  line.expect(":");
  directive.tensor = line.name("a name for the values");
  line.expect("[");
  if (!line.is("]")) directive.iterators = line.names(",", "an iterator");
  line.expect("]");
  line.expect("=");
  directive.value = line.rest();
  if (directive.value.empty())
    LineParser::fail("expected a value after =, got the end of the line");
  into.push_back(directive);
}

void parse_atomic(LineParser& line, std::vector<Operation>& into) {
  into.push_back(Atomic{line.names(",", "a statement")});
}

void parse_rewrite(LineParser& line, std::vector<Operation>& into) {
  if (line.accept("rfactor")) return parse_rfactor(line, into);
  if (line.accept("online")) return parse_online(line, into);
  LineParser::fail("expected rfactor or online after rewrite, got " + line.shown());
}

// --- printing

// By SplitReduction::Form.
std::string print(SplitReduction::Form form) {
  static const char* const kForms[] = {"interleaved", "blocks", "tree"};
  return kForms[static_cast<int>(form)];
}

std::string print_rfactor(const Rfactor& d) {
  return "rewrite rfactor " + d.tensor + " over " + print(d.loop) + " as " + d.partial;
}

std::string print_online(const Online& d) {
  return "rewrite online " + list(d.sums, ", ") + " from " + d.from + " over " + print(d.loop);
}

std::string print_split_reduction(const SplitReduction& d) {
  return "split_reduction " + d.tensor + ": " + d.loop + " by " + d.parts.text + " as " +
         d.partial + " " + print(d.form);
}

std::string print_reassociate(const Reassociate& d) {
  return "reassociate " + d.tensor + " over " + list(d.loops, ", ");
}

std::string print_reciprocal(const Reciprocal& d) { return "reciprocal " + d.statement; }

std::string print_defer_division(const DeferDivision& d) {
  return "defer_division " + d.tensor + " as " + d.sum;
}

std::string print_precompute(const Precompute& d) {
  return "precompute " + d.statement + ": " + d.tensor + "[" + list(d.iterators, ", ") +
         "] = " + d.value;
}

std::string print_atomic(const Atomic& d) { return "atomic " + list(d.statements, ", "); }

}  // namespace

// `rewrite` begins two types: its row has that of rfactor, and Online has a row without a word,
// to print and apply it.
const std::vector<DirectiveRow>& algebra_directives() {
  static const std::vector<DirectiveRow> kTable = {
      directive<Rfactor, print_rfactor, rfactor>("rewrite", parse_rewrite),
      directive<Rfactor, print_rfactor, rfactor>("rfactor", parse_rfactor),
      directive<Online, print_online, online>("", nullptr),
      directive<SplitReduction, print_split_reduction, split_reduction>("split_reduction",
                                                                        parse_split_reduction),
      directive<Reassociate, print_reassociate, reassociate>("reassociate", parse_reassociate),
      directive<Reciprocal, print_reciprocal, reciprocal>("reciprocal", parse_reciprocal),
      directive<DeferDivision, print_defer_division, defer_division>("defer_division",
                                                                     parse_defer_division),
      directive<Precompute, print_precompute, precompute>("precompute", parse_precompute),
      directive<Atomic, print_atomic, atomic>("atomic", parse_atomic),
  };
  return kTable;
}

}  // namespace polyte::schedule
