#include "tests/schedule/execute_state.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "ir/arithmetic.h"
#include "schedule/script/reuse.h"
#include "support/checked.h"

namespace polyte::schedule {

namespace {

using ir::arithmetic::Scalar;
using Point = std::vector<std::int64_t>;

struct StatementRun {
  const ScheduledStatement* statement = nullptr;
  ir::Values iterators;
};

struct BufferFacts {
  std::string name;
  LoopId scope = kKernel;
  Point shape;
  bool is_register = false;
};

struct CellName {
  std::size_t buffer = 0;  // its number
  std::int64_t scope = 0;  // iteration of the scope loop; 0: the whole kernel
  Point index;
  bool operator==(const CellName&) const = default;
};
struct CellHash {
  std::size_t operator()(const CellName& name) const {
    auto hash = static_cast<std::uint64_t>(name.scope) * 31 + name.buffer;
    for (const std::int64_t i : name.index)
      hash = (hash ^ static_cast<std::uint64_t>(i)) * 0x9e3779b97f4a7c15U;
    return hash ^ (hash >> 31U);
  }
};

using CellNumber = std::size_t;
struct Cell {
  Scalar value;
  bool defined = false;
  std::optional<std::int64_t> owner;  // of a register: the thread that wrote it first
};

// Accesses of the iterations of one parallel or vector loop.
struct RaceLog {
  std::string loop;
  std::int64_t iteration = 0;
  struct Touch {
    std::int64_t iteration = 0;
    bool written = false;
    const ScheduledStatement* atomic = nullptr;  // all of them its updates of this cell
  };
  std::unordered_map<CellNumber, Touch> touched;
};

class Executor {
 public:
  explicit Executor(const State& state) : state_(state) {}

  std::vector<std::string> run(ir::Environment& buffers) {
    for (const ir::Buffer* buffer : state_.reference->interface())
      if (buffer->role != ir::Role::Out) import(buffers.at(buffer->name), buffer->name);
    std::vector<StatementRun> instances;
    for (const ScheduledStatement& s : state_.statements) enumerate(s, instances);
    std::vector<const StatementRun*> alive;
    for (const StatementRun& i : instances) alive.push_back(&i);
    if (state_.tree) execute(state_.tree, alive);
    for (const ir::Buffer* buffer : state_.reference->interface()) export_to(buffers, *buffer);
    return problems_;
  }

 private:
  const State& state_;
  std::vector<BufferFacts> buffers_;
  std::unordered_map<std::string, std::size_t> buffer_numbers_;
  std::vector<Cell> cells_;
  std::vector<const CellName*> names_;  // of the cells
  std::unordered_map<CellName, CellNumber, CellHash> cell_numbers_;
  std::map<LoopId, std::int64_t> scopes_;  // number of the running iteration
  std::int64_t iterations_ = 0;
  std::vector<RaceLog*> logs_;
  std::int64_t thread_ = 0;  // of the block
  std::vector<std::string> problems_;

  void report(const std::string& problem) {
    if (problems_.size() < 8) problems_.push_back(problem);
  }

  // --- buffers ---

  std::size_t buffer_number(const std::string& name) {
    const auto [at, is_new] = buffer_numbers_.emplace(name, buffers_.size());
    if (!is_new) return at->second;
    BufferFacts facts{name, kKernel, {}, false};
    for (const StagedBuffer& staged : state_.staged) {
      if (staged.name != name) continue;
      facts.scope = staged.scope_loop;
      facts.is_register = staged.memory == Memory::Register;
    }
    for (const ir::Affine& extent : state_.shape_of(name)) facts.shape.push_back(extent.constant());
    buffers_.push_back(std::move(facts));
    return at->second;
  }

  CellNumber number_of(CellName name) {
    const auto [at, is_new] = cell_numbers_.emplace(std::move(name), cells_.size());
    if (is_new) {
      cells_.emplace_back();
      names_.push_back(&at->first);
    }
    return at->second;
  }

