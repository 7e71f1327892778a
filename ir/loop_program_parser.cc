// Parsing loop text: the inverse of print(LoopProgram). One statement per line, nesting
// by indentation.
#include <algorithm>
#include <optional>

#include "ir/loop_affine_parser.h"
#include "ir/loop_expr_parser.h"
#include "ir/loop_program.h"
#include "support/error.h"

namespace polyte::ir {

using namespace loop_text;

namespace {

struct Line {
  int number;
  int indent;
  std::string text;
};

// A line is a declaration, or a statement; what an indented body follows ends in (body):
//
//   loops NAME(N, M)
//     in x: f32[N, 64]
//
//     vector i in max(0, k)..min(N, 8) as i.o uncut                (body)
//     if i >= 1 and ?(x[i] > y[i])                                 (body)
//     alloc b: f32[4, 32] in shared swizzle 8 every 64             (body)
//     alloc r: f32[4, 32] in register of the lanes of each warp    (body)
//     tensorized fma_f32x8                                         (body)
//     nontemporal b[i; 8 by 1] = EXPR  @S(i, 0; 1,0)
//     barrier from S to T on b fenced
//     commit copies / await copies but 1
//     open products / commit products / await products but 0
//     prefetch b[i] level 1
//     fence / nothing
//
// For `vector` stands any kind of loop, `for` a serial one; for `nontemporal` also `atomic` or
// `async`, or nothing; a barrier of a warp is `warp barrier`. After @ stand the statement that the
// store comes from, its instance and how that changes from lane to lane.
class Parser {
 public:
  Parser(std::string_view text, std::string origin) : origin_(std::move(origin)) {
    split_lines(text);
  }

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
  ExprParser exprs_;
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

