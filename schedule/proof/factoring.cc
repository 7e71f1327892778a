// rfactor, proved on its own. Before: T op= v, one update per instance, by the statement that
// the rewrite names. After, in its place; other updates of T stay where they are:
//   P = identity;   P[e, cell of T] op= v, the same instances;   T[cell] op= P[.., cell]
// The path of updates of a cell becomes a tree whose inner nodes are partial results: each value is
// still consumed once if every partial result that got an update is read exactly once, into its own
// cell of T; those that got none add the identity. What e is does not matter. In an ordered region
// that holds of each of its iterations by itself: the parts of one are filled, updated and read in
// it, before the next.
#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>

#include "schedule/proof/rewrites.h"
#include "schedule/state/contract.h"

namespace polyte::schedule {
namespace {

bool is_tuple(ir::Combiner combiner) {
  return combiner == ir::Combiner::ArgMin || combiner == ir::Combiner::ArgMax;
}

// The last subscripts of `longer` are those of `shorter`.
bool ends_with(const std::vector<ir::Index>& longer, const std::vector<ir::Index>& shorter) {
  if (longer.size() < shorter.size()) return false;
  const std::size_t extra = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    const ir::Index &a = longer[extra + i], &b = shorter[i];
    if (a.affine != b.affine || !a.indirect != !b.indirect ||
        (a.indirect && !ir::equal(a.indirect, b.indirect)))
      return false;
  }
  return true;
}

class FactorCheck {
 public:
  FactorCheck(const State& state, const Rewrite& rewrite, const ir::Program& before,
              const Basis& after)
      : state_(state), rewrite_(rewrite), before_(before), after_(after) {}

  std::optional<Refusal> run() {
    const auto at = std::ranges::find_if(before_.statements, [&](const ir::Statement& s) {
      return s.name == rewrite_.update && s.combiner != ir::Combiner::None &&
             s.writes.front().buffer == rewrite_.tensor;
    });
    if (at == before_.statements.end())
      return fault(rewrite_.update + " does not update " + rewrite_.tensor);
    first_ = static_cast<std::size_t>(at - before_.statements.begin());
    if (after_.program->statements.size() != before_.statements.size() + 2)
      return fault("statements are missing");
    if (auto why = replaced_group(before_, *after_.program, {first_, first_ + 1}, {rewrite_.other}))
      return fault(*why);
    update_ = &*at;
    if (auto why = wrong_update()) return fault(*why);
    if (auto why = wrong_regions()) return fault(*why);
    if (auto why = wrong_init()) return fault(*why);
    if (auto why = wrong_merge()) return fault(*why);
    if (auto why = wrong_users()) return fault(*why);
    if (auto refusal = wrong_terms()) return refusal;
    if (!may_be_parted())
      return fault("the contract does not let its updates run in another order");
    return wrong_cells();
  }

 private:
  const State& state_;
  const Rewrite& rewrite_;
  const ir::Program& before_;
  const Basis& after_;
  std::size_t first_ = 0;
  const ir::Statement* update_ = nullptr;

  const ir::Statement& now(std::size_t i) const { return after_.program->statements[first_ + i]; }
  Refusal fault(const std::string& why) const {
    return rewrite_fault("the parts of " + rewrite_.tensor + " in " + rewrite_.other +
                         " do not make its value: " + why);
  }

  std::optional<std::string> wrong_update() const {
    const ir::Statement& part = now(1);
    if (update_->writes.size() != 1 || is_tuple(update_->combiner)) return "it is a tuple";
    ir::Statement as_before = part;
    as_before.name = update_->name;
    as_before.writes = update_->writes;
    as_before.reductions = update_->reductions;
    if (!ir::equal(as_before, *update_))
      return part.name + " does not do what " + update_->name + " did";
    if (part.writes.size() != 1 || part.writes[0].buffer != rewrite_.other ||
        !ends_with(part.writes[0].indices, update_->writes[0].indices))
      return part.name + " mixes cells of " + rewrite_.tensor;
    if (after_.program->buffer(rewrite_.other).dtype != before_.buffer(rewrite_.tensor).dtype)
      return "another type";
    for (std::size_t i = 0; i + update_->writes[0].indices.size() < part.writes[0].indices.size();
         ++i)
      if (part.writes[0].indices[i].indirect) return "the part is known at run time only";
    return std::nullopt;
  }

