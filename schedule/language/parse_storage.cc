#include "schedule/language/directive_syntax.h"

namespace polyte::schedule {

namespace {

Memory memory(LineParser& line) {
  const std::string word = line.name("a memory");
  if (word == "register") return Memory::Register;
  if (word == "stack") return Memory::Stack;
  if (word == "heap") return Memory::Heap;
  line.fail("memory '" + word + "': expected register, stack or heap");
}

void layout(LineParser& line, Stage& stage) {
  line.expect("(");
  stage.names = line.names(",", "a dimension's name");
  line.expect(")");
  line.expect("[");
  do stage.layout.push_back(line.raw());
  while (line.accept(","));
  line.expect("]");
}

template <Stage::Form kForm>
void stage(LineParser& line, std::vector<Operation>& into) {
  Stage stage;
  stage.form = kForm;
  stage.tensor = line.name("a tensor");
  while (!line.at_end()) {
    if (line.accept("at")) {
      stage.at = line.loop_name();
    } else if (line.accept("in")) {
      stage.memory = memory(line);
    } else if (line.accept("layout")) {
      layout(line, stage);
    } else if (line.accept("pad")) {
      stage.pad = line.size();
    } else if (line.accept("when")) {
      line.expect("compile");
      stage.when_compile = true;
    } else if (line.accept("copy")) {
      stage.copy = line.node();
    } else {
      line.fail(line.shown() + " is not expected in a stage (at, in, layout, pad, when compile, copy are)");
    }
  }
  into.push_back(stage);
}

}  // namespace

const std::vector<DirectiveSyntax>& storage_syntax() {
  static const std::vector<DirectiveSyntax> kTable = {{"stage", stage<Stage::Form::Stage>},
                                                      {"cache_read", stage<Stage::Form::CacheRead>},
                                                      {"cache_write", stage<Stage::Form::CacheWrite>},
                                                      {"pack", stage<Stage::Form::Pack>}};
  return kTable;
}

}  // namespace polyte::schedule
