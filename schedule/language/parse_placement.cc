#include "schedule/language/directive_syntax.h"

namespace polyte::schedule {

namespace {

void compute_inline(LineParser& line, std::vector<Operation>& into) {
  if (line.accept("all")) return into.push_back(InlineAll{});
  for (const std::string& tensor : line.names(",", "a tensor")) into.push_back(ComputeInline{tensor});
}

void compute_at(LineParser& line, std::vector<Operation>& into) {
  const std::string producer = line.name("a tensor");
  line.accept("at");
  into.push_back(ComputeAt{producer, line.loop_name()});
}

void reverse_compute_at(LineParser& line, std::vector<Operation>& into) {
  const std::string consumer = line.name("a statement");
  line.accept("at");
  ReverseComputeAt directive = {consumer, line.loop_name(), {}};
  if (line.accept("when")) directive.when = line.when();
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
                                                      {"reverse_compute_at", reverse_compute_at},
                                                      {"place", place},
                                                      {"nest", nest}};
  return kTable;
}

}  // namespace polyte::schedule
