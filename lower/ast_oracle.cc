#include "lower/ast_oracle.h"

#include <isl/ast.h>
#include <isl/ast_build.h>
#include <isl/id.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/union_map.h>
#include <isl/val.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "schedule/proof/isl_bridge.h"
#include "schedule/script/reuse.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::lower {
namespace {

using schedule::ScheduledStatement;
using schedule::State;

// One store: of an instance of the reference, or of a copy, which has none.
struct Done {
  std::string statement;
  std::vector<std::int64_t> instance;
  std::string buffer;
  std::vector<std::int64_t> index;  // empty where it is read at run time
  bool operator==(const Done&) const = default;
};

std::string list(const std::vector<std::int64_t>& values) {
  std::string text;
  for (const std::int64_t value : values)
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  return text;
}

std::string text_of(const Done& done) {
  const std::string store = done.buffer + "[" + list(done.index) + "]";
  return done.statement.empty() ? "a copy to " + store
                                : done.statement + "(" + list(done.instance) + ") -> " + store;
}

bool is_indirect(const ScheduledStatement& s) {
  return std::ranges::any_of(s.body.writes, [](const ir::Access& write) {
    return std::ranges::any_of(write.indices,
                               [](const ir::Index& index) { return index.indirect != nullptr; });
  });
}

// What the comparison leaves out: statements with a guard on data, which isl does not see, and the
// elements of statements whose subscripts are read at run time.
struct Exceptions {
  std::set<std::string> statements, elements;

  explicit Exceptions(const State& state) {
    for (const ScheduledStatement& s : state.statements) {
      if (s.body.guard) statements.insert(s.reference);
      if (is_indirect(s)) elements.insert(s.reference);
    }
  }
  bool has_left_out(const std::string& statement) const {
    return !statement.empty() && statements.contains(statement);
  }
};

// The parts of a cut have allocations of their own, of fresh names: t.p_1 is t.p, or t.p_2, another
// copy of t. Both sides of the comparison are renamed alike.
std::string without_number(const State& state, std::string name) {
  while (!state.basis->find_buffer(name)) {
    const std::size_t end = name.find_last_not_of("0123456789");
    if (end == std::string::npos || end == 0 || end + 1 == name.size() || name[end] != '_') break;
    name.resize(end);
  }
  return name;
}

// --- our loops -----------------------------------------------------------------------------------

std::vector<Done> done_by_loops(const State& state, const ir::LoopProgram& nest,
                                const Exceptions& exceptions, ir::Environment& buffers) {
  std::vector<Done> result;
  ir::InterpretOptions options;
  options.check_races = false;
  options.on_event = [&](const ir::Event& event) {
    if (exceptions.has_left_out(*event.statement)) return;
    POLYTE_CHECK(event.lanes == 1 && event.cells.back().write,
                 "a store of a nest writes one element");
    const ir::Event::Cell& cell = event.cells.back();
    result.push_back(
        {*event.statement, event.instance, without_number(state, cell.buffer), cell.index});
    if (exceptions.elements.contains(*event.statement)) result.back().index.clear();
  };
  // Elements have the names that the State has for them, of a view or not.
  for (const ir::Buffer& buffer : nest.buffers)
    if (const auto given = buffers.find(buffer.name); given != buffers.end())
      given->second.shape = ir::constant_shape(buffer);
  ir::interpret(nest, buffers, options);
  return result;
}

// --- isl's code ----------------------------------------------------------------------------------

std::string name_of(const isl::ast_expr& e) {
  return isl::manage(isl_ast_expr_get_id(e.get())).name();
}

// Runs an AST of isl: its iterators have values, its user nodes are instances of S<i>.
class AstRun {
 public:
  AstRun(const State& state, const Exceptions& exceptions)
      : state_(state), exceptions_(exceptions) {}

  std::vector<Done> result;

  void instance(const ScheduledStatement& s, const ir::Values& point) {
    if (!exceptions_.has_left_out(s.reference)) store(s, point);
  }

  void run(const isl::ast_node& node) {
    switch (isl_ast_node_get_type(node.get())) {
      case isl_ast_node_for:
        return loop(node);
      case isl_ast_node_if:
        return branch(node);
      case isl_ast_node_block:
        return block(node);
      case isl_ast_node_user:
        return instance(node);
      default:
        throw InternalError("isl's code has a node that nobody asked for");
    }
  }

 private:
  const State& state_;
  const Exceptions& exceptions_;
  std::map<std::string, std::int64_t> values_;

