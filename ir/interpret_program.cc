// Executes a Program in its reference order, instance by instance. Sizes are bound first; then
// every statement is compiled once: iterators become slots of a point, affine expressions become
// sums over slots, buffers become pointers. Iterators are enumerated between the bounds that the
// domain gives them, outermost first.
#include <algorithm>

#include "ir/arithmetic.h"
#include "ir/domain.h"
#include "ir/interpret.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::ir {
namespace {

using arithmetic::Scalar;
using Point = std::vector<std::int64_t>;

// --- compiled forms ------------------------------------------------------------------------------

struct SlotDiv;
// constant + sum of coefficient * point[slot] + sum of coefficient * floor(numerator
// / denominator).
struct SlotAffine {
  std::int64_t constant = 0;
  std::vector<std::pair<std::size_t, std::int64_t>> terms;
  std::vector<SlotDiv> divs;
  std::int64_t operator()(const Point& point) const;
};
struct SlotDiv {
  SlotAffine numerator;
  std::int64_t denominator, coefficient;
};

// sum + coefficient * value; the inline form of the checked functions.
std::int64_t add_product(std::int64_t sum, std::int64_t coefficient, std::int64_t value) {
  std::int64_t product = 0, result = 0;
  if (__builtin_mul_overflow(coefficient, value, &product) ||
      __builtin_add_overflow(sum, product, &result))
    return checked_add(sum, checked_mul(coefficient, value));  // throws
  return result;
}

std::int64_t SlotAffine::operator()(const Point& point) const {
  std::int64_t value = constant;
  for (const auto& [slot, coefficient] : terms)
    value = add_product(value, coefficient, point[slot]);
  for (const SlotDiv& div : divs)
    value = add_product(value, div.coefficient,
                        polyte::floor_div(div.numerator(point), div.denominator));
  return value;
}

struct SlotConstraint {
  SlotAffine expr;
  bool equality;
  bool operator()(const Point& point) const {
    const std::int64_t value = expr(point);
    return equality ? value == 0 : value >= 0;
  }
};

// A buffer while the Program runs; `written` is empty for what the caller has filled.
struct Cells {
  std::string name;
  DType dtype;
  Point shape;
  std::byte* bytes;
  std::vector<bool> written;
};

struct Node;
struct CellAccess {
  Cells* cells;
  std::vector<SlotAffine> subscripts;
  std::vector<std::unique_ptr<Node>> indirect;  // one per subscript, may be null
};

// An expression node; `a`, `b`, `c` are its operands (of a load, `a` is the value where the
// guard fails).
struct Node {
  Expr source;
  DType type;      // of the result
  DType operands;  // of the operands, where that differs
  std::unique_ptr<Node> a = {}, b = {}, c = {};
  Scalar literal = {};
  SlotAffine index = {};
  CellAccess access = {};
  std::vector<SlotConstraint> guard = {};
  bool combined = false;  // the update's own read of what it writes
};

struct Level {  // one iterator
  std::vector<SlotAffine> lower, upper;
  std::vector<SlotConstraint> checks;
};

struct Code {
  const Statement* statement;
  std::vector<Level> levels = {};
  bool feasible;  // what the domain says of sizes alone
  std::vector<CellAccess> writes = {};
  std::vector<Node> values = {};
  std::unique_ptr<Node> guard = {};
};

class Compiler {
 public:
  Compiler(const Statement& statement, std::map<std::string, Cells>& cells)
      : statement_(statement), cells_(cells) {}

  Code operator()() {
    Code code{.statement = &statement_, .feasible = true};
    // Per iterator the bounds over those before it, and constraints that bound nothing (in
    // divisions), which are tested once the iterator has a value.
    const DomainBounds bounds = bounds_of(statement_.domain, statement_.iterators);
    for (const IteratorBounds& b : bounds.of)
      code.levels.push_back({all(b.lower), all(b.upper), all(b.checks)});
    for (const Constraint& c : bounds.constant) code.feasible = code.feasible && holds(c, {});
    for (std::size_t i = 0; i < statement_.writes.size(); ++i) {
      const Access& write = statement_.writes[i];
      code.writes.push_back(access(write.buffer, write.indices));
      current_.push_back(make_load(statement_.values[i]->type, write.buffer, write.indices));
    }
    for (const Expr& value : combined_values(statement_, current_))
      code.values.push_back(node(value));
    if (statement_.guard) code.guard = boxed(statement_.guard);
    return code;
  }

 private:
  const Statement& statement_;
  std::map<std::string, Cells>& cells_;
  // What the update combines with: these nodes, not others that read the same element.
  std::vector<Expr> current_;

