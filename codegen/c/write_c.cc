#include "codegen/c/write_c.h"

#include <algorithm>

#include "codegen/c/c_expr.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::codegen {
namespace {

using ir::LoopKind;
using ir::Stmt;

// A buffer of more bytes than this comes from malloc: threads' stacks are small.
constexpr std::int64_t kMostStackBytes = 16 << 10;

// C has no arrays of no elements.
std::int64_t at_least_one(std::int64_t extent) { return std::max<std::int64_t>(extent, 1); }

std::int64_t bytes_of(const ir::LoopBuffer& buffer) {
  std::int64_t bytes = size_in_bytes(buffer.dtype);
  for (const std::int64_t extent : buffer.shape) bytes = checked_mul(bytes, at_least_one(extent));
  return bytes;
}

bool calls_library(const Stmt& s) {
  bool found = false;
  ir::for_each_expr(s, [&](const ir::Expr& e) { found = found || codegen::calls_library(e); });
  return found;
}

bool holds_parallel_or_memory(const Stmt& s) {
  bool found = false;
  ir::for_each_stmt(s, [&](const Stmt& below) {
    const auto* loop = std::get_if<ir::For>(&below->op);
    const auto* alloc = std::get_if<ir::Alloc>(&below->op);
    found = found || (loop && loop->kind == LoopKind::Parallel) ||
            (alloc && bytes_of(alloc->buffer) > kMostStackBytes);
  });
  return found;
}

// What stands around a statement, for pragmas: OpenMP nests neither teams here nor vectors.
struct Around {
  int depth = 1;
  bool parallel = false, simd = false;
  bool alone = true;  // the only statement between two braces
};

enum class Scop { Unmarked, Marked };

class FunctionWriter {
 public:
  FunctionWriter(CNames& names, CHelpers& helpers, std::set<std::string>& problems)
      : names_(names), helpers_(helpers), problems_(problems), exprs_(names, helpers, problems) {}

  std::string run(const ir::LoopProgram& program, Scop scop) {
    flat_ = !ir::verify(program, ir::Form::Nest).empty();
    std::string head = "void " + names_.function(program.name) + "(";
    std::vector<std::string> parameters;
    for (const std::string& size : program.params)
      parameters.push_back("int64_t " + names_.of(size));
    for (const ir::Buffer& buffer : program.buffers) parameters.push_back(parameter(buffer));
    // Parameters fill lines of at most 110 columns, aligned behind the parenthesis.
    std::string indent(head.size(), ' '), line;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const std::string part = parameters[i] + (i + 1 < parameters.size() ? ", " : "");
      if (!line.empty() && head.size() + line.size() + part.size() > 110) {
        text_ += head + line.substr(0, line.size() - 1) + "\n";
        head = indent;
        line.clear();
      }
      line += part;
    }
    text_ += head + (parameters.empty() ? "void" : line) + ") {\n";
    if (scop == Scop::Marked) text_ += "#pragma scop\n";
    if (program.body) statement(program.body, {});
    if (scop == Scop::Marked) text_ += "#pragma endscop\n";
    return text_ + "}\n";
  }

 private:
  CNames& names_;
  CHelpers& helpers_;
  std::set<std::string>& problems_;
  CExprs exprs_;
  std::string text_;
  bool flat_ = false;  // one linear subscript for each access

  void put(const Around& around, const std::string& line) {
    text_ += std::string(static_cast<std::size_t>(2 * around.depth), ' ') + line + "\n";
  }
  static Around inside(Around around) {
    ++around.depth;
    around.alone = true;
    return around;
  }