  void loop(const isl::ast_node& node) {
    const isl::ast_node body = isl::manage(isl_ast_node_for_get_body(node.get()));
    const std::string name = name_of(isl::manage(isl_ast_node_for_get_iterator(node.get())));
    values_[name] = value(isl::manage(isl_ast_node_for_get_init(node.get())));
    if (isl_ast_node_for_is_degenerate(node.get()) == isl_bool_true) return run(body);
    const isl::ast_expr condition = isl::manage(isl_ast_node_for_get_cond(node.get())),
                        step = isl::manage(isl_ast_node_for_get_inc(node.get()));
    for (; value(condition) != 0; values_[name] += value(step)) run(body);
  }

  void branch(const isl::ast_node& node) {
    if (value(isl::manage(isl_ast_node_if_get_cond(node.get()))) != 0)
      return run(isl::manage(isl_ast_node_if_get_then_node(node.get())));
    if (isl_ast_node_if_has_else_node(node.get()) == isl_bool_true)
      run(isl::manage(isl_ast_node_if_get_else_node(node.get())));
  }

  void block(const isl::ast_node& node) {
    const isl::ast_node_list children = isl::manage(isl_ast_node_block_get_children(node.get()));
    for (unsigned i = 0; i < children.size(); ++i) run(children.at(static_cast<int>(i)));
  }

  void instance(const isl::ast_node& node) {
    const isl::ast_expr call = isl::manage(isl_ast_node_user_get_expr(node.get()));
    const std::string name = name_of(isl::manage(isl_ast_expr_get_op_arg(call.get(), 0)));
    const ScheduledStatement& s =
        state_.statements.at(static_cast<std::size_t>(std::stoi(name.substr(1))));
    ir::Values point;
    for (std::size_t i = 0; i < s.body.iterators.size(); ++i)
      point[s.body.iterators[i]] = operand(call, static_cast<int>(i) + 1);
    instance(s, point);
  }

  // The second write of a pair (ArgMin, ArgMax) comes first, as in the nest (build_loops.cc).
  void store(const ScheduledStatement& s, const ir::Values& point) {
    for (std::size_t w = s.body.writes.size(); w-- > 0;) {
      Done done{s.reference, {}, without_number(state_, s.body.writes[w].buffer), {}};
      for (const ir::Affine& e : s.phi) done.instance.push_back(ir::evaluate(e, point));
      if (!exceptions_.elements.contains(s.reference))
        for (const ir::Index& index : s.body.writes[w].indices)
          done.index.push_back(ir::evaluate(index.affine, point));
      result.push_back(std::move(done));
    }
  }

  std::int64_t value(const isl::ast_expr& e) const {
    switch (isl_ast_expr_get_type(e.get())) {
      case isl_ast_expr_int:
        return isl::manage(isl_ast_expr_get_val(e.get())).num_si();
      case isl_ast_expr_id:
        return values_.at(name_of(e));
      case isl_ast_expr_op:
        return operation(e);
      default:
        throw InternalError("isl's code has an expression that is none");
    }
  }

  std::int64_t operand(const isl::ast_expr& e, int i) const {
    return value(isl::manage(isl_ast_expr_get_op_arg(e.get(), i)));
  }

  // Operators of any number of operands (min, max, and, or) are folded from the left. `and_then`
  // and `or_else` must not evaluate their second operand where the first decides: it may be
  // meaningless there.
  std::int64_t operation(const isl::ast_expr& e) const {
    const isl_ast_expr_op_type type = isl_ast_expr_get_op_type(e.get());
    std::int64_t a = operand(e, 0);
    if (type == isl_ast_expr_op_minus) return -a;
    if (type == isl_ast_expr_op_and_then && a == 0) return 0;
    if (type == isl_ast_expr_op_or_else && a != 0) return 1;
    if (type == isl_ast_expr_op_cond || type == isl_ast_expr_op_select)
      return operand(e, a != 0 ? 1 : 2);
    for (int i = 1; i < isl_ast_expr_get_op_n_arg(e.get()); ++i)
      a = applied(type, a, operand(e, i));
    return a;
  }