  SlotAffine compile(const Affine& e) const {
    SlotAffine result;
    result.constant = e.constant();
    for (const Term& term : e.terms()) {
      if (term.atom.div) {
        result.divs.push_back(
            {compile(term.atom.div->numerator), term.atom.div->denominator, term.coefficient});
        continue;
      }
      const auto at = std::ranges::find(statement_.iterators, term.atom.symbol);
      POLYTE_CHECK(at != statement_.iterators.end(), "'" + term.atom.symbol + "' is not bound");
      result.terms.emplace_back(static_cast<std::size_t>(at - statement_.iterators.begin()),
                                term.coefficient);
    }
    return result;
  }

  std::vector<SlotAffine> all(const std::vector<Affine>& items) const {
    std::vector<SlotAffine> result;
    for (const Affine& item : items) result.push_back(compile(item));
    return result;
  }
  std::vector<SlotConstraint> all(const std::vector<Constraint>& items) const {
    std::vector<SlotConstraint> result;
    for (const Constraint& item : items) result.push_back({compile(item.expr), item.equality});
    return result;
  }

  CellAccess access(const std::string& buffer, const std::vector<Index>& indices) {
    CellAccess result{&cells_.at(buffer), {}, {}};
    for (const Index& index : indices) {
      result.subscripts.push_back(compile(index.affine));
      result.indirect.push_back(index.indirect ? boxed(index.indirect) : nullptr);
    }
    return result;
  }

  std::unique_ptr<Node> boxed(const Expr& e) { return std::make_unique<Node>(node(e)); }

  Node node(const Expr& e) {
    Node n{.source = e, .type = e->type, .operands = e->type};
    n.combined = std::ranges::find(current_, e) != current_.end();
    std::visit([&](const auto& op) { fill(n, op); }, e->op);
    return n;
  }

  void fill(Node& n, const Literal& o) {
    n.literal = is_float(n.type) ? arithmetic::of_real(o.real) : arithmetic::of_integer(o.integer);
  }
  void fill(Node& n, const IndexValue& o) { n.index = compile(o.value); }
  void fill(Node& n, const Load& o) {
    n.access = access(o.buffer, o.indices);
    n.guard = all(o.guard);
    if (o.otherwise) n.a = boxed(o.otherwise);
  }
  void fill(Node& n, const Unary& o) { n.a = boxed(o.a); }
  void fill(Node& n, const Binary& o) {
    n.operands = o.a->type;
    n.a = boxed(o.a);
    n.b = boxed(o.b);
  }
  void fill(Node& n, const Fma& o) {
    n.a = boxed(o.a);
    n.b = boxed(o.b);
    n.c = boxed(o.c);
  }
  void fill(Node& n, const Select& o) {
    n.c = boxed(o.condition);
    n.a = boxed(o.a);
    n.b = boxed(o.b);
  }
  void fill(Node& n, const Cast& o) {
    n.operands = o.a->type;
    n.a = boxed(o.a);
  }
  void fill(Node&, const Broadcast&) { POLYTE_CHECK(false, "a broadcast in a Program"); }
  void fill(Node&, const LaneRead&) { POLYTE_CHECK(false, "a lane's register in a Program"); }
};

// --- execution -----------------------------------------------------------------------------------

std::string print_point(const Point& point) {
  std::string text;
  for (const std::int64_t i : point) text += (text.empty() ? "" : ", ") + std::to_string(i);
  return "[" + text + "]";
}

// Runs the compiled statements. Iterators of regions are the first slots of every point.
class ProgramMachine {
 public:
  ProgramMachine(const Program& program, std::map<std::string, Cells>& cells,
                 const InterpretOptions& options)
      : program_(program), options_(options) {
    for (const Statement& s : program.statements) code_.push_back(Compiler(s, cells)());
  }

  void run(const std::vector<Item>& items, Point& regions) {
    for (const Item& item : items) {
      if (const auto* region = std::get_if<Region>(&item)) {
        run(*region, regions);
      } else {
        run(code_[std::get<std::size_t>(item)], regions);
      }
    }
  }

 private:
  const Program& program_;
  const InterpretOptions& options_;
  std::vector<Code> code_;
  std::vector<std::string> region_names_;
  std::int64_t steps_ = 0;
  const Code* now_ = nullptr;
  Point point_;
  Event event_;

  void run(const Region& region, Point& regions) {
    const auto value_of = [&](const std::string& symbol) {
      const auto at = std::ranges::find(region_names_, symbol);
      POLYTE_CHECK(at != region_names_.end(), "'" + symbol + "' is not bound");
      return regions[static_cast<std::size_t>(at - region_names_.begin())];
    };
    const std::int64_t begin = evaluate(region.begin, value_of),
                       end = evaluate(region.end, value_of);
    const std::int64_t count = end > begin ? end - begin : 0;
    region_names_.push_back(region.iterator);
    regions.push_back(0);
    for (std::int64_t i = 0; i < count; ++i) {
      // Counted from 0, since begin - 1 or end + 1 may not be representable.
      regions.back() = region.step > 0 ? begin + i : end - 1 - i;
      run(region.body, regions);
    }
    regions.pop_back();
    region_names_.pop_back();
  }

