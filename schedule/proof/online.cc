// rewrite online, proved on its own. Before: M max= e;  A += exp(e - M) * v.  After, in a loop over
// L that takes each update once: M.old = M;  M max= e;  A = M.old == -inf ? 0 : A * exp(M.old - M);
// A += exp(e - M) * v.
// With real numbers, A holds the sum of exp(e - M) * v over the terms so far after each iteration,
// M being the maximum so far: exp(a) * exp(b) = exp(a + b) carries it from one maximum to the next,
// and at the end M is the one that readers see. That needs: every update in one iteration, every
// cell with an update scaled once per iteration, by the maximum that its terms refer to, and sums
// that begin at 0. A definition w = exp(e - M) may stand in the loop, behind M's update: then the
// sums, and definitions of it behind that are rounded, read what their own iteration has put there,
// and nobody else reads it.
#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>

#include "schedule/proof/rewrites.h"
#include "schedule/state/softmax_sum.h"

namespace polyte::schedule {
namespace {

class OnlineCheck {
 public:
  OnlineCheck(const State& state, const Rewrite& rewrite, const Basis& before, const Basis& after)
      : state_(state),
        rewrite_(rewrite),
        before_(*before.program),
        after_(*after.program),
        was_(before),
        is_(after) {}

  std::optional<Refusal> run() {
    if (auto why = wrong_group()) return fault(*why);
    if (auto why = wrong_maximum()) return fault(*why);
    for (std::size_t i = 0; i < weights_.size(); ++i)
      if (auto why = wrong_weight(i)) return fault(*why);
    for (std::size_t i = 0; i < sums_.size(); ++i)
      if (auto why = wrong_sum(i)) return fault(*why);
    for (std::size_t i = 0; i < after_.statements.size(); ++i) {
      const bool is_own = i >= first_ && i < end_;
      if (!is_own && touches(after_.statements[i], rewrite_.other))
        return fault(after_.statements[i].name + " touches " + rewrite_.other);
    }
    return std::nullopt;
  }

 private:
  const State& state_;
  const Rewrite& rewrite_;
  const ir::Program &before_, &after_;
  const Basis &was_, &is_;
  std::size_t first_ = 0, end_ = 0;  // the group, after
  std::size_t inits_ = 0;
  const ir::Statement* maximum_ = nullptr;
  std::vector<const ir::Statement*> weights_, sums_, sum_inits_;  // before
  ir::Affine begin_, stop_;

  Refusal fault(const std::string& why) const {
    return rewrite_fault("the sums that run along with " + rewrite_.tensor +
                         " do not end as they should: " + why);
  }

  std::size_t position(const ir::Program& program, const std::string& name) const {
    const auto at = std::ranges::find_if(program.statements,
                                         [&](const ir::Statement& s) { return s.name == name; });
    return static_cast<std::size_t>(at - program.statements.begin());
  }

  bool is_sum(const std::string& buffer) const {
    return std::ranges::find(rewrite_.sums, buffer) != rewrite_.sums.end();
  }

