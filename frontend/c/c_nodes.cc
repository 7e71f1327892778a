#include "frontend/c/c_nodes.h"

namespace polyte::frontend::c {

namespace {

std::string range(const Node& loop) {
  return loop.iterator + " in " + to_string(loop.begin) + ".." + to_string(loop.end);
}

std::string header(const Node& loop) {
  return "loop " + range(loop) + (loop.step < 0 ? " step -1" : "");
}

}  // namespace

void TextWriter::line(int c_line, const std::string& text) {
  result_.text += text + "\n";
  result_.lines.push_back(c_line);
}

void TextWriter::statement(const Node& node, const std::string& ranges, const std::string& indent) {
  std::string text = indent + node.label + ": " + node.write + " " + node.sign + " " + node.value;
  if (!ranges.empty()) text += "  for " + ranges;
  for (std::size_t i = 0; i < node.where.size(); ++i)
    text += (i == 0 ? "  if " : " and ") + to_string(node.where[i]);
  if (!node.when.empty()) text += "  when " + node.when;
  line(node.line, text);
}

// Loops that hold nothing but each other and one statement need no region: they are its ranges.
void TextWriter::nodes(const std::vector<Node>& nodes, const std::string& indent) {
  for (const Node& node : nodes) {
    const Node* inner = &node;
    std::vector<const Node*> loops;
    for (; inner->is_loop && inner->step > 0 && inner->body.size() == 1; inner = &inner->body[0])
      loops.push_back(inner);
    if (!inner->is_loop) {
      single(loops, *inner, indent);
      continue;
    }
    line(node.line, indent + header(node));
    this->nodes(node.body, indent + "  ");
  }
}

// The inner loops become ranges. A loop on which the target of an assignment does not depend writes
// the same elements in every iteration, of which the last counts: it stays a region, which has an
// order, and so do the loops around it.
//
//    for (t..) for (i..) A[i] = B[t][i];      loop t in 0..T
//                                               S0: A[i] = B[t, i]  for i in 0..N
void TextWriter::single(const std::vector<const Node*>& loops, const Node& statement,
                        std::string indent) {
  std::size_t first = 0;
  for (std::size_t i = 0; i < loops.size(); ++i)
    if (statement.sign == "=" && statement.targets.count(loops[i]->iterator) == 0) first = i + 1;
  std::string ranges;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if (i < first) {
      line(loops[i]->line, indent + header(*loops[i]));
      indent += "  ";
    } else {
      ranges += (ranges.empty() ? "" : ", ") + range(*loops[i]);
    }
  }
  this->statement(statement, ranges, indent);
}

}  // namespace polyte::frontend::c