  std::string text_of(CellNumber cell) const {
    std::string text = buffers_[names_[cell]->buffer].name + "[";
    const Point& index = names_[cell]->index;
    for (std::size_t i = 0; i < index.size(); ++i)
      text += (i ? ", " : "") + std::to_string(index[i]);
    return text + "]";
  }

  static std::int64_t count(const Point& shape) { return checked_product(shape); }

  static Point index_at(const Point& shape, std::int64_t position) {
    Point index(shape.size());
    for (std::size_t d = shape.size(); d > 0; --d) {
      index[d - 1] = position % shape[d - 1];
      position /= shape[d - 1];
    }
    return index;
  }

  void import(const ir::Contents& contents, const std::string& name) {
    const auto size = static_cast<std::size_t>(size_in_bytes(contents.dtype));
    const std::size_t buffer = buffer_number(name);
    for (std::int64_t i = 0; i < count(contents.shape); ++i) {
      Cell& cell = cells_[number_of({buffer, 0, index_at(contents.shape, i)})];
      cell.value = ir::arithmetic::load(contents.dtype,
                                        contents.bytes.data() + static_cast<std::size_t>(i) * size);
      cell.defined = true;
    }
  }

  void export_to(ir::Environment& buffers, const ir::Buffer& buffer) {
    ir::Contents contents = ir::make_contents(buffer.dtype, ir::constant_shape(buffer));
    const auto size = static_cast<std::size_t>(size_in_bytes(buffer.dtype));
    const std::size_t number = buffer_number(buffer.name);
    for (std::int64_t i = 0; i < count(contents.shape); ++i) {
      const Cell& cell = cells_[number_of({number, 0, index_at(contents.shape, i)})];
      if (cell.defined)
        ir::arithmetic::store(
            buffer.dtype, contents.bytes.data() + static_cast<std::size_t>(i) * size, cell.value);
    }
    buffers[buffer.name] = std::move(contents);
  }

  // --- instances ---

  static void tighten(const ir::Affine& expr, ir::Ranges& ranges) {
    for (const ir::Term& term : expr.terms()) {
      if (term.atom.div) continue;
      const ir::Affine rest = expr - ir::Affine::symbol(term.atom.symbol) * term.coefficient;
      const auto most = ir::range_of(rest, ranges).max;
      if (!most) continue;
      ir::Interval& range = ranges[term.atom.symbol];
      if (term.coefficient > 0) {
        const std::int64_t min = ceil_div(-*most, term.coefficient);
        range.min = std::max(range.min.value_or(min), min);
      } else {
        const std::int64_t max = polyte::floor_div(*most, -term.coefficient);
        range.max = std::min(range.max.value_or(max), max);
      }
    }
  }

  void enumerate(const ScheduledStatement& s, std::vector<StatementRun>& into) {
    ir::Ranges ranges;
    for (int round = 0; round < 12; ++round)
      for (const ir::Constraint& c : s.body.domain) {
        tighten(c.expr, ranges);
        if (c.equality) tighten(-c.expr, ranges);
      }
    StatementRun instance{&s, {}};
    enumerate_from(s, 0, ranges, instance, into);
  }

  void enumerate_from(const ScheduledStatement& s, std::size_t depth, const ir::Ranges& ranges,
                      StatementRun& instance, std::vector<StatementRun>& into) {
    if (depth == s.body.iterators.size()) {
      const bool is_point = !s.body.iterators.empty() ||
                            std::ranges::all_of(s.body.domain, [&](const ir::Constraint& c) {
                              return ir::holds(c, instance.iterators);
                            });
      if (is_point) into.push_back(instance);
      return;
    }
    const std::string& iterator = s.body.iterators[depth];
    const auto range = ranges.find(iterator);
    if (range == ranges.end() || !range->second.min || !range->second.max) {
      report(s.body.name + ": iterator " + iterator + " has no bounds");
      return;
    }
    // Those that are settled with this iterator: no later one is in them.
    std::vector<const ir::Constraint*> settled;
    const auto last_used = [&](const ir::Constraint& c) {
      std::size_t last = 0;
      for (std::size_t i = 1; i < s.body.iterators.size(); ++i)
        if (c.expr.uses(s.body.iterators[i])) last = i;
      return last;
    };
    for (const ir::Constraint& c : s.body.domain)
      if (last_used(c) == depth) settled.push_back(&c);
    std::int64_t& value = instance.iterators[iterator];
    for (value = *range->second.min; value <= *range->second.max; ++value)
      if (std::ranges::all_of(
              settled, [&](const ir::Constraint* c) { return ir::holds(*c, instance.iterators); }))
        enumerate_from(s, depth + 1, ranges, instance, into);
  }