  // All three count the iterations of the regions around them alike.
  std::optional<std::string> wrong_regions() const {
    const auto depth = static_cast<std::size_t>(update_->region_depth);
    for (std::size_t i : {std::size_t{0}, std::size_t{2}}) {
      const ir::Statement& s = now(i);
      if (s.region_depth != update_->region_depth || s.iterators.size() < depth ||
          !std::equal(s.iterators.begin(), s.iterators.begin() + update_->region_depth,
                      update_->iterators.begin()))
        return s.name + " is in another region";
    }
    return std::nullopt;
  }

  std::optional<std::string> wrong_init() const {
    const ir::Statement& init = now(0);
    if (init.combiner != ir::Combiner::None || init.guard || init.writes.size() != 1 ||
        init.writes[0].buffer != rewrite_.other)
      return init.name + " is no initial value";
    const ir::Expr neutral =
        ir::identity_of(update_->combiner, after_.program->buffer(rewrite_.other).dtype);
    if (!ir::equal(init.values[0], neutral)) return init.name + " is not neutral";
    return std::nullopt;
  }

  std::optional<std::string> wrong_merge() const {
    const ir::Statement& merge = now(2);
    if (merge.combiner != update_->combiner || merge.guard || merge.writes.size() != 1 ||
        merge.writes[0].buffer != rewrite_.tensor)
      return merge.name + " does not combine";
    const auto* load = std::get_if<ir::Load>(&merge.values[0]->op);
    if (!load || load->buffer != rewrite_.other || load->otherwise || !load->guard.empty() ||
        !ends_with(load->indices, merge.writes[0].indices))
      return merge.name + " does not take a part of its own cell";
    return std::nullopt;
  }

  // Terms of two parts differ in a dimension that the parts have more than the sum.
  bool may_be_parted() const {
    const std::vector<ir::Index>& indices = now(1).writes[0].indices;
    const std::size_t own = indices.size() - update_->writes[0].indices.size();
    return std::all_of(
        indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>(own),
        [&](const ir::Index& index) { return may_exchange(state_, *update_, index.affine); });
  }

  // The parts are nobody else's.
  std::optional<std::string> wrong_users() const {
    for (std::size_t i = 0; i < after_.program->statements.size(); ++i)
      if ((i < first_ || i > first_ + 2) && touches(after_.program->statements[i], rewrite_.other))
        return after_.program->statements[i].name + " touches " + rewrite_.other;
    return std::nullopt;
  }

  // Terms that read the tensor read other cells than those that are summed up in the same iteration
  // of the regions: these have their new values only at the end of it.
  std::optional<Refusal> wrong_terms() const {
    const isl::set summed = cells_in_time(2, rewrite_.tensor, true).range();
    const IslStatement& part = after_.model.statements[first_ + 1];
    const int tensor = access(2, rewrite_.tensor, true).buffer;
    for (const IslAccess& term : part.accesses)
      if (!term.write && term.buffer == tensor &&
          !in_time(first_ + 1, term).range().is_disjoint(summed))
        return Refusal(RefusalKind::Malformed, update_->name + " reads " + rewrite_.tensor +
                                                   ": its updates depend on each other");
    return std::nullopt;
  }

  const IslAccess& access(std::size_t statement, const std::string& buffer, bool write) const {
    return access_of(after_.model, first_ + statement, buffer, write);
  }

  // The cells of an access with the iteration of the regions in front.
  isl::map in_time(std::size_t statement, const IslAccess& touched) const {
    if (update_->region_depth == 0) return touched.cells;
    const isl::set& domain = after_.model.statements[statement].domain;
    const std::vector<std::string>& iterators = after_.program->statements[statement].iterators;
    std::vector<isl::aff> time;
    for (auto at = iterators.begin(); at != iterators.begin() + update_->region_depth; ++at)
      time.push_back(
          to_aff(domain.get_space(), iterators, after_.model.params, ir::Affine::symbol(*at)));
    isl_map* when = isl_map_from_multi_aff(to_multi_aff(domain.get_space(), "T", time).release());
    isl_map* both = isl_map_flat_range_product(when, touched.cells.copy());
    return isl::manage(isl_map_reset_tuple_id(both, isl_dim_out));
  }