  // isl has several divisions, which differ only where the operands' signs or the remainder are not
  // known: pdiv of a dividend that is not negative, fdiv rounding down, div exact. Floor division
  // is right for each of them where isl may use it; zdiv_r is only ever compared with 0.
  static std::int64_t applied(isl_ast_expr_op_type type, std::int64_t a, std::int64_t b) {
    switch (type) {
      case isl_ast_expr_op_max:
        return std::max(a, b);
      case isl_ast_expr_op_min:
        return std::min(a, b);
      case isl_ast_expr_op_add:
        return a + b;
      case isl_ast_expr_op_sub:
        return a - b;
      case isl_ast_expr_op_mul:
        return a * b;
      case isl_ast_expr_op_div:
      case isl_ast_expr_op_pdiv_q:
      case isl_ast_expr_op_fdiv_q:
        return polyte::floor_div(a, b);
      case isl_ast_expr_op_pdiv_r:
      case isl_ast_expr_op_zdiv_r:  // only whether it is 0 counts
        return a - b * polyte::floor_div(a, b);
      case isl_ast_expr_op_and:
      case isl_ast_expr_op_and_then:
        return a != 0 && b != 0;
      case isl_ast_expr_op_or:
      case isl_ast_expr_op_or_else:
        return a != 0 || b != 0;
      case isl_ast_expr_op_eq:
        return a == b;
      case isl_ast_expr_op_le:
        return a <= b;
      case isl_ast_expr_op_lt:
        return a < b;
      case isl_ast_expr_op_ge:
        return a >= b;
      case isl_ast_expr_op_gt:
        return a > b;
      default:
        throw InternalError("isl's code has an operation that nobody asked for");
    }
  }
};

// Constants that are packed at compile time: a program of its own does that (Part::Packing), and
// the nest at hand has no stores to them.
bool is_packed_early(const State& state, const ScheduledStatement& s) {
  return std::ranges::any_of(state.staged, [&](const schedule::StagedBuffer& staged) {
    return staged.at_compile_time && staged.name == s.body.writes.front().buffer;
  });
}

constexpr std::uint64_t kOperations = 2'000'000;  // of isl's code generator

// Where isl has no code for an order ("input involves unknown divs"), or is not done with it by
// then: the points of its sets, sorted by time.
void run_points(const schedule::IslModel& model, const State& state, AstRun& run) {
  std::vector<std::tuple<std::vector<std::int64_t>, std::size_t, ir::Values>> all;
  for (std::size_t i = 0; i < model.statements.size(); ++i) {
    const schedule::IslStatement& s = model.statements[i];
    if (is_packed_early(state, *s.statement)) continue;
    s.domain.foreach_point([&](isl::point point) {
      std::vector<std::int64_t> time;
      for (const isl::aff& step : s.time) time.push_back(step.eval(point).num_si());
      ir::Values values;
      const std::vector<std::string>& iterators = s.statement->body.iterators;
      for (std::size_t d = 0; d < iterators.size(); ++d)
        values[iterators[d]] =
            isl::manage(isl_point_get_coordinate_val(point.get(), isl_dim_set, static_cast<int>(d)))
                .num_si();
      all.emplace_back(std::move(time), i, std::move(values));
    });
  }
  std::ranges::sort(all);
  for (const auto& [time, statement, values] : all)
    run.instance(*model.statements[statement].statement, values);
}

// Each statement's domain with its time vector as a map, all together the schedule that isl
// generates code for. The number of isl's operations is limited; beyond it
// `run_points` takes over.
std::vector<Done> done_by_isl(const State& state, const Exceptions& exceptions) {
  schedule::IslContext context;
  const schedule::IslModel model = schedule::make_model(context, state);
  isl::union_map order;  // null: no statement
  for (const schedule::IslStatement& s : model.statements) {
    if (is_packed_early(state, *s.statement)) continue;
    const isl::multi_aff time = schedule::to_multi_aff(s.domain.get_space(), "T", s.time);
    const isl::union_map one = time.as_map().intersect_domain(s.domain).to_union_map();
    order = order.is_null() ? one : order.unite(one);
  }
  AstRun ast(state, exceptions);
  if (order.is_null()) return {};
  context.limit(kOperations);
  const isl::ast_build build(context.get());
  isl_ast_node* const node = isl_ast_build_node_from_schedule_map(build.get(), order.release());
  context.limit(0);  // none
  if (node)
    ast.run(isl::manage(node));
  else
    run_points(model, state, ast);
  return std::move(ast.result);
}

}  // namespace

std::string order_difference(const State& scheduled, const ir::LoopProgram& nest,
                             ir::Environment buffers) {
  const State state = schedule::as_lowered(scheduled);
  if (!state.tensorized.empty()) return "";
  POLYTE_CHECK(state.basis->params.empty(), "sizes must be bound");
  const Exceptions exceptions(state);
  const std::vector<Done> ours = done_by_loops(state, nest, exceptions, buffers),
                          isls = done_by_isl(state, exceptions);
  for (std::size_t i = 0; i < std::max(ours.size(), isls.size()); ++i) {
    if (i < ours.size() && i < isls.size() && ours[i] == isls[i]) continue;
    return "store " + std::to_string(i) + " is " + (i < ours.size() ? text_of(ours[i]) : "none") +
           ", in isl's code " + (i < isls.size() ? text_of(isls[i]) : "none");
  }
  return "";
}

}  // namespace polyte::lower
