#include "frontend/c/c_names.h"

#include <algorithm>

#include "ir/lexer.h"

namespace polyte::frontend::c {
namespace {

bool has(const std::vector<Token>& words, std::string_view word) {
  return std::ranges::find(words, word, &Token::text) != words.end();
}

// Of 80 or 128 bits, as no element type is.
bool is_long_double(const std::vector<Token>& words) {
  return has(words, "long") && has(words, "double");
}

}  // namespace

// Sizes of types as on 64-bit Linux (LP64): int has 32 bits, long and size_t 64. Words may be in
// any order, `long unsigned int`; a later `int` changes nothing.
std::optional<DType> type_of(const std::vector<Token>& words, DType real) {
  if (is_long_double(words))
    fail(words.front(), "'long double' is not read: expected double or float");
  bool is_unsigned = false;
  std::optional<DType> type;
  for (const Token& word : words) {
    const std::string& text = word.text;
    if (text == "DATA_TYPE") return real;
    if (text == "double") return DType::F64;
    if (text == "float") return DType::F32;
    if (text == "_Bool" || text == "bool") return DType::Bool;
    if (text == "size_t") return DType::U64;
    if (text == "ssize_t") return DType::I64;
    if (text.ends_with("_t")) {
      // int32_t, uint8_t: is_type_word knows no others that end so.
      const std::size_t digits = text.find_first_of("123456789");
      return dtype_from_string((text[0] == 'u' ? "u" : "i") +
                               text.substr(digits, text.size() - digits - 2));
    }
    if (text == "unsigned") is_unsigned = true;
    if (text == "char") type = DType::I8;
    if (text == "short") type = DType::I16;
    if (text == "long") type = DType::I64;
    if ((text == "int" || text == "signed" || text == "unsigned") && !type) type = DType::I32;
  }
  if (type && is_unsigned) return dtype_from_string("u" + std::string(to_string(*type)).substr(1));
  return type;
}

const Names::Entry* Names::entry(const std::string& name) const {
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block)
    if (const auto at = block->find(name); at != block->end()) return &at->second;
  return nullptr;
}

std::string Names::fresh(const std::string& name) {
  const auto is_taken = [&](const std::string& text) {
    return taken_.count(text) > 0 || iterators_.count(text) > 0 || ir::text::is_reserved(text);
  };
  std::string result = name[0] == '_' ? "v" + name : name;
  for (int number = 2; is_taken(result); ++number) result = name + "_" + std::to_string(number);
  taken_.insert(result);
  return result;
}

Variable& Names::declare(const std::string& name, Variable variable) {
  variable.name = fresh(name);
  variables_.push_back(std::make_unique<Variable>(std::move(variable)));
  blocks_.back()[name] = {variables_.size() - 1, std::nullopt};
  return *variables_.back();
}

Variable* Names::find(const std::string& name) {
  const Entry* found = entry(name);
  return found && !found->loop ? variables_[found->variable].get() : nullptr;
}

void Names::close_block() {
  if (blocks_.size() > 1) blocks_.pop_back();
}

// Two successive loops may both be called `i`. A loop inside a loop of that name becomes i_2,
// and so does one whose name is that of an array or a variable.
std::string Names::open_loop(const std::string& name) {
  open_block();
  loops_.insert(name);
  std::set<std::string> around;
  for (const auto& block : blocks_)
    for (const auto& [other, entry] : block)
      if (entry.loop) entry.loop->collect_symbols(around);
  std::string result = name[0] == '_' ? "v" + name : name;
  // The name that C has for a loop is often declared as a variable before it: then it stays
  // the loop's.
  const Variable* declared = find(name);
  const bool own = declared && declared->name == result && declared->is_scalar && !declared->read &&
                   !declared->written;
  const auto is_taken = [&](const std::string& text) {
    return around.count(text) > 0 || ir::text::is_reserved(text) ||
           (taken_.count(text) > 0 && !(own && text == result));
  };
  const std::string first = result;
  for (int number = 2; is_taken(result); ++number) result = first + "_" + std::to_string(number);
  iterators_.insert(result);
  set_loop(name, ir::Affine::symbol(result));
  return result;
}

void Names::set_loop(const std::string& name, const ir::Affine& value) {
  blocks_.back()[name] = {0, value};
}

std::optional<ir::Affine> Names::loop_value(const std::string& name) const {
  const Entry* found = entry(name);
  return found ? found->loop : std::nullopt;
}

std::string Names::size(const std::string& name) {
  const std::string plain = name.starts_with("_PB_") ? name.substr(4) : name;
  const auto [at, is_new] = size_names_.try_emplace(plain, "");
  if (is_new) {
    Variable* declared = find(plain);
    at->second = declared ? declared->name : fresh(plain);
    sizes_.push_back(at->second);
  }
  return at->second;
}

std::vector<Variable*> Names::variables() {
  std::vector<Variable*> result;
  for (const auto& variable : variables_) result.push_back(variable.get());
  return result;
}

// --- declarations --------------------------------------------------------------------------------

