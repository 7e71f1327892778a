// Files of Program text: headers, declarations, regions by indentation, statements. A line at fault
// is reported and skipped; statements that read what it would have written are skipped silently, so
// one slip is one message.
#include <algorithm>
#include <map>

#include "ir/foreign_notation.h"
#include "ir/named_constants.h"
#include "ir/program_text.h"
#include "ir/statement_parser.h"
#include "ir/verify.h"
#include "support/error.h"

namespace polyte::ir {
namespace {

using text::Cursor;
using text::Fault;
using text::Line;

// Nested in each other. With this many the proof of a schedule takes about a second.
constexpr std::size_t kMostRegions = 64;

constexpr std::string_view kTypes = "f64 f32 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool";

std::optional<Role> role_of(std::string_view word) {
  for (const Role role : {Role::In, Role::Const, Role::Out, Role::InOut, Role::Temp})
    if (to_string(role) == word) return role;
  return std::nullopt;
}

// Collects faults, line by line. What the faults of other lines would only repeat is not said:
// reads of a `broken_` name, and problems of a Program that is not complete.
class ProgramParser {
 public:
  // `lexical`: how many faults the lexer found; nothing more is said of their lines.
  ProgramParser(std::vector<Fault>& faults, std::ptrdiff_t lexical)
      : faults_(faults), lexical_(lexical) {}

  Program run(const Line& header, const std::vector<Line>& body) {
    const std::size_t before = faults_.size();
    guarded(header, [&] { parse_header(header); });
    for (const Line& line : body) guarded(line, [&] { parse_line(line); });
    close_regions(0);
    // Of a Program with faults the verifier would report their consequences.
    if (lexical_ == 0 && faults_.size() == before) add_problems(header.number);
    return std::move(program_);
  }

 private:
  struct OpenRegion {
    Region region;
    int indent;
  };
  std::vector<Fault>& faults_;
  std::ptrdiff_t lexical_;
  Program program_;
  text::NamedConstants constants_;
  std::vector<OpenRegion> regions_;
  std::map<std::string, int> lines_;  // of "statement 'y'", "buffer 'x'" and "loop t"
  std::set<std::string> broken_;      // tensors and constants whose defining line is at fault
  int body_indent_ = -1;

  template <class F>
  // A fault ends the parsing of its own line only.
  void guarded(const Line& line, const F& parse) {
    try {
      parse();
    } catch (const Fault& fault) {
      const bool lexical =
          std::any_of(faults_.begin(), faults_.begin() + lexical_,
                      [&](const Fault& other) { return other.line == fault.line; });
      if (!lexical) faults_.push_back(fault);
    } catch (const UserError& error) {  // an overflow
      faults_.push_back({line.number, error.what()});
    }
  }

  void parse_header(const Line& line) {
    Cursor cursor(line);
    cursor.expect("program");
    program_.name = cursor.expect_name("the program's name");
    cursor.expect("(");
    while (!cursor.accept(")")) {
      program_.params.push_back(cursor.expect_name("a parameter"));
      if (!cursor.is(")")) cursor.expect(",");
    }
    if (cursor.accept("where")) {
      text::Scope scope;
      scope.program = &program_;
      do {
        for (const Constraint& c : to_constraints(text::parse_conjunction(cursor), scope))
          program_.context.push_back(c);
      } while (cursor.accept(","));
    }
    if (!cursor.at_end()) cursor.fail_expected("the end of the line");
  }

  void parse_line(const Line& line) {
    close_regions(line.indent);
    check_indent(line);
    Cursor cursor(line);
    // After a keyword comes a name: `out y: ..`. A tensor may be called like a keyword, so
    // `out[i] = ..` is a statement.
    const bool named = cursor.peek(1).kind == text::TokenKind::Name;
    if (named && cursor.is("loop")) return parse_loop(line, cursor);
    if (named && cursor.is("const") && cursor.is("=", 2)) return parse_constant(cursor);
    if (named && role_of(cursor.peek().text)) return parse_declarations(line, cursor);
    parse_statement(line, cursor);
  }

