// Parsing loop text: the inverse of print(LoopProgram). One statement a line, nesting by indentation.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "ir/arithmetic.h"
#include "ir/loop_program_text.h"
#include "support/error.h"

namespace polyte::ir {
namespace {

constexpr int kDeepest = 200;  // what the recursive passes over loops and expressions follow

struct Failure {
  std::string message;
};
[[noreturn]] void fail(std::string message) { throw Failure{std::move(message)}; }

struct Line {
  int number;
  int indent;
  std::string text;
};

// Reads tokens of one line.
class Cursor {
 public:
  explicit Cursor(const std::string& text) : text_(text) {}

  // Brackets and calls within each other.
  void enter() {
    if (++depth_ > kDeepest) fail("the expression is nested too deeply");
  }
  void leave() { --depth_; }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool at_end() {
    skip_spaces();
    return at_ == text_.size();
  }
  char peek() {
    skip_spaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool next_is(std::string_view token) {
    skip_spaces();
    return std::string_view(text_).substr(at_, token.size()) == token;
  }
  bool accept(std::string_view token) {
    if (!next_is(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail("expected '" + std::string(token) + "' at '" + text_.substr(at_) + "'");
  }
  // A word followed by something that is not part of a name.
  bool accept_word(std::string_view word) {
    const std::size_t before = at_;
    if (is_name_start(peek()) && name() == word) return true;
    at_ = before;
    return false;
  }
  // Letters, digits, '_', and '.' between them.
  std::string name() {
    skip_spaces();
    const std::size_t begin = at_;
    if (!is_name_start(peek())) fail("expected a name at '" + text_.substr(at_) + "'");
    while (at_ < text_.size() && (is_name_part(text_[at_]) || is_inner_dot())) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  std::int64_t integer() {
    skip_spaces();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("expected an integer at '" + text_.substr(at_) + "'");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  double real() {
    skip_spaces();
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("expected a number at '" + text_.substr(at_) + "'");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  std::string operator_token() {
    skip_spaces();
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::string_view("+-*/%<>=!&|^").find(text_[at_]) != std::string_view::npos) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  std::size_t position() const { return at_; }
  void go_to(std::size_t position) { at_ = position; }

 private:
  const std::string& text_;
  std::size_t at_ = 0;
  int depth_ = 0;

  static bool is_name_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  static bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
  bool is_inner_dot() const { return text_[at_] == '.' && at_ + 1 < text_.size() && is_name_part(text_[at_ + 1]); }
};

// --- affine expressions ------------------------------------------------------------------------------------------

Affine parse_affine(Cursor& c);

Affine parse_factor(Cursor& c) {
  if (c.accept("(")) {
    c.enter();
    Affine inner = parse_affine(c);
    c.leave();
    c.expect(")");
    return inner;
  }
  if (std::isdigit(static_cast<unsigned char>(c.peek()))) return c.integer();
  return Affine::symbol(c.name());
}

Affine parse_product(Cursor& c) {
  Affine value = parse_factor(c);
  while (true) {
    if (c.accept("//")) {
      value = floor_div(value, c.integer());
    } else if (c.accept("%")) {
      value = mod(value, c.integer());
    } else if (c.accept("*")) {
      const Affine factor = parse_factor(c);
      if (!value.is_constant() && !factor.is_constant()) fail("a product of two variables");
      value = value.is_constant() ? factor * value.constant() : value * factor.constant();
    } else {
      return value;
    }
  }
}

// A leading minus takes the whole product: -i//2 is -(i//2), as the printer has it.
Affine parse_affine(Cursor& c) {
  Affine value = c.accept("-") ? -parse_product(c) : parse_product(c);
  while (true) {
    const std::size_t before = c.position();
    if (c.accept("+")) {
      if (c.peek() == '{') {  // the indirect part of a subscript
        c.go_to(before);
        return value;
      }
      value = value + parse_product(c);
    } else if (c.accept("-")) {
      value = value - parse_product(c);
    } else {
      return value;
    }
  }
}

Constraint parse_constraint(Cursor& c) {
  const Affine left = parse_affine(c);
  if (c.accept("==")) return equal(left, parse_affine(c));
  if (c.accept(">=")) return at_least(left, parse_affine(c));
  if (c.accept("<=")) return at_least(parse_affine(c), left);
  if (c.accept(">")) return less_than(parse_affine(c), left);
  c.expect("<");
  return less_than(left, parse_affine(c));
}

std::vector<Affine> parse_affine_list(Cursor& c, std::string_view close) {
  std::vector<Affine> values;
  if (c.accept(close)) return values;
  do {
    values.push_back(parse_affine(c));
  } while (c.accept(","));
  c.expect(close);
  return values;
}

std::vector<Affine> parse_bound(Cursor& c, std::string_view function) {
  const std::size_t before = c.position();
  if (c.accept_word(function) && c.accept("(")) return parse_affine_list(c, ")");
  c.go_to(before);
  if (c.accept("-")) return {-parse_factor(c)};
  return {parse_factor(c)};
}

// --- expressions -------------------------------------------------------------------------------------------------

std::optional<UnaryOp> unary_from(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(UnaryOp::Cos); ++i)
    if (loop_text::function_name(static_cast<UnaryOp>(i)) == name) return static_cast<UnaryOp>(i);
  return std::nullopt;
}

std::optional<BinaryOp> binary_from(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(BinaryOp::Le); ++i)
    if (to_string(static_cast<BinaryOp>(i)) == name) return static_cast<BinaryOp>(i);
  return std::nullopt;
}

bool has_prefix(const std::string& text, std::string_view prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

class Parser {
 public:
  Parser(std::string_view text, std::string origin) : origin_(std::move(origin)) { split_lines(text); }

  LoopProgram run() {
    LoopProgram program;
    guarded([&] { header(program); });
    while (next_ < lines_.size() && is_declaration(lines_[next_].text))
      guarded([&] { declaration(program, lines_[next_++].text); });
    program.body = block(next_ < lines_.size() ? lines_[next_].indent : 0);
    if (next_ < lines_.size()) guarded([&] { fail("unexpected indentation"); });
    if (problems_.empty()) return program;
    throw UserError(ExitStatus::InvalidInput, problems_);
  }

 private:
  std::string origin_;
  std::vector<Line> lines_;
  std::size_t next_ = 0;
  std::vector<std::string> problems_;
  std::map<std::string, DType> types_;
  int depth_ = 0;  // of bodies

  void split_lines(std::string_view text) {
    int number = 0;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      ++number;
      const std::size_t begin = line.find_first_not_of(' ');
      if (begin == std::string::npos) continue;
      lines_.push_back({number, static_cast<int>(begin), line.substr(begin)});
    }
  }

  template <class F>
  void guarded(const F& f) {
    const int number = lines_.empty() ? 0 : lines_[std::min(next_, lines_.size() - 1)].number;
    try {
      f();
    } catch (const Failure& failure) {
      problems_.push_back(origin_ + ":" + std::to_string(number) + ": " + failure.message);
    } catch (const InternalError& error) {  // a maker's check: operand types
      problems_.push_back(origin_ + ":" + std::to_string(number) + ": " + error.what());
    }
  }

  // --- header and declarations

  void header(LoopProgram& program) {
    if (lines_.empty()) fail("empty text, expected 'loops NAME'");
    Cursor c(lines_[next_++].text);
    if (!c.accept_word("loops")) fail("expected 'loops NAME'");
    program.name = c.name();
    if (!c.accept("(")) return;
    do {
      program.params.push_back(c.name());
    } while (c.accept(","));
    c.expect(")");
  }

  static std::optional<Role> role_from(const std::string& word) {
    for (Role role : {Role::In, Role::Const, Role::Out, Role::InOut, Role::Temp})
      if (to_string(role) == word) return role;
    return std::nullopt;
  }

  static bool is_declaration(const std::string& text) {
    const std::size_t space = text.find(' ');
    return space != std::string::npos && role_from(text.substr(0, space)).has_value();
  }

  DType type(const std::string& name) {
    const auto found = dtype_from_string(name);
    if (!found) fail("'" + name + "' is not a type");
    return *found;
  }

  void declaration(LoopProgram& program, const std::string& text) {
    Cursor c(text);
    Buffer buffer;
    buffer.role = *role_from(c.name());
    buffer.name = c.name();
    c.expect(":");
    buffer.dtype = type(c.name());
    c.expect("[");
    buffer.shape = parse_affine_list(c, "]");
    types_[buffer.name] = buffer.dtype;
    program.buffers.push_back(std::move(buffer));
  }

  // --- statements

  Stmt block(int indent) {
    std::vector<Stmt> body;
    while (next_ < lines_.size() && lines_[next_].indent == indent) {
      const Line& line = lines_[next_];
      guarded([&] { body.push_back(statement(line)); });
    }
    return make_block(std::move(body));
  }

  Stmt nested(const Line& line) {
    if (next_ >= lines_.size() || lines_[next_].indent <= line.indent) fail("expected a body, indented");
    if (depth_ == kDeepest) fail("the loops are nested more than " + std::to_string(kDeepest) + " deep");
    ++depth_;
    Stmt body = block(lines_[next_].indent);
    --depth_;
    return body;
  }

  Stmt statement(const Line& line) {
    ++next_;
    Cursor c(line.text);
    const std::size_t begin = c.position();
    const std::string word = c.name();
    if (c.peek() != '[') {
      if (word == "nothing" && c.at_end()) return make_block({});
      if (word == "fence" && c.at_end()) return make_fence();
      if (word == "atomic" || word == "nontemporal") return store(c, word == "atomic", word == "nontemporal");
      if (word == "prefetch") return prefetch(c);
      if (word == "tensorized") return tensorized(c, line);
      if (word == "alloc") return allocation(c, line);
      if (word == "if") return branch(c, line);
      for (LoopKind kind : {LoopKind::Serial, LoopKind::Parallel, LoopKind::Vector, LoopKind::Unrolled})
        if (to_string(kind) == word) return loop(c, line, kind);
      fail("'" + word + "' is not a statement");
    }
    c.go_to(begin);
    return store(c, false, false);
  }

  Stmt loop(Cursor& c, const Line& line, LoopKind kind) {
    For result;
    result.kind = kind;
    result.var = c.name();
    if (!c.accept_word("in")) fail("expected 'in'");
    result.lower = parse_bound(c, "max");
    c.expect("..");
    result.upper = parse_bound(c, "min");
    result.loop = c.accept_word("as") ? c.name() : result.var;
    end(c);
    result.body = nested(line);
    return make_for(std::move(result));
  }

  Stmt branch(Cursor& c, const Line& line) {
    If result;
    do {
      if (c.accept("?")) {
        result.condition = expr(c);
      } else {
        result.conditions.push_back(parse_constraint(c));
      }
    } while (c.accept_word("and"));
    end(c);
    result.body = nested(line);
    return make_if(std::move(result));
  }

  Stmt allocation(Cursor& c, const Line& line) {
    Alloc result;
    result.buffer.name = c.name();
    c.expect(":");
    result.buffer.dtype = type(c.name());
    c.expect("[");
    for (const Affine& extent : parse_affine_list(c, "]")) {
      if (!extent.is_constant()) fail("extents of an allocation are numbers");
      result.buffer.shape.push_back(extent.constant());
    }
    if (!c.accept_word("in")) fail("expected 'in'");
    const std::string memory = c.name();
    const Memory kinds[] = {Memory::Heap, Memory::Stack, Memory::Register};
    const auto* found =
        std::find_if(std::begin(kinds), std::end(kinds), [&](Memory m) { return to_string(m) == memory; });
    if (found == std::end(kinds)) fail("'" + memory + "' is not a memory");
    result.buffer.memory = *found;
    end(c);
    types_[result.buffer.name] = result.buffer.dtype;
    result.body = nested(line);
    return make_alloc(std::move(result));
  }

  Stmt tensorized(Cursor& c, const Line& line) {
    Tensorized result;
    result.intrinsic = c.name();
    end(c);
    result.body = nested(line);
    return make_tensorized(std::move(result));
  }

  Stmt prefetch(Cursor& c) {
    Prefetch result;
    result.buffer = c.name();
    Lanes none;
    access(c, result.indices, none);
    if (!c.accept_word("level")) fail("expected 'level'");
    result.level = static_cast<int>(c.integer());
    end(c);
    return make_prefetch(std::move(result));
  }

  Stmt store(Cursor& c, bool atomic, bool nontemporal) {
    Store result;
    result.atomic = atomic;
    result.nontemporal = nontemporal;
    result.buffer = c.name();
    access(c, result.indices, result.lanes);
    c.expect("=");
    result.value = expr(c);
    if (c.accept("@")) {
      result.origin.statement = c.name();
      c.expect("(");
      parse_instances(c, result.origin);
    }
    end(c);
    return make_store(std::move(result));
  }

  // i, 16*k.i; 0,1)   the change from lane to lane after the semicolon
  void parse_instances(Cursor& c, Origin& into) {
    if (c.accept(")")) return;
    do into.instance.push_back(parse_affine(c));
    while (c.accept(","));
    if (c.accept(";")) {
      do into.strides.push_back(c.integer());
      while (c.accept(","));
    }
    c.expect(")");
  }

  void end(Cursor& c) {
    if (!c.at_end()) fail("unexpected text at the end of the line");
  }

  // --- expressions

  void lanes(Cursor& c, Lanes& into) {
    if (!c.accept(";")) return;
    into.count = static_cast<int>(c.integer());
    if (!c.accept_word("by")) fail("expected 'by'");
    if (c.peek() != ']' && c.peek() != ')' && !c.next_is("if")) {
      do {
        into.strides.push_back(c.integer());
      } while (c.accept(","));
    }
    if (c.accept_word("if")) into.active = parse_affine(c);
  }

  Index index(Cursor& c) {
    Index result;
    if (c.peek() != '{') result.affine = parse_affine(c);
    c.accept("+");
    if (!c.accept("{")) return result;
    result.indirect = expr(c);
    c.expect("}");
    return result;
  }

  void access(Cursor& c, std::vector<Index>& indices, Lanes& into) {
    c.expect("[");
    if (c.peek() != ']' && c.peek() != ';') {
      do {
        indices.push_back(index(c));
      } while (c.accept(","));
    }
    lanes(c, into);
    c.expect("]");
  }

  Expr expr(Cursor& c) {
    c.enter();
    Expr result = bare_expr(c);
    c.leave();
    return result;
  }

  Expr bare_expr(Cursor& c) {
    if (c.accept("(")) return bracketed(c);
    const std::string name = c.name();
    if (c.peek() == '[') return load(c, name);
    c.expect("(");
    return call(c, name);
  }

  Expr bracketed(Cursor& c) {
    Expr left = expr(c);
    if (c.accept_word("where")) {
      left = guard(c, left);
    } else {
      const std::string token = c.operator_token();
      const auto op = binary_from(token);
      if (!op) fail("'" + token + "' is not an operator");
      left = make_binary(*op, left, expr(c));
    }
    c.expect(")");
    return left;
  }

  Expr guard(Cursor& c, const Expr& access) {
    ExprNode node = *access;
    auto* load = std::get_if<Load>(&node.op);
    if (!load) fail("'where' after something else than a load");
    do {
      load->guard.push_back(parse_constraint(c));
    } while (c.accept_word("and"));
    if (!c.accept_word("else")) fail("expected 'else'");
    load->otherwise = expr(c);
    return std::make_shared<const ExprNode>(std::move(node));
  }

  Expr load(Cursor& c, const std::string& name) {
    const auto known = types_.find(name);
    if (known == types_.end()) fail("no buffer '" + name + "'");
    Load result;
    result.buffer = name;
    access(c, result.indices, result.lanes);
    const int count = result.lanes.count;
    return std::make_shared<const ExprNode>(ExprNode{known->second, count, std::move(result)});
  }

  Expr literal(Cursor& c, DType dtype) {
    ExprNode node{dtype, 1, Literal{}};
    auto& value = std::get<Literal>(node.op);
    if (is_float(dtype)) {
      value.real = c.real();
    } else {
      value.integer = c.integer();
    }
    return std::make_shared<const ExprNode>(std::move(node));
  }

  Expr index_value(Cursor& c, DType dtype) {
    IndexValue result;
    result.value = parse_affine(c);
    lanes(c, result.lanes);
    const int count = result.lanes.count;
    return std::make_shared<const ExprNode>(ExprNode{dtype, count, std::move(result)});
  }

  Expr call(Cursor& c, const std::string& name) {
    Expr result = call_body(c, name);
    c.expect(")");
    return result;
  }

  Expr call_body(Cursor& c, const std::string& name) {
    if (const auto dtype = dtype_from_string(name)) return literal(c, *dtype);
    if (has_prefix(name, "index_")) return index_value(c, type(name.substr(6)));
    if (has_prefix(name, "cast_")) {
      const DType to = type(name.substr(5));
      Expr operand = expr(c);
      return std::make_shared<const ExprNode>(ExprNode{to, operand->lanes, Cast{operand}});
    }
    if (name[0] == 'x' && name.size() > 1 && std::isdigit(static_cast<unsigned char>(name[1])))
      return make_broadcast(expr(c), std::stoi(name.substr(1)));
    const std::vector<Expr> operands = arguments(c);
    if (name == "fma" && operands.size() == 3) return make_fma(operands[0], operands[1], operands[2]);
    if (name == "select" && operands.size() == 3) return make_select(operands[0], operands[1], operands[2]);
    if (const auto op = unary_from(name); op && operands.size() == 1) return make_unary(*op, operands[0]);
    if (const auto op = binary_from(name); op && operands.size() == 2)
      return make_binary(*op, operands[0], operands[1]);
    fail("no function '" + name + "' of " + std::to_string(operands.size()) + " operands");
  }

  std::vector<Expr> arguments(Cursor& c) {
    std::vector<Expr> operands;
    do {
      operands.push_back(expr(c));
    } while (c.accept(","));
    return operands;
  }
};

}  // namespace

LoopProgram parse_loop_program(std::string_view text, const std::string& origin) { return Parser(text, origin).run(); }

}  // namespace polyte::ir
