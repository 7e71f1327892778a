#include "schedule/script/directive_syntax.h"

namespace polyte::schedule {

namespace {

std::vector<Size> sizes(LineParser& line, const std::string& open, const std::string& close) {
  std::vector<Size> values;
  line.expect(open);
  do values.push_back(line.size());
  while (line.accept(","));
  line.expect(close);
  return values;
}

std::vector<std::string> bracketed_names(LineParser& line) {
  line.expect("(");
  std::vector<std::string> names = line.names(",", "a loop");
  line.expect(")");
  return names;
}

// S (t, 2*t + i), T (t, 2*t + i + 1) as (t, I)
Map whole_map(LineParser& line, const std::string& first) {
  Map map;
  std::string statement = first;
  while (true) {
    map.items.push_back({statement, sizes(line, "(", ")")});
    if (!line.accept(",")) break;
    statement = line.name("a statement");
  }
  line.expect("as");
  map.loops = bracketed_names(line);
  return map;
}

// S, T: w = t.o + i.o, v = i.o for t.o, i.o
void map(LineParser& line, std::vector<Operation>& into) {
  Remap remap;
  if (line.is_name() && !line.is("=", 1)) {
    const std::string first = line.name("a statement");
    if (line.is("(")) {
      into.push_back(whole_map(line, first));
      return;
    }
    remap.statements = {first};
    while (line.accept(",")) remap.statements.push_back(line.name("a statement"));
    line.expect(":");
  }
  do {
    remap.loops.push_back(line.name("a loop"));
    line.expect("=");
    remap.values.push_back(line.size());
  } while (line.accept(","));
  remap.replaced = line.accept("for") ? line.names(",", "a loop") : remap.loops;
  into.push_back(remap);
}

LoopName selected_loop(LineParser& line) {
  const std::string selector = line.optional_selector();
  return {selector, line.name("a loop")};
}

std::string new_name(LineParser& line) { return line.accept("as") ? line.name("a name for the loop") : ""; }

void skew(LineParser& line, std::vector<Operation>& into) {
  Skew skew{selected_loop(line), {}, ""};
  line.expect("by");
  skew.by = line.size();
  skew.name = new_name(line);
  into.push_back(skew);
}

void shift(LineParser& line, std::vector<Operation>& into) {
  Shift shift{selected_loop(line), {}, ""};
  line.expect("by");
  shift.by = line.size();
  shift.name = new_name(line);
  into.push_back(shift);
}

void reverse(LineParser& line, std::vector<Operation>& into) {
  Reverse reverse{selected_loop(line), ""};
  reverse.name = new_name(line);
  into.push_back(reverse);
}

void rename(LineParser& line, std::vector<Operation>& into) {
  Rename rename{selected_loop(line), ""};
  line.expect("as");
  rename.name = line.name("a name for the loop");
  into.push_back(rename);
}

void affine(LineParser& line, std::vector<Operation>& into) {
  AffineMap affine;
  affine.statement = line.optional_selector();
  affine.loops = bracketed_names(line);
  line.expect("by");
  line.expect("[");
  do affine.matrix.push_back(sizes(line, "[", "]"));
  while (line.accept(","));
  line.expect("]");
  line.expect("as");
  affine.names = bracketed_names(line);
  into.push_back(affine);
}

void interchange(LineParser& line, std::vector<Operation>& into) {
  Interchange interchange;
  interchange.statement = line.optional_selector();
  interchange.outer = line.name("a loop");
  line.expect(",");
  interchange.inner = line.name("a loop");
  into.push_back(interchange);
}

void wavefront(LineParser& line, std::vector<Operation>& into) {
  Wavefront wavefront;
  wavefront.statement = line.optional_selector();
  wavefront.name = line.name("a name for the wavefront loop");
  line.expect("=");
  wavefront.value = line.size();
  line.expect("for");
  wavefront.replaced = line.name("a loop");
  into.push_back(wavefront);
}

}  // namespace

const std::vector<DirectiveSyntax>& map_syntax() {
  static const std::vector<DirectiveSyntax> kTable = {{"map", map},
                                                      {"skew", skew},
                                                      {"shift", shift},
                                                      {"reverse", reverse},
                                                      {"rename", rename},
                                                      {"affine", affine},
                                                      {"interchange", interchange},
                                                      {"wavefront", wavefront}};
  return kTable;
}

}  // namespace polyte::schedule
