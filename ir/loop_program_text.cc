// Printing LoopPrograms. Every expression is printed with its type where the type does not follow
// from below (`f32(1.5)`, `index_i64(i + 1)`), so that parsing needs no inference.
#include "ir/loop_program_text.h"

#include <cctype>
#include <charconv>
#include <cmath>

namespace polyte::ir {
namespace {

// A word is written as a call, `max(a, b)`; a sign between its operands, `(a + b)`.
bool is_word(const std::string& text) {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0]));
}

}  // namespace

namespace loop_text {

// Program text writes Neg as a sign; here every unary operator is a call: `neg(x[i])`.
std::string function_name(UnaryOp op) {
  std::string text = ir::to_string(op);
  if (is_word(text)) return text;
  return op == UnaryOp::Neg ? "neg" : "not";
}

}  // namespace loop_text

namespace {

using loop_text::function_name;

// std::to_chars gives the shortest text that reads back as the same double.
std::string print_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return std::string(text, end);
}

std::string print_all(const std::vector<Affine>& values, const std::string& separator) {
  std::string text;
  for (const Affine& value : values) text += (text.empty() ? "" : separator) + to_string(value);
  return text;
}

std::string print_conditions(const std::vector<Constraint>& conditions) {
  std::string text;
  for (const Constraint& c : conditions) text += (text.empty() ? "" : " and ") + to_string(c);
  return text;
}

std::string print_expr(const Expr& e);

// Lanes stand inside the brackets of an access, one stride per subscript: `x[i, j; 8 by 0,1]`. A
// mask names the active lanes: `if n - j` for those below n - j, `if 2..n - j` for those from 2.
std::string print_lanes(const Lanes& lanes) {
  if (lanes.count == 1 && !lanes.is_masked()) return {};
  std::string text = "; " + std::to_string(lanes.count) + " by ";
  for (std::size_t i = 0; i < lanes.strides.size(); ++i)
    text += (i ? "," : "") + std::to_string(lanes.strides[i]);
  if (lanes.is_masked()) text += " if ";
  if (lanes.skipped) text += to_string(*lanes.skipped) + "..";
  if (lanes.is_masked()) text += to_string(lanes.active.value_or(Affine(lanes.count)));
  return text;
}

// `j + {idx[i]}`: braces mark the part that is read at run time, so the parser need not infer it.
std::string print_index(const Index& index) {
  if (!index.indirect) return to_string(index.affine);
  const std::string indirect = "{" + print_expr(index.indirect) + "}";
  return index.affine == Affine(0) ? indirect : to_string(index.affine) + " + " + indirect;
}

std::string print_access(const std::string& buffer, const std::vector<Index>& indices,
                         const Lanes& lanes) {
  std::string text;
  for (const Index& index : indices) text += (text.empty() ? "" : ", ") + print_index(index);
  return buffer + "[" + text + print_lanes(lanes) + "]";
}

// Every infix operation has its own brackets: the text shows the tree, and the parser needs no
// precedence.
struct ExprPrinter {
  const ExprNode& node;

  // `f32(0.5)`. A u64 is printed by its bits, as an i64, and read back so.
  std::string operator()(const Literal& o) const {
    return name_of(node.type) + "(" +
           (is_float(node.type) ? print_number(o.real) : std::to_string(o.integer)) + ")";
  }
  // `index_f32(2*i)`: a number of this type, by a name that no cast or literal has.
  std::string operator()(const IndexValue& o) const {
    return "index_" + name_of(node.type) + "(" + to_string(o.value) + print_lanes(o.lanes) + ")";
  }
  // A guarded load is an operation: (x[i - 1] where i >= 1 else f32(0)).
  std::string operator()(const Load& o) const {
    std::string access = print_access(o.buffer, o.indices, o.lanes);
    if (o.guard.empty()) return access;
    return "(" + access + " where " + print_conditions(o.guard) + " else " +
           print_expr(o.otherwise) + ")";
  }
  std::string operator()(const Unary& o) const {
    return function_name(o.op) + "(" + print_expr(o.a) + ")";
  }
  std::string operator()(const Binary& o) const {
    const std::string op = to_string(o.op);
    if (is_word(op)) return op + "(" + print_expr(o.a) + ", " + print_expr(o.b) + ")";
    return "(" + print_expr(o.a) + " " + op + " " + print_expr(o.b) + ")";
  }
  std::string operator()(const Fma& o) const {
    return "fma(" + print_expr(o.a) + ", " + print_expr(o.b) + ", " + print_expr(o.c) + ")";
  }
  std::string operator()(const Select& o) const {
    return "select(" + print_expr(o.condition) + ", " + print_expr(o.a) + ", " + print_expr(o.b) +
           ")";
  }
  std::string operator()(const Cast& o) const {
    return "cast_" + name_of(node.type) + "(" + print_expr(o.a) + ")";
  }
  std::string operator()(const LaneRead& o) const {
    return "lane_read(" + print_expr(o.load) + ", " + to_string(o.lane) + ")";
  }
  std::string operator()(const Broadcast& o) const {
    return "x" + std::to_string(node.lanes) + "(" + print_expr(o.a) + ")";
  }
};

std::string print_expr(const Expr& e) { return std::visit(ExprPrinter{*e}, e->op); }