  // `type name[restrict N][M]`: C99's variably modified parameters, where extents may be parameters
  // in front of it. The first extent says nothing to the compiler but is there for readers;
  // `restrict` is the promise that buffers do not overlap.
  std::string parameter(const ir::Buffer& buffer) {
    exprs_.check_type(buffer.dtype, "'" + buffer.name + "'");
    const bool is_const = buffer.role == ir::Role::In || buffer.role == ir::Role::Const;
    std::string text =
        (is_const ? "const " : "") + c_type(buffer.dtype) + " " + names_.of(buffer.name);
    std::vector<ir::Affine> shape = buffer.shape;
    // After lowering each access has one linear subscript: the parameter is one array of all
    // elements.
    if (flat_ && shape.size() > 1) shape = {checked_product(ir::constant_shape(buffer))};
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const ir::Affine& extent = shape[i];
      const std::string size = extent.is_constant()
                                   ? std::to_string(at_least_one(extent.constant()))
                                   : exprs_.affine(extent);
      text += (i == 0 ? "[restrict " : "[") + size + "]";
    }
    return text + (buffer.shape.empty() ? "[restrict 1]" : "");
  }

  void statement(const Stmt& s, const Around& around) {
    std::visit([&](const auto& op) { write(op, around); }, s->op);
  }

  void write(const ir::Store& store, const Around& around) {
    if (store.atomic) problems_.insert("an atomic store to '" + store.buffer + "'");
    put(around, exprs_.access(store.buffer, store.indices) + " = " + exprs_.value(store.value) +
                    ";" + (store.origin.statement.empty() ? "" : "  // " + store.origin.statement));
  }

  void write(const ir::Block& block, const Around& around) {
    Around one = around;
    one.alone = false;
    for (const Stmt& s : block.body) statement(s, one);
  }

  std::string bound(const std::vector<ir::Affine>& bounds, const std::string& name) {
    std::string text = exprs_.affine(bounds[0]);
    for (std::size_t i = 1; i < bounds.size(); ++i)
      text = helpers_.use(name) + "(" + text + ", " + exprs_.affine(bounds[i]) + ")";
    return text;
  }

  // `omp simd` promises that iterations are independent, as a Vector loop does. Inside such a loop,
  // and inside a team of threads, further parallel pragmas are left out: OpenMP forbids the first
  // and would nest teams for the second.
  void write(const ir::For& loop, const Around& around) {
    if (ir::is_of_device(loop.kind))
      problems_.insert("loop '" + loop.loop + "' is " + ir::description(loop.kind) + " of a GPU");
    Around below = inside(around);
    if (loop.kind == LoopKind::Parallel && !around.parallel && !around.simd) {
      put(around, "#pragma omp parallel for");
      below.parallel = true;
    }
    if (loop.kind == LoopKind::Vector && !around.simd && !calls_library(loop.body) &&
        !holds_parallel_or_memory(loop.body)) {
      put(around, "#pragma omp simd");
      below.simd = true;
    }
    const std::string var = names_.of(loop.var);
    put(around, "for (int64_t " + var + " = " + bound(loop.lower, "max_i64") + "; " + var + " < " +
                    bound(loop.upper, "min_i64") + "; " + var + "++) {");
    statement(loop.body, below);
    put(around, "}");
  }

  void write(const ir::If& branch, const Around& around) {
    std::string text = exprs_.conditions(branch.conditions);
    if (branch.condition)
      text += (text.empty() ? "" : " && ") + ("(" + exprs_.value(branch.condition) + ")");
    put(around, "if (" + text + ") {");
    statement(branch.body, inside(around));
    put(around, "}");
  }

  // In braces of its own, unless it is the only statement between two already: the name ends with
  // them.
  void write(const ir::Alloc& alloc, const Around& around) {
    const ir::LoopBuffer& buffer = alloc.buffer;
    if (buffer.memory == ir::Memory::Shared || buffer.of_each_thread || buffer.of_lanes)
      problems_.insert("'" + buffer.name + "' lies in the memory of a GPU");
    exprs_.check_type(buffer.dtype, "'" + buffer.name + "'");
    const std::string name = names_.of(buffer.name), type = c_type(buffer.dtype);
    std::vector<std::int64_t> shape = buffer.shape;
    if (shape.empty()) shape.push_back(1);
    std::string rows;
    for (std::size_t i = 1; i < shape.size(); ++i)
      rows += "[" + std::to_string(at_least_one(shape[i])) + "]";
    const bool on_heap = bytes_of(buffer) > kMostStackBytes;
    const std::string whole = "[" + std::to_string(at_least_one(shape[0])) + "]" + rows;
    if (!around.alone) put(around, "{");
    const Around below = around.alone ? around : inside(around);
    if (on_heap) {
      put(below, type + " (*" + name + ")" + rows + " = " + helpers_.use("allocate") + "(sizeof(" +
                     type + whole + "));");
    } else {
      put(below, type + " " + name + whole + ";");
    }
    statement(alloc.body, below);
    if (on_heap) put(below, "free(" + name + ");");
    if (!around.alone) put(around, "}");
  }

  // Hints: no effect on values.
  void write(const ir::Prefetch&, const Around&) {}
  void write(const ir::Fence&, const Around&) {}
  void write(const ir::Tensorized& tensorized, const Around& around) {
    statement(tensorized.body, around);
  }
  void write(const ir::Barrier&, const Around&) {
    problems_.insert("a barrier of threads of a GPU");
  }
  void write(const ir::CopyGroup&, const Around&) {
    problems_.insert("an asynchronous copy of a GPU");
  }
  void write(const ir::ProductGroup&, const Around&) {
    problems_.insert("a product of a warpgroup");
  }
};

}  // namespace

