#include "schedule/language/directive_syntax.h"

namespace polyte::schedule {

namespace {

void split(LineParser& line, std::vector<Operation>& into) {
  std::string selector;
  const std::size_t first = into.size();
  do {
    if (const std::string own = line.optional_selector(); !own.empty()) selector = own;
    Split split;
    split.loop = {selector, line.name("a loop")};
    split.into = line.accept("into");
    if (!split.into) line.expect("by");
    split.factor = line.size();
    if (line.accept("from")) split.from = line.size();
    into.push_back(split);
  } while (line.accept(","));
  const Tail all = line.tail();
  for (std::size_t i = first; i < into.size(); ++i) std::get<Split>(into[i]).tail = all;
}

void tile(LineParser& line, std::vector<Operation>& into) {
  Tile tile;
  tile.statement = line.optional_selector();
  if (tile.statement.empty() && !line.is("(")) tile.statement = line.name("a statement");  // tile y (i, j) by ..
  line.expect("(");
  tile.loops = line.names(",", "a loop");
  line.expect(")");
  line.expect("by");
  line.expect("(");
  do tile.factors.push_back(line.size());
  while (line.accept(","));
  line.expect(")");
  tile.tail = line.tail();
  into.push_back(tile);
}

void reorder(LineParser& line, std::vector<Operation>& into) {
  const std::string selector = line.optional_selector();
  into.push_back(Reorder{selector, line.names(">", "a loop")});
}

void order(LineParser& line, std::vector<Operation>& into) {
  const std::string statement = line.name("a statement");
  line.expect(":");
  // No path: its loops in their order, as `nest S` has them.
  into.push_back(Order{statement, line.at_end() ? std::vector<std::string>{} : line.names(">", "a loop")});
}

void fuse(LineParser& line, std::vector<Operation>& into) {
  Fuse fuse;
  const std::string selector = line.optional_selector();
  fuse.outer = line.loop_name();
  line.expect(",");
  fuse.inner = line.loop_name();
  if (fuse.outer.statement.empty()) fuse.outer.statement = selector;
  if (fuse.inner.statement.empty()) fuse.inner.statement = fuse.outer.statement;
  line.expect("as");
  fuse.name = line.name("a name for the fused loop");
  into.push_back(fuse);
}

void merge(LineParser& line, std::vector<Operation>& into) {
  const std::vector<std::string> statements = line.names(",", "a statement");
  line.expect("through");
  into.push_back(Merge{statements, line.name("a loop")});
}

void distribute(LineParser& line, std::vector<Operation>& into) { into.push_back(Distribute{line.loop_name()}); }

// unroll acc: m.i, n.i
template <class Kind>
void kind(LineParser& line, std::vector<Operation>& into) {
  const std::string selector = line.optional_selector();
  do {
    LoopName loop = line.selected_loop();
    if (loop.statement.empty()) loop.statement = selector;
    into.push_back(Kind{loop});
  } while (line.accept(","));
}

}  // namespace

const std::vector<DirectiveSyntax>& loop_syntax() {
  static const std::vector<DirectiveSyntax> kTable = {{"split", split},
                                                      {"tile", tile},
                                                      {"reorder", reorder},
                                                      {"order", order},
                                                      {"fuse", fuse},
                                                      {"merge", merge},
                                                      {"distribute", distribute},
                                                      {"unroll", kind<Unroll>},
                                                      {"vectorize", kind<Vectorize>},
                                                      {"parallel", kind<Parallel>}};
  return kTable;
}

}  // namespace polyte::schedule
