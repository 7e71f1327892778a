#include "schedule/script/directive_table.h"
#include "schedule/script/print_words.h"

namespace polyte::schedule {

namespace {

// A list in brackets, (t, 2*t + i) or [1, 0]; the expressions stay text until the primitive
// knows the names in them.
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

// All rows at once, over iterators: S (t, 2*t + i), T (t, 2*t + i + 1) as (t, I)
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

// Some loops replaced, over current loops: S, T: w = t.o + i.o, v = i.o for t.o, i.o
// `map` begins both forms: a name with `(` behind it is the first, one with `=` the second without
// statements. Without `for` the loops keep their names: map i = i + 1.
void parse_map(LineParser& line, std::vector<Operation>& into) {
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

// `as NAME`, where the line gives the new loop a name; empty: it keeps the old one.
std::string new_name(LineParser& line) {
  return line.accept("as") ? line.name("a name for the loop") : "";
}

void parse_skew(LineParser& line, std::vector<Operation>& into) {
  Skew skew{line.named_loop(), {}, ""};
  line.expect("by");
  skew.by = line.size();
  skew.name = new_name(line);
  into.push_back(skew);
}

void parse_shift(LineParser& line, std::vector<Operation>& into) {
  Shift shift{line.named_loop(), {}, ""};
  line.expect("by");
  shift.by = line.size();
  shift.name = new_name(line);
  into.push_back(shift);
}

void parse_reverse(LineParser& line, std::vector<Operation>& into) {
  Reverse reverse{line.named_loop(), ""};
  reverse.name = new_name(line);
  into.push_back(reverse);
}

void parse_rename(LineParser& line, std::vector<Operation>& into) {
  Rename rename{line.named_loop(), ""};
  line.expect("as");
  rename.name = line.name("a name for the loop");
  into.push_back(rename);
}

// affine S: (i, j) by [[1, 1], [0, 1]] as (a, b)
void parse_affine(LineParser& line, std::vector<Operation>& into) {
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

void parse_interchange(LineParser& line, std::vector<Operation>& into) {
  Interchange interchange;
  interchange.statement = line.optional_selector();
  interchange.outer = line.name("a loop");
  line.expect(",");
  interchange.inner = line.name("a loop");
  into.push_back(interchange);
}

// wavefront S: w = t + 2*i for t
void parse_wavefront(LineParser& line, std::vector<Operation>& into) {
  Wavefront wavefront;
  wavefront.statement = line.optional_selector();
  wavefront.name = line.name("a name for the wavefront loop");
  line.expect("=");
  wavefront.value = line.size();
  line.expect("for");
  wavefront.replaced = line.name("a loop");
  into.push_back(wavefront);
}

// --- printing

std::string print_map(const Map& d) {
  std::string text;
  for (const Map::Item& item : d.items)
    text += (text.empty() ? "map " : ", ") + item.statement + " (" + list(item.values) + ")";
  return text + " as (" + list(d.loops, ", ") + ")";
}

std::string print_remap(const Remap& d) {
  std::string text;
  for (std::size_t i = 0; i < d.loops.size(); ++i)
    text += (text.empty() ? "" : ", ") + d.loops[i] + " = " + d.values[i].text;
  return "map " + selector(list(d.statements, ", ")) + text + " for " + list(d.replaced, ", ");
}

std::string print_skew(const Skew& d) {
  return "skew " + spaced(d.loop) + " by " + d.by.text + named(d.name);
}

std::string print_shift(const Shift& d) {
  return "shift " + spaced(d.loop) + " by " + d.by.text + named(d.name);
}

std::string print_reverse(const Reverse& d) { return "reverse " + spaced(d.loop) + named(d.name); }

std::string print_rename(const Rename& d) { return "rename " + spaced(d.loop) + named(d.name); }

std::string print_affine_map(const AffineMap& d) {
  std::string rows;
  for (const std::vector<Size>& row : d.matrix)
    rows += (rows.empty() ? "[" : ", [") + list(row) + "]";
  return "affine " + selector(d.statement) + "(" + list(d.loops, ", ") + ") by [" + rows +
         "] as (" + list(d.names, ", ") + ")";
}

std::string print_interchange(const Interchange& d) {
  return "interchange " + selector(d.statement) + d.outer + ", " + d.inner;
}

std::string print_wavefront(const Wavefront& d) {
  return "wavefront " + selector(d.statement) + d.name + " = " + d.value.text + " for " +
         d.replaced;
}

}  // namespace

// Remap has no word: `map` parses it, and its row prints and applies it.
const std::vector<DirectiveRow>& map_directives() {
  static const std::vector<DirectiveRow> kTable = {
      directive<Map, print_map, map>("map", parse_map),
      directive<Remap, print_remap, remap>("", nullptr),
      directive<Skew, print_skew, skew>("skew", parse_skew),
      directive<Shift, print_shift, shift>("shift", parse_shift),
      directive<Reverse, print_reverse, reverse>("reverse", parse_reverse),
      directive<Rename, print_rename, rename>("rename", parse_rename),
      directive<AffineMap, print_affine_map, affine_map>("affine", parse_affine),
      directive<Interchange, print_interchange, interchange>("interchange", parse_interchange),
      directive<Wavefront, print_wavefront, wavefront>("wavefront", parse_wavefront),
  };
  return kTable;
}

}  // namespace polyte::schedule