namespace {

constexpr const char* kIncludes =
    "#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\n\n#pragma STDC FP_CONTRACT OFF\n";

std::string functions_text(std::span<const ir::LoopProgram> functions, Scop scop,
                           CHelpers& helpers) {
  std::vector<std::string> lines;
  std::string text;
  for (const ir::LoopProgram& program : functions) {
    CNames names;
    std::set<std::string> problems;
    text += "\n" + FunctionWriter(names, helpers, problems).run(program, scop);
    for (const std::string& problem : problems)
      lines.push_back("kernel '" + program.name + "' is no C: " + problem);
  }
  if (!lines.empty()) throw UserError(ExitStatus::Unsupported, lines);
  return text;
}

}  // namespace

MarkedC write_marked_c(const ir::LoopProgram& function) {
  MarkedC result;
  ir::LoopProgram loops = function;
  while (const auto* alloc = loops.body ? std::get_if<ir::Alloc>(&loops.body->op) : nullptr) {
    const ir::LoopBuffer buffer = alloc->buffer;
    loops.buffers.push_back({buffer.name, ir::Role::InOut, buffer.dtype,
                             std::vector<ir::Affine>(buffer.shape.begin(), buffer.shape.end())});
    result.arrays.push_back(bytes_of(buffer));
    loops.body = Stmt(alloc->body);
  }
  CHelpers helpers;
  const std::string text = functions_text({&loops, 1}, Scop::Marked, helpers);
  result.text = kIncludes + ("\n" + helpers.declarations()) + text;
  result.helpers = helpers.text();
  return result;
}

std::string write_c(std::span<const ir::LoopProgram> functions) {
  CHelpers helpers;
  const std::string text = functions_text(functions, Scop::Unmarked, helpers);
  const bool library = std::ranges::any_of(functions, [](const ir::LoopProgram& program) {
    return program.body && calls_library(program.body);
  });
  std::string head = "// cc -std=c99 -O3 -march=native -fopenmp -ffp-contract=off THIS.c -lm\n";
  head += "// Prefetches and stores past the caches are left out.";
  head += library ? " exp and its kin are those of the C library.\n" : "\n";
  head += kIncludes;
  const std::string definitions = helpers.text();
  return head + (definitions.empty() ? "" : "\n" + definitions) + text;
}

}  // namespace polyte::codegen
