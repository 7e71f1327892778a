#include "schedule/script/directive_syntax.h"

namespace polyte::schedule {

namespace {

void rfactor(LineParser& line, std::vector<Operation>& into) {
  Rfactor directive;
  directive.tensor = line.name("a tensor");
  line.expect("over");
  directive.loop = line.loop_name();
  line.expect("as");
  directive.partial = line.name("a name for the parts");
  into.push_back(directive);
}

void online(LineParser& line, std::vector<Operation>& into) {
  Online directive;
  directive.sums = line.names(",", "a tensor");
  line.expect("from");
  directive.from = line.name("a tensor");
  line.expect("over");
  directive.loop = line.loop_name();
  into.push_back(directive);
}

void split_reduction(LineParser& line, std::vector<Operation>& into) {
  SplitReduction directive;
  directive.tensor = line.name("a tensor");
  line.expect(":");
  directive.loop = line.name("a loop");
  line.expect("by");
  directive.parts = line.size();
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

void reassociate(LineParser& line, std::vector<Operation>& into) {
  const std::string tensor = line.name("a tensor");
  line.expect("over");
  into.push_back(Reassociate{tensor, line.names(",", "a loop")});
}

void reciprocal(LineParser& line, std::vector<Operation>& into) {
  into.push_back(Reciprocal{line.name("a statement")});
}

void atomic(LineParser& line, std::vector<Operation>& into) { into.push_back(Atomic{line.names(",", "a statement")}); }

void specialize(LineParser& line, std::vector<Operation>& into) {
  if (line.at_end()) LineParser::fail("specialize needs a condition over sizes");
  into.push_back(Specialize{{line.rest()}, {}, {}});
}

void rewrite(LineParser& line, std::vector<Operation>& into) {
  if (line.accept("rfactor")) return rfactor(line, into);
  if (line.accept("online")) return online(line, into);
  LineParser::fail("expected rfactor or online after rewrite, got " + line.shown());
}

}  // namespace

const std::vector<DirectiveSyntax>& algebra_syntax() {
  static const std::vector<DirectiveSyntax> kTable = {
      {"rewrite", rewrite},         {"rfactor", rfactor},       {"split_reduction", split_reduction},
      {"reassociate", reassociate}, {"reciprocal", reciprocal}, {"atomic", atomic},
      {"specialize", specialize}};
  return kTable;
}

}  // namespace polyte::schedule
