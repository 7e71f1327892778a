#include "schedule/proof/isl_schedule_text.h"

#include <isl/aff.h>
#include <isl/id.h>
#include <isl/printer.h>
#include <isl/schedule.h>
#include <isl/schedule_node.h>
#include <isl/set.h>
#include <isl/union_set.h>

#include <cstdlib>

#include "schedule/proof/isl_faults.h"
#include "schedule/proof/isl_names.h"

namespace polyte::schedule {
namespace {

// Built from the leaves up, as isl's constructors go: a leaf is a schedule of one domain; a
// sequence joins schedules, and isl makes the filters; a loop inserts a band above everything
// below it.
//
//   t > { A; B }      isl_schedule_sequence(A, B), then a band with rows for A and for B
class TreeWriter {
 public:
  explicit TreeWriter(const IslModel& model) : model_(model), names_(model) {}

  isl::schedule write() const {
    const Tree& tree = model_.state->tree;
    isl_schedule* schedule =
        tree ? visit(tree) : isl_schedule_empty(isl_set_get_space(model_.context.get()));
    if (!model_.params.empty())
      schedule =
          isl_schedule_insert_context(schedule, names_.readable_params(model_.context).release());
    return isl::manage(schedule);
  }

 private:
  const IslModel& model_;
  const IslNames names_;

  isl::set instances(std::size_t i) const {
    return names_.readable(model_.statements[i].domain, i);
  }

  isl_schedule* visit(const Tree& tree) const {
    if (const auto* leaf = std::get_if<Leaf>(&tree->op)) {
      const auto i = static_cast<std::size_t>(statement_index(model_, leaf->statement));
      return isl_schedule_from_domain(isl_union_set_from_set(instances(i).release()));
    }
    if (const auto* loop = std::get_if<Loop>(&tree->op)) return visit_loop(*loop);
    isl_schedule* all = nullptr;
    for (const Tree& child : std::get<Sequence>(tree->op).children)
      all = all ? isl_schedule_sequence(all, visit(child)) : visit(child);
    return all;
  }

  // One band of one member for all statements below, each with its own row: [{ A[t] -> [(t)];
  // B[t] -> [(t + 1)] }].
  isl_schedule* visit_loop(const Loop& loop) const {
    isl_union_pw_aff* rows = nullptr;
    for (const Leaf* leaf : leaves_of(loop.body)) {
      const auto i = static_cast<std::size_t>(statement_index(model_, leaf->statement));
      const ScheduledStatement& s = *model_.statements[i].statement;
      const isl::aff row =
          to_aff(instances(i).get_space(), s.body.iterators, model_.params, row_at(s, loop.name));
      isl_union_pw_aff* one = isl_union_pw_aff_from_aff(row.copy());
      rows = rows ? isl_union_pw_aff_union_add(rows, one) : one;
    }
    const isl::schedule schedule = isl::manage(isl_schedule_insert_partial_schedule(
        visit(loop.body), isl_multi_union_pw_aff_from_union_pw_aff(rows)));
    auto band = schedule.root().child(0).as<isl::schedule_node_band>().member_set_coincident(
        0, is_concurrent(loop.kind) ? 1 : 0);
    if (loop.kind == LoopKind::Unrolled) band = band.member_set_ast_loop_unroll(0);
    // isl::id(ctx, text) would read the name as isl's text, which ends at the dot of t.o.
    const std::string name = print_loop(loop.name, loop.kind);
    const isl::id mark =
        isl::manage(isl_id_alloc(isl_schedule_node_get_ctx(band.get()), name.c_str(), nullptr));
    return band.insert_mark(mark).schedule().release();
  }
};

std::string block_text(const isl::schedule& schedule) {
  isl_printer* printing = isl_printer_to_str(isl_schedule_get_ctx(schedule.get()));
  printing = isl_printer_set_yaml_style(printing, ISL_YAML_STYLE_BLOCK);
  printing = isl_printer_print_schedule(printing, schedule.get());
  const std::unique_ptr<isl_printer, decltype(&isl_printer_free)> printer(printing,
                                                                          isl_printer_free);
  const std::unique_ptr<char, decltype(&std::free)> text(isl_printer_get_str(printer.get()),
                                                         std::free);
  if (!text) throw std::bad_alloc();
  return text.get();
}

}  // namespace

std::string isl_schedule_text(const State& state) {
  IslContext context;
  return translated(context, "schedule tree", [&] {
    const IslModel model = make_model(context, state);
    return block_text(TreeWriter(model).write());
  });
}

}  // namespace polyte::schedule