  // The new statements and where they stand, which fixes all positions used below:
  //
  //   before   M.update; A.init; w; A.update; B.init; B.update
  //   after    A.init; B.init; loop L { M.old; M.update; w; A.scale; A.update; B.scale; B.update }
  //            first_          first_ + inits_             scale_position(0)
  std::optional<std::string> wrong_group() {
    for (const ir::Statement& s : before_.statements) {
      const std::string& buffer = s.writes.front().buffer;
      if (buffer == rewrite_.tensor && s.combiner == ir::Combiner::Max && !maximum_) maximum_ = &s;
      if (is_sum(buffer) && s.combiner == ir::Combiner::Sum) sums_.push_back(&s);
    }
    if (!maximum_ || sums_.size() != rewrite_.sums.size() || sums_.empty())
      return "statements are missing";
    first_ = position(before_, maximum_->name);
    const std::size_t last = position(before_, sums_.back()->name);
    const std::vector<const ir::Statement*> candidates = softmax_weights(before_, rewrite_.tensor);
    for (std::size_t i = first_; i <= last; ++i) {
      const ir::Statement& s = before_.statements[i];
      if (&s == maximum_ || std::ranges::find(sums_, &s) != sums_.end()) continue;
      if (std::ranges::find(candidates, &s) != candidates.end()) {
        weights_.push_back(&s);
        continue;
      }
      if (!is_sum(s.writes.front().buffer) || s.combiner != ir::Combiner::None)
        return s.name + " is in between";
      sum_inits_.push_back(&s);
    }
    inits_ = sum_inits_.size();
    end_ = first_ + inits_ + 2 + weights_.size() + 2 * sums_.size();
    if (after_.statements.size() !=
        before_.statements.size() - (last + 1 - first_) + (end_ - first_))
      return "statements are missing";
    const ir::Region* region = nullptr;
    for (const ir::Item& item : after_.order) {
      const ir::Region* each = std::get_if<ir::Region>(&item);
      if (each && !each->body.empty() && std::get_if<std::size_t>(&each->body.front()) &&
          std::get<std::size_t>(each->body.front()) == first_ + inits_)
        region = each;
    }
    if (!region || region->step != 1) return "there is no loop over " + rewrite_.loop;
    begin_ = region->begin;
    stop_ = region->end;
    // Initial values go in front of the loop, or each iteration would begin its sums anew.
    for (std::size_t i = 0; i < inits_; ++i)
      if (!ir::equal(after_.statements[first_ + i], *sum_inits_[i]))
        return sum_inits_[i]->name + " has changed";
    return replaced_group(before_, after_, {first_, last + 1}, {rewrite_.other},
                          GroupRegion{inits_, region_text(region->iterator, begin_, stop_, 1)});
  }

  // The statement after is the one before at other points, each point once, in exactly one
  // iteration of L. `points` says how: each iterator of the one before over those of the one
  // after, k = 8*L + k.i. The map has to be injective (nothing twice) and onto the old domain
  // (nothing lost, nothing added).
  std::optional<std::string> wrong_points(std::size_t index, const ir::Statement& then) const {
    const ir::Statement& now = after_.statements[index];
    const auto found = rewrite_.points.find(then.name);
    if (found == rewrite_.points.end() || now.name != then.name) return then.name + " is missing";
    const ir::Bindings& points = found->second;
    if (now.region_depth != 1 || now.iterators.front() != rewrite_.loop)
      return now.name + " is not in the loop";
    ir::Statement moved = then;
    moved.iterators = now.iterators;
    moved.region_depth = now.region_depth;
    moved.reductions = now.reductions;
    moved.domain = now.domain;
    for (ir::Expr& value : moved.values) value = ir::substitute(value, points);
    for (ir::Access& write : moved.writes)
      for (ir::Index& index_of : write.indices) {
        if (index_of.indirect) return now.name + " scatters";
        index_of.affine = ir::substitute(index_of.affine, points);
      }
    if (!ir::equal(moved, now)) return now.name + " does something else";
    const isl::set& domain = is_.model.statements[index].domain;
    const std::size_t old = position(before_, then.name);
    std::vector<isl::aff> values;
    for (const std::string& iterator : then.iterators) {
      const auto point = points.find(iterator);
      if (point == points.end()) return now.name + " has lost " + iterator;
      values.push_back(to_aff(domain.get_space(), now.iterators, is_.model.params, point->second));
    }
    const isl::multi_aff to = to_multi_aff(domain.get_space(), "S" + std::to_string(old), values);
    const isl::map back =
        isl::manage(isl_map_intersect_domain(isl_map_from_multi_aff(to.copy()), domain.copy()));
    if (!back.is_injective()) return now.name + " runs an update twice";
    if (!was_.model.statements[old].domain.is_subset(back.range()))
      return now.name + " leaves an update out";
    if (!back.range().is_subset(was_.model.statements[old].domain))
      return now.name + " runs what was no update";
    return std::nullopt;
  }