  // --- the tree ---

  void execute(const Tree& tree, const std::vector<const StatementRun*>& alive) {
    if (const Leaf* leaf = std::get_if<Leaf>(&tree->op)) {
      execute_leaf(*leaf, alive);
    } else if (const Sequence* sequence = std::get_if<Sequence>(&tree->op)) {
      for (const Tree& child : sequence->children) execute(child, alive);
    } else {
      execute_loop(std::get<Loop>(tree->op), alive);
    }
  }

  void execute_leaf(const Leaf& leaf, const std::vector<const StatementRun*>& alive) {
    const StatementRun* only = nullptr;
    for (const StatementRun* instance : alive) {
      if (instance->statement->body.name != leaf.statement) continue;
      if (only) report(leaf.statement + ": the loops above do not single out one instance");
      only = instance;
    }
    if (only) execute_instance(*only);
  }

  void execute_loop(const Loop& loop, const std::vector<const StatementRun*>& alive) {
    std::set<std::string> below;
    for (const Leaf* leaf : leaves_of(loop.body)) below.insert(leaf->statement);
    std::map<std::int64_t, std::vector<const StatementRun*>> iterations;
    for (const StatementRun* instance : alive) {
      if (below.count(instance->statement->body.name) == 0) continue;
      for (const LoopRow& row : instance->statement->rows)
        if (row.loop == loop.name)
          iterations[ir::evaluate(row.value, instance->iterators)].push_back(instance);
    }
    const bool concurrent = is_concurrent(loop.kind);
    RaceLog log;
    log.loop = loop.name;
    if (concurrent) logs_.push_back(&log);
    const std::int64_t outside = thread_;
    for (const auto& [value, inside] : iterations) {
      log.iteration = value;
      if (ir::is_of_threads(loop.kind))
        thread_ = outside + value * (loop.kind == LoopKind::Warp ? ir::kLanes : 1);
      scopes_[loop.id] = ++iterations_;
      execute(loop.body, inside);
    }
    thread_ = outside;
    if (concurrent) logs_.pop_back();
  }

  // --- one instance ---

  CellNumber cell_of(const std::string& buffer, const std::vector<ir::Index>& indices,
                     const StatementRun& instance) {
    const std::size_t number = buffer_number(buffer);
    CellName name{number, 0, {}};
    if (buffers_[number].scope != kKernel) name.scope = scopes_[buffers_[number].scope];
    for (std::size_t d = 0; d < indices.size(); ++d) {
      std::int64_t value = ir::evaluate(indices[d].affine, instance.iterators);
      if (indices[d].indirect) value += evaluate(indices[d].indirect, instance).integer;
      if (value < 0 || value >= buffers_[number].shape[d])
        report(instance.statement->body.name + " touches " + buffer + " outside, index " +
               std::to_string(d) + " = " + std::to_string(value));
      name.index.push_back(value);
    }
    return number_of(std::move(name));
  }

  // What the running instance updates at once, if its statement is atomic.
  std::optional<CellNumber> updated_;