// Several bounds: `max(0, i - 3)`. A single one that is neither a name nor a number is put in
// brackets, which end it before the `..` of the range: `(i + 1)..min(n, i + 9)`.
std::string print_bound(const std::vector<Affine>& bounds, const std::string& function) {
  if (bounds.size() > 1) return function + "(" + print_all(bounds, ", ") + ")";
  const bool atomic = bounds[0].is_constant() || bounds[0].as_symbol();
  return atomic ? to_string(bounds[0]) : "(" + to_string(bounds[0]) + ")";
}

class Printer {
 public:
  std::string text;

  void print(const Stmt& s, int depth) {
    std::visit([&](const auto& op) { print_op(op, depth); }, s->op);
  }

 private:
  void line(int depth, const std::string& content) {
    text += std::string(static_cast<std::size_t>(2 * depth), ' ') + content + "\n";
  }

  void print_op(const Block& block, int depth) {
    // A body is what is indented below its head, so an empty one needs a line of its own.
    if (block.body.empty()) line(depth, "nothing");
    for (const Stmt& child : block.body) print(child, depth);
  }
  void print_op(const Fence&, int depth) { line(depth, "fence"); }
  void print_op(const CopyGroup& g, int depth) {
    line(depth, g.wait ? "await copies but " + std::to_string(g.pending) : "commit copies");
  }
  void print_op(const Barrier& b, int depth) {
    line(depth, std::string(b.of_warp ? "warp " : "") + "barrier from " + b.from + " to " + b.to +
                    " on " + b.buffer + (b.fenced ? " fenced" : ""));
  }
  void print_op(const ProductGroup& g, int depth) {
    using Step = ProductGroup::Step;
    line(depth, g.step == Step::Wait     ? "await products but " + std::to_string(g.pending)
                : g.step == Step::Commit ? "commit products"
                                         : "open products");
  }
  void print_op(const Prefetch& prefetch, int depth) {
    line(depth, "prefetch " + print_access(prefetch.buffer, prefetch.indices, {}) + " level " +
                    std::to_string(prefetch.level));
  }
  void print_op(const Tensorized& tensorized, int depth) {
    line(depth, "tensorized " + tensorized.intrinsic);
    print(tensorized.body, depth + 1);
  }
  void print_op(const For& loop, int depth) {
    // The schedule's name of the loop where the variable, a copy's, differs from it:
    //   for k.i_2 in 0..4 as k.i
    const std::string alias = loop.loop == loop.var || loop.loop.empty() ? "" : " as " + loop.loop;
    line(depth, to_string(loop.kind) + " " + loop.var + " in " + print_bound(loop.lower, "max") +
                    ".." + print_bound(loop.upper, "min") + alias + (loop.uncut ? " uncut" : ""));
    print(loop.body, depth + 1);
  }
  // `if i < N and ?(f32(0) < x[i])`.
  void print_op(const If& branch, int depth) {
    std::string conditions = print_conditions(branch.conditions);
    if (branch.condition)
      // `?` marks the run-time condition, which is an expression, not an affine constraint.
      conditions += (conditions.empty() ? "?" : " and ?") + print_expr(branch.condition);
    line(depth, "if " + conditions);
    print(branch.body, depth + 1);
  }
  static const char* placing(const LoopBuffer& b) {
    if (b.of_lanes) return b.of_each_thread ? " of the lanes of each warp" : " of lanes";
    return b.of_each_thread ? " of each thread" : "";
  }
  void print_op(const Alloc& alloc, int depth) {
    const LoopBuffer& b = alloc.buffer;
    std::string shape;
    for (std::int64_t extent : b.shape)
      shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
    std::string where = to_string(b.memory) + placing(b);
    if (!b.swizzle.none())
      where += " swizzle " + std::to_string(b.swizzle.chunk) + " every " +
               std::to_string(b.swizzle.period);
    line(depth, "alloc " + b.name + ": " + name_of(b.dtype) + "[" + shape + "] in " + where);
    print(alloc.body, depth + 1);
  }
  // "i, 16*k.i", with lanes "i, 16*k.i; 0,1".
  static std::string instances(const Origin& origin) {
    std::string strides;
    for (const std::int64_t stride : origin.strides)
      strides += (strides.empty() ? "; " : ",") + std::to_string(stride);
    return print_all(origin.instance, ", ") + strides;
  }
  // The origin behind `@` is not computed with; executing checks and messages use it.
  void print_op(const Store& store, int depth) {
    const std::string prefix = store.atomic        ? "atomic "
                               : store.nontemporal ? "nontemporal "
                               : store.async       ? "async "
                                                   : "";
    std::string content = prefix + print_access(store.buffer, store.indices, store.lanes) + " = " +
                          print_expr(store.value);
    const Origin& origin = store.origin;
    if (!origin.statement.empty())
      content += "  @" + origin.statement + "(" + instances(origin) + ")";
    line(depth, content);
  }
};

}  // namespace

std::string print(const LoopProgram& program) {
  Printer printer;
  printer.text = "loops " + program.name;
  if (!program.params.empty()) {
    std::string params;
    for (const std::string& p : program.params) params += (params.empty() ? "" : ", ") + p;
    printer.text += "(" + params + ")";
  }
  printer.text += "\n";
  for (const Buffer& b : program.buffers)
    printer.text += "  " + to_string(b.role) + " " + b.name + ": " + name_of(b.dtype) + "[" +
                    print_all(b.shape, ", ") + "]\n";
  printer.text += "\n";
  printer.print(program.body, 1);
  return printer.text;
}

}  // namespace polyte::ir