  void run(const Code& code, const Point& regions) {
    if (!code.feasible) return;
    now_ = &code;
    point_.assign(code.levels.size(), 0);
    std::ranges::copy(regions, point_.begin());
    enumerate(0, regions.size());
  }

  static bool all_hold(const std::vector<SlotConstraint>& constraints, const Point& point) {
    return std::ranges::all_of(constraints, [&](const SlotConstraint& c) { return c(point); });
  }

  // Lexicographic, as the reference order says. The first `fixed` iterators are those of regions,
  // whose loops are run outside: here it is only checked that the domain has their values.
  void enumerate(std::size_t depth, std::size_t fixed) {
    if (depth == point_.size()) return step();
    const Level& level = now_->levels[depth];
    // Bounds are inclusive on both sides: the greatest lower and the least upper one.
    std::int64_t low = level.lower[0](point_);
    std::int64_t high = level.upper[0](point_);
    for (const SlotAffine& e : level.lower) low = std::max(low, e(point_));
    for (const SlotAffine& e : level.upper) high = std::min(high, e(point_));
    if (depth < fixed) {
      const bool inside =
          low <= point_[depth] && point_[depth] <= high && all_hold(level.checks, point_);
      if (inside) enumerate(depth + 1, fixed);
      return;
    }
    for (std::int64_t i = low; i <= high; ++i) {
      point_[depth] = i;
      if (all_hold(level.checks, point_)) enumerate(depth + 1, fixed);
    }
  }

  // All values are computed before the first is written: an ArgMax writes two elements of one
  // instance.
  void step() {
    if (options_.max_steps > 0 && ++steps_ > options_.max_steps)
      throw UserError(ExitStatus::ResourceLimit, "program '" + program_.name +
                                                     "' takes more than " +
                                                     std::to_string(options_.max_steps) + " steps");
    const bool trace = static_cast<bool>(options_.on_event);
    if (trace) event_ = {&now_->statement->name, point_, {}, 1, {}};
    if (now_->guard && eval(*now_->guard).integer == 0) return;
    Scalar results[2];
    for (std::size_t i = 0; i < now_->values.size(); ++i) results[i] = eval(now_->values[i]);
    for (std::size_t i = 0; i < now_->writes.size(); ++i) write(now_->writes[i], results[i]);
    if (trace) options_.on_event(event_);
  }

  [[noreturn]] void fail(const std::string& what) const {
    std::string instance;
    for (std::size_t i = 0; i < point_.size(); ++i)
      instance += (i ? ", " : "") + now_->statement->iterators[i] + "=" + std::to_string(point_[i]);
    throw UserError(ExitStatus::InvalidInput,
                    "statement '" + now_->statement->name + "' at (" + instance + ") " + what);
  }

  Point subscripts_of(const CellAccess& access) {
    Point index;
    for (std::size_t i = 0; i < access.subscripts.size(); ++i)
      index.push_back(subscript(access, i));
    return index;
  }

  std::int64_t subscript(const CellAccess& access, std::size_t i) {
    std::int64_t value = access.subscripts[i](point_);
    if (access.indirect[i]) value = checked_add(value, eval(*access.indirect[i]).integer);
    return value;
  }

  // Row-major position of the element; outside the shape is an error.
  std::int64_t position(const CellAccess& access, const char* verb) {
    const Cells& cells = *access.cells;
    std::int64_t result = 0;
    for (std::size_t i = 0; i < access.subscripts.size(); ++i) {
      const std::int64_t value = subscript(access, i);
      if (value < 0 || value >= cells.shape[i])
        fail(verb + (" " + cells.name) + print_point(subscripts_of(access)) +
             ", outside its shape " + print_point(cells.shape));
      // Horner's scheme. Each subscript is checked by itself: x[0, 5] of a [2, 4] is not x[1,
      // 1].
      result = result * cells.shape[i] + value;
    }
    return result;
  }

  void record(const CellAccess& access, std::int64_t position, bool is_write, Scalar value,
              bool combined = false) {
    if (!options_.on_event) return;
    const double real = arithmetic::cast(DType::F64, access.cells->dtype, value).real;
    Point index(access.cells->shape.size(), 0);
    std::int64_t rest = position;
    // The subscripts are taken back out of the row-major position.
    for (std::size_t d = index.size(); d-- > 0; rest /= access.cells->shape[d])
      index[d] = rest % access.cells->shape[d];
    event_.cells.push_back(
        {access.cells->name, std::move(index), is_write, real, -1, position, combined});
  }