  // A line stands at the indentation of the body around it, which the first line of that body
  // sets (-1: not yet set). After a fault of the lexer, lines may have been joined or split
  // wrongly, so the indentation is not checked.
  void check_indent(const Line& line) {
    if (body_indent_ < 0) body_indent_ = line.indent;
    if (line.indent != body_indent_ && lexical_ == 0)
      throw Fault{line.number, "unexpected indentation of " + std::to_string(line.indent) +
                                   ", expected " + std::to_string(body_indent_)};
  }

  // A line that is indented no deeper than the head of a loop ends that loop and all inside it. A
  // loop that lost all its statements to faults is dropped, not reported as empty.
  void close_regions(int indent) {
    while (!regions_.empty() && indent <= regions_.back().indent) {
      Region region = std::move(regions_.back().region);
      body_indent_ = regions_.back().indent;
      regions_.pop_back();
      if (!region.body.empty() || broken_.empty()) body().emplace_back(std::move(region));
    }
  }

  std::vector<Item>& body() {
    return regions_.empty() ? program_.order : regions_.back().region.body;
  }

  void parse_constant(Cursor& cursor) {
    cursor.expect("const");
    const std::string name = cursor.expect_name("a constant");
    cursor.expect("=");
    // Marked first and unmarked at the end, since every fault in between leaves by an exception.
    if (!constants_.has(name) && !program_.find_buffer(name)) broken_.insert(name);
    const text::TreePtr value = text::parse_tree(cursor);
    if (!cursor.at_end()) cursor.fail_expected("the end of the line");
    if (reads_broken(value)) return;
    constants_.define(name, value, program_);
    broken_.erase(name);
  }

  // NumPy's names: `float32` is f32, `uint8` is u8, `bfloat16` is bf16.
  static std::string our_type(const std::string& name) {
    for (const auto& [longer, shorter] :
         {std::pair{"bfloat", "bf"}, {"float", "f"}, {"uint", "u"}, {"int", "i"}})
      if (name.starts_with(longer) &&
          dtype_from_string(shorter + name.substr(std::string_view(longer).size())))
        return ", did you mean '" + (shorter + name.substr(std::string_view(longer).size())) + "'?";
    return name == "double"  ? ", did you mean 'f64'?"
           : name == "float" ? ", did you mean 'f32'?"
                             : "";
  }

  // An extent may name constants: `x: f32[2*R + 1]`.
  text::TreePtr parse_size(Cursor& cursor) { return constants_.write_out(text::parse_sum(cursor)); }

  void parse_declarations(const Line& line, Cursor& cursor) {
    const Role role = *role_of(cursor.next().text);
    Buffer b;
    b.role = role;
    b.name = cursor.expect_name("a tensor");
    // Unmarked below, once the line is known to be without a fault.
    broken_.insert(b.name);
    cursor.expect(":");
    const std::string type = cursor.next().text;
    text::Scope scope;
    scope.program = &program_;
    const bool brackets = cursor.accept("[");  // none: one number
    while (brackets && !cursor.accept("]")) {
      b.shape.push_back(expect_affine(parse_size(cursor), scope, "the extent"));
      if (!cursor.is("]")) cursor.expect(",");
    }
    // `const a: f32 = 1.5` mixes the two uses of `const`.
    if (cursor.is("="))
      cursor.fail("'" + b.name + "' has a type and a value: a constant is 'const " + b.name +
                  " = ...'");
    if (!cursor.at_end())
      cursor.fail_expected(brackets ? "the end of the line" : "'[' or the end of the line");
    const auto dtype = dtype_from_string(type);
    if (!dtype)
      throw Fault{line.number, "'" + type + "' is no element type; there are " +
                                   std::string(kTypes) + our_type(type)};
    b.dtype = *dtype;
    if (program_.find_buffer(b.name))
      throw Fault{line.number, "tensor '" + b.name + "' is declared already"};
    if (constants_.has(b.name))
      throw Fault{line.number, "tensor '" + b.name + "' has the name of a constant"};
    broken_.erase(b.name);
    lines_["buffer '" + b.name + "'"] = line.number;
    // As ProgramBuilder::declare(): temporaries stay behind the interface.
    auto at = program_.buffers.end();
    if (role != Role::Temp)
      at = std::find_if(program_.buffers.begin(), at,
                        [](const Buffer& other) { return other.role == Role::Temp; });
    program_.buffers.insert(at, std::move(b));
  }