namespace {

// POLYBENCH_2D(A, N, M, n, m) of PolyBench/C: A[N][M].
bool read_polybench(Cursor& cursor, Variable& variable, std::string& name) {
  const std::string word = cursor.peek().text;
  if (!word.starts_with("POLYBENCH_") || !word.ends_with("D") || !cursor.is("(", 1)) return false;
  cursor.next();
  cursor.expect("(");
  name = cursor.expect_name("an array");
  const int dimensions = word[10] - '0';
  for (int i = 0; i < 2 * dimensions; ++i) {
    cursor.expect(",");
    const TreePtr extent = parse_expression(cursor);
    if (i < dimensions) variable.extents.push_back(extent);
  }
  cursor.expect(")");
  variable.is_scalar = false;
  return true;
}

void read_extents(Cursor& cursor, Variable& variable) {
  while (cursor.accept("[")) {
    while (is_type_word(cursor.peek().text)) cursor.next();  // restrict, static
    variable.is_scalar = false;
    variable.extents.push_back(cursor.is("]") ? nullptr : parse_expression(cursor));
    cursor.expect("]");
  }
}

bool is_number(const TreePtr& tree) {
  if (tree->kind == TreeKind::Unary) return tree->at.text == "-" && is_number(tree->parts[0]);
  if (tree->kind == TreeKind::Cast) return is_number(tree->parts[0]);
  return tree->kind == TreeKind::Number;
}

}  // namespace

std::vector<Declared> read_declarations(Cursor& cursor, Names& names, bool of_interface) {
  std::vector<Token> words;
  bool pointer = false;
  while (is_type_word(cursor.peek().text) || cursor.is("*")) {
    pointer = pointer || cursor.is("*");
    words.push_back(cursor.next());
  }
  // Refused only if the scop uses the variable, as a pointer is.
  const bool long_double = is_long_double(words);
  const std::optional<DType> type = long_double ? DType::F64 : type_of(words, names.real());
  std::vector<Declared> result;
  do {
    Variable variable;
    variable.at = cursor.peek();
    if (cursor.accept("*")) pointer = true;
    std::string name;
    if (!read_polybench(cursor, variable, name)) {
      if (cursor.peek().kind != TokenKind::Name || is_type_word(cursor.peek().text)) return result;
      name = cursor.next().text;
      if (cursor.is("(") || !type) return result;  // a function
      read_extents(cursor, variable);
    }
    // `double *x` is an array whose extent is not said; it is refused only if the scop uses it.
    if (pointer && variable.is_scalar) variable.extents = {nullptr};
    variable.is_scalar = variable.is_scalar && !pointer;
    variable.type = type.value_or(DType::F64);
    variable.of_interface = of_interface && !has(words, "static");
    variable.is_long_double = long_double;
    // Never a constant of `long double`: that would be used without a look at the variable.
    variable.is_const = has(words, "const") && variable.is_scalar && !long_double;
    Token at = variable.at;
    TreePtr value;
    if (cursor.accept("=")) {
      if (cursor.is("{"))
        fail(cursor.peek(), "'" + name + "' has a list of values: assign its elements in the scop");
      value = parse_expression(cursor);
    }
    if (value && variable.is_const && is_number(value)) variable.literal = value;
    result.push_back({&names.declare(name, std::move(variable)), value, at});
  } while (cursor.accept(","));
  return result;
}

// This is no parser of C: declarations are read wherever a word of a type stands, and what is
// none is skipped. Braces open and close blocks, so that a variable of another function is not
// seen in the scop. The parameters of a function are in a block around its body,
//
//    double f(int n, double A[n][n])   {   ..   #pragma scop
//             ^ opens a block          ^ opens another
//
// which closes with the body or, of a mere declaration, at its bracket.
std::string read_surroundings(const std::vector<Token>& tokens, std::size_t scop, Names& names) {
  std::string function, candidate;
  int braces = 0, brackets = 0;
  Cursor cursor(tokens);
  while (cursor.position() < scop) {
    const std::size_t before = cursor.position();
    if (is_type_word(cursor.peek().text)) {
      try {
        read_declarations(cursor, names, braces == 0);
      } catch (const Fault&) {  // no declaration that matters, or the use of it will tell
        cursor.rewind(before + 1);
        continue;
      }
      if (cursor.position() > before + 1 && cursor.position() <= scop) {
        if (cursor.is("(")) cursor.rewind(cursor.position() - 1);
        if (!cursor.is("(", 1)) continue;
      } else {
        cursor.rewind(before + 1);
        continue;
      }
    }
    const Token token = cursor.next();
    if (braces == 0 && brackets == 0 && token.kind == TokenKind::Name && cursor.is("("))
      candidate = token.text;
    if (token.text == "(" && ++brackets == 1 && braces == 0) names.open_block();
    if (token.text == ")" && --brackets == 0 && braces == 0 && !cursor.is("{")) names.close_block();
    if (token.text == "{" && braces++ == 0) function = candidate;
    if (token.text == "{") names.open_block();
    if (token.text == "}") names.close_block();
    if (token.text == "}" && --braces == 0) names.close_block();
  }
  return function;
}

}  // namespace polyte::frontend::c