  // Cells with the iteration in front, as (L, cell).
  isl::map with_iteration(std::size_t index, const std::string& buffer, bool write) const {
    const IslAccess& access = access_of(is_.model, index, buffer, write);
    const isl::set& domain = is_.model.statements[index].domain;
    const ir::Statement& s = after_.statements[index];
    const isl::aff row = to_aff(domain.get_space(), s.iterators, is_.model.params,
                                ir::Affine::symbol(rewrite_.loop));
    isl_map* iteration =
        isl_map_from_multi_aff(to_multi_aff(domain.get_space(), "L", {row}).release());
    return isl::manage(isl_map_flat_range_product(iteration, access.cells.copy()));
  }

  std::optional<std::string> wrong_maximum() const {
    const std::size_t at = first_ + inits_;
    if (auto why = wrong_points(at + 1, *maximum_)) return why;
    if (!state_.may_reorder(*maximum_))
      return maximum_->name + " is no maximum whose terms may change places";
    for (const std::string& sum : rewrite_.sums)
      if (touches(*maximum_, sum)) return maximum_->name + " reads " + sum;
    const ir::Statement& old = after_.statements[at];
    if (old.combiner != ir::Combiner::None || old.guard || old.writes.size() != 1 ||
        old.writes.front().buffer != rewrite_.other || old.region_depth != 1)
      return old.name + " does not keep the maximum";
    const auto* load = std::get_if<ir::Load>(&old.values.front()->op);
    if (!load || load->buffer != rewrite_.tensor || load->otherwise)
      return old.name + " does not keep the maximum";
    for (std::size_t d = 0; d < load->indices.size(); ++d)
      if (load->indices[d].indirect || old.writes.front().indices[d].indirect ||
          load->indices[d].affine != old.writes.front().indices[d].affine)
        return old.name + " keeps another cell's maximum";
    return std::nullopt;
  }

  // A += exp(e - M) * v with weights put back in place of their reads, so that all kinds of sums
  // have one form; the scale that belongs to it is then computed and compared as an expression.
  std::optional<std::string> wrong_sum(std::size_t which) const {
    const ir::Statement& then = *sums_[which];
    const std::string& buffer = then.writes.front().buffer;
    const std::size_t scale_at = scale_position(which);
    if (then.region_depth > 0) return then.name + " is in a region already";
    if (auto why = wrong_points(scale_at + 1, then)) return why;
    const ir::Statement whole = with_weights(then, weights_);
    const auto sum = softmax_sum(whole, rewrite_.tensor);
    if (!sum) return then.name + " is no sum of exp(.. - " + rewrite_.tensor + ")";
    if (!state_.may_reorder(then))
      return "the contract does not let " + buffer + " be scaled in between";
    for (const ir::Load* load : ir::loads_of(whole.values.front()))
      if (is_sum(load->buffer) || is_weight(load->buffer))
        return then.name + " reads " + load->buffer;
    for (const ir::Statement& s : before_.statements)
      if (&s != &then && s.writes.front().buffer == buffer &&
          (s.combiner != ir::Combiner::None || !is_zero(s)))
        return s.name + " does not begin at 0";
    const IslModel& model = is_.model;
    const IslAccess& cells = access_of(model, scale_at + 1, buffer, true);
    if (model.buffers[static_cast<std::size_t>(cells.buffer)].input)
      return buffer + " does not begin at 0";
    const ir::Statement& scale = after_.statements[scale_at];
    if (scale.combiner != ir::Combiner::None || scale.guard || scale.region_depth != 1 ||
        scale.writes.size() != 1)
      return scale.name + " does not scale";
    ir::Statement expected = scale;
    expected.writes = then.writes;
    expected.values = {softmax_scale(whole, *sum, rewrite_.other)};
    if (!ir::equal(expected, scale)) return scale.name + " scales by something else";
    return wrong_scales(scale_at, buffer);
  }

