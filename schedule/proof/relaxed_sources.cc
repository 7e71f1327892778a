#include "schedule/proof/relaxed_sources.h"

#include <isl/map.h>
#include <isl/set.h>
#include <isl/union_map.h>
#include <isl/union_set.h>

#include <algorithm>

#include "schedule/state/contract.h"

namespace polyte::schedule {

namespace {

constexpr const char* kIncomplete = "a sum would be read before it is complete";

// How many leading iterators are the iteration of the site that an instance is computed at;
// none: computed once.
int prefix_of(const IslModel& model, int statement) {
  return model.statements[static_cast<std::size_t>(statement)].statement->lifted;
}

isl::map same_prefix(const isl::map& pairs, int prefix) {
  isl_map* same = pairs.copy();
  for (int d = 0; d < prefix; ++d) same = isl_map_equate(same, isl_dim_in, d, isl_dim_out, d);
  return isl::manage(same);
}

// One map per pair of statements: source and sink, -1 for what is virtual.
void for_each_pair(const isl::union_map& pairs,
                   const std::function<void(int, int, isl::map)>& visit) {
  pairs.foreach_map([&](isl::map map) {
    visit(statement_of_tuple(isl_map_get_tuple_name(map.get(), isl_dim_in)),
          statement_of_tuple(isl_map_get_tuple_name(map.get(), isl_dim_out)), map);
  });
}

isl::map identity_on(const isl::map& pairs) {
  return isl::manage(isl_set_identity(pairs.domain().release()));
}

}  // namespace

RelaxedSources::RelaxedSources(const Basis& basis, const IslModel& model,
                               const Correspondence& correspondence, const Generations& generations,
                               const SourceRefusals& refusals)
    : basis_(basis),
      model_(model),
      correspondence_(correspondence),
      generations_(generations),
      refusals_(refusals),
      updates_(no_instances(model)),
      links_(no_pairs(model)),
      continued_(no_instances(model)) {
  for (std::size_t i = 0; i < model.statements.size(); ++i)
    if (is_relaxed(static_cast<int>(i))) {
      updates_ = updates_.unite(to_union(model.statements[i].domain));
      updates_stay_ = updates_stay_ && keeps_instances(*model.statements[i].statement);
    }
}

// In the letters of docs/proof.md, 3: links are (a) and the first half of (b), once and twins the
// rest of (b), kept order is (f), and each ordinary read is (c), (d) and (e). The order matters:
// (d) speaks of the end of a path, and that there is one path per generation and location is what
// (a) and (b) have shown before.
std::optional<Refusal> RelaxedSources::check(const std::vector<ReadSources>& reads) {
  if (auto refusal = check_links(reads)) return refusal;
  if (auto refusal = check_once()) return refusal;
  if (auto refusal = check_twins()) return refusal;
  if (auto refusal = check_kept_order()) return refusal;
  for (const ReadSources& read : reads) {
    if (is_link(read.sink)) continue;
    if (auto refusal = check_read(read)) return refusal;
  }
  return std::nullopt;
}

int RelaxedSources::basis_statement(int statement) const {
  return statement_index(
      basis_.model, model_.statements[static_cast<std::size_t>(statement)].statement->reference);
}

bool RelaxedSources::is_relaxed(int statement) const {
  if (statement < 0) return false;
  const bool copies =
      model_.statements[static_cast<std::size_t>(statement)].statement->kind == StatementKind::Copy;
  return !copies && generations_.is_relaxed(basis_statement(statement));
}

bool RelaxedSources::is_link(const Sink& sink) const {
  return sink.own && is_relaxed(sink.statement);
}

// The updates as a graph: an edge from each to the value that it continues. In-degree and out-
// degree of at most one make it a set of paths.
//
//   init <- u3 <- u1 <- u2        in the schedule's order; the read at the end takes u2
//            ^
//            u4                   two updates continue u3: its value would count twice
std::optional<Refusal> RelaxedSources::check_links(const std::vector<ReadSources>& reads) {
  for (const ReadSources& read : reads) {
    if (!is_link(read.sink)) continue;
    if (auto refusal = check_link(read)) return refusal;
    links_ = links_.unite(read.actual);
  }
  const isl::union_map twice =
      links_.apply_range(links_.reverse())
          .subtract(isl::manage(isl_union_set_identity(links_.domain().release())));
  if (!twice.is_empty()) return refusals_.counted_twice(twice);
  const isl::union_map joining = of_one_generation(links_);
  continued_ = joining.range();
  for (const ReadSources& read : reads) {
    if (!is_link(read.sink)) continue;
    const isl::union_map unfinished = read.actual.subtract(joining).subtract_range(updates_);
    if (!unfinished.is_empty())
      return refusals_.wrong_path(read.sink, unfinished, kIncomplete, " goes on from ");
  }
  return std::nullopt;
}

// The value is of the update's own generation, or of the one before where an update begins it; and
// of the same iteration of the site: what is computed anew does not go on from what was left of
// the last time.
std::optional<Refusal> RelaxedSources::check_link(const ReadSources& link) const {
  const isl::union_map taken = correspondence_.of_range(link.actual);
  const isl::union_map own = generations_.of_updates().unite(generations_.before());
  const isl::union_map wrong =
      generations_.begun_by(taken).subtract(correspondence_.of_sink(link.sink).apply_range(own));
  if (!wrong.is_empty())
    return refusals_.wrong_source(link.sink, taken.intersect_domain(wrong.domain()), link.expected);
  const int prefix = prefix_of(model_, link.sink.statement);
  isl::union_map leaving = no_pairs(model_);
  for_each_pair(link.actual, [&](int, int source, const isl::map& pairs) {
    const int others = source < 0 ? 0 : prefix_of(model_, source);
    leaving = leaving.unite(
        to_union(others == prefix ? pairs.subtract(same_prefix(pairs, prefix)) : pairs));
  });
  if (leaving.is_empty()) return std::nullopt;
  return refusals_.wrong_path(link.sink, leaving,
                              "a sum would go on from what an earlier computation of it has left",
                              " goes on from ");
}

// Of the edges those inside a generation; an edge to the generation before is a beginning's.
isl::union_map RelaxedSources::of_one_generation(const isl::union_map& links) const {
  if (generations_.before().is_empty()) return links;
  const isl::union_map source = generations_.begun_by(correspondence_.of_range(links));
  const isl::union_map own = correspondence_.phi().apply_range(generations_.of_updates());
  return links.intersect_domain(source.intersect(own).domain());
}

// No update runs twice at one location: on one path, where a part that runs beyond its end meets
// the next one.
std::optional<Refusal> RelaxedSources::check_once() const {
  const auto update_at = [&](int i) {
    const IslStatement& then =
        basis_.model.statements[static_cast<std::size_t>(basis_statement(i))];
    return phi_of(model_, i, basis_.model)->intersect_range(then.domain);
  };
  for (int one = 0; one < static_cast<int>(model_.statements.size()); ++one)
    for (int other = 0; other <= one; ++other) {
      if (!is_relaxed(one) || !is_relaxed(other) || basis_statement(one) != basis_statement(other))
        continue;
      const ScheduledStatement &s = *model_.statements[static_cast<std::size_t>(one)].statement,
                               &t = *model_.statements[static_cast<std::size_t>(other)].statement;
      if ((keeps_instances(s) && keeps_instances(t)) || s.lifted != t.lifted) continue;
      isl::map pairs =
          same_prefix(update_at(one).apply_range(update_at(other).reverse()), s.lifted);
      if (one == other) pairs = pairs.subtract(identity_on(pairs));
      if (!pairs.is_empty()) return refusals_.done_twice(pairs);
    }
  return std::nullopt;
}

// What begins a generation runs once per location: else its updates are two paths.
std::optional<Refusal> RelaxedSources::check_twins() const {
  for (std::size_t i = 0; i < model_.statements.size(); ++i) {
    const int statement = static_cast<int>(i);
    const ScheduledStatement& s = *model_.statements[i].statement;
    if (s.kind == StatementKind::Copy || keeps_instances(s) || is_relaxed(statement)) continue;
    const isl::map element = *phi_of(model_, statement, basis_.model);
    const isl::map pairs =
        same_prefix(element.apply_range(element.reverse()), prefix_of(model_, statement));
    const isl::union_map twins = to_union(pairs.subtract(identity_on(pairs)))
                                     .intersect_domain(continued_)
                                     .intersect_range(continued_);
    if (!twins.is_empty()) return refusals_.cut_in_two(twins, links_);
  }
  return std::nullopt;
}

// Updates that the contract does not let change places, of statements that the order walk
// leaves out.
std::optional<Refusal> RelaxedSources::check_kept_order() const {
  for (std::size_t i = 0; i < model_.statements.size(); ++i) {
    const int statement = static_cast<int>(i);
    if (!is_relaxed(statement) || keeps_instances(*model_.statements[i].statement)) continue;
    const int reference = basis_statement(statement);
    if (!generations_.is_by_contract(reference)) continue;
    const isl::map phi = *phi_of(model_, statement, basis_.model);
    for (const Dependence& d : basis_.dependences) {
      if (!is_reduction(d) || d.source != reference) continue;
      const isl::map kept = ordered_pairs(d, basis_.model, *model_.state);
      const isl::map pairs = same_prefix(phi.apply_range(kept).apply_range(phi.reverse()),
                                         prefix_of(model_, statement));
      if (const auto wrong = find_backwards(model_, statement, statement, pairs))
        return refusals_.changed_order(statement, wrong->pairs);
    }
  }
  return std::nullopt;
}

// For scans: a read in the middle of a sum has, in R, updates of its generation on both sides. Only
// then the members of the generation are parted by the order of R; for all others both maps stay
// empty, which is cheap and the usual case.
std::pair<isl::union_map, isl::union_map> RelaxedSources::updates_around(
    const ReadSources& read) const {
  isl::union_map before = no_pairs(model_), after = no_pairs(model_);
  if (read.sink.statement < 0) return {before, after};
  const int reader = basis_statement(read.sink.statement);
  // An update that is a reader here begins a generation with its write: what it updates is
  // at its end.
  const bool in_the_middle = std::ranges::any_of(basis_.dependences, [&](const Dependence& d) {
    return d.kind == DependenceKind::Anti && d.source == reader && !d.updates &&
           generations_.is_relaxed(d.sink);
  });
  if (!in_the_middle) return {before, after};
  const isl::union_map members =
      generations_.begun_by(read.reference).apply_range(generations_.of_updates().reverse());
  for_each_pair(members, [&](int from, int update, const isl::map& pairs) {
    isl::map later = forward_pairs(basis_.model, from, update, pairs);
    if (from == update) later = later.unite(pairs.intersect(identity_on(pairs)));
    after = after.unite(to_union(later));
    before = before.unite(to_union(pairs.subtract(later)));
  });
  return {before, after};
}

// (c) the generation is right; (d) the value is the end of the path, or the reader is one of those
// in the middle (`partial`); then (e), or for those in the middle the two sets of updates,
// one by one.
//
//   early = values that some update still continues, and initial values where R reads a sum, but
//           for `partial`
std::optional<Refusal> RelaxedSources::check_read(const ReadSources& read) const {
  const isl::union_map taken = correspondence_.of_range(read.actual);
  const isl::union_map wrong =
      generations_.begun_by(taken).subtract(generations_.begun_by(read.expected));
  if (!wrong.is_empty())
    return refusals_.wrong_source(read.sink, taken.intersect_domain(wrong.domain()), read.expected);
  const auto [before, after] = updates_around(read);
  const isl::union_set partial =
      correspondence_.of_sink(read.sink).intersect_range(after.domain()).domain();
  const isl::union_set summed =
      read.expected.intersect_range(generations_.of_updates().domain()).domain();
  const isl::union_map initial = read.actual.subtract_range(updates_).intersect_domain(summed);
  const isl::union_map early =
      read.actual.intersect_range(continued_).unite(initial).subtract_domain(partial);
  if (!early.is_empty())
    return refusals_.wrong_path(read.sink, early, kIncomplete,
                                " reads a partial sum of " + refusals_.family() + ", ");
  ReadSources finished = read, partly = read;
  finished.actual = read.actual.subtract_domain(partial);
  partly.actual = read.actual.intersect_domain(partial);
  if (auto refusal = check_again(finished)) return refusal;
  return partial.is_empty() ? std::nullopt : check_partial(partly, before, after);
}

// A read in the middle of a sum: the updates up to the value that it takes, where it lies, are
// those that come before it there.
std::optional<Refusal> RelaxedSources::check_partial(const ReadSources& read,
                                                     const isl::union_map& before,
                                                     const isl::union_map& after) const {
  const isl::union_map readers =
      read.actual.reverse().apply_range(correspondence_.of_sink(read.sink));
  isl::union_map wrong = no_pairs(model_), missing = readers.apply_range(before);
  for (std::size_t i = 0; i < model_.statements.size(); ++i) {
    const int update = static_cast<int>(i);
    if (!is_relaxed(update)) continue;
    const isl::union_map phi = to_union(*phi_of(model_, update, basis_.model));
    const auto there = [&](const isl::union_map& pairs) {
      return of_one_location(pairs.apply_range(phi.reverse()));
    };
    const isl::union_map needed = there(readers.apply_range(before));
    missing = missing.subtract(needed.apply_range(phi));
    for_each_pair(needed, [&](int taken, int, const isl::map& pairs) {
      wrong = wrong.unite(
          to_union(is_relaxed(taken) ? forward_pairs(model_, taken, update, pairs) : pairs));
    });
    for_each_pair(there(readers.apply_range(after)), [&](int taken, int, const isl::map& pairs) {
      if (taken < 0) return;
      wrong =
          wrong.unite(to_union(forward_pairs(model_, update, taken, pairs.reverse()).reverse()));
      if (taken == update) wrong = wrong.unite(to_union(pairs.intersect(identity_on(pairs))));
    });
  }
  const isl::union_set values = wrong.domain().unite(missing.domain());
  if (values.is_empty()) return std::nullopt;
  return refusals_.wrong_path(read.sink, read.actual.intersect_range(values),
                              "a partial sum would be read with other terms than in the reference",
                              " reads a partial sum of " + refusals_.family() + ", ");
}

// Of pairs of a value and an update: those that are computed in one iteration of the site.
isl::union_map RelaxedSources::of_one_location(const isl::union_map& pairs) const {
  isl::union_map here = no_pairs(model_);
  for_each_pair(pairs, [&](int taken, int update, const isl::map& map) {
    const int prefix = taken < 0 ? 0 : prefix_of(model_, taken);
    if (prefix == prefix_of(model_, update)) here = here.unite(to_union(same_prefix(map, prefix)));
  });
  return here;
}

// Of statements that do not keep their instances: all updates of the generation run where the value
// that is read lies.
std::optional<Refusal> RelaxedSources::check_again(const ReadSources& read) const {
  if (updates_stay_) return std::nullopt;
  const isl::union_map members = correspondence_.phi().intersect_domain(read.actual.range());
  isl::union_map missing =
      generations_.begun_by(members).apply_range(generations_.of_updates().reverse());
  for (std::size_t i = 0; i < model_.statements.size(); ++i) {
    const int update = static_cast<int>(i);
    if (!is_relaxed(update)) continue;
    const isl::union_map phi = to_union(*phi_of(model_, update, basis_.model));
    missing =
        missing.subtract(of_one_location(missing.apply_range(phi.reverse())).apply_range(phi));
  }
  if (missing.is_empty()) return std::nullopt;
  return refusals_.wrong_path(read.sink, read.actual.intersect_range(missing.domain()),
                              "a sum would be read that lacks some of its terms",
                              " reads a partial sum of " + refusals_.family() + ", ");
}

}  // namespace polyte::schedule
