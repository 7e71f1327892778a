// The first half of ir/expr_parser.h: tokens to trees, by precedence climbing.
#include <algorithm>
#include <array>

#include "ir/expr_parser.h"

namespace polyte::ir::text {
namespace {

// Weakest first; the order of the Strength enumerators of ir/expr_text.cc.
const std::array<std::vector<std::string>, 9> kLevels{{{"or"},
                                                       {"and"},
                                                       {"==", "!=", "<", "<=", ">", ">="},
                                                       {"|"},
                                                       {"^"},
                                                       {"&"},
                                                       {"<<", ">>"},
                                                       {"+", "-"},
                                                       {"*", "/", "//", "%"}}};
constexpr std::size_t kComparison = 2, kSum = 7;

bool is_combiner(const std::string& name) {
  constexpr std::array<std::string_view, 9> kNames{"sum", "prod", "product", "min",   "max",
                                                   "any", "all",  "argmin",  "argmax"};
  return std::ranges::find(kNames, name) != kNames.end();
}

// Limits of what the recursive passes over trees and expressions follow.
constexpr int kDeepest = 200, kLongest = 2000;

class TreeParser {
 public:
  explicit TreeParser(Cursor& cursor) : cursor_(cursor) {}

  // All operators associate to the left, but for comparisons, which do not associate at all: of `a
  // < b < c` the second `<` is left unread, and is refused there.
  TreePtr infix(std::size_t level) {
    if (level == kLevels.size()) return unary();
    TreePtr left = infix(level + 1);
    while (const auto sign = accept_any(kLevels[level])) {
      if (++length_ > kLongest)
        cursor_.fail("the expression has more than " + std::to_string(kLongest) + " operations");
      left = make(TreeKind::Infix, *sign, {left, infix(level + 1)});
      if (level == kComparison) break;
    }
    return left;
  }

  // Each part is one comparison: `and` here joins constraints, it is no operator on bools.
  std::vector<TreePtr> conjunction() {
    std::vector<TreePtr> comparisons;
    do comparisons.push_back(infix(kComparison));
    while (cursor_.accept("and"));
    return comparisons;
  }

 private:
  Cursor& cursor_;
  int depth_ = 0, length_ = 0;

  TreePtr make(TreeKind kind, std::string text, std::vector<TreePtr> parts = {}) const {
    return std::make_shared<const Tree>(
        Tree{kind, cursor_.line(), std::move(text), std::move(parts), nullptr, false, {}});
  }

  std::optional<std::string> accept_any(const std::vector<std::string>& signs) {
    for (const std::string& sign : signs)
      if (cursor_.accept(sign)) return sign;
    return std::nullopt;
  }

  TreePtr unary() {
    if (++depth_ > kDeepest) cursor_.fail("the expression is nested too deeply");
    TreePtr result = cursor_.accept("-") ? negated() : primary();
    --depth_;
    return result;
  }

  // A sign before a number is part of it, so that the lowest integer, -2^63, can be written: its
  // magnitude alone fits no 64 bits with a sign.
  TreePtr negated() {
    const Token& token = cursor_.peek();
    const bool number = token.kind == TokenKind::Integer || token.kind == TokenKind::Real;
    if (number || token.text == "inf") {
      const TokenKind kind = token.kind;
      const std::string text = "-" + cursor_.next().text;
      return make(kind == TokenKind::Integer ? TreeKind::Integer : TreeKind::Real, text);
    }
    return make(TreeKind::Negate, "-", {unary()});
  }

  TreePtr primary() {
    const Token token = cursor_.peek();
    switch (token.kind) {
      case TokenKind::Integer:
        return make(TreeKind::Integer, cursor_.next().text);
      case TokenKind::Real:
        return make(TreeKind::Real, cursor_.next().text);
      case TokenKind::Name:
        return name();
      default:
        break;
    }
    if (cursor_.is("*")) cursor_.fail("expected a value, got '*': a power is pow(x, 2)");
    if (!cursor_.accept("(")) cursor_.fail_expected("a value");
    TreePtr inner = parse_nested();
    cursor_.expect(")");
    return make(TreeKind::Brackets, "", {inner});
  }

