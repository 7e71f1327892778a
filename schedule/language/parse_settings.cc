#include "schedule/language/directive_syntax.h"

namespace polyte::schedule {

namespace {

void param(LineParser& line, std::vector<Operation>& into) {
  do {
    const std::string name = line.name("a parameter");
    line.expect("=");
    into.push_back(SetParam{name, line.size()});
    if (line.is("in")) line.fail("a domain of values ('in {..}') belongs to a tuning template: choose one value");
  } while (line.accept(","));
  if (line.accept("where")) into.push_back(Where{{line.raw(false)}});
}

void where(LineParser& line, std::vector<Operation>& into) { into.push_back(Where{{line.raw(false)}}); }

void let(LineParser& line, std::vector<Operation>& into) {
  const std::string name = line.name("a name");
  line.expect("=");
  if (line.at_end()) line.fail("let " + name + " has no value");
  into.push_back(Let{name, line.rest()});
}

}  // namespace

const std::vector<DirectiveSyntax>& setting_syntax() {
  static const std::vector<DirectiveSyntax> kTable = {{"param", param}, {"where", where}, {"let", let}};
  return kTable;
}

}  // namespace polyte::schedule