  void parse_loop(const Line& line, Cursor& cursor) {
    cursor.expect("loop");
    text::Scope scope;
    scope.program = &program_;
    for (const OpenRegion& open : regions_) scope.iterators.push_back(open.region.iterator);
    // Opened before its range is read: after a fault in it the body is still a body.
    regions_.push_back({{cursor.peek().text, 0, 0, 1}, line.indent});
    body_indent_ = -1;
    if (regions_.size() == kMostRegions + 1)  // said once, of the first
      cursor.fail("more than " + std::to_string(kMostRegions) + " ordered regions are nested");
    Region& region = regions_.back().region;
    lines_.emplace("loop " + region.iterator, line.number);
    const text::WrittenRange range = text::parse_range(cursor);
    if (!range.begin) cursor.fail_expected("'in' and a range");
    constants_.check_iterator(range.name, line.number);
    region.begin = expect_affine(constants_.write_out(range.begin), scope, "the range");
    region.end = expect_affine(constants_.write_out(range.end), scope, "the range");
    region.step = parse_step(cursor);
    if (!cursor.at_end()) cursor.fail_expected("the end of the line");
  }

  static int parse_step(Cursor& cursor) {
    const bool brackets = cursor.accept("(");
    if (!brackets && !cursor.is("step")) return 1;
    cursor.expect("step");
    const std::string sign = cursor.accept("-") ? "-" : "";
    if (cursor.peek().text != "1")
      cursor.fail("the step of a loop is 1 or -1, got " + sign + cursor.peek().text);
    cursor.next();
    if (brackets) cursor.expect(")");
    return sign.empty() ? 1 : -1;
  }

  // What a declaration elsewhere begins with.
  static void refuse_foreign_word(const Cursor& cursor) {
    const std::string& word = cursor.peek().text;
    const bool declares = cursor.is(":", 2) && (word == "input" || word == "output");
    if (declares)
      cursor.fail("'" + word + "' is no role, did you mean '" +
                  word.substr(0, word == "input" ? 2 : 3) + "'?");
  }

  // Fault{0, ""} is no message: it skips a statement that reads what an earlier fault has left
  // undefined, and marks what it would have written as undefined too.
  void parse_statement(const Line& line, Cursor& cursor) {
    refuse_foreign_word(cursor);
    const auto is_tensor = [&](const std::string& name) {
      return program_.find_buffer(name) != nullptr;
    };
    // The tensor that is written, after a label if there is one: `S1: A[i] = ..`. No name: a tuple,
    // `(v, p)[i] = ..`, or nothing, as in `S1:`.
    const text::Token target = cursor.peek(cursor.is(":", 1) ? 2 : 0);
    text::WrittenStatement written;
    try {
      written = text::parse_statement(cursor, is_tensor);
    } catch (const Fault&) {
      if (target.kind == text::TokenKind::Name && !is_tensor(target.text))
        broken_.insert(target.text);
      throw;
    }
    std::vector<Range> ranges;
    for (const OpenRegion& r : regions_)
      ranges.push_back({r.region.iterator, r.region.begin, r.region.end});
    try {
      if (reads_broken(written)) throw Fault{0, ""};
      constants_.write_out(written);
      for (Statement& s : make_statements(written, ranges, program_, DType::F32))
        add_statement(std::move(s), line.number);
    } catch (const Fault& fault) {
      for (const text::WrittenAccess& write : written.writes)
        if (!is_tensor(write.buffer)) broken_.insert(write.buffer);
      if (fault.line > 0) throw;
    }
  }

  // A call is no read: a tensor may have the name of a function, `max`.
  bool reads_broken(const text::TreePtr& tree) const {
    bool found = false;
    for_each_tree(tree, [&](const text::Tree& t) {
      found = found || (t.kind != text::TreeKind::Call && broken_.count(t.text) > 0);
    });
    return found;
  }

