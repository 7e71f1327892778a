#include "schedule/script/directive_syntax.h"

namespace polyte::schedule {

namespace {

void compute_inline(LineParser& line, std::vector<Operation>& into) {
  if (line.accept("all")) return into.push_back(InlineAll{});
  for (const std::string& tensor : line.names(",", "a tensor")) into.push_back(ComputeInline{tensor});
}

void compute_at(LineParser& line, std::vector<Operation>& into) {
  const std::string producer = line.name("a tensor");
  line.accept("at");
  ComputeAt directive = {producer, line.loop_name(), {}};
  directive.per = line.once_per();
  into.push_back(directive);
}

void compute_root(LineParser& line, std::vector<Operation>& into) {
  for (const std::string& tensor : line.names(",", "a tensor")) into.push_back(ComputeRoot{tensor});
}

void store_at(LineParser& line, std::vector<Operation>& into) {
  StoreAt directive;
  directive.tensor = line.name("a tensor");
  line.accept("at");
  directive.at = line.loop_name();
  if (line.accept("in")) directive.memory = line.memory();
  into.push_back(directive);
}

void reverse_compute_at(LineParser& line, std::vector<Operation>& into) {
  const std::string consumer = line.name("a statement");
  line.accept("at");
  ReverseComputeAt directive = {consumer, line.loop_name(), {}};
  if (line.accept("when")) directive.when = line.when();
  into.push_back(directive);
}

// compute_with A, B at L: the loops of the two are one, down to L.
void compute_with(LineParser& line, std::vector<Operation>& into) {
  ComputeWith directive;
  directive.statement = line.name("a statement");
  line.expect(",");
  directive.with = line.name("a statement");
  line.expect("at");
  directive.through = line.name("a loop");
  into.push_back(directive);
}

void place(LineParser& line, std::vector<Operation>& into) {
  const std::string statement = line.name("a statement");
  line.expect("when");
  into.push_back(Place{statement, line.when()});
}

void nest(LineParser& line, std::vector<Operation>& into) {
  const std::string name = line.optional_selector();
  into.push_back(Nest{name, line.node()});
}

}  // namespace

const std::vector<DirectiveSyntax>& placement_syntax() {
  static const std::vector<DirectiveSyntax> kTable = {{"compute_inline", compute_inline},
                                                      {"compute_at", compute_at},
                                                      {"compute_root", compute_root},
                                                      {"store_at", store_at},
                                                      {"compute_with", compute_with},
                                                      {"reverse_compute_at", reverse_compute_at},
                                                      {"place", place},
                                                      {"nest", nest}};
  return kTable;
}

}  // namespace polyte::schedule