  // One thread writes it, those of its warp read it.
  void check_owner(CellNumber cell, bool write, const StatementRun& instance) {
    if (!buffers_[names_[cell]->buffer].is_register) return;
    std::optional<std::int64_t>& owner = cells_[cell].owner;
    if (write && !owner) owner = thread_;
    const std::int64_t together = write ? 1 : ir::kLanes;
    if (owner && *owner / together != thread_ / together)
      report("thread " + std::to_string(thread_) + " touches " + text_of(cell) + " of thread " +
             std::to_string(*owner) + " (" + instance.statement->body.name + ")");
  }

  void log_touch(CellNumber cell, bool write, const StatementRun& instance) {
    check_owner(cell, write, instance);
    const bool is_update = updated_ == cell;
    const ScheduledStatement* const atomic = is_update ? instance.statement : nullptr;
    for (RaceLog* log : logs_) {
      const auto [at, is_new] =
          log->touched.emplace(cell, RaceLog::Touch{log->iteration, write, atomic});
      if (is_new) continue;
      const bool is_safe = atomic && at->second.atomic == atomic;
      if (!is_safe) at->second.atomic = nullptr;
      if (!is_safe && at->second.iteration != log->iteration && (write || at->second.written))
        report("iterations " + std::to_string(at->second.iteration) + " and " +
               std::to_string(log->iteration) + " of " + log->loop + " touch " + text_of(cell) +
               " (" + instance.statement->body.name + ")");
      at->second.written |= write;
    }
  }

  bool undefined_ = false;  // the running expression read a cell that nobody wrote

  Scalar read(const ir::Load& load, const StatementRun& instance) {
    for (const ir::Constraint& c : load.guard)
      if (!ir::holds(c, instance.iterators)) return evaluate(load.otherwise, instance);
    const CellNumber number = cell_of(load.buffer, load.indices, instance);
    log_touch(number, false, instance);
    const Cell& cell = cells_[number];
    if (!cell.defined) {
      undefined_ = true;
      if (instance.statement->kind != StatementKind::Copy)
        report(instance.statement->body.name + " reads " + text_of(number) +
               " before it is written");
    }
    return cell.value;
  }

  Scalar evaluate(const ir::Expr& e, const StatementRun& instance) {
    using namespace ir::arithmetic;
    const DType type = e->type;
    if (const auto* x = std::get_if<ir::Literal>(&e->op))
      return is_float(type) ? of_real(round_to(type, x->real)) : of_integer(x->integer);
    if (const auto* x = std::get_if<ir::IndexValue>(&e->op)) {
      const std::int64_t value = ir::evaluate(x->value, instance.iterators);
      return is_float(type) ? of_real(round_to(type, static_cast<double>(value)))
                            : of_integer(wrap_to(type, value));
    }
    if (const auto* x = std::get_if<ir::Load>(&e->op)) return read(*x, instance);
    if (const auto* x = std::get_if<ir::Unary>(&e->op))
      return apply(x->op, x->a->type, evaluate(x->a, instance));
    if (const auto* x = std::get_if<ir::Binary>(&e->op))
      return apply(x->op, x->a->type, evaluate(x->a, instance), evaluate(x->b, instance));
    if (const auto* x = std::get_if<ir::Fma>(&e->op))
      return fma(type, evaluate(x->a, instance), evaluate(x->b, instance),
                 evaluate(x->c, instance));
    if (const auto* x = std::get_if<ir::Select>(&e->op)) {
      const Scalar condition = evaluate(x->condition, instance), a = evaluate(x->a, instance);
      const Scalar b = evaluate(x->b, instance);
      return condition.integer != 0 ? a : b;
    }
    if (const auto* x = std::get_if<ir::Cast>(&e->op))
      return cast(type, x->a->type, evaluate(x->a, instance));
    return evaluate(std::get<ir::Broadcast>(e->op).a, instance);
  }

