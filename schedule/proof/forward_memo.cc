#include "schedule/proof/forward_memo.h"

#include <isl/aff.h>
#include <isl/id.h>
#include <isl/map.h>

#include <algorithm>

#include "schedule/proof/prover_impl.h"

namespace polyte::schedule {
namespace {

// Times of the parts of a statement are over one set of iterators and differ in the tuple alone:
// with one name for all, equal times of two parts are equal.
isl::aff without_name(const isl::aff& time) {
  isl_id* any = isl_id_alloc(isl_aff_get_ctx(time.get()), "S", nullptr);
  return isl::manage(isl_aff_set_tuple_id(time.copy(), isl_dim_in, any));
}

bool is_prefix(const std::vector<isl::aff>& first, const std::vector<isl::aff>& all) {
  return first.size() <= all.size() &&
         std::equal(first.begin(), first.end(), all.begin(),
                    [](const isl::aff& a, const isl::aff& b) {
                      return isl_aff_plain_is_equal(a.get(), b.get()) == isl_bool_true;
                    });
}

// Instances in `part` are instances in `whole`: there is nothing that it does not require.
bool is_part(const std::vector<ir::Constraint>& part, const std::vector<ir::Constraint>& whole) {
  return std::ranges::all_of(
      whole, [&](const ir::Constraint& c) { return std::ranges::find(part, c) != part.end(); });
}

}  // namespace

ForwardMemo::Question ForwardMemo::question(const IslModel& model, int source, int sink,
                                            const isl::map& pairs) {
  const IslStatement& s = model.statements[static_cast<std::size_t>(source)];
  const IslStatement& t = model.statements[static_cast<std::size_t>(sink)];
  Question result{pairs, {s.statement->body.domain, {}}, {t.statement->body.domain, {}}};
  for (std::size_t d = 0; d < s.time.size() && result.branch == 0; ++d) {
    // A dimension of two constants: equal, it decides nothing and is left out; else it decides
    // all that is behind it, and which way is all that is kept.
    if (const std::optional<int> order = constant_order(s.time[d], t.time[d])) {
      result.branch = *order;
      continue;
    }
    result.source.time.push_back(without_name(s.time[d]));
    result.sink.time.push_back(without_name(t.time[d]));
  }
  return result;
}

// With x and y the times as far as they are kept: where the source's branch comes first, x <= y is
// known, else x < y; and asked likewise. x < y in the first dimensions is x < y in more, and x <= y
// in all dimensions is x <= y in the first.
bool ForwardMemo::Question::implies(const Question& asked) const {
  if (isl_map_plain_is_equal(pairs.get(), asked.pairs.get()) != isl_bool_true) return false;
  if (!is_part(asked.source.domain, source.domain) || !is_part(asked.sink.domain, sink.domain))
    return false;
  const bool is_earlier = branch >= 0 && is_prefix(source.time, asked.source.time) &&
                          is_prefix(sink.time, asked.sink.time);
  return is_earlier || (asked.branch < 0 && is_prefix(asked.source.time, source.time) &&
                        is_prefix(asked.sink.time, sink.time));
}

std::optional<BackwardPairs> ForwardMemo::find_backwards(const IslModel& model, int source,
                                                         int sink, const isl::map& pairs) {
  Question asked = question(model, source, sink, pairs);
  const std::uint32_t hash = isl_map_get_hash(pairs.get());
  const auto [first, last] = forwards_.equal_range(hash);
  if (std::any_of(first, last, [&](const auto& known) { return known.second.implies(asked); }))
    return std::nullopt;
  auto backwards =
      schedule::find_backwards(model, source, sink, between(pairs, model, source, sink));
  if (!backwards) forwards_.emplace(hash, std::move(asked));
  return backwards;
}

}  // namespace polyte::schedule