  std::size_t scale_position(std::size_t which) const {
    return first_ + inits_ + 2 + weights_.size() + 2 * which;
  }

  bool is_weight(const std::string& buffer) const {
    return std::ranges::any_of(
        weights_, [&](const ir::Statement* w) { return w->writes.front().buffer == buffer; });
  }

  // Every element is computed once, in the iteration in which the sums and later weights read
  // it, and they alone.
  std::optional<std::string> wrong_weight(std::size_t which) const {
    const std::size_t at = first_ + inits_ + 2 + which;
    const std::string& buffer = weights_[which]->writes.front().buffer;
    if (auto why = wrong_points(at, *weights_[which])) return why;
    const isl::set computed = with_iteration(at, buffer, true).range();
    for (std::size_t i = 0; i < after_.statements.size(); ++i) {
      if (i == at || !touches(after_.statements[i], buffer)) continue;
      const bool is_later_weight = i > at && i < scale_position(0);
      const auto sum = std::ranges::find(sums_, after_.statements[i].name, &ir::Statement::name);
      if (sum == sums_.end() && !is_later_weight)
        return after_.statements[i].name + " touches " + buffer;
      if (!subset(with_iteration(i, buffer, false).range(), computed))
        return after_.statements[i].name + " reads " + buffer + " of another iteration";
    }
    return std::nullopt;
  }

  static bool is_zero(const ir::Statement& s) {
    const auto* literal = std::get_if<ir::Literal>(&s.values.front()->op);
    return literal && literal->real == 0 && literal->integer == 0;
  }

  // Each cell that has an update is scaled once in every iteration of L; M.old knows what is
  // read of it.
  std::optional<std::string> wrong_scales(std::size_t scale_at, const std::string& buffer) const {
    const isl::map scaled = with_iteration(scale_at, buffer, true);
    if (!scaled.is_injective()) return buffer + " is scaled twice";
    const IslAccess& updated = access_of(is_.model, scale_at + 1, buffer, true);
    const isl::space one = isl::manage(isl_space_set_tuple_id(
        isl_space_add_dims(isl_space_set_from_params(isl_set_get_space(is_.model.context.get())),
                           isl_dim_set, 1),
        isl_dim_set, isl_id_alloc(isl_set_get_ctx(is_.model.context.get()), "L", nullptr)));
    const isl::set all = to_set(one, {rewrite_.loop}, is_.model.params,
                                {ir::at_least(ir::Affine::symbol(rewrite_.loop), begin_),
                                 ir::less_than(ir::Affine::symbol(rewrite_.loop), stop_)});
    const isl::set needed =
        isl::manage(isl_set_flat_product(all.copy(), updated.cells.range().release()));
    if (!subset(needed, scaled.range())) return "a cell of " + buffer + " is not scaled";
    const isl::set kept = with_iteration(first_ + inits_, rewrite_.other, true).range();
    const isl::set read = with_iteration(scale_at, rewrite_.other, false).range();
    if (!subset(read, kept)) return "a maximum of " + rewrite_.other + " is not known";
    return std::nullopt;
  }

  // Flat products of one dimensionality, whatever their tuples are called.
  static bool subset(const isl::set& a, const isl::set& b) {
    const isl::set x = isl::manage(isl_set_reset_tuple_id(a.copy()));
    const isl::set y = isl::manage(isl_set_reset_tuple_id(b.copy()));
    return x.is_subset(y);
  }
};

}  // namespace

std::optional<Refusal> check_online(const State& state, const Rewrite& rewrite, const Basis& before,
                                    const Basis& after) {
  return OnlineCheck(state, rewrite, before, after).run();
}

}  // namespace polyte::schedule