  Scalar read(const Node& node) {
    const CellAccess& access = node.access;
    const Cells& cells = *access.cells;
    const std::int64_t at = position(access, "reads");
    if (!cells.written.empty() && !cells.written[static_cast<std::size_t>(at)])
      fail("reads " + cells.name + print_point(subscripts_of(access)) +
           ", which nothing has written");
    const Scalar value =
        arithmetic::load(cells.dtype, cells.bytes + at * size_in_bytes(cells.dtype));
    record(access, at, false, value, node.combined);
    return value;
  }

  void write(const CellAccess& access, Scalar value) {
    Cells& cells = *access.cells;
    const std::int64_t at = position(access, "writes");
    if (!cells.written.empty()) cells.written[static_cast<std::size_t>(at)] = true;
    arithmetic::store(cells.dtype, cells.bytes + at * size_in_bytes(cells.dtype), value);
    record(access, at, true, value);
  }

  // The numbers are the positions of the alternatives of ExprNode::op. Both values of a select are
  // computed, so that a read in the one that is not taken has to be inside its buffer as well.
  Scalar eval(const Node& n) {
    switch (n.source->op.index()) {
      case 0:
        return n.literal;
      case 1:
        return arithmetic::cast(n.type, DType::I64, arithmetic::of_integer(n.index(point_)));
      case 2:
        return all_hold(n.guard, point_) ? read(n) : eval(*n.a);
      case 3:
        return arithmetic::apply(std::get<Unary>(n.source->op).op, n.type, eval(*n.a));
      case 4: {
        const Scalar a = eval(*n.a);
        return arithmetic::apply(std::get<Binary>(n.source->op).op, n.operands, a, eval(*n.b));
      }
      case 5: {
        const Scalar a = eval(*n.a), b = eval(*n.b);
        return arithmetic::fma(n.type, a, b, eval(*n.c));
      }
      case 6: {
        const bool condition = eval(*n.c).integer != 0;
        const Scalar a = eval(*n.a), b = eval(*n.b);
        return condition ? a : b;
      }
      default:
        return arithmetic::cast(n.type, n.operands, eval(*n.a));
    }
  }
};

// --- buffers -------------------------------------------------------------------------------------

std::string describe(DType dtype, const Point& shape) {
  return std::string(polyte::to_string(dtype)) + print_point(shape);
}

std::vector<std::string> check_buffers(const Program& bound, const Environment& buffers) {
  std::vector<std::string> problems;
  for (const Buffer& b : bound.buffers) {
    if (b.role == Role::Out || b.role == Role::Temp) continue;
    const auto at = buffers.find(b.name);
    const Point shape = constant_shape(b);
    if (at == buffers.end()) {
      problems.push_back("buffer '" + b.name + "' is not given");
    } else if (at->second.dtype != b.dtype || at->second.shape != shape) {
      problems.push_back("buffer '" + b.name + "' is " +
                         describe(at->second.dtype, at->second.shape) + ", expected " +
                         describe(b.dtype, shape));
    } else if (at->second.bytes.size() != make_contents(b.dtype, shape).bytes.size()) {
      problems.push_back("buffer '" + b.name + "' has " + std::to_string(at->second.bytes.size()) +
                         " bytes");
    }
  }
  return problems;
}

std::map<std::string, Cells> open_cells(const Program& bound, Environment& buffers) {
  std::map<std::string, Cells> cells;
  for (const Buffer& b : bound.buffers) {
    const bool fresh = b.role == Role::Out || b.role == Role::Temp;
    if (fresh) buffers[b.name] = make_contents(b.dtype, constant_shape(b));
    Contents& contents = buffers.at(b.name);
    std::vector<bool> written;
    if (fresh)
      written.resize(contents.bytes.size() / static_cast<std::size_t>(size_in_bytes(b.dtype)));
    cells.emplace(
        b.name, Cells{b.name, b.dtype, contents.shape, contents.bytes.data(), std::move(written)});
  }
  return cells;
}

}  // namespace

void interpret(const Program& program, Environment& buffers, const InterpretOptions& options) {
  std::vector<std::string> problems = verify(program);
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, std::move(problems));
  const Program bound = bind(program, options.sizes);
  for (const std::string& param : bound.params)
    problems.push_back("program '" + program.name + "': size " + param + " is not given");
  if (problems.empty()) problems = check_buffers(bound, buffers);
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, std::move(problems));
  std::map<std::string, Cells> cells = open_cells(bound, buffers);
  Point regions;
  ProgramMachine(bound, cells, options).run(bound.order, regions);
}

}  // namespace polyte::ir
