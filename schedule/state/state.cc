#include "schedule/state/state.h"

#include <algorithm>

#include "ir/relations.h"
#include "schedule/state/digits.h"
#include "support/error.h"

namespace polyte::schedule {

POLYTE_OUT_OF_LINE_DEFAULTS(ScheduledStatement)
POLYTE_OUT_OF_LINE_DEFAULTS(State)

namespace {

using ir::Affine;

// A statement that assigns where a later one updates: acc.init of
//   acc.init: acc[i] = 0
//   acc.update: acc[i] += x[i, k]
// The next statement that writes the tensor decides: with another assignment between them the
// first one's values are never updated.
bool starts_reduction(const ir::Program& program, std::size_t index) {
  const ir::Statement& s = program.statements[index];
  if (s.combiner != ir::Combiner::None) return false;
  for (std::size_t i = index + 1; i < program.statements.size(); ++i) {
    const ir::Statement& other = program.statements[i];
    if (other.writes.front().buffer != s.writes.front().buffer) continue;
    if (other.combiner == ir::Combiner::None) return false;
    // An assignment that reads its tensor goes on from what is there, and starts nothing.
    const std::vector<const ir::Load*> loads = ir::loads_of(s.values.front());
    return std::ranges::none_of(
        loads, [&](const ir::Load* load) { return load->buffer == s.writes.front().buffer; });
  }
  return false;
}

// The identity schedule: one loop per iterator, called after it, each instance its own
// reference.
ScheduledStatement scheduled(const ir::Program& program, std::size_t index) {
  ScheduledStatement s;
  s.body = program.statements[index];
  s.reference = s.body.name;
  if (s.body.combiner != ir::Combiner::None)
    s.kind = StatementKind::Update;
  else if (starts_reduction(program, index))
    s.kind = StatementKind::Init;
  for (const std::string& iterator : s.body.iterators) {
    s.phi.push_back(Affine::symbol(iterator));
    s.rows.push_back({iterator, Affine::symbol(iterator)});
    s.inverse[iterator] = Affine::symbol(iterator);
  }
  return s;
}

// The tree of the reference order; null for a region without statements.
Tree reference_tree(State& state, const ir::Program& program, const std::vector<ir::Item>& items);

// Loops of a State run upwards. A region that runs downwards counts the negated iterator, in
// the row and in the inverse:
//
//   loop t in 0..T step -1     t = T - 1, .., 0     row t = -t: 1 - T, .., 0
Tree reference_region(State& state, const ir::Program& program, const ir::Region& region) {
  Tree body = reference_tree(state, program, region.body);
  if (!body) return nullptr;
  if (region.step < 0) {
    const Affine reversed = -Affine::symbol(region.iterator);
    for (const std::size_t index : ir::statements_in(region.body)) {
      ScheduledStatement& s = state.statements[index];
      for (LoopRow& row : s.rows)
        if (row.loop == region.iterator) row.value = reversed;
      s.inverse[region.iterator] = reversed;
    }
  }
  return make_loop({.id = state.fresh_loop(), .name = region.iterator, .body = std::move(body)});
}

// The first region_depth iterators belong to regions, whose loops stand around all statements
// of the region (reference_region); the statement's own loops are the others.
Tree reference_nest(State& state, const ir::Statement& s) {
  Tree tree = make_leaf({s.name, {}, {}});
  for (std::size_t i = s.iterators.size(); i > static_cast<std::size_t>(s.region_depth); --i)
    tree =
        make_loop({.id = state.fresh_loop(), .name = s.iterators[i - 1], .body = std::move(tree)});
  return tree;
}

Tree reference_tree(State& state, const ir::Program& program, const std::vector<ir::Item>& items) {
  std::vector<Tree> children;
  for (const ir::Item& item : items) {
    Tree child;
    if (const std::size_t* index = std::get_if<std::size_t>(&item))
      child = reference_nest(state, program.statements[*index]);
    else
      child = reference_region(state, program, std::get<ir::Region>(item));
    if (child) children.push_back(std::move(child));
  }
  return children.empty() ? nullptr : make_sequence(std::move(children));
}

// Loads in subscripts too: x[idx[i]] reads both x and idx.
void add_loads(const ir::Expr& e, std::vector<AccessRef>& into) {
  if (!e) return;
  ir::for_each_node(e, [&](const ir::ExprNode& node) {
    if (const ir::Load* load = std::get_if<ir::Load>(&node.op))
      into.push_back({{load->buffer, load->indices}, false, load->guard, load});
  });
}

// Problems of loops that the statement's leaf names, which have to be above it.
std::vector<std::string> misplaced(const State& state, const std::string& statement) {
  std::vector<std::string> problems;
  const std::vector<const Loop*> path = path_to(state.tree, statement);
  const auto check = [&](LoopId id, const std::string& what) {
    if (std::ranges::none_of(path, [&](const Loop* loop) { return loop->id == id; }))
      problems.push_back("statement '" + statement + "' is " + what +
                         " a loop that is not above it");
  };
  for (const Leaf* leaf : leaves_of(state.tree)) {
    if (leaf->statement != statement) continue;
    for (const Pin& pin : leaf->pins) check(pin.loop, "placed in an iteration of");
    if (leaf->at) check(*leaf->at, "recomputed at");
    if (leaf->per && *leaf->per != kKernel) check(*leaf->per, "made once per");
  }
  return problems;
}

// Rows, inverse and path name loops by their names, so these have to be unique above a leaf.
void verify_statement(const State& state, const ScheduledStatement& s,
                      std::vector<std::string>& problems) {
  const std::string& name = s.body.name;
  std::vector<std::string> path;
  for (const Loop* loop : path_to(state.tree, name)) {
    if (std::ranges::find(path, loop->name) != path.end())
      problems.push_back("statement '" + name + "' has two loops '" + loop->name + "' above it");
    path.push_back(loop->name);
  }
  for (const std::string& problem : misplaced(state, name)) problems.push_back(problem);
  std::vector<std::string> rows;
  for (const LoopRow& row : s.rows) rows.push_back(row.loop);
  if (rows != path)
    problems.push_back("statement '" + name + "': its rows are not the loops above it, in order");
  for (const std::string& iterator : s.body.iterators)
    if (s.inverse.count(iterator) == 0)
      problems.push_back("statement '" + name + "': iterator '" + iterator + "' has no inverse");
  // Rows after inverse have to be the identity; the proof reads accesses through both.
  for (const auto& [iterator, got] : wrong_inverses(state, s))
    problems.push_back("statement '" + name + "': rows and inverse disagree on '" + iterator +
                       "': got " + ir::to_string(got));
  const bool is_copy = s.kind == StatementKind::Copy;
  if (is_copy != s.reference.empty())
    problems.push_back("statement '" + name + "': only a copy has no reference");
  if (!is_copy && s.phi.size() != state.basis->statement(s.reference).iterators.size())
    problems.push_back("statement '" + name + "': phi does not have one value per iterator of '" +
                       s.reference + "'");
}

}  // namespace

const ScheduledStatement* State::find(const std::string& statement) const {
  for (const ScheduledStatement& s : statements)
    if (s.body.name == statement) return &s;
  return nullptr;
}

const ScheduledStatement& State::at(const std::string& statement) const {
  const ScheduledStatement* s = find(statement);
  POLYTE_CHECK(s != nullptr, "no statement '" + statement + "' in the state");
  return *s;
}

bool is_total(const ir::Statement& statement) {
  const auto plain = [](const std::vector<ir::Index>& indices) {
    return std::ranges::none_of(indices,
                                [](const ir::Index& index) { return index.indirect != nullptr; });
  };
  std::vector<ir::Expr> all = statement.values;
  if (statement.guard) all.push_back(statement.guard);
  bool total = std::ranges::all_of(statement.writes,
                                   [&](const ir::Access& write) { return plain(write.indices); });
  for (const ir::Expr& value : all)
    for (const ir::Load* load : ir::loads_of(value)) total = total && plain(load->indices);
  return total;
}

std::vector<Affine> State::shape_of(const std::string& buffer) const {
  for (const StagedBuffer& b : staged)
    if (b.name == buffer) return {b.shape.begin(), b.shape.end()};
  return basis->buffer(buffer).shape;
}

DType State::dtype_of(const std::string& buffer) const {
  for (const StagedBuffer& b : staged)
    if (b.name == buffer) return b.dtype;
  return basis->buffer(buffer).dtype;
}

ScheduledStatement scheduled_statement(const ir::Program& program, const std::string& name) {
  for (std::size_t i = 0; i < program.statements.size(); ++i)
    if (program.statements[i].name == name) return scheduled(program, i);
  POLYTE_CHECK(false, "no statement '" + name + "' in '" + program.name + "'");
}

State reference_state(std::shared_ptr<const ir::Program> program) {
  State state;
  state.reference = state.basis = program;
  for (std::size_t i = 0; i < program->statements.size(); ++i)
    state.statements.push_back(scheduled(*program, i));
  state.tree = reference_tree(state, *program, program->order);
  return state;
}

std::vector<AccessRef> accesses_of(const ScheduledStatement& statement) {
  std::vector<AccessRef> accesses;
  for (const ir::Expr& value : statement.body.values) add_loads(value, accesses);
  add_loads(statement.body.guard, accesses);
  for (const ir::Access& write : statement.body.writes)
    for (const ir::Index& index : write.indices) add_loads(index.indirect, accesses);
  // An update reads what it adds to.
  if (statement.kind == StatementKind::Update)
    for (const ir::Access& write : statement.body.writes)
      accesses.push_back({write, false, {}, nullptr, true});
  for (const ir::Access& write : statement.body.writes) accesses.push_back({write, true, {}});
  return accesses;
}

std::vector<std::string> verify(const State& state) {
  std::vector<std::string> problems;
  std::map<std::string, int> leaves;
  for (const Leaf* leaf : leaves_of(state.tree)) ++leaves[leaf->statement];
  for (const auto& [name, count] : leaves) {
    if (count > 1)
      problems.push_back("statement '" + name + "' has " + std::to_string(count) + " leaves");
    if (!state.find(name)) problems.push_back("leaf '" + name + "' has no statement");
  }
  // Leaves and buffers refer to a loop by its id, so that two loops must not share one.
  std::set<LoopId> ids;
  if (state.tree)
    map_loops(state.tree, [&](const Loop& loop) {
      if (!ids.insert(loop.id).second)
        problems.push_back("two loops have the id of '" + loop.name + "'");
      return loop;
    });
  for (const ScheduledStatement& s : state.statements) {
    if (leaves.count(s.body.name) == 0)
      problems.push_back("statement '" + s.body.name + "' is not in the tree");
    else
      verify_statement(state, s, problems);
  }
  for (const StagedBuffer& buffer : state.staged)
    if (buffer.scope_loop != kKernel && !find_loop(state.tree, buffer.scope_loop))
      problems.push_back("buffer '" + buffer.name + "' is scoped to a loop that is not there");
  return problems;
}

}  // namespace polyte::schedule
