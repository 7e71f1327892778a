#include "schedule/script/directive_syntax.h"

namespace polyte::schedule {

namespace {

// (i, j) [..]: names of the dimensions, and the indices of an element over them.
void layout(LineParser& line, std::vector<std::string>& names, std::vector<std::string>& indices) {
  line.expect("(");
  names = line.names(",", "a dimension's name");
  line.expect(")");
  line.expect("[");
  do indices.push_back(line.raw());
  while (line.accept(","));
  line.expect("]");
}

// stage acc at m.o in register, in the words of a hand that counts registers.
void registers(LineParser& line, std::vector<Operation>& into) {
  Stage stage;
  stage.form = Stage::Form::Registers;
  stage.tensor = line.name("a tensor");
  line.expect("at");
  stage.at = line.loop_name();
  stage.memory = Memory::Register;
  into.push_back(stage);
}

// X: u by SIZE
template <class Directive>
Directive dimension_and_size(LineParser& line, Size Directive::* size) {
  Directive directive;
  directive.tensor = line.name("a buffer");
  line.expect(":");
  directive.dimension = line.name("a dimension");
  line.expect("by");
  directive.*size = line.size();
  return directive;
}

void fold_storage(LineParser& line, std::vector<Operation>& into) {
  into.push_back(dimension_and_size(line, &FoldStorage::factor));
}

void bound_storage(LineParser& line, std::vector<Operation>& into) {
  into.push_back(dimension_and_size(line, &BoundStorage::extent));
}

void storage_align(LineParser& line, std::vector<Operation>& into) {
  StorageAlign directive = dimension_and_size(line, &StorageAlign::factor);
  if (line.accept("from")) directive.offset = line.size();
  into.push_back(directive);
}

void hoist_storage(LineParser& line, std::vector<Operation>& into) {
  const std::string tensor = line.name("a buffer");
  line.accept("at");
  into.push_back(HoistStorage{tensor, line.loop_name()});
}

void set_scope(LineParser& line, std::vector<Operation>& into) {
  const std::string tensor = line.name("a buffer");
  line.accept("in");
  into.push_back(SetScope{tensor, line.memory()});
}

void transform_layout(LineParser& line, std::vector<Operation>& into) {
  TransformLayout directive;
  directive.tensor = line.name("a tensor");
  layout(line, directive.names, directive.layout);
  into.push_back(directive);
}

void double_buffer(LineParser& line, std::vector<Operation>& into) {
  const std::string tensor = line.name("a tensor");
  line.accept("at");
  into.push_back(DoubleBuffer{tensor, line.loop_name()});
}

// reuse y for e
void reuse(LineParser& line, std::vector<Operation>& into) {
  const std::string tensor = line.name("a tensor");
  line.expect("for");
  into.push_back(Reuse{tensor, line.name("a temporary")});
}

// prefetch B at k distance 4 along i level 2
void prefetch(LineParser& line, std::vector<Operation>& into) {
  Prefetch directive;
  directive.tensor = line.name("a buffer");
  line.expect("at");
  directive.at = line.loop_name();
  if (line.accept("distance")) directive.distance = line.size();
  if (line.accept("along")) directive.along = line.name("a loop");
  if (line.accept("level")) {
    const std::string level = line.raw();
    if (level.size() != 1 || level < "0" || level > "9") line.fail("a cache level is 1, 2 or 3, not " + level);
    directive.level = level[0] - '0';
  }
  into.push_back(directive);
}

void stream(LineParser& line, std::vector<Operation>& into) { into.push_back(StoreNonTemporal{line.name("a buffer")}); }

// pad X: u to 16
void pad(LineParser& line, std::vector<Operation>& into) {
  Pad directive;
  directive.tensor = line.name("a buffer");
  line.expect(":");
  directive.dimension = line.name("a dimension");
  line.expect("to");
  directive.multiple = line.size();
  into.push_back(directive);
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
      stage.memory = line.memory();
    } else if (line.accept("layout")) {
      layout(line, stage.names, stage.layout);
    } else if (line.accept("fold")) {
      stage.fold = true;
    } else if (line.accept("pad")) {
      stage.pad = line.size();
    } else if (line.accept("when")) {
      line.expect("compile");
      stage.when_compile = true;
    } else if (line.accept("copy")) {
      stage.copy = line.node();
    } else {
      line.fail(line.shown() + " is not expected in a stage (at, in, layout, fold, pad, when compile, copy are)");
    }
  }
  if (stage.fold && stage.layout.empty()) line.fail("fold goes with a layout: fold layout (u, x) [u%3, x]");
  into.push_back(stage);
}

}  // namespace

const std::vector<DirectiveSyntax>& storage_syntax() {
  static const std::vector<DirectiveSyntax> kTable = {{"stage", stage<Stage::Form::Stage>},
                                                      {"cache_read", stage<Stage::Form::CacheRead>},
                                                      {"cache_write", stage<Stage::Form::CacheWrite>},
                                                      {"pack", stage<Stage::Form::Pack>},
                                                      {"registers", registers},
                                                      {"fold_storage", fold_storage},
                                                      {"bound_storage", bound_storage},
                                                      {"storage_align", storage_align},
                                                      {"hoist_storage", hoist_storage},
                                                      {"reuse", reuse},
                                                      {"set_scope", set_scope},
                                                      {"transform_layout", transform_layout},
                                                      {"double_buffer", double_buffer},
                                                      {"prefetch", prefetch},
                                                      {"stream", stream},
                                                      {"pad", pad}};
  return kTable;
}

}  // namespace polyte::schedule