  void execute_instance(const StatementRun& instance) {
    const ir::Statement& body = instance.statement->body;
    if (body.guard && evaluate(body.guard, instance).integer == 0) return;
    std::vector<ir::Expr> current;
    for (const ir::Access& write : body.writes)
      current.push_back(ir::make_load(state_.dtype_of(write.buffer), write.buffer, write.indices));
    undefined_ = false;
    if (instance.statement->atomic)
      updated_ = cell_of(body.writes[0].buffer, body.writes[0].indices, instance);
    std::vector<Scalar> values;
    for (const ir::Expr& value : ir::combined_values(body, current))
      values.push_back(evaluate(value, instance));
    for (std::size_t i = 0; i < body.writes.size(); ++i) {
      const CellNumber cell = cell_of(body.writes[i].buffer, body.writes[i].indices, instance);
      log_touch(cell, true, instance);
      cells_[cell].value = values[i];
      cells_[cell].defined = !undefined_;
    }
    updated_.reset();
  }
};

}  // namespace

std::vector<std::string> execute_state(const State& state, ir::Environment& buffers) {
  const State placed = as_lowered(without_views(state));
  return Executor(placed).run(buffers);
}

// Extent that the elements of a buffer index; 0: they are no subscripts.
std::uint64_t indexed_extent(const ir::Program& program, const std::string& buffer) {
  std::uint64_t extent = 0;
  const auto look = [&](const std::string& into, const std::vector<ir::Index>& indices) {
    for (std::size_t d = 0; d < indices.size(); ++d) {
      if (!indices[d].indirect) continue;
      for (const ir::Load* load : ir::loads_of(indices[d].indirect))
        if (load->buffer == buffer)
          extent = static_cast<std::uint64_t>(ir::constant_shape(program.buffer(into)).at(d));
    }
  };
  for (const ir::Statement& s : program.statements) {
    for (const ir::Access& write : s.writes) look(write.buffer, write.indices);
    for (const ir::Expr& value : s.values)
      for (const ir::Load* load : ir::loads_of(value)) look(load->buffer, load->indices);
  }
  return extent;
}

ir::Environment make_inputs(const ir::Program& program, int seed) {
  ir::Environment buffers;
  std::uint64_t random = 88172645463325252ULL + static_cast<std::uint64_t>(seed) * 2654435761ULL;
  for (const ir::Buffer* buffer : program.interface()) {
    if (buffer->role == ir::Role::Out) continue;
    ir::Contents contents = ir::make_contents(buffer->dtype, ir::constant_shape(*buffer));
    const std::uint64_t indexed = indexed_extent(program, buffer->name);
    for (std::int64_t i = 0; i < checked_product(contents.shape); ++i) {
      random ^= random << 13, random ^= random >> 7, random ^= random << 17;
      const double small =
          static_cast<double>(random % 9) - (is_unsigned_integer(buffer->dtype) ? 0.0 : 4.0);
      ir::set_real(contents, i, indexed > 0 ? static_cast<double>(random % indexed) : small);
    }
    buffers[buffer->name] = std::move(contents);
  }
  return buffers;
}

namespace {

// Whole numbers, too, come out otherwise: the step from Program to Program is what is proved.
bool rounds_anew(const State& state) {
  return std::ranges::any_of(state.rewrites, [](const Rewrite& rewrite) {
    return rewrite.kind != Rewrite::Kind::Inline && rewrite.kind != Rewrite::Kind::Factor &&
           rewrite.kind != Rewrite::Kind::View;
  });
}

}  // namespace

std::vector<std::string> compare_with_reference(const State& state, int seed) {
  ir::Environment expected = make_inputs(*state.reference, seed), got = expected;
  ir::interpret(rounds_anew(state) ? *without_views(state).basis : *state.reference, expected, {});
  std::vector<std::string> problems = execute_state(state, got);
  for (const ir::Buffer* buffer : state.reference->interface()) {
    const ir::Contents &a = expected.at(buffer->name), &b = got.at(buffer->name);
    if (a.bytes != b.bytes) problems.push_back("values of " + buffer->name + " differ");
  }
  return problems;
}

}  // namespace polyte::schedule
