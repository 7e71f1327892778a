// Iterations of a loop that run at the same time, and the places in memory that two of them touch.
#include <isl/aff.h>
#include <isl/id.h>
#include <isl/map.h>

#include "schedule/proof/cell_iteration.h"
#include "schedule/proof/prover_impl.h"

namespace polyte::schedule {
namespace {

bool private_to(const State& state, const IslBuffer& buffer, LoopId loop_id) {
  if (buffer.alloc_loop == kKernel) return false;
  const Loop* loop = find_loop(state.tree, loop_id);
  POLYTE_CHECK(loop != nullptr,
               "loop " + std::to_string(static_cast<int>(loop_id)) + " is not in the tree");
  return buffer.alloc_loop == loop_id || find_loop(loop->body, buffer.alloc_loop) != nullptr;
}

const IslBuffer& buffer_of(const IslModel& model, const IslAccess& access) {
  return model.buffers[static_cast<std::size_t>(access.buffer)];
}

// Pairs of instances of a and b in different iterations of the loop (same outer iterations),
// touching one cell.
//   { (p, q) : outer rows of p and q equal, row of the loop different, places(p) = places(q) }
//
// The rows inside the loop do not count: at one time, any instances of two iterations may meet.
isl::map conflict(const IslModel& model, int a, const IslAccess& x, int b, const IslAccess& y,
                  LoopId loop_id) {
  isl::multi_aff outer_a = rows_down_to(model, a, loop_id, false),
                 outer_b = rows_down_to(model, b, loop_id, false);
  isl::multi_aff all_a = rows_down_to(model, a, loop_id, true),
                 all_b = rows_down_to(model, b, loop_id, true);
  auto same = [](const isl::multi_aff& p, const isl::multi_aff& q) {
    isl_map* left = isl_map_from_multi_aff(p.copy());
    return isl::manage(
        isl_map_apply_range(left, isl_map_reverse(isl_map_from_multi_aff(q.copy()))));
  };
  isl::map cells = places(model, a, x).apply_range(places(model, b, y).reverse());
  return cells.intersect(same(outer_a, outer_b)).subtract(same(all_a, all_b));
}

struct RaceSite {
  int a = 0, b = 0;
  const IslAccess* x = nullptr;
  const IslAccess* y = nullptr;
  isl::map pairs;
};

// The update is one step, and its order does not count.
bool state_permits(const IslModel& model, const ScheduledStatement& s) {
  return s.body.writes.size() == 1 &&
         model.state->may_reorder(model.state->basis->statement(s.reference));
}

// Both accesses are the one read and write of an atomic update, by two threads.
bool is_atomic(const IslModel& model, int a, int b, const IslAccess& x, const IslAccess& y,
               LoopKind kind) {
  const ScheduledStatement& s = *model.statements[static_cast<std::size_t>(a)].statement;
  if (a != b || !s.atomic || !ir::is_threaded(kind)) return false;
  const auto is_own = [](const IslAccess& access) { return access.write || access.own; };
  return is_own(x) && is_own(y) && state_permits(model, s);
}

// Asked of each write below the loop against each access below it. Most pairs need no set: a buffer
// that each iteration has for itself, and a buffer whose cell says which iteration touches it
// (`cell_fixes_iteration`: y[m] under par m). That shortcut is about cells, so it holds only where
// cells are places: nothing hoisted, nothing reused.
std::optional<RaceSite> find_race(const IslModel& model, const State& state, LoopId loop_id) {
  std::vector<std::string> below = statements_below(state.tree, loop_id);
  const LoopKind loop_kind = find_loop(state.tree, loop_id)->kind;
  for (const std::string& first : below) {
    int a = statement_index(model, first);
    for (const IslAccess& x : model.statements[static_cast<std::size_t>(a)].accesses) {
      const IslBuffer& buffer = buffer_of(model, x);
      if (!x.write || private_to(state, buffer, loop_id)) continue;
      const bool is_hoisted = buffer.alloc_loop != buffer.scope_loop;
      if (!is_hoisted && state.reused.empty() && cell_fixes_iteration(model, x.buffer, loop_id))
        continue;
      for (const std::string& second : below) {
        int b = statement_index(model, second);
        for (const IslAccess& y : model.statements[static_cast<std::size_t>(b)].accesses) {
          if (buffer_of(model, y).place != buffer.place || is_atomic(model, a, b, x, y, loop_kind))
            continue;
          isl::map pairs = conflict(model, a, x, b, y, loop_id);
          if (!pairs.is_empty()) return RaceSite{a, b, &x, &y, pairs};
        }
      }
    }
  }
  return std::nullopt;
}

std::int64_t row_value(const ScheduledStatement& s, const std::string& loop,
                       const Instance& instance, const ir::Values& sizes) {
  ir::Values values = sizes;
  for (const auto& [name, value] : instance.iterators) values[name] = value;
  for (const LoopRow& row : s.rows) {
    if (row.loop == loop) return ir::evaluate(row.value, values);
  }
  return 0;
}

Refusal race_refusal(const IslModel& model, const State& state, LoopId loop_id,
                     const RaceSite& race) {
  const Loop& loop = *find_loop(state.tree, loop_id);
  const ScheduledStatement& s = *model.statements[static_cast<std::size_t>(race.a)].statement;
  const ScheduledStatement& t = *model.statements[static_cast<std::size_t>(race.b)].statement;
  Point point = first_point(isl::manage(isl_map_wrap(race.pairs.copy())), model.params);
  const auto split = static_cast<std::ptrdiff_t>(s.body.iterators.size());
  Counterexample c;
  c.sizes = point.params;
  c.size_names = model.params;
  c.source = make_instance(s.body, {point.values.begin(), point.values.begin() + split});
  c.sink = make_instance(t.body, {point.values.begin() + split, point.values.end()});
  c.watch = cell_text(race.x->text, s.body, point, 0);
  c.scheduled = to_string(c.source) + " in iteration " +
                std::to_string(row_value(s, loop.name, c.source, c.sizes)) + " writes " + c.watch +
                ", " + to_string(c.sink) + " in iteration " +
                std::to_string(row_value(t, loop.name, c.sink, c.sizes)) +
                (race.y->write ? " writes it" : " reads it");
  Refusal refusal;
  refusal.kind = RefusalKind::Illegal;
  refusal.headline =
      to_string(loop.kind) + " loop " + loop.name + " carries a dependence through " + c.watch;
  refusal.counterexamples.push_back(std::move(c));
  return refusal;
}

}  // namespace

// Cells as places in memory. They differ in two cases: `reuse` puts one buffer into another's
// place, and `hoist_storage` gives the iterations of a scope one memory, so that the leading
// coordinates of a cell (which iteration it is of) go.
isl::map places(const IslModel& model, int statement, const IslAccess& access) {
  const IslBuffer& buffer = buffer_of(model, access);
  if (buffer.place != access.buffer) {
    isl_map* cells = access.cells.copy();
    const std::string tuple = "B" + std::to_string(buffer.place);
    return isl::manage(isl_map_set_tuple_id(
        cells, isl_dim_out, isl_id_alloc(isl_map_get_ctx(cells), tuple.c_str(), nullptr)));
  }
  if (buffer.alloc_loop == buffer.scope_loop) return access.cells;
  const isl::multi_aff rows = rows_down_to(model, statement, buffer.scope_loop, true);
  const auto scoped = static_cast<unsigned>(isl_multi_aff_dim(rows.get(), isl_dim_out));
  return isl::manage(isl_map_project_out(access.cells.copy(), isl_dim_out, 0, scoped));
}

std::optional<Refusal> check_independent(const IslModel& model, LoopId loop_id) {
  const State& state = *model.state;
  std::optional<RaceSite> race = find_race(model, state, loop_id);
  if (!race) return std::nullopt;
  return race_refusal(model, state, loop_id, *race);
}

}  // namespace polyte::schedule