  void declaration(LoopProgram& program, const std::string& text) {
    Cursor c(text);
    Buffer buffer;
    buffer.role = *role_from(c.name());
    buffer.name = c.name();
    c.expect(":");
    buffer.dtype = parse_type(c.name());
    c.expect("[");
    buffer.shape = parse_affine_list(c, "]");
    exprs_.declare(buffer.name, buffer.dtype);
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

  // The body of a head: the lines after it that are indented further, all alike.
  Stmt nested(const Line& line) {
    if (next_ >= lines_.size() || lines_[next_].indent <= line.indent)
      fail("expected a body, indented");
    if (depth_ == kDeepest)
      fail("the loops are nested more than " + std::to_string(kDeepest) + " deep");
    ++depth_;
    Stmt body = block(lines_[next_].indent);
    --depth_;
    return body;
  }

  Stmt statement(const Line& line) {
    ++next_;
    Cursor c(line.text);
    // A store begins with the name of its buffer, so a buffer may be called like a statement:
    // what follows decides, `[` or not.
    const std::size_t begin = c.position();
    const std::string word = c.name();
    if (c.peek() != '[') {
      if (word == "nothing" && c.at_end()) return make_block({});
      if (word == "fence" && c.at_end()) return make_fence();
      if (word == "atomic" || word == "nontemporal" || word == "async") return store(c, word);
      if (word == "open" || word == "commit" || word == "await") return group(c, word);
      if (word == "barrier") return barrier(c, false);
      if (word == "warp" && c.accept_word("barrier")) return barrier(c, true);
      if (word == "prefetch") return prefetch(c);
      if (word == "tensorized") return tensorized(c, line);
      if (word == "alloc") return allocation(c, line);
      if (word == "if") return branch(c, line);
      for (LoopKind kind : kLoopKinds)
        if (to_string(kind) == word) return loop(c, line, kind);
      fail("'" + word + "' is not a statement");
    }
    c.go_to(begin);
    return store(c, "");
  }

  Stmt group(Cursor& c, const std::string& word) {
    using Step = ProductGroup::Step;
    const bool wait = word == "await", of_products = word == "open" || c.accept_word("products");
    if (word == "open" && !c.accept_word("products")) fail("expected 'products'");
    if (!of_products && !c.accept_word("copies")) fail("expected 'copies' or 'products'");
    int pending = 0;
    if (wait) {
      if (!c.accept_word("but")) fail("expected 'but'");
      pending = static_cast<int>(c.integer());
    }
    end(c);
    if (!of_products) return make_copy_group({wait, pending});
    return make_product_group({wait             ? Step::Wait
                               : word == "open" ? Step::Open
                                                : Step::Commit,
                               pending});
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
    result.uncut = c.accept_word("uncut");
    end(c);
    result.body = nested(line);
    return make_for(std::move(result));
  }

  Stmt branch(Cursor& c, const Line& line) {
    If result;
    do {
      if (c.accept("?")) {
        result.condition = exprs_.expr(c);
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
    result.buffer.dtype = parse_type(c.name());
    c.expect("[");
    for (const Affine& extent : parse_affine_list(c, "]")) {
      if (!extent.is_constant()) fail("extents of an allocation are numbers");
      result.buffer.shape.push_back(extent.constant());
    }
    if (!c.accept_word("in")) fail("expected 'in'");
    const std::string memory = c.name();
    const auto* found =
        std::ranges::find_if(kMemories, [&](Memory m) { return to_string(m) == memory; });
    if (found == std::end(kMemories)) fail("'" + memory + "' is not a memory");
    result.buffer.memory = *found;
    if (c.accept_word("of")) placing(c, result.buffer);
    if (c.accept_word("swizzle")) {
      result.buffer.swizzle.chunk = c.integer();
      if (!c.accept_word("every")) fail("expected 'every'");
      result.buffer.swizzle.period = c.integer();
    }
    end(c);
    exprs_.declare(result.buffer.name, result.buffer.dtype);
    result.body = nested(line);
    return make_alloc(std::move(result));
  }

  // After "of": "each thread", "lanes", "the lanes of each warp".
  void placing(Cursor& c, LoopBuffer& buffer) {
    const auto expect = [&](std::initializer_list<const char*> words) {
      for (const char* word : words)
        if (!c.accept_word(word)) fail(std::string("expected '") + word + "'");
    };
    if (c.accept_word("lanes")) {
      buffer.of_lanes = true;
    } else if (c.accept_word("the")) {
      expect({"lanes", "of", "each", "warp"});
      buffer.of_lanes = buffer.of_each_thread = true;
    } else {
      expect({"each", "thread"});
      buffer.of_each_thread = true;
    }
  }

  Stmt tensorized(Cursor& c, const Line& line) {
    Tensorized result;
    result.intrinsic = c.name();
    end(c);
    result.body = nested(line);
    return make_tensorized(std::move(result));
  }

  Stmt barrier(Cursor& c, bool of_warp) {
    Barrier result;
    result.of_warp = of_warp;
    for (const auto& [word, into] :
         {std::pair{"from", &result.from}, {"to", &result.to}, {"on", &result.buffer}}) {
      if (!c.accept_word(word)) fail(std::string("expected '") + word + "'");
      *into = c.name();
    }
    result.fenced = c.accept_word("fenced");
    end(c);
    return make_barrier(std::move(result));
  }

  Stmt prefetch(Cursor& c) {
    Prefetch result;
    result.buffer = c.name();
    Lanes none;
    exprs_.access(c, result.indices, none);
    if (!c.accept_word("level")) fail("expected 'level'");
    result.level = static_cast<int>(c.integer());
    end(c);
    return make_prefetch(std::move(result));
  }

  Stmt store(Cursor& c, const std::string& prefix) {
    Store result;
    result.atomic = prefix == "atomic";
    result.nontemporal = prefix == "nontemporal";
    result.async = prefix == "async";
    result.buffer = c.name();
    exprs_.access(c, result.indices, result.lanes);
    c.expect("=");
    result.value = exprs_.expr(c);
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
};

}  // namespace

LoopProgram parse_loop_program(std::string_view text, const std::string& origin) {
  return Parser(text, origin).run();
}

}  // namespace polyte::ir
