#include "frontend/c/c_statements.h"

#include <algorithm>
#include <array>

#include "support/error.h"

namespace polyte::frontend::c {
namespace {

constexpr int kDeepestStatement = 200;

bool is_other_statement(const std::string& text) {
  constexpr std::array<std::string_view, 9> kWords{"while",    "do",     "switch", "case", "goto",
                                                   "continue", "return", "break",  "else"};
  return std::ranges::find(kWords, text) != kWords.end();
}

bool is_arithmetic(const TreePtr& tree) {
  if (tree->kind == TreeKind::Element || tree->kind == TreeKind::Call ||
      tree->kind == TreeKind::Choice)
    return false;
  return std::ranges::all_of(tree->parts, is_arithmetic);
}

bool is_sum(const TreePtr& tree) {
  return tree->kind == TreeKind::Binary && (tree->at.text == "+" || tree->at.text == "-");
}

bool is_update(const std::string& text) {
  return text == "=" || text == "+=" || text == "-=" || text == "*=" || text == "/=";
}

}  // namespace

std::vector<Node> Statements::run(const std::vector<Token>& tokens) {
  Nodes nodes;
  Cursor cursor(tokens);
  while (cursor.peek().kind != TokenKind::End) {
    if (cursor.is("}")) {
      faults_.push_back(
          {cursor.peek().line, cursor.peek().column, "a '}' closes what begins before the scop"});
      cursor.next();
    } else {
      statement(cursor, nodes);
    }
  }
  return nodes;
}

// Skips to behind the statement at fault: past its `;`, or up to the `}` around it.
void Statements::skip(Cursor& cursor, std::size_t before) {
  // Braces inside the statement, as of a loop whose header was at fault, are skipped as a whole.
  int open = 0;
  for (; cursor.peek().kind != TokenKind::End; cursor.next()) {
    if (cursor.is("{")) ++open;
    if (cursor.is("}") && open-- == 0) break;
    if ((cursor.is(";") || cursor.is("}")) && open == 0) {
      cursor.next();
      return;
    }
  }
  if (cursor.position() == before && cursor.peek().kind != TokenKind::End && !cursor.is("}"))
    cursor.next();
}

void Statements::statement(Cursor& cursor, Nodes& into) {
  const std::size_t before = cursor.position();
  if (++depth_ > kDeepestStatement) {
    --depth_;
    faults_.push_back(
        {cursor.peek().line, cursor.peek().column, "statements are nested too deeply"});
    while (cursor.peek().kind != TokenKind::End) cursor.next();
    return;
  }
  // A fault may leave a branch in the middle: whatever happens, the conditions of the
  // surroundings hold again afterwards.
  const auto where = where_;
  const auto when = when_;
  try {
    const Token& token = cursor.peek();
    if (token.kind == TokenKind::Directive || token.kind == TokenKind::Scop) {
      if (token.kind == TokenKind::Scop || !token.text.starts_with("#pragma"))
        fail(cursor.next(), "'" + token.text + "' inside a scop");
      cursor.next();  // of a compiler's
    } else if (cursor.is("{")) {
      block(cursor, into);
    } else if (cursor.is("for")) {
      loop(cursor, into);
    } else if (cursor.is("if")) {
      branch(cursor, into);
    } else if (cursor.is("assert") || cursor.is("__pencil_assume") ||
               cursor.is("__builtin_assume")) {
      assertion(cursor);
    } else if (is_other_statement(token.text)) {
      fail(cursor.next(), "'" + token.text + "' is not read: expected for, if or an assignment");
    } else if (is_type_word(token.text)) {
      declaration(cursor, into);
    } else if (token.kind == TokenKind::Name && cursor.is(":", 1)) {
      label_ = cursor.next().text;
      cursor.next();
      statement(cursor, into);
    } else if (!cursor.accept(";")) {
      assignment(cursor, into);
    }
  } catch (const Fault& fault) {
    faults_.push_back(fault);
    skip(cursor, before);
  } catch (const UserError& error) {  // an overflow
    faults_.push_back({cursor.peek().line, cursor.peek().column, error.what()});
    skip(cursor, before);
  }
  where_ = where;
  when_ = when;
  --depth_;
}

void Statements::block(Cursor& cursor, Nodes& into) {
  const Token open = cursor.next();
  names_.open_block();
  while (!cursor.is("}") && cursor.peek().kind != TokenKind::End) statement(cursor, into);
  names_.close_block();
  if (!cursor.accept("}")) fail(open, "the '{' is not closed in the scop");
}

// i++, ++i, i += 2, i = i + 2, and downwards. A sum groups to the left, the variable innermost:
// i - 2 + 1 is (i - 2) + 1, a step of -1.
std::int64_t Statements::read_step(Cursor& cursor, const std::string& variable) {
  const Token at = cursor.peek();
  const auto expected = [&] {
    fail(at,
         "expected a step such as " + variable + "++, --" + variable + " or " + variable + " += 2");
  };
  const auto affine = [&](const TreePtr& tree) { return values_.expect_affine(tree, "the step"); };
  const auto constant = [&](const ir::Affine& step) {
    if (!step.is_constant() || step.constant() == 0) expected();
    return step.constant();
  };
  if (cursor.is("++") || cursor.is("--")) {
    const std::int64_t step = cursor.next().text == "++" ? 1 : -1;
    if (!cursor.accept(variable)) expected();
    return step;
  }
  if (!cursor.accept(variable)) expected();
  if (cursor.accept("++")) return 1;
  if (cursor.accept("--")) return -1;
  if (cursor.accept("+=")) return constant(affine(parse_expression(cursor)));
  if (cursor.accept("-=")) return constant(-affine(parse_expression(cursor)));
  if (!cursor.accept("=")) expected();
  const TreePtr sum = parse_expression(cursor);
  TreePtr first = sum;
  while (is_sum(first)) first = first->parts[0];
  if (first->kind != TreeKind::Name || first->at.text != variable) expected();
  ir::Affine step;
  for (TreePtr part = sum; part != first; part = part->parts[0]) {
    const ir::Affine term = affine(part->parts[1]);
    step = part->at.text == "+" ? step + term : step - term;
  }
  return constant(step);
}

void Statements::set_bounds(Header& header, const std::string& sign, const TreePtr& bound,
                            const Token& at) {
  const ir::Affine first = values_.expect_affine(header.first, "the first value of the loop");
  const ir::Affine last = values_.expect_affine(bound, "the bound of the loop");
  // up      i = first; i < last     first .. last               last + 1 for <=
  // down    i = first; i > last     last + 1 .. first + 1       last for >=
  const bool up = header.step > 0;
  if (up ? sign != "<" && sign != "<=" : sign != ">" && sign != ">=")
    fail(at, "expected '" + std::string(up ? "<' or '<=" : ">' or '>=") + "' as the loop counts " +
                 (up ? "up" : "down") + ", got '" + sign + "'");
  if (up) {
    header.begin = first;
    header.end = sign == "<" ? last : last + 1;
  } else {
    header.begin = sign == ">=" ? last : last + 1;
    header.end = first + 1;
  }
}

void Statements::read_header(Cursor& cursor, Header& header) {
  cursor.expect("(");
  // `for (int i = 0; ..)`: the type of a loop variable does not matter, its value is affine.
  while (is_type_word(cursor.peek().text)) cursor.next();
  header.at = cursor.peek();
  header.variable = cursor.expect_name("the variable of the loop");
  cursor.expect("=");
  header.first = parse_expression(cursor);
  cursor.expect(";");
  const TreePtr test = parse_expression(cursor);
  cursor.expect(";");
  // `N > i` is `i < N`.
  const bool turned = test->kind == TreeKind::Binary && test->parts[1]->kind == TreeKind::Name &&
                      test->parts[1]->at.text == header.variable;
  if (test->kind != TreeKind::Binary || test->parts[turned ? 1 : 0]->at.text != header.variable)
    fail(test->at, "expected a comparison of '" + header.variable + "' with a bound");
  std::string sign = test->at.text;
  if (turned && (sign[0] == '<' || sign[0] == '>')) sign[0] = sign[0] == '<' ? '>' : '<';
  header.step = read_step(cursor, header.variable);
  cursor.expect(")");
  set_bounds(header, sign, test->parts[turned ? 0 : 1], test->at);
}

// A Program's loops count by 1. Of another step the iterator counts the iterations, and C's
// variable is an affine function of it:
//
//    for (i = 1; i < N; i += 2)  A[i] = 0;      A[2*i + 1] = 0  for i in 0..N // 2
//
// A loop down by 1 stays one, as its order matters; `for (i = N - 1; i >= 0; i--)` has bounds 0..N.
void Statements::loop(Cursor& cursor, Nodes& into) {
  const Token at = cursor.next();
  Header header;
  read_header(cursor, header);
  Node node;
  node.line = at.line;
  node.is_loop = true;
  node.step = header.step > 0 ? 1 : -1;
  node.iterator = names_.open_loop(header.variable);
  const std::int64_t stride = header.step > 0 ? header.step : -header.step;
  node.begin = header.begin;
  node.end = header.end;
  if (stride > 1) {  // counted from 0 in its own direction
    node.begin = 0;
    // The number of iterations, ceil((end - begin) / stride); negative if there are none, which
    // is an empty range all the same.
    node.end = floor_div(header.end - header.begin + (stride - 1), stride);
    node.step = 1;
    const ir::Affine count = ir::Affine::symbol(node.iterator) * stride;
    names_.set_loop(header.variable,
                    header.step > 0 ? header.begin + count : header.end - 1 - count);
  }
  // What the range of the variable is in numbers, for divisions by it (affine_division): least
  // value of the begin, greatest of the end. An end that is exclusive makes this one too wide,
  // which is safe.
  ir::Ranges ranges = values_.ranges();
  for (const std::string& size : names_.sizes()) ranges[size] = {0, std::nullopt};
  ir::Interval range = ir::range_of(node.begin, ranges);
  const ir::Interval last = ir::range_of(node.end, ranges);
  range.max = last.max;
  values_.set_range(node.iterator, range);
  // A constant declared inside a loop may differ from iteration to iteration (is_constant).
  ++loops_;
  statement(cursor, node.body);
  --loops_;
  names_.close_block();
  if (!node.body.empty()) into.push_back(std::move(node));
}

// A branch adds its conditions for the statements in it.
void Statements::conditional(Cursor& cursor, Nodes& into, const std::vector<ir::Constraint>& where,
                             const std::string& when) {
  const auto outer_where = where_;
  const auto outer_when = when_;
  where_.insert(where_.end(), where.begin(), where.end());
  if (!when.empty()) when_.push_back(when);
  statement(cursor, into);
  where_ = outer_where;
  when_ = outer_when;
}

void Statements::branch(Cursor& cursor, Nodes& into) {
  cursor.next();
  cursor.expect("(");
  const TreePtr test = parse_expression(cursor);
  cursor.expect(")");
  if (const auto where = values_.constraints(test)) {
    conditional(cursor, into, *where, "");
    if (!cursor.accept("else")) return;
    // Of integers not (e >= 0) is -e - 1 >= 0. The opposite of an equation or of several conditions
    // is a union, which no conjunction says: it is tested at run time.
    if (where->size() == 1 && !where->front().equality)
      return conditional(cursor, into, {{-where->front().expr - 1, false}}, "");
    return conditional(cursor, into, {}, "not(" + values_.condition(test) + ")");
  }
  // Only what reads memory can change while the branch runs: `if (n % 2)` needs no temporary.
  const int reads = values_.reads();
  std::string condition = values_.condition(test);
  if (values_.reads() > reads) {  // the body may change what it reads
    // The condition is computed once, into a temporary, and both branches test that:
    // if (x[i] > 0) x[i] = -1; else y[i] = 1;        S0: condition[] = x[i] > 0
    //                                                S1: x[i] = -1  when condition[]
    //                                                S2: y[i] = 1   when not(condition[])
    Variable flag;
    flag.type = DType::Bool;
    flag.at = test->at;
    Variable& declared = names_.declare("condition", flag);
    declared.written = declared.read = true;
    Node node;
    node.line = test->at.line;
    node.label = next_label();
    node.write = declared.name + "[]";
    node.sign = "=";
    node.value = condition;
    node.where = where_;
    for (const std::string& when : when_)
      node.when += (node.when.empty() ? "(" : " and (") + when + ")";
    into.push_back(std::move(node));
    condition = declared.name + "[]";
  }
  conditional(cursor, into, {}, condition);
  if (cursor.accept("else")) conditional(cursor, into, {}, "not(" + condition + ")");
}

void Statements::assertion(Cursor& cursor) {
  cursor.next();
  const TreePtr test = parse_expression(cursor);
  cursor.accept(";");
  const auto where = values_.constraints(test);
  if (!where) fail(test->at, "what is asserted is no conjunction of affine comparisons");
  for (const ir::Constraint& c : *where) {
    std::set<std::string> symbols;
    c.expr.collect_symbols(symbols);
    for (const std::string& symbol : symbols)
      if (std::ranges::find(names_.sizes(), symbol) == names_.sizes().end())
        fail(test->at, "what is asserted of '" + symbol + "' is of no size");
    assumed_.push_back(c);
  }
}

// Arithmetic of numbers and sizes, before all loops: it is computed where it is used, as a
// C compiler may do.
bool Statements::is_constant(const Declared& declared) {
  constexpr std::size_t kLongest = 200;
  Variable& variable = *declared.variable;
  if (!variable.is_const || !is_float(variable.type) || loops_ > 0 || !where_.empty() ||
      !when_.empty())
    return false;
  if (!is_arithmetic(declared.value)) return false;
  const int reads = values_.reads();
  const Value value = values_.value(declared.value);
  const std::string type(to_string(variable.type));
  const std::string text =
      value.type == variable.type && !value.adapts ? value.text : type + "(" + value.text + ")";
  if (values_.reads() > reads || text.size() > kLongest) return false;
  variable.constant = text;
  return true;
}

void Statements::declaration(Cursor& cursor, Nodes& into) {
  const Token at = cursor.peek();
  const std::vector<Declared> all = read_declarations(cursor, names_, false);
  if (all.empty()) fail(at, "expected a declaration of variables, got one of something else");
  for (const Declared& declared : all) {
    if (!declared.value || declared.variable->literal || is_constant(declared)) continue;
    // `double s = x[i];` is an assignment; constants have become part of what uses them.
    const TreePtr target = std::make_shared<const Tree>(Tree{TreeKind::Name, declared.at, {}, {}});
    assign(target, "=", declared.value, into);
  }
  cursor.expect(";");
}

void Statements::assignment(Cursor& cursor, Nodes& into) {
  const bool first = cursor.is("++") || cursor.is("--");
  const Token step = first ? cursor.next() : Token{};
  const TreePtr target = parse_expression(cursor);
  if (target->kind != TreeKind::Name && target->kind != TreeKind::Element)
    fail(target->at, target->kind == TreeKind::Call
                         ? "a call of '" + target->at.text + "' alone: expected an assignment"
                         : "expected an assignment to a variable or an element");
  // i++ as a statement of its own is i += 1.
  const auto one = [&](const Token& at) {
    return std::make_shared<const Tree>(
        Tree{TreeKind::Number, {TokenKind::Number, "1", at.line, at.column}, {}, {}});
  };
  if (first || cursor.is("++") || cursor.is("--")) {
    const Token sign = first ? step : cursor.next();
    assign(target, sign.text == "++" ? "+=" : "-=", one(sign), into);
  } else {
    if (!is_update(cursor.peek().text)) cursor.fail_expected("'=', '+=', '-=', '*=' or '/='");
    const std::string sign = cursor.next().text;
    const TreePtr value = parse_expression(cursor);
    if (is_update(cursor.peek().text)) fail(cursor.peek(), "an assignment within an assignment");
    assign(target, sign, value, into);
  }
  cursor.expect(";");
}

std::string Statements::next_label() {
  std::string label = label_;
  label_.clear();
  // The label of the text if it is the first of that name, else the next free S0, S1, ..
  while (label.empty() || !labels_.insert(label).second)
    label = "S" + std::to_string(statements_++);
  return label;
}

void Statements::assign(const TreePtr& target, const std::string& sign, const TreePtr& value,
                        Nodes& into) {
  Node node;
  node.line = target->at.line;
  // An update reads its target: what is read before it is written has its value from outside.
  const std::string before = sign == "=" ? "" : values_.access(target, false);
  const Value right = values_.value(value);
  const DType type = values_.type_of_access(target);
  node.label = next_label();
  // Program text has no update by division.
  node.sign = sign == "/=" ? "=" : sign;
  node.value = values_.as(right, type);
  if (sign == "/=")
    node.value = before + " / " +
                 (node.value == right.text && right.compound ? "(" + node.value + ")" : node.value);
  node.write = values_.access(target, true);
  for (const TreePtr& part : target->parts)
    if (const auto index = values_.affine(part)) index->collect_symbols(node.targets);
  for (const std::string name : {"max", "min"}) {  // x = max(x, ...) is an update
    // On integers this is the update `x max= ..`, a reduction, whose terms a schedule may
    // reorder. What is compound only begins so: max(x, y) + 1.
    const std::string head = name + "(" + node.write + ", ";
    if (sign != "=" || is_float(type) || right.compound || !node.value.starts_with(head)) continue;
    node.sign = name + "=";
    node.value = node.value.substr(head.size(), node.value.size() - head.size() - 1);
  }
  node.where = where_;
  for (const std::string& when : when_)
    node.when += (node.when.empty() ? "(" : " and (") + when + ")";
  into.push_back(std::move(node));
}

}  // namespace polyte::frontend::c
