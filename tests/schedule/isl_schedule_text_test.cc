// The tree that --emit isl-schedule writes, read back by isl: its flattened map orders all
// instances as the State does.
#include "schedule/proof/isl_schedule_text.h"

#include <isl/cpp.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/schedule.h>
#include <isl/union_map.h>

#include <algorithm>
#include <functional>

#include "tests/schedule/schedule_testing.h"
#include "tests/schedule/trace_pairs.h"

namespace polyte::schedule::isl_schedule_text_test {
namespace {

using Times = std::vector<std::int64_t>;
struct Timed {
  std::string statement;  // isl's name
  Times instance, time;
};

// Every instance with its time by the text.
std::vector<Timed> times_of(const std::string& text) {
  std::vector<Timed> all;
  isl_ctx* ctx = isl_ctx_alloc();
  isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
  isl_schedule* schedule = isl_schedule_read_from_str(ctx, text.c_str());
  REQUIRE_MESSAGE(schedule != nullptr, text);
  {
    isl_union_map* map = isl_schedule_get_map(schedule);
    const isl::union_map timed =
        isl::manage(isl_union_map_intersect_domain(map, isl_schedule_get_domain(schedule)));
    timed.foreach_map([&](const isl::map& each) {
      const std::string name = isl_map_get_tuple_name(each.get(), isl_dim_in);
      const auto split = static_cast<std::size_t>(isl_map_dim(each.get(), isl_dim_in));
      const isl::set pairs = isl::manage(isl_set_flatten(isl_map_wrap(each.copy())));
      pairs.foreach_point([&](const isl::point& point) {
        Timed one{name, {}, {}};
        for (isl_size i = 0; i < isl_set_dim(pairs.get(), isl_dim_set); ++i) {
          isl_val* value =
              isl_point_get_coordinate_val(point.get(), isl_dim_set, static_cast<int>(i));
          (one.instance.size() < split ? one.instance : one.time)
              .push_back(isl_val_get_num_si(value));
          isl_val_free(value);
        }
        all.push_back(std::move(one));
      });
    });
  }
  isl_schedule_free(schedule);
  isl_ctx_free(ctx);
  return all;
}

std::string named(std::string statement) {
  std::ranges::replace(statement, '.', '_');
  return statement;
}

// The same by the tree: positions in sequences, values of rows.
Times time_in(const State& state, const ScheduledStatement& s, const Times& instance) {
  ir::Values values;
  for (std::size_t i = 0; i < instance.size(); ++i) values[s.body.iterators[i]] = instance[i];
  Times time;
  std::function<bool(const Tree&)> visit = [&](const Tree& tree) {
    if (const auto* leaf = std::get_if<Leaf>(&tree->op)) return leaf->statement == s.body.name;
    if (const auto* loop = std::get_if<Loop>(&tree->op)) {
      const auto row = std::ranges::find(s.rows, loop->name, &LoopRow::loop);
      if (row == s.rows.end()) return false;
      time.push_back(ir::evaluate(row->value, values));
      if (visit(loop->body)) return true;
      time.pop_back();
      return false;
    }
    std::int64_t position = 0;
    for (const Tree& child : std::get<Sequence>(tree->op).children) {
      time.push_back(position++);
      if (visit(child)) return true;
      time.pop_back();
    }
    return false;
  };
  REQUIRE(visit(state.tree));
  return time;
}

void check_order(const State& state, std::size_t instances) {
  const std::string text = isl_schedule_text(state);
  CAPTURE(text);
  const std::vector<Timed> by_text = times_of(text);
  CHECK(by_text.size() == instances);
  std::vector<Times> by_tree;
  for (const Timed& one : by_text)
    for (const ScheduledStatement& s : state.statements)
      if (named(s.body.name) == one.statement) by_tree.push_back(time_in(state, s, one.instance));
  REQUIRE(by_tree.size() == by_text.size());
  int wrong = 0;
  for (std::size_t a = 0; a < by_tree.size(); ++a)
    for (std::size_t b = 0; b < by_tree.size(); ++b)
      if ((by_tree[a] < by_tree[b]) != (by_text[a].time < by_text[b].time)) ++wrong;
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("the reference order reads back") {
  check_order(state_of(bound_program(kSweeps, {{"T", 3}, {"N", 6}}), ""), 3 * 4 * 2);
  check_order(state_of(bound_program(kDense, {{"M", 3}, {"K", 4}}), ""), 3 + 12 + 3);
}

TEST_CASE("skewed tiles, pinned statements, copies and parts read back") {
  const std::string skewed =
      "map B (t, 2*t+i), A (t, 2*t+i+1) as (t, I)\ntile (t, I) by (2, 3) tail cut\n"
      "nest t.o > I.o > t.i > { I.i > B; I.i > A }\n";
  check_order(state_of(bound_program(kSweeps, {{"T", 3}, {"N", 6}}), skewed), 24);
  const std::string fused =
      "split m by 2, k by 3 tail cut\nnest par m.o > k.o > { <m.i> > acc.init when first k.o; "
      "k.i > <m.i> > acc.update; <m.i> > y when last k.o }\nstage x at k.o\n";
  const State state = state_of(bound_program(kDense, {{"M", 3}, {"K", 4}}), fused);
  check_order(state, 3 + 12 + 3 + 12);
  const std::string text = isl_schedule_text(state);
  CHECK(has(text, "mark: \"par m.o\""));
  CHECK(has(text, "coincident: [ 1 ]"));
}

TEST_CASE("sizes that are open stay parameters, with what is known of them") {
  const auto program = std::make_shared<const ir::Program>(ir::parse_program(kSweeps, "test"));
  const std::string text = isl_schedule_text(reference_state(program));
  CHECK(has(text, "context: \"[T, N] -> {  : T >= 0 and N >= 0 }\""));
  isl_ctx* ctx = isl_ctx_alloc();
  isl_schedule* schedule = isl_schedule_read_from_str(ctx, text.c_str());
  CHECK(schedule != nullptr);
  isl_schedule_free(schedule);
  isl_ctx_free(ctx);
}

}  // namespace polyte::schedule::isl_schedule_text_test
