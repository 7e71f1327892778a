#include "schedule/script/directive_syntax.h"

namespace polyte::schedule {

namespace {

void param(LineParser& line, std::vector<Operation>& into) {
  do {
    SetParam param;
    param.name = line.name("a parameter");
    line.expect("=");
    param.value = line.accept("?") ? Size{"?"} : line.size();
    if (line.accept("in")) {
      line.expect("{");
      do param.domain.push_back(line.size());
      while (line.accept(","));
      line.expect("}");
    }
    into.push_back(std::move(param));
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