  bool reads_broken(const text::WrittenStatement& written) const {
    bool found = false;
    const auto look = [&](const text::TreePtr& tree) { found = found || reads_broken(tree); };
    for (const text::TreePtr& value : written.values) look(value);
    for (const text::WrittenAccess& write : written.writes) {
      found = found || broken_.count(write.buffer) > 0;
      for (const text::TreePtr& subscript : write.subscripts) look(subscript);
    }
    if (written.guard) look(written.guard);
    return found;
  }

  void add_statement(Statement s, int line) {
    if (program_.find_statement(s.name))
      throw Fault{line,
                  "a statement '" + s.name + "' exists already: give it a label, as in 'S1: ...'"};
    // The key is the subject under which the verifier reports (add_problems).
    lines_["statement '" + s.name + "'"] = line;
    program_.statements.push_back(std::move(s));
    body().emplace_back(program_.statements.size() - 1);
  }

  // Problems of the Program as a whole, at the lines of what they are about.
  void add_problems(int header) {
    for (const Problem& p : find_problems(program_)) {
      const auto at = lines_.find(p.subject);
      faults_.push_back({at == lines_.end() ? header : at->second,
                         (p.subject.empty() ? "" : p.subject + ": ") + p.message});
    }
  }
};

[[noreturn]] void throw_faults(const std::vector<Fault>& faults, const std::string& origin) {
  std::multimap<int, std::string> by_line;  // in the order found, within a line
  for (const Fault& f : faults) by_line.emplace(f.line, f.message);
  std::vector<std::string> problems;
  for (const auto& [line, message] : by_line)
    problems.push_back(origin + ":" + std::to_string(line) + ": " + message);
  throw UserError(ExitStatus::InvalidInput, std::move(problems));
}

bool starts_program(const Line& line) { return Cursor(line).is("program"); }

}  // namespace

std::vector<Program> parse_programs(std::string_view text, const std::string& origin) {
  std::vector<Fault> faults;
  const std::vector<Line> lines = text::split_lines(text, faults);
  const auto lexical = static_cast<std::ptrdiff_t>(faults.size());
  std::vector<Program> programs;
  std::size_t at = 0;
  if (lines.empty()) faults.push_back({1, "expected 'program NAME(...)', got an empty text"});
  if (!lines.empty() && !starts_program(lines[0]))
    faults.push_back(
        {lines[0].number, "expected 'program NAME(...)', got '" + lines[0].tokens[0].text + "'"});
  // Lines before the first header are skipped; the first of them has been reported.
  while (at < lines.size() && !starts_program(lines[at])) ++at;
  while (at < lines.size()) {
    const Line& header = lines[at++];
    std::vector<Line> body;
    while (at < lines.size() && !starts_program(lines[at])) body.push_back(lines[at++]);
    programs.push_back(ProgramParser(faults, lexical).run(header, body));
  }
  text::add_foreign_hints(lines, faults);
  if (!faults.empty()) throw_faults(faults, origin);
  return programs;
}

Program parse_program(std::string_view text, const std::string& origin) {
  std::vector<Program> programs = parse_programs(text, origin);
  if (programs.size() != 1)
    throw UserError(ExitStatus::InvalidInput,
                    origin + ": expected one program, got " + std::to_string(programs.size()));
  return std::move(programs[0]);
}

Result<Expr> parse_value(std::string_view text, const Program& program,
                         const Statement& statement) {
  std::vector<Fault> faults;
  const std::vector<Line> lines = text::split_lines(text, faults);
  if (!faults.empty()) return Decline{faults.front().message};
  if (lines.size() != 1)
    return Decline{"expected one value, got " + std::to_string(lines.size()) + " lines"};
  const DomainFacts facts(statement.iterators, statement.domain, program.params, program.context);
  const text::Scope scope{&program, statement.iterators, &facts};
  try {
    Cursor cursor(lines.front());
    const text::TreePtr tree = text::parse_tree(cursor);
    if (!cursor.at_end()) cursor.fail_expected("the end of the value");
    // The place says no type, so the text has to: `2 * A[m, k]` does, `2 * m` does not.
    const std::optional<DType> type = text::natural_type(tree, scope);
    if (!type) return Decline{"no tensor or cast says of which type it is"};
    return text::to_expr(tree, *type, scope);
  } catch (const Fault& fault) {
    return Decline{fault.message};
  }
}

}  // namespace polyte::ir
