#include "frontend/c/c_tree.h"

#include <algorithm>
#include <array>

namespace polyte::frontend::c {
namespace {

// Limits on brackets and on operations, since everything that reads a tree recurses into it. A
// sum a + b + c + .. groups to the left, and is as deep there as it is long.
constexpr int kDeepestExpression = 200, kLongest = 1000;

// C's binary operators, those that bind least first; all group to the left.
const std::array<std::vector<std::string_view>, 10> kLevels{{{"||"},
                                                             {"&&"},
                                                             {"|"},
                                                             {"^"},
                                                             {"&"},
                                                             {"==", "!="},
                                                             {"<", ">", "<=", ">="},
                                                             {"<<", ">>"},
                                                             {"+", "-"},
                                                             {"*", "/", "%"}}};

TreePtr make(TreeKind kind, const Token& at, std::vector<TreePtr> parts = {}) {
  return std::make_shared<const Tree>(Tree{kind, at, std::move(parts), {}});
}

class Parser {
 public:
  explicit Parser(Cursor& cursor) : cursor_(cursor) {}

  // a ? b : c ? d : e groups to the right, as the recursion does.
  TreePtr choice() {
    if (++depth_ > kDeepestExpression) fail(cursor_.peek(), "the expression is nested too deeply");
    TreePtr condition = binary(0);
    if (cursor_.is("?")) {
      const Token at = cursor_.next();
      const TreePtr yes = choice();
      cursor_.expect(":");
      condition = make(TreeKind::Choice, at, {condition, yes, choice()});
    }
    --depth_;
    return condition;
  }

 private:
  Cursor& cursor_;
  int depth_ = 0, length_ = 0;

  TreePtr binary(std::size_t level) {
    if (level == kLevels.size()) return unary();
    TreePtr left = binary(level + 1);
    while (cursor_.peek().kind == TokenKind::Sign &&
           std::ranges::find(kLevels[level], cursor_.peek().text) != kLevels[level].end()) {
      if (++length_ > kLongest)
        fail(cursor_.peek(),
             "the expression has more than " + std::to_string(kLongest) + " operations");
      const Token at = cursor_.next();
      left = make(TreeKind::Binary, at, {left, binary(level + 1)});
    }
    return left;
  }

  TreePtr unary() {
    const Token at = cursor_.peek();
    if (++depth_ > kDeepestExpression) fail(at, "the expression is nested too deeply");
    TreePtr result;
    if (at.text == "++" || at.text == "--") fail(at, "'" + at.text + "' inside an expression");
    if (at.text == "*" || at.text == "&")
      fail(at, "pointers are not read: expected array elements such as A[i][j]");
    if (at.text == "-" || at.text == "+" || at.text == "!" || at.text == "~") {
      cursor_.next();
      result = unary();
      // Unary plus does nothing but promote, as each use of a value does anyway.
      if (at.text != "+") result = make(TreeKind::Unary, at, {result});
    } else if (at.text == "(" && is_type_word(cursor_.peek(1).text)) {
      // `(int)x`, not `(x)`: the word after the bracket decides, as typedefs are not read.
      result = cast();
    } else {
      result = primary();
    }
    --depth_;
    return result;
  }

  TreePtr cast() {
    cursor_.expect("(");
    Tree tree{TreeKind::Cast, cursor_.peek(), {}, {}};
    while (!cursor_.is(")")) {
      if (cursor_.peek().kind != TokenKind::Name) cursor_.fail_expected("')'");
      tree.type.push_back(cursor_.next());
    }
    cursor_.expect(")");
    tree.parts = {unary()};
    return std::make_shared<const Tree>(std::move(tree));
  }

  // A number, (e), f(..), x or x[i][j].
  TreePtr primary() {
    const Token at = cursor_.peek();
    if (at.kind == TokenKind::Number) return make(TreeKind::Number, cursor_.next());
    if (cursor_.accept("(")) {
      const TreePtr inner = choice();
      cursor_.expect(")");
      return inner;
    }
    if (at.kind != TokenKind::Name) cursor_.fail_expected("a value");
    cursor_.next();
    if (cursor_.accept("(")) {
      std::vector<TreePtr> arguments;
      if (!cursor_.is(")")) do
          arguments.push_back(choice());
        while (cursor_.accept(","));
      cursor_.expect(")");
      return make(TreeKind::Call, at, std::move(arguments));
    }
    std::vector<TreePtr> subscripts;
    while (cursor_.accept("[")) {
      subscripts.push_back(choice());
      cursor_.expect("]");
    }
    if (cursor_.is("->") || cursor_.is("."))
      fail(cursor_.peek(), "members of structures are not read");
    return make(subscripts.empty() ? TreeKind::Name : TreeKind::Element, at, std::move(subscripts));
  }
};

}  // namespace

void Cursor::expect(std::string_view text) {
  if (!accept(text)) fail_expected("'" + std::string(text) + "'");
}

std::string Cursor::expect_name(const std::string& what) {
  if (peek().kind != TokenKind::Name) fail_expected(what);
  return next().text;
}

void Cursor::fail_expected(const std::string& what) const {
  fail(peek(),
       "expected " + what + ", got " +
           (peek().kind == TokenKind::End ? "the end of the file" : "'" + peek().text + "'"));
}

TreePtr parse_expression(Cursor& cursor) { return Parser(cursor).choice(); }

bool is_type_word(const std::string& text) {
  constexpr std::array<std::string_view, 30> kWords{
      "void",     "char",     "short",     "int",      "long",       "float",
      "double",   "signed",   "unsigned",  "_Bool",    "bool",       "size_t",
      "const",    "volatile", "static",    "register", "restrict",   "extern",
      "int8_t",   "int16_t",  "int32_t",   "int64_t",  "uint8_t",    "uint16_t",
      "uint32_t", "uint64_t", "DATA_TYPE", "inline",   "__restrict", "ssize_t"};
  return std::ranges::find(kWords, text) != kWords.end();
}

}  // namespace polyte::frontend::c
