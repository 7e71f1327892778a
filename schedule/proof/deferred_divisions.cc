// defer_division, proved on its own. Before: o = 0;  o += a / b * c, b the same in all terms of
// an element. After: u = 0;  u += a * c;  o = u / b. Of real numbers both are the same wherever
// an element has a term: without one, o is 0 whatever b is. The quotient may have a definition,
// p = a / b, that o's update alone reads: then p = a after.
#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>

#include "ir/relations.h"
#include "schedule/proof/rewrites.h"
#include "schedule/state/divisions.h"

namespace polyte::schedule {

namespace {

class DeferralCheck {
 public:
  DeferralCheck(const State& state, const Rewrite& rewrite, const Basis& before)
      : state_(state),
        rewrite_(rewrite),
        before_(*before.program),
        undivided_(before_),
        after_(*rewrite.after),
        was_(before) {}

  std::optional<Refusal> run() {
    const auto update = std::ranges::find_if(before_.statements, [&](const ir::Statement& s) {
      return s.combiner != ir::Combiner::None && s.writes.front().buffer == rewrite_.tensor;
    });
    if (update == before_.statements.end() || update == before_.statements.begin())
      return fault(rewrite_.tensor + " has no update");
    at_ = static_cast<std::size_t>(update - before_.statements.begin());
    if (auto why = find_divisor()) return fault(*why);
    // o = 0 and o += .. become u = 0, u += .., o = u / b: two statements, three in their place.
    if (auto why = replaced_group(undivided_, after_, {at_ - 1, at_ + 1}, {rewrite_.other}))
      return fault(*why);
    if (after_.statements.size() != before_.statements.size() + 1)
      return fault("it has other statements");
    if (!state_.may_reorder(*update))
      return fault("the contract does not let its terms be rounded otherwise");
    if (auto why = wrong_sum()) return fault(*why);
    if (auto why = wrong_quotient()) return fault(*why);
    return without_terms();
  }

 private:
  const State& state_;
  const Rewrite& rewrite_;
  const ir::Program& before_;
  ir::Program undivided_;  // before, its quotient's definition as it should be after
  const ir::Program& after_;
  const Basis& was_;
  std::size_t at_ = 0;  // the update, before
  CommonDivisor parts_;

  Refusal fault(const std::string& why) const {
    return rewrite_fault("the quotient of " + rewrite_.other + " is not " + rewrite_.tensor + ": " +
                         why);
  }
  const ir::Statement& init() const { return before_.statements[at_ - 1]; }
  const ir::Statement& update() const { return before_.statements[at_]; }

  std::optional<std::string> find_divisor() {
    const auto parts = common_divisor(update());
    const auto defined = parts ? std::nullopt : defined_quotient(before_, update());
    if (!parts && !defined) return "its terms have no divisor in common";
    parts_ = parts ? *parts : CommonDivisor{update().values.front(), defined->divisor};
    if (defined) {
      const auto index = static_cast<std::size_t>(defined->definition - before_.statements.data());
      undivided_.statements[index].values = {defined->dividend};
    }
    return std::nullopt;
  }

  // The same statement of the new tensor.
  ir::Statement renamed(ir::Statement s, const ir::Statement& now) const {
    s.name = now.name;
    s.writes.front().buffer = rewrite_.other;
    return s;
  }

  std::optional<std::string> wrong_sum() const {
    const ir::Statement &first = after_.statements[at_ - 1], &sum = after_.statements[at_];
    if (!ir::starts_reduction(init(), update())) return init().name + " does not begin it";
    const auto* literal = std::get_if<ir::Literal>(&init().values.front()->op);
    if (!literal || literal->real != 0 || literal->integer != 0) return "it does not begin at 0";
    if (!ir::equal(renamed(init(), first), first)) return first.name + " does not begin as it did";
    ir::Statement expected = renamed(update(), sum);
    expected.values = {parts_.term};
    if (!ir::equal(expected, sum)) return sum.name + " adds something else";
    const ir::Buffer &was = before_.buffer(rewrite_.tensor), &is = after_.buffer(rewrite_.other);
    if (was.dtype != is.dtype || was.shape != is.shape)
      return rewrite_.other + " is of another type or size";
    return std::nullopt;
  }

  // The divisor is over the update's iterators, the quotient over those of o = 0: the same
  // element by its subscripts, so that each iterator of the update is what the other's subscript
  // says.
  std::optional<std::string> wrong_quotient() const {
    const ir::Statement& quotient = after_.statements[at_ + 1];
    ir::Bindings point;
    for (std::size_t d = 0; d < update().writes.front().indices.size(); ++d)
      point[*update().writes.front().indices[d].affine.as_symbol()] =
          init().writes.front().indices[d].affine;
    ir::Statement expected = init();
    expected.name = quotient.name;
    const DType type = before_.buffer(rewrite_.tensor).dtype;
    expected.values = {ir::make_binary(
        ir::BinaryOp::Div, ir::make_load(type, rewrite_.other, init().writes.front().indices),
        ir::substitute(parts_.divisor, point))};
    if (!ir::equal(expected, quotient)) return quotient.name + " divides something else";
    return std::nullopt;
  }

  // Elements that `o = 0` writes and no update reaches, at some size: 0 before, 0 / b after,
  // which is not a number where b is 0.
  std::optional<Refusal> without_terms() const {
    const IslAccess& begun = access_of(was_.model, at_ - 1, rewrite_.tensor, true);
    const IslAccess& updated = access_of(was_.model, at_, rewrite_.tensor, true);
    const isl::set empty =
        begun.cells.range().subtract(updated.cells.range()).intersect_params(was_.model.context);
    if (empty.is_empty()) return std::nullopt;
    const Point point = first_point(isl::manage(isl_set_from_params(isl_set_params(empty.copy()))),
                                    was_.model.params);
    std::string sizes;
    for (const auto& [name, value] : point.params)
      sizes += (sizes.empty() ? " at " : ", ") + name + "=" + std::to_string(value);
    return fault("an element has no term" + sizes + ", and would be 0 / " +
                 ir::to_string(parts_.divisor));
  }
};

}  // namespace

std::optional<Refusal> check_deferred(const State& state, const Rewrite& rewrite,
                                      const Basis& before) {
  return DeferralCheck(state, rewrite, before).run();
}

}  // namespace polyte::schedule