  TreePtr parse_nested() { return infix(0); }

  // A constant, a call f(..), an element t[..] with perhaps a guard, or a plain name.
  TreePtr name() {
    if (cursor_.is("inf") || cursor_.is("nan")) return make(TreeKind::Real, cursor_.next().text);
    if (cursor_.is("true") || cursor_.is("false")) return make(TreeKind::Name, cursor_.next().text);
    const std::string text = cursor_.expect_name("a value");
    const bool is_step = cursor_.is("step", 1);  // `loop t in 0..T (step -1)`
    if (!is_step && cursor_.accept("(")) return make(TreeKind::Call, text, list(")", 0));
    if (!cursor_.accept("[")) return make(TreeKind::Name, text);
    const TreePtr element = make(TreeKind::Element, text, list("]", kSum));
    const Token& after = cursor_.peek();
    // `sum[k] x[k]` inside an expression reads as an element `sum[k]` with a value behind it.
    const bool is_value = after.kind == TokenKind::Integer || after.kind == TokenKind::Real ||
                          after.text == "(" ||
                          (after.kind == TokenKind::Name && !is_reserved(after.text));
    if (is_value && is_combiner(text))
      cursor_.fail("'" + text +
                   "[...]' stands alone on the right-hand side: give it a statement of its own, " +
                   "such as 'acc[...] = " + text + "[...] ...', in a file of Program text");
    return guarded(element);
  }

  std::vector<TreePtr> list(const char* close, std::size_t level) {
    std::vector<TreePtr> items;
    if (cursor_.accept(close)) return items;
    do items.push_back(infix(level));
    while (cursor_.accept(","));
    cursor_.expect(close);
    return items;
  }

  // `x[...] else v` or `x[...] if c else v`; an `if` without `else` belongs to the statement.
  TreePtr guarded(const TreePtr& element) {
    Tree tree = *element;
    const std::size_t start = cursor_.position();
    if (cursor_.accept("if")) {
      tree.explicit_guard = true;
      try {
        tree.guard = conjunction();
      } catch (const Fault&) {
        // The statement's own predicate is read again, and its faults reported.
        cursor_.rewind(start);
        return element;
      }
    }
    if (!cursor_.accept("else")) {
      cursor_.rewind(start);
      return element;
    }
    tree.otherwise = unary();
    return std::make_shared<const Tree>(std::move(tree));
  }
};

}  // namespace

TreePtr parse_tree(Cursor& cursor) { return TreeParser(cursor).infix(0); }
TreePtr parse_sum(Cursor& cursor) { return TreeParser(cursor).infix(kSum); }

std::vector<TreePtr> parse_conjunction(Cursor& cursor) { return TreeParser(cursor).conjunction(); }

TreePtr negated(const TreePtr& tree) {
  Tree result{TreeKind::Negate, tree->line, "-", {tree}, nullptr, false, {}};
  if ((tree->kind == TreeKind::Integer || tree->kind == TreeKind::Real) && tree->text != "nan") {
    result = *tree;
    result.text = tree->text[0] == '-' ? tree->text.substr(1) : "-" + tree->text;
  }
  return std::make_shared<const Tree>(std::move(result));
}

void for_each_tree(const TreePtr& tree, const std::function<void(const Tree&)>& visit) {
  visit(*tree);
  for (const TreePtr& part : tree->parts) for_each_tree(part, visit);
  for (const TreePtr& part : tree->guard) for_each_tree(part, visit);
  if (tree->otherwise) for_each_tree(tree->otherwise, visit);
}

void collect_names(const TreePtr& tree, std::vector<std::string>& names) {
  for_each_tree(tree, [&](const Tree& t) {
    if (t.kind == TreeKind::Name && t.text != "true" && t.text != "false") names.push_back(t.text);
  });
}

}  // namespace polyte::ir::text