  isl::map cells_in_time(std::size_t i, const std::string& buffer, bool write) const {
    return in_time(first_ + i, access(i, buffer, write));
  }

  // In sets of (iteration of the regions, cell of P):
  //
  //   parts   in taken.range()        every part that got an update is merged
  //   taken   injective               by one instance
  //   taken, parts   in filled        and was neutral before
  std::optional<Refusal> wrong_cells() const {
    const isl::set parts = cells_in_time(1, rewrite_.other, true).range();
    const isl::map taken = cells_in_time(2, rewrite_.other, false);
    const isl::set filled = cells_in_time(0, rewrite_.other, true).range();
    if (!parts.is_subset(taken.range())) return fault("a part is left out");
    if (!taken.is_injective()) return fault("a part is taken twice");
    if (!taken.range().unite(parts).is_subset(filled)) return fault("a part has no initial value");
    isl::set fresh = cells_in_time(2, rewrite_.tensor, true).range().subtract(defined_before());
    // The merge touches cells of T that may hold nothing yet: it must not read one that the
    // updates before did not read either.
    const bool is_alone = update_->region_depth == 0 && access(1, rewrite_.other, true).exact;
    if (is_alone) fresh = fresh.subtract(cells_updated(parts, fresh));
    if (!fresh.is_empty()) return fault("cells would be updated that hold no value");
    return std::nullopt;
  }

  // Cells of T that the update before reached: those of the parts without the part.
  isl::set cells_updated(const isl::set& parts, const isl::set& like) const {
    const std::size_t rank = before_.buffer(rewrite_.tensor).shape.size();
    const auto extra =
        static_cast<unsigned>(after_.program->buffer(rewrite_.other).shape.size() - rank);
    isl_set* cells = isl_set_project_out(parts.copy(), isl_dim_set, 0, extra);
    isl_id* tuple =
        isl_id_alloc(isl_set_get_ctx(cells), isl_set_get_tuple_name(like.get()), nullptr);
    return isl::manage(isl_set_set_tuple_id(cells, tuple));
  }

  // What inputs and earlier statements have surely written, those in regions by the iteration
  // of the update's.
  isl::set defined_before() const {
    const IslModel& model = after_.model;
    const IslAccess& merged = access(2, rewrite_.tensor, true);
    isl::set defined = cells_in_time(2, rewrite_.tensor, true).range();
    if (model.buffers[static_cast<std::size_t>(merged.buffer)].input) return defined;
    defined = defined.subtract(defined);
    for (std::size_t i = 0; i < first_; ++i) {
      const ir::Statement& s = after_.program->statements[i];
      const bool is_beside = s.region_depth == update_->region_depth &&
                             std::equal(s.iterators.begin(), s.iterators.begin() + s.region_depth,
                                        now(2).iterators.begin());
      if (s.region_depth > 0 && !is_beside) continue;
      for (const IslAccess& a : model.statements[i].accesses)
        if (a.write && a.exact && a.buffer == merged.buffer)
          defined = defined.unite(is_beside ? in_time(i, a).range() : at_any_time(a.cells.range()));
    }
    return defined;
  }

  isl::set at_any_time(const isl::set& cells) const {
    isl_set* set = isl_set_insert_dims(cells.copy(), isl_dim_set, 0,
                                       static_cast<unsigned>(update_->region_depth));
    return isl::manage(isl_set_reset_tuple_id(set));
  }
};

}  // namespace

std::optional<Refusal> check_factor(const State& state, const Rewrite& rewrite,
                                    const ir::Program& before, const Basis& after) {
  return FactorCheck(state, rewrite, before, after).run();
}

}  // namespace polyte::schedule
