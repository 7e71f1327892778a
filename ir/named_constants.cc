#include "ir/named_constants.h"

#include <algorithm>

namespace polyte::ir::text {
namespace {

constexpr std::size_t kMostParts = 1000;  // a chain of constants can double with each line

// What is more than one token stays together where it is put in.
TreePtr in_brackets(const TreePtr& tree) {
  if (tree->kind != TreeKind::Infix && tree->kind != TreeKind::Negate) return tree;
  return std::make_shared<const Tree>(
      Tree{TreeKind::Brackets, tree->line, "", {tree}, nullptr, false, {}});
}

}  // namespace

void NamedConstants::define(const std::string& name, const TreePtr& value, const Program& program) {
  const auto is_param = [&](const std::string& text) {
    return std::ranges::find(program.params, text) != program.params.end();
  };
  if (has(name)) throw Fault{value->line, "constant '" + name + "' is defined already"};
  if (is_param(name))
    throw Fault{value->line, "constant '" + name + "' has the name of a parameter"};
  if (program.find_buffer(name))
    throw Fault{value->line, "constant '" + name + "' has the name of a tensor"};
  // Counted as if written out, before it is: a = x + x, b = a + a, .. has 2^n parts after n
  // lines.
  std::size_t parts = 0;
  for_each_tree(value, [&](const Tree& t) {
    ++parts;
    if (t.kind == TreeKind::Element)
      throw Fault{t.line, "constant '" + name + "' reads the tensor '" + t.text +
                              "': expected numbers and parameters"};
    if (t.kind != TreeKind::Name || t.text == "true" || t.text == "false" || is_param(t.text))
      return;
    const auto other = entries_.find(t.text);
    if (other == entries_.end())
      throw Fault{t.line, "constant '" + name + "': '" + t.text +
                              "' is no parameter, and no constant defined before"};
    parts += other->second.parts;
  });
  if (parts > kMostParts)
    throw Fault{value->line, "constant '" + name + "' written out has " + std::to_string(parts) +
                                 " parts, expected at most " + std::to_string(kMostParts)};
  entries_.emplace(name, Entry{in_brackets(write_out(value)), parts});
}

// Substitution of trees, not of values, so that a number takes the type of its new place. `-alpha`
// of a number becomes the negative number, as if it had been written so.
TreePtr NamedConstants::write_out(const TreePtr& tree) const {
  if (tree->kind == TreeKind::Element && has(tree->text))
    throw Fault{tree->line, "'" + tree->text + "' is a constant, which has no subscripts"};
  if (tree->kind == TreeKind::Name && has(tree->text)) return entries_.at(tree->text).value;
  if (tree->kind == TreeKind::Negate && tree->parts[0]->kind == TreeKind::Name &&
      has(tree->parts[0]->text))
    return negated(entries_.at(tree->parts[0]->text).value);
  Tree copy = *tree;
  write_out(copy.parts);
  write_out(copy.guard);
  if (copy.otherwise) copy.otherwise = write_out(copy.otherwise);
  if (copy.parts == tree->parts && copy.guard == tree->guard && copy.otherwise == tree->otherwise)
    return tree;
  return std::make_shared<const Tree>(std::move(copy));
}

void NamedConstants::write_out(std::vector<TreePtr>& trees) const {
  for (TreePtr& tree : trees) tree = write_out(tree);
}

void NamedConstants::write_out(std::vector<WrittenRange>& ranges, int line) const {
  for (WrittenRange& range : ranges) {
    check_iterator(range.name, line);
    if (range.begin) range.begin = write_out(range.begin);
    if (range.end) range.end = write_out(range.end);
  }
}

void NamedConstants::check_iterator(const std::string& name, int line) const {
  if (has(name)) throw Fault{line, "iterator '" + name + "' has the name of a constant"};
}

void NamedConstants::write_out(WrittenStatement& statement) const {
  if (entries_.empty()) return;
  for (WrittenAccess& write : statement.writes) {
    if (has(write.buffer))
      throw Fault{statement.line, "'" + write.buffer + "' is a constant, which nothing writes"};
    write_out(write.subscripts);
  }
  write_out(statement.reductions, statement.line);
  write_out(statement.values);
  write_out(statement.ranges, statement.line);
  write_out(statement.where);
  if (statement.guard) statement.guard = write_out(statement.guard);
}

}  // namespace polyte::ir::text
